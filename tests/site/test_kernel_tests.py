"""The tests of `make test-kernels` are there, and kernels that cannot run are known."""

from pathlib import Path

import kernel_tests

ROOT = Path(__file__).parents[2]


def test_every_named_test_exists() -> None:
    named = kernel_tests.numerical_tests()
    assert all((ROOT / name).exists() for name in named)
    assert set(kernel_tests.OF_TWO_THREADS) <= set(named)
    for name in set(kernel_tests.FOLDERS) - set(kernel_tests.JUDGING):
        assert f"tests/{name}" in named
    assert any(f"tests/{name}" in named for name in kernel_tests.JUDGING)


def test_an_unknown_kernel_does_not_run() -> None:
    assert kernel_tests.kernel_that_runs("of no processor") != "of no processor"

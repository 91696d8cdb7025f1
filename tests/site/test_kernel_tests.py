"""The tests of `make test-kernels` are there, and kernels that cannot run are known."""

from pathlib import Path

import kernel_tests
import pytest

ROOT = Path(__file__).parents[2]


def test_every_test_that_is_named_is_there() -> None:
    named = kernel_tests.numerical_tests()
    assert all((ROOT / name).exists() for name in named)
    assert set(kernel_tests.OF_TWO_THREADS) <= set(named)
    for name in set(kernel_tests.FOLDERS) - set(kernel_tests.JUDGING):
        assert f"tests/{name}" in named
    assert any(f"tests/{name}" in named for name in kernel_tests.JUDGING)


def test_a_kernel_that_is_unknown_does_not_run() -> None:
    assert kernel_tests.kernel_that_runs("of no processor") != "of no processor"


def test_a_process_that_ends_in_a_kernel_runs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_tests, "PROBE", "import os; os.abort()")
    assert kernel_tests.kernel_that_runs("Haswell") == "none"


def test_kernels_that_do_not_run_are_skipped_and_the_others_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[tuple[str, int]] = []
    monkeypatch.setattr(kernel_tests, "kernel_that_runs", lambda _: "Haswell")

    def run_tests(kernel: str, n_threads: int, _: list[str]) -> bool:
        ran.append((kernel, n_threads))
        return n_threads == 1

    monkeypatch.setattr(kernel_tests, "run_tests", run_tests)
    assert kernel_tests.main() == 1
    assert ran == [("Haswell", 1), ("Haswell", 2)]
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        f"test-kernels: {name} skipped: asked for it, OpenBLAS on this processor runs Haswell"
        for name in ("SkylakeX", "Nehalem", "Zen")
    ]

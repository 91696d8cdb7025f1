"""Labels are corrupted as a matrix says, or an argument is refused by its name."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from refusals import answer_of, examples

from twohot.noise import corrupt_labels

LABELS: tuple[Any, ...] = (
    0,
    1,
    2,
    1.0,
    0.5,
    "a",
    "b",
    "1",
    "",
    None,
    np.nan,
    1j,
    True,
    b"a",
    object,
)
CELLS = (0.0, 1.0, 0.5, 0.25, 1 / 3, -0.5, 2.0, np.nan, np.inf, 1e-7)
SEEDS: tuple[Any, ...] = (0, 0, 0, None, "x", -1, 1.5)

rates = st.lists(st.sampled_from(CELLS), min_size=9, max_size=9)


def of_rates(cells: list[float], n_classes: int, *, stochastic: bool) -> Any:
    """Return a matrix of cells; a stochastic one if there is one of them."""
    matrix = np.array(cells[: n_classes**2]).reshape(n_classes, n_classes)
    if stochastic:
        matrix = np.abs(np.nan_to_num(matrix, posinf=1)) + np.eye(n_classes)
        matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix


arguments = st.fixed_dictionaries(
    {
        "labels": st.one_of(
            st.lists(st.sampled_from(("a", "b", "c")), min_size=1, max_size=12),
            st.lists(st.sampled_from(LABELS), max_size=8),
        ),
        "corruption": st.builds(
            lambda cells, n_classes, stochastic: of_rates(cells, n_classes, stochastic=stochastic),
            rates,
            st.sampled_from((2, 3, 3, 3)),
            st.booleans(),
        ),
        "exact": st.booleans(),
        "random_state": st.sampled_from(SEEDS),
        "classes": st.sampled_from((None, ["a", "b", "c"], ["a", "b", "c"], ["a", "a"], [])),
    }
)


def check(options: dict[str, Any]) -> None:
    """Fail unless labels are corrupted as asked, or an argument is refused by name."""
    made, refused = answer_of(lambda: corrupt_labels(**options))
    if refused:
        return
    matrix, labels = options["corruption"], options["labels"]
    n_classes = len(made.classes)
    assert np.all(matrix >= 0)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=1e-6)
    assert options["random_state"] not in ("x", -1, 1.5)
    assert len(made.given_labels) == len(labels)
    sizes = made.counts.sum(axis=1)
    assert made.counts.shape == (n_classes, n_classes)
    assert np.all(made.counts[matrix == 0] == 0)
    assert made.flipped.sum() == made.counts.sum() - np.trace(made.counts)
    if options["exact"]:
        expected = sizes[:, np.newaxis] * matrix
        assert np.all(np.abs(made.counts - expected) < 1 + 1e-6)


@example(options={"labels": [1j, 1], "corruption": np.eye(2)})
@examples(200)
@given(options=arguments)
def test_labels_are_corrupted_as_asked_or_refused_by_name(options) -> None:
    check({"exact": False, "random_state": 0} | options)


@pytest.mark.slow
@examples(6000)
@given(options=arguments)
def test_many_labels_are_corrupted_as_asked_or_refused_by_name(options) -> None:
    check(options)

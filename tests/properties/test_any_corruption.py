"""Labels are corrupted as requested, or an argument is refused by name."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from refusals import answer_of, fuzzed

from twohot.noise import boundary_noise, corrupt_labels, corrupt_table, make_features
from twohot.tables import FeatureTable

LABELS = (0, 1, 2, 1.0, 0.5, "a", "b", "1", "", None, np.nan, 1j, True, b"a", object)
CELLS = (0.0, 1.0, 0.5, 0.25, 1 / 3, -0.5, 2.0, np.nan, np.inf, 1e-7)
SEEDS: tuple[Any, ...] = (0, 0, 0, None, "x", -1, 1.5)


@st.composite
def matrices(draw: Any) -> Any:
    """Draw a matrix of cells, or a stochastic one."""
    n_classes = draw(st.sampled_from((2, 3, 3, 3)))
    cells = draw(st.lists(st.sampled_from(CELLS), min_size=9, max_size=9))
    matrix = np.array(cells[: n_classes**2]).reshape(n_classes, n_classes)
    if draw(st.booleans()):
        matrix = np.abs(np.nan_to_num(matrix, posinf=1)) + np.eye(n_classes)
        matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix


arguments = st.fixed_dictionaries(
    {
        "labels": st.one_of(
            st.lists(st.sampled_from(("a", "b", "c")), min_size=1, max_size=12),
            st.lists(st.sampled_from(LABELS), max_size=8),
        ),
        "corruption": matrices(),
        "exact": st.booleans(),
        "random_state": st.sampled_from(SEEDS),
        "classes": st.sampled_from((None, ["a", "b", "c"], ["a", "b", "c"], ["a", "a"], [])),
        "rate": st.sampled_from((0.0, 0.1, 0.5, 0.95, 1.0, -0.1, np.nan, np.inf, "x", None)),
        "masked": st.sampled_from((False, False, False, True)),
    }
)


TABLE = FeatureTable(features=np.ones((9, 1)), labels=np.arange(9) % 3, classes=("a", "b", "c"))


def corrupted(asked: dict[str, Any]) -> Any:
    names = ("labels", "corruption", "exact", "random_state", "classes")
    return corrupt_labels(**{name: asked[name] for name in names})


def at_the_boundary(asked: dict[str, Any]) -> Any:
    rows = asked["corruption"][np.arange(len(asked["labels"])) % len(asked["corruption"])]
    how = {name: asked[name] for name in ("random_state", "classes")}
    return boundary_noise(asked["labels"], rows, asked["rate"], **how)


def synthetic(asked: dict[str, Any]) -> Any:
    sizes = {"n_classes": 3, "n_per_class": 4, "n_features": 5, "decay": asked["rate"]}
    return make_features(**sizes, same_class=asked["rate"], random_state=asked["random_state"])


CALLS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "corrupt_labels": corrupted,
    "corrupt_table": lambda asked: corrupt_table(
        TABLE, asked["corruption"], seed=asked["random_state"]
    ),
    "boundary_noise": at_the_boundary,
    "make_features": synthetic,
}


def check(call: str, options: dict[str, Any]) -> None:
    """Fail unless labels are corrupted as requested, or an argument is refused by name."""
    asked = {"exact": False, "random_state": 0, "classes": None, "rate": 0.5} | options
    matrix = asked["corruption"]
    if options.get("masked"):
        asked["corruption"] = np.ma.masked_array(matrix, matrix == 0.5)
    made, refused = answer_of(lambda: CALLS[call](asked))
    if refused:
        return
    assert asked["random_state"] not in ("x", -1, 1.5)
    assert call == "make_features" or not np.ma.is_masked(asked["corruption"])
    if call in ("boundary_noise", "make_features"):
        assert 0 <= asked["rate"] <= 1
        return
    assert np.all(matrix >= 0)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=1e-6)
    if call == "corrupt_labels":
        assert len(made.given_labels) == len(asked["labels"])
        assert np.all(made.counts[matrix == 0] == 0)
        assert made.flipped.sum() == made.counts.sum() - np.trace(made.counts)
        expected = made.counts.sum(axis=1, keepdims=True) * matrix
        assert not asked["exact"] or np.all(np.abs(made.counts - expected) < 1 + 1e-6)


FINDING = {"labels": [1j, 1], "corruption": np.eye(2)}
test_labels_are_corrupted_or_refused, test_many_labels = fuzzed(
    check, 50, 1500, FINDING, calls=CALLS, options=arguments
)

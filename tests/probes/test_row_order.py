"""Labels and weights in another order than the rows of X are rejected."""

import numpy as np
import pandas as pd
import pytest

from twohot import (
    AutoProbe,
    DiscriminantProbe,
    DistilledProbe,
    LinearProbe,
    PartialLabelProbe,
    explain_label,
    find_label_issues,
    forecast,
)
from twohot.judge import out_of_fold_probabilities

CODES = np.arange(60) % 3
FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 4)) + 3 * np.eye(3, 4)[CODES])
FRAME.columns = list("abcd")
NAMED = FRAME.set_axis([f"row {number}" for number in range(60)])
Y = pd.Series(CODES, FRAME.index)
REVERSED = Y.iloc[::-1]
ONES = pd.Series(1.0, REVERSED.index)

PROBES = [
    LinearProbe(),
    DistilledProbe(),
    PartialLabelProbe(),
    DiscriminantProbe(),
    AutoProbe(),
]
CALLS = {
    **{type(probe).__name__: probe.fit for probe in PROBES},
    "leave one out": DiscriminantProbe().fit_leave_one_out,
    "score": lambda X, y: LinearProbe().fit(FRAME, CODES).score(X, y),
    "out of fold": lambda X, y: out_of_fold_probabilities(LinearProbe(), X, y),
    "find_label_issues": find_label_issues,
    "forecast": forecast,
    "explain_label": lambda X, y: explain_label(X, y, [0]),
}


@pytest.mark.parametrize("call", CALLS)
def test_rejects_labels_in_another_order(call):
    for X, y in ((FRAME, REVERSED), (NAMED, Y.set_axis(NAMED.index).iloc[::-1])):
        with pytest.raises(ValueError, match=r"y has another index than X.*pass y\.loc\[X\.index"):
            CALLS[call](X, y)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("sample_weight", lambda: LinearProbe().fit(FRAME, Y, sample_weight=ONES)),
        ("sample_weight", lambda: AutoProbe().fit(FRAME, Y, sample_weight=ONES)),
        ("sample_weight", lambda: LinearProbe().fit(FRAME, Y).score(FRAME, Y, ONES)),
        ("groups", lambda: AutoProbe().fit(FRAME, Y, groups=ONES)),
        ("targets", lambda: LinearProbe().fit_soft(FRAME, pd.get_dummies(REVERSED, dtype=float))),
    ],
)
def test_rejects_other_arguments_in_another_order(name, call):
    with pytest.raises(ValueError, match=f"{name} has another index than X"):
        call()


@pytest.mark.parametrize("X", [FRAME, NAMED, FRAME.to_numpy()], ids=["counted", "named", "array"])
@pytest.mark.parametrize("y", [Y, CODES, CODES.tolist()], ids=["series", "array", "list"])
def test_default_index_is_ignored(X, y):
    assert LinearProbe().fit(X, y).score(X, y) > 0.9
    assert LinearProbe().fit(NAMED, Y.set_axis(NAMED.index)).score(NAMED, y) > 0.9


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (FRAME.set_axis(list("aabc"), axis=1), "X has equal column names"),
        (
            FRAME.astype(pd.SparseDtype("float")),
            "X has a sparse column 'a' with fill value nan",
        ),
    ],
    ids=["repeated column", "sparse column"],
)
def test_rejects_equal_names_and_sparse_columns(X, message):
    with pytest.raises(ValueError, match=message):
        LinearProbe().fit(X, CODES)

"""Arguments that give no noise or features are refused by name."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from twohot.noise import (
    asymmetric,
    boundary_noise,
    corrupt_labels,
    corrupt_table,
    corruption_for,
    make_features,
    pair_flip,
    superclass_noise,
    symmetric,
)
from twohot.noise.corrupted_table import read_matrix
from twohot.tables import FeatureTable

TABLE = FeatureTable(
    features=np.eye(60),
    labels=np.arange(60) % 4,
    classes=("a", "b", "c", "d"),
    split=np.arange(60) // 40,
    split_names=("train", "test"),
)
HALVES = [0, 0, 0, 1, 1, 1]
VALID = {
    symmetric: {"n_classes": 3, "noise_rate": 0.2},
    asymmetric: {"n_classes": 3, "noise_rate": 0.2},
    pair_flip: {"n_classes": 3, "noise_rate": 0.2},
    superclass_noise: {"noise_rate": 0.2},
    corrupt_labels: {"labels": [0, 1], "corruption": np.eye(2)},
    boundary_noise: {"labels": [0, 1], "probabilities": [[0.5, 0.5]] * 2, "noise_rate": 0.1},
    corruption_for: {"table": TABLE, "noise_rate": 0.5},
    corrupt_table: {"table": TABLE, "corruption": symmetric(4, 0.5), "seed": 0},
    read_matrix: {"path": Path("m.csv"), "classes": ("a", "b", "c")},
    make_features: {"n_classes": 6, "n_per_class": 20, "n_features": 16, "same_class": 0.4},
}


def each(argument, *cases):
    """Return the change of one argument, and the message, for pairs of a value and a message."""
    return [({argument: value}, message) for value, message in cases]


RATE, SIZE = "noise_rate=.* pass a number from 0 to 1", "n_classes=.* an integer of at least 2"
NO_RATES = (np.nan, "0.5", None)
RATES = each("noise_rate", *((rate, RATE) for rate in (-0.1, 1.1, *NO_RATES)))
SIZES = each("n_classes", *((size, SIZE) for size in (1, 0, 2.0, True, "3")))
CONFUSIONS = each(
    "confused_with",
    ([1, 0], r"confused_with has shape \(2,\) and dtype int64: pass 3 integers"),
    ([1, 2, 3], r"confused_with\[2\]=3 is out of range: .* integers from 0 to 2"),
    ([1, 2, -1], r"confused_with\[2\]=-1 is out of range: .* integers from 0 to 2"),
    ([1, 1, 0], r"confused_with\[1\]=1 confuses a class with itself"),
    ([1.0, 2.0, 0.0], r"confused_with has shape \(3,\) and dtype float64"),
    ([[1, 2, 0]], r"confused_with has shape \(1, 3\)"),
)
BAD_FILE = r"m.csv has the columns 'a', 'b'.* names of the 3 classes"


def table(**change):
    return {"table": replace(TABLE, **change)}


REFUSED = {
    symmetric: RATES + SIZES,
    asymmetric: RATES + SIZES + CONFUSIONS,
    pair_flip: RATES + SIZES + CONFUSIONS,
    superclass_noise: each(
        "superclass",
        ([0, 2, 2], r"superclass has 2 superclasses, with numbers from 0 to 2.* without gaps"),
        ([1, 1, 2], r"2 superclasses, with numbers from 1 to 2"),
        ([-1, 0, 1], r"3 superclasses, with numbers from -1 to 1"),
        (["a", "b"], r"superclass has shape \(2,\) and dtype <U1"),
        ([], r"superclass has shape \(0,\)"),
    ),
    corrupt_labels: [
        *each(
            "corruption",
            (np.ones((2, 3)) / 3, r"corruption has shape \(2, 3\): pass a square matrix"),
            ([0.5, 0.5], r"corruption has shape \(2,\): pass a square matrix"),
            (np.empty((0, 0)), r"corruption has shape \(0, 0\)"),
            ([["a", "b"], ["c", "d"]], r"corruption has dtype <U1: pass real numbers"),
            ([[1.1, -0.1], [0, 1]], r"corruption\[0, 1\]=-0.1 is not a probability"),
            ([[1, 0], [np.nan, 1]], r"corruption\[1, 0\]=nan is not a probability"),
            ([[1, 0], [0.5, 0.4]], r"corruption has a row .* sum to one \(row 1: 0.9\)"),
            ([[np.inf, 0], [0.5, 0.5]], r"corruption has a row .* sum to one \(row 0: inf\)"),
            (np.ma.masked_equal(np.eye(2), 0), r"corruption has masked cells, first at"),
            (np.eye(3), r"corruption has 3 rows for 2 classes.*have no sample"),
        ),
        ({"labels": []}, "labels has no label in any of its 0 rows: pass one label per sample"),
        ({"labels": [None, np.nan]}, "labels has no label in any of its 2 rows"),
        ({"labels": [0, 7], "classes": [0, 1]}, r"labels has 1 label .* not among .* \(7\): list"),
        *(({"random_state": state}, "random_state=.* non-neg") for state in (-1, 0.5, "a", True)),
    ],
    boundary_noise: [
        *(({"noise_rate": rate}, "rate=.* to 0.95") for rate in (-0.1, 0.96, 1.0, *NO_RATES)),
        *each(
            "probabilities",
            (np.ma.masked_less(np.eye(2), 1), "probabilities has masked cells, first at"),
            ([[0.5, 0.5]], "probabilities has 1 row and labels has 2"),
            ([[0.2, 0.3, 0.5]] * 2, "probabilities has 3 columns for 2 classes.* classes=…"),
            ([[0.5, 0.5], [0.5, 0.6]], r"do not sum to one \(row 1: 1\.1\)"),
            (np.eye(2), r"noise_rate=0\.1 cannot be reached because 2 rows .*: pass at most 0,"),
        ),
        ({"labels": [None, None]}, "labels has no label in any of its 2 rows"),
        ({"random_state": -1}, "random_state=-1 is not a random state"),
    ],
    corruption_for: [
        ({"kind": "symmetric", "noise_rate": 1.5}, "noise_rate=1.5 is not allowed"),
        ({"kind": "odd"}, "kind='odd' is not known: pass one of 'symmet"),
        ({"kind": "superclass"}, "needs the superclass of each class, but"),
    ],
    corrupt_table: [
        ({"corruption": np.full((4, 4), 0.3)}, "a row that does not sum to one"),
        ({"corruption": np.eye(3)}, "corruption has 3 rows for 4 classes"),
        ({"seed": -1}, "seed=-1 is not allowed"),
        ({"split": "val"}, "split='val' is not in this table, which has the splits 'tr"),
        (table(split_names=("fit", "x")), "there is no split 'train' among 'fit', 'x'"),
        (table(labels=np.full(60, -1)), "split='train' has no labelled row"),
        (table(true_labels=np.zeros(60, int)), "table already has true labels"),
    ],
    read_matrix: each(
        "path",
        ("a,b\n1,0\n0,1\n", BAD_FILE),
        ("a,b,d\n1,0,0\n0,1,0\n0,0,1\n", BAD_FILE),
        ("a,b,c\n1,0,0\n", BAD_FILE),
    ),
    make_features: [
        ({"n_classes": 0}, r"n_classes=0 is not allowed: pass an integer of at least 1"),
        ({"n_features": 1}, r"n_features=1 is not allowed: pass an integer of at least 2"),
        ({"n_features": 8.0}, r"n_features=8.0 is not allowed"),
        ({"n_per_class": 0}, r"n_per_class=0 is not allowed: pass an integer of at least 1"),
        ({"n_per_class": [1, 2]}, r"n_per_class has shape \(2,\) .* pass 6 integers"),
        ({"n_per_class": [1, 1, 1, 1, 1, 0]}, r"n_per_class\[5\]=0 is not allowed"),
        ({"n_per_class": [1.5] * 6}, r"n_per_class has shape \(6,\) and dtype float64"),
        ({"same_class": 1.2}, r"same_class=1.2 is not allowed: pass a number from 0 to 1"),
        ({"same_class": np.nan}, r"same_class=nan is not allowed"),
        ({"elsewhere": -2}, r"elsewhere=-2 is not allowed: pass a number from -1 to 1"),
        ({"elsewhere": 0.5}, r"elsewhere=0.5 are out of order"),
        ({"same_class": 0, "elsewhere": -0.1}, r"contradict.* raise same_superclass or same_class"),
        ({"same_superclass": 0.1}, r"=0.1 needs superclasses: also pass superclass=…"),
        (
            {"same_superclass": 0.5, "superclass": HALVES},
            r"=0.5 and elsewhere=0.0 are out of order",
        ),
        ({"elsewhere": 0.1, "superclass": HALVES}, r"superclass=0.0 and elsewhere=0.1 are out of"),
        *(
            ({"same_superclass": -0.3, "elsewhere": -0.3, "superclass": groups}, "contr.* raise sa")
            for groups in (HALVES, [0] * 6)
        ),
        ({"superclass": [0, 1]}, r"superclass has shape \(2,\) .* pass 6 integers"),
        ({"superclass": [0, 0, 0, 2, 2, 2]}, r"superclass has 2 .* without gaps"),
        ({"decay": -1}, r"decay=-1 is not allowed: pass a number from 0 to 10"),
        ({"decay": np.inf}, r"decay=inf is not allowed"),
        ({"dtype": np.float16}, r"dtype=.*float16.* pass float32 or float64"),
        ({"random_state": -3}, r"random_state=-3 is not a random state"),
    ],
}


@pytest.mark.parametrize(
    ("call", "change", "message"), [(call, *case) for call in REFUSED for case in REFUSED[call]]
)
def test_invalid_argument_is_refused(call, change, message, tmp_path):
    arguments = VALID[call] | change
    if call is read_matrix:
        arguments["path"] = tmp_path / "m.csv"
        arguments["path"].write_text(change["path"])
    with pytest.raises(ValueError, match=message):
        call(**arguments)


def test_missing_matrix_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none.csv is not a file: pass a corruption"):
        read_matrix(tmp_path / "none.csv", ("a", "b", "c"))

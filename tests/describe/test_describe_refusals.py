"""Invalid arguments are refused by name."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from twohot import LinearProbe, evaluate_probe, explain_label, forecast
from twohot.describe import class_correlation, cluster_classes, describe_table, pair_statistics
from twohot.tables import FeatureTable

X, LABELS = np.random.default_rng(0).standard_normal((30, 4)), np.arange(30) % 3
WITH_NAN, WITH_INF = (np.where(np.eye(30, 4, -2), value, X) for value in (np.nan, np.inf))
TABLE = FeatureTable(features=X, labels=LABELS, classes=("a", "b", "c"))
THIRDS = np.full((30, 3), 1 / 3)
VALID = {
    forecast: {"X": X, "y": LABELS},
    explain_label: {"X": X, "y": LABELS, "rows": [0]},
    evaluate_probe: {"probe": LinearProbe().fit(X, LABELS), "X": X},
    describe_table: {"table": TABLE},
    class_correlation: {"X": X, "labels": LABELS},
    pair_statistics: {"X": X, "labels": LABELS},
    cluster_classes: {"means": np.eye(3)},
}


def in_two(values):
    """Return values in two chunks of Dask, the first of which has one row."""
    array = np.asarray(values)
    return da.from_array(array, chunks=((1, len(array) - 1), *((-1,) * (array.ndim - 1))))


NO_LABELS = [
    ({"y": [1] * 30}, r"y has only one class \(1\)"),
    ({"y": [None] * 30}, "y has no label in any of its 30 rows"),
    ({"y": [""] * 30}, "y has no label in any"),
    ({"y": np.array(["a", 1] * 15, dtype=object)}, "y mixes numbers and text"),
    ({"y": LABELS[:20]}, "y has 20 labels and X has 30 rows: pass one label per row"),
    ({"y": LABELS.reshape(15, 2)}, r"y has shape \(15, 2\)"),
]
FOUR = [
    ([0, 1, 1], None, r"labels has shape \(3,\) and dtype int64: pass 4 integers"),
    ([0, 1, 1, 3], 3, r"labels\[3\]=3 is out of range: there are 3 names"),
    ([0, 1, -2, 1], None, r"labels\[2\]=-2 is out of range: there are 2 names"),
    ([0, 0, 2, 2], None, "no row of class 1 .1 of 3 classes are empty"),
    ([0, 1, 0, 1], 3, "no row of class 2"),
    ([0, 0, 0, -1], None, "labels has rows of 1 class"),
    ([-1, -1, -1, -1], None, "labels has rows of 0 class"),
    ([0, 1, 1, 0], 2.5, "n_classes=2.5 is not allowed"),
    (["a", "b", "a", "b"], None, "labels has shape .4,. and dtype <U1: pass 4 integers"),
    ([[0], [1], [1], [0]], None, "labels has shape .4, 1."),
]
REFUSED = {
    forecast: [
        *NO_LABELS,
        ({"X": WITH_NAN}, "X contains NaN at row 2, column 0"),
        ({"X": WITH_INF}, "X contains infinity at row 2, column 0"),
        # Rows without a label count.
        ({"X": sp.csr_array(WITH_NAN), "y": [None, *LABELS[1:]]}, "X contains NaN at row 2, colu"),
        ({"y": [0] * 28 + [1, 2]}, r"y has 1 class with at least two rows, of 3"),
        ({"corruption": np.eye(2)}, "corruption has 2 rows for 3 classes: pass one row and one"),
        ({"corruption": 2 * np.eye(3)}, "does not sum to one"),
        ({"corruption": np.eye(3), "probabilities": THIRDS}, "both describe the noise: pass on"),
        ({"probabilities": np.ones((30, 2)) / 2}, "has 2 columns for 3 classes: pass one column"),
        ({"probabilities": np.nan * THIRDS}, "contains NaN"),
        (
            {"y": (LABELS + 8).astype(str), "probabilities": THIRDS},
            r"y has classes that are numbers as text \('8', '9', '10'\).*pass a data frame with",
        ),
        ({"superclass": [0, 0]}, r"superclass has shape \(2,\) .* pass 3 integers"),
        ({"ridge": -1.0}, "ridge=-1.0 is not allowed"),
        ({"n_rounds": 1}, "n_rounds=1 is not allowed: pass an integer of at least 2"),
        ({"cv": 1}, "cv=1 is not allowed"),
        ({"cv": []}, "cv does not hold out every row with a label exactly once"),
        ({"groups": [1] * 20}, "groups has 20 entries for 30 rows"),
        ({"groups": [1] * 30}, "groups puts all 30 rows into one group"),
        ({"random_state": -1}, "random_state=-1 is not a random state"),
        ({"n_jobs": 0}, "n_jobs=0 is not a number of threads"),
    ],
    explain_label: [
        *NO_LABELS,
        ({"rows": [30]}, "rows contains 30, but the data has 30 rows: pass integers from 0 to 29"),
        ({"rows": [-1]}, "rows contains -1, but the data has 30 rows"),
        ({"rows": [0.5]}, "rows has shape .1,. and dtype float64: pass positions of rows"),
        ({"rows": 3}, "rows has shape .. and dtype"),
        ({"rows": LABELS == 0}, "dtype bool: pass positions of rows"),
        ({"X": WITH_NAN}, "X contains NaN at row 2, column 0"),
        ({"X": np.full((30, 4), "red")}, "X holds text"),
        ({"ridge": 0}, "ridge=0 is not allowed"),
        ({"n_rounds": 0}, "n_rounds=0 is not allowed"),
        ({"n_neighbours": -1}, "n_neighbours=-1 is not allowed"),
    ],
    evaluate_probe: [
        ({"y": ["e"] * 30}, r"y has only labels that the probe does not know \('e'\): pass"),
        ({"y": [None] * 30}, "y has no label: pass trusted"),
        ({"y": [0] * 3}, "y has 3 labels and X has 30 rows"),
    ],
    describe_table: [
        ({"n_superclasses": 2, "cut": 0.5}, "n_superclasses=2 and cut=0.5 both set the number"),
        ({"split": "valid"}, "split='valid' is not in this table"),
    ],
    class_correlation: [
        *(
            ({"X": rows, "labels": make(labels), "n_classes": n_classes}, message)
            for labels, n_classes, message in FOUR
            for rows, make in ((np.eye(4), list), (da.eye(4, chunks=2), in_two))
        ),
        *(
            ({"X": rows, "labels": np.arange(20_001)}, "has 20001 classes, too many for a matrix")
            for rows in (np.ones((20_001, 1)), da.ones((20_001, 1)))
        ),
        ({"X": WITH_NAN}, "X contains NaN at row 2, column 0"),
        ({"X": in_two(WITH_NAN)}, "X contains NaN at row 2, column 0"),
        ({"X": X[0]}, r"X has shape \(4,\): pass rows of features"),
        ({"X": in_two(X[0])}, "X has 1 dimension"),
        ({"X": [["0.5"]] * 30}, "X holds text.* pass"),
        ({"X": X * 1j}, "X holds complex numbers.* pass"),
        ({"X": in_two(X * 1j)}, "X has dtype complex128: pass real numbers"),
        ({"X": X.astype("M8[D]")}, "X holds dates.* pass"),
    ],
    pair_statistics: [
        ({"superclass": [0, 2]}, "2 superclasses, with numbers from 0 to 2"),
        ({"superclass": [0, 0, 1, 1]}, "no row of class 3"),
        ({"superclass": [0]}, "is out of range: there is 1 name"),
        # Refused before it is read.
        (
            {"X": np.full((30, 8193), np.nan), "superclass": [0, 1, 1]},
            "(?s)has 8193 features.*pass at most 8192.*TruncatedSVD",
        ),
    ],
    cluster_classes: [
        ({"n_superclasses": 0}, "n_superclasses=0 is not allowed"),
        ({"n_superclasses": 4}, "n_superclasses=4 is more than the 3 classes"),
        ({"n_superclasses": 1.5}, "n_superclasses=1.5 is not allowed"),
        *(({"cut": cut}, "cut=.* is not a fraction") for cut in (0.0, 1.1, np.nan)),
        ({"means": np.eye(1)}, "means has shape .1, 1."),
        ({"means": np.ones((2, 3))}, "means has shape .2, 3."),
        ({"means": np.triu(np.ones((3, 3)))}, "means is not symmetric"),
        ({"means": np.full((3, 3), np.inf)}, "means has infinity, or NaN off its diagonal"),
    ],
}


@pytest.mark.parametrize(
    ("call", "change", "message"), [(call, *case) for call in REFUSED for case in REFUSED[call]]
)
def test_invalid_argument_is_refused(call, change, message):
    with pytest.raises(ValueError, match=message):
        call(**VALID[call] | change)


def test_features_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match=r"X cannot be read as features .*a string or a real"):
        class_correlation([[{}]] * 4, [0, 1, 0, 1])

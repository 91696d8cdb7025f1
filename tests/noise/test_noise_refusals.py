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
from twohot.noise.corrupted_table import KINDS, read_matrix
from twohot.tables import FeatureTable

N_ROWS = 60
SMALL = {"n_classes": 6, "n_per_class": 20, "n_features": 16, "same_class": 0.4}
HALVES = [0, 0, 0, 1, 1, 1]
RATE = "noise_rate=.* pass a number from 0 to 1"


TABLE = FeatureTable(
    features=np.eye(N_ROWS),
    labels=np.arange(N_ROWS) % 4,
    classes=("a", "b", "c", "d"),
    split=np.arange(N_ROWS) // 40,
    split_names=("train", "test"),
)


def noisy(change=None, **options):
    given = {"corruption": symmetric(4, 0.5), "seed": 0} | options
    return lambda: corrupt_table(replace(TABLE, **(change or {})), **given)


def labels(given, classes=None, matrix=None, **options):
    corruption = np.eye(2) if matrix is None else matrix
    return lambda: corrupt_labels(given, corruption, classes=classes, **options)


def boundary(probabilities=((0.5, 0.5),) * 2, rate=0.1, given=(0, 1), **options):
    return lambda: boundary_noise(given, probabilities, rate, **options)


def features(**change):
    return lambda: make_features(**SMALL | change)


def matrix_file(text):
    def read():
        Path("m.csv").write_text(text)
        read_matrix(Path("m.csv"), ("a", "b", "c"))

    return read


REFUSED = [
    # Matrices by kind
    *(
        (lambda make=make, rate=rate: make(3, rate), RATE)
        for make in (symmetric, asymmetric, pair_flip)
        for rate in (-0.1, 1.1, np.nan, "0.5", None)
    ),
    *(
        (lambda make=make, n=n: make(n, 0.1), "n_classes=.* an integer of at least 2")
        for make in (symmetric, asymmetric, pair_flip)
        for n in (1, 0, 2.0, True, "3")
    ),
    *(
        (lambda make=make, given=given: make(3, 0.2, given), words)
        for make in (asymmetric, pair_flip)
        for given, words in (
            ([1, 0], r"confused_with has shape \(2,\) and dtype int64: pass 3 integers"),
            ([1, 2, 3], r"confused_with\[2\]=3 is out of range: .* integers from 0 to 2"),
            ([1, 2, -1], r"confused_with\[2\]=-1 is out of range: .* integers from 0 to 2"),
            ([1, 1, 0], r"confused_with\[1\]=1 confuses a class with itself"),
            ([1.0, 2.0, 0.0], r"confused_with has shape \(3,\) and dtype float64"),
            ([[1, 2, 0]], r"confused_with has shape \(1, 3\)"),
        )
    ),
    *(
        (lambda given=given: superclass_noise(given, 0.2), words)
        for given, words in (
            ([0, 2, 2], r"superclass numbers 2 superclasses from 0 to 2.* without gaps"),
            ([1, 1, 2], r"superclass numbers 2 superclasses from 1 to 2"),
            ([-1, 0, 1], r"superclass numbers 3 superclasses from -1 to 1"),
            (["a", "b"], r"superclass has shape \(2,\) and dtype <U1"),
            ([], r"superclass has shape \(0,\)"),
        )
    ),
    # Labels that follow a matrix
    *(
        (labels([0, 1], matrix=matrix), words)
        for matrix, words in (
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
        )
    ),
    (labels([]), "labels has no label in any of its 0 rows: pass one label per sample"),
    (labels([None, np.nan]), "labels has no label in any of its 2 rows"),
    (labels([0, 7], [0, 1]), r"labels has 1 label that is not among the 2 classes \(7\): list all"),
    *(
        (labels([0, 1], random_state=state), "random_state=.* pass a non-negative integer")
        for state in (-1, 0.5, "zero", True)
    ),
    # Noise at the boundary
    *(
        (boundary(rate=rate), r"noise_rate=.* pass a number from 0 to 0\.95")
        for rate in (-0.1, 0.96, 1.0, np.nan, "0.5", None)
    ),
    (boundary(np.ma.masked_less(np.eye(2), 1)), r"probabilities has masked cells, first at"),
    (boundary([[0.5, 0.5]]), r"probabilities has 1 row and labels has 2"),
    (boundary([[0.2, 0.3, 0.5]] * 2), r"probabilities has 3 columns for 2 classes"),
    (boundary([[0.5, 0.5], [0.5, 0.6]]), r"do not sum to one \(row 1: 1\.1\)"),
    (boundary(given=[None, None]), "labels has no label in any of its 2 rows"),
    (boundary(random_state=-1), "random_state=-1 is not a random state"),
    # Tables
    *(
        (lambda kind=kind: corruption_for(TABLE, kind, 1.5), "noise_rate=1.5 is not allowed")
        for kind in KINDS[:-1]
    ),
    (lambda: corruption_for(TABLE, "odd", 0.5), "kind='odd' is not known: pass one of 'symmet"),
    (lambda: corruption_for(TABLE, "superclass", 0.5), "needs the superclass of each class, but"),
    (noisy(corruption=np.full((4, 4), 0.3)), "a row that does not sum to one"),
    (noisy(corruption=np.eye(3)), "corruption has 3 rows for 4 classes"),
    (noisy(seed=-1), "seed=-1 is not allowed"),
    (noisy(split="val"), "split='val' is not in this table, which has 'train', 'test'"),
    (noisy({"split_names": ("fit", "x")}), "there is no split 'train' among 'fit', 'x'"),
    (noisy({"labels": np.full(N_ROWS, -1)}), "split='train' has no labelled row"),
    (noisy({"true_labels": np.zeros(N_ROWS, int)}), "table already has true labels"),
    *(
        (matrix_file(text), r"m.csv has the columns 'a', 'b'.* name the 3 classes in")
        for text in ("a,b\n1,0\n0,1\n", "a,b,d\n1,0,0\n0,1,0\n0,0,1\n", "a,b,c\n1,0,0\n")
    ),
    # Synthetic features
    (features(n_classes=0), r"n_classes=0 is not allowed: pass an integer of at least 1"),
    (features(n_features=1), r"n_features=1 is not allowed: pass an integer of at least 2"),
    (features(n_features=8.0), r"n_features=8.0 is not allowed"),
    (features(n_per_class=0), r"n_per_class=0 is not allowed: pass an integer of at least 1"),
    (features(n_per_class=[1, 2]), r"n_per_class has shape \(2,\) .* pass 6 integers"),
    (features(n_per_class=[1, 1, 1, 1, 1, 0]), r"n_per_class\[5\]=0 is not allowed"),
    (features(n_per_class=[1.5] * 6), r"n_per_class has shape \(6,\) and dtype float64"),
    (features(same_class=1.2), r"same_class=1.2 is not allowed: pass a number from 0 to 1"),
    (features(same_class=np.nan), r"same_class=nan is not allowed"),
    (features(elsewhere=-2), r"elsewhere=-2 is not allowed: pass a number from -1 to 1"),
    (features(elsewhere=0.5), r"elsewhere=0.5 are out of order"),
    (features(same_class=0, elsewhere=-0.1), r"contradict.* raise same_superclass or same_class"),
    (features(same_superclass=0.1), r"=0.1 needs superclasses: also pass superclass=…"),
    (features(same_superclass=0.5, superclass=HALVES), r"=0.5 and elsewhere=0.0 are out of order"),
    (features(elsewhere=0.1, superclass=HALVES), r"superclass=0.0 and elsewhere=0.1 are out of or"),
    *(
        (
            features(same_superclass=-0.3, elsewhere=-0.3, superclass=groups),
            "contradict.* raise same",
        )
        for groups in (HALVES, [0] * 6)
    ),
    (features(superclass=[0, 1]), r"superclass has shape \(2,\) .* pass 6 integers"),
    (features(superclass=[0, 0, 0, 2, 2, 2]), r"superclass numbers 2 .* without gaps"),
    (features(decay=-1), r"decay=-1 is not allowed: pass a number from 0 to 10"),
    (features(decay=np.inf), r"decay=inf is not allowed"),
    (features(dtype=np.float16), r"dtype=.*float16.* pass float32 or float64"),
    (features(random_state=-3), r"random_state=-3 is not a random state"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_invalid_argument_is_refused(call, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        call()


def test_missing_matrix_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none.csv is not a file: pass a corruption"):
        read_matrix(tmp_path / "none.csv", ("a", "b", "c"))

"""Rows and labels of a setting: what every method is given, and what it is judged by."""

import zlib
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split

from benchmarks.audit.plan import SETS, Setting
from twohot import noise

FILES = {
    "banking77": "banking77_minilm.npz",
    "cifar100": "cifar100_resnet50_svd512_full.npz",
    "flowers102": "flowers102_resnet50.npz",
    "caltech101": "caltech101_resnet50.npz",
    "stanfordcars": "stanfordcars_resnet50_svd768.npz",
    "davidson": "davidson_minilm.npz",
    "labelme": "labelme_vgg.npz",
    "satellite": "satellite_tabular.npz",
}
# What these files call people's labels, by the noise that they are.
VOTES = {"people": "y_train_human", "majority of people": "y_train_majority"}
# Their columns differ in scale and have no common origin: everybody gets them standardised.
TABULAR = ("satellite", "generated")
MOST_ROWS = 3_000  # of every shape but "all"
FEW_ROWS = 15  # of every class
TAIL_RATIO = 20.0  # of the largest class to the smallest
LEAST_ROWS = 5  # of a class in the tail: folds need some
# Peers get N_AXES principal axes where there are more than MOST_COLUMNS columns: a fit of
# LogisticRegression on 2,048 columns takes minutes.
MOST_COLUMNS, N_AXES = 512, 256
# Of what says which rows are near a boundary; it has clean labels of other rows.
BOUNDARY_C, BOUNDARY_FOLDS = 10.0, 3
# Generated classes have unit variance, and their means lie around those of superclasses, so far
# apart that a linear classifier is right on 9 of 10 rows.
SUPERCLASS = np.repeat([0, 1, 2], 3)
APART, APART_INSIDE, N_FEATURES, CLASS_ROWS = 0.6, 0.55, 20, 330


@dataclass(frozen=True, eq=False)
class Data:
    """Rows with their true labels."""

    rows: NDArray[Any]  # (n_samples, n_features), as they come
    labels: NDArray[np.int64]  # 0 … n_classes - 1
    test_rows: NDArray[Any]
    test_labels: NDArray[np.int64]
    superclass: NDArray[np.int64] | None = None  # (n_classes,)
    votes: dict[str, NDArray[np.int64]] = field(default_factory=dict)  # by the noise they are

    def take(self, kept: NDArray[np.intp]) -> "Data":
        votes = {name: given[kept] for name, given in self.votes.items()}
        return replace(self, rows=self.rows[kept], labels=self.labels[kept], votes=votes)


@dataclass(frozen=True, eq=False)
class Task:
    """One draw of a setting."""

    X: NDArray[np.float32]  # as they come; standardised where they are tabular
    X_test: NDArray[np.float32]
    prepared: NDArray[np.float32]  # for peers: centred, of unit norm, on axes if there are many
    prepared_test: NDArray[np.float32]
    given: NDArray[np.int64]
    truth: NDArray[np.int64]
    test_labels: NDArray[np.int64]

    @property
    def wrong(self) -> NDArray[np.bool_]:
        return self.given != self.truth

    @property
    def digest(self) -> int:
        """The same for two runs only if they had the same labels of the same rows."""
        sample = np.ascontiguousarray(self.X[:: max(1, len(self.X) // 50)])
        return zlib.crc32(sample.tobytes(), zlib.crc32(self.given.tobytes()))

    def accuracy(self, predicted: NDArray[np.int64]) -> float:
        """Return the accuracy on test rows, weighted to the class fractions of training rows."""
        n_classes = int(self.truth.max()) + 1
        train, test = (
            np.bincount(each, minlength=n_classes) for each in (self.truth, self.test_labels)
        )
        weights = (train / np.maximum(test, 1))[self.test_labels]
        return float(np.average(predicted == self.test_labels, weights=weights))

    def f1(self, flagged: NDArray[np.bool_]) -> float | None:
        """Return the F1 of flags; None where no label is wrong."""
        if not self.wrong.any():
            return None
        return 2 * float((flagged & self.wrong).sum()) / float(flagged.sum() + self.wrong.sum())


@lru_cache(maxsize=1)  # peers and ours follow each other
def draw_task(setting: Setting, draw: int, folder: Path | None) -> Task:
    """Return the rows and labels of one draw; everybody gets the same."""
    generator = np.random.default_rng([draw, zlib.crc32(str(setting).encode())])
    known = SETS[setting.data]
    data = load(known.drawn_from or setting.data, folder)
    if known.drawn_from:
        data = some_classes(data, known.n_classes, generator)
    data = data.take(np.sort(shaped(data.labels, setting.shape, generator)))
    X, X_test = (each.astype(np.float32) for each in (data.rows, data.test_rows))
    if setting.data in TABULAR:
        mean, spread = X.mean(axis=0), X.std(axis=0)
        X, X_test = (X - mean) / spread, (X_test - mean) / spread
        prepared, prepared_test = X, X_test
    else:
        prepared, prepared_test = prepare(X, X_test)
    given = given_labels(data, prepared, setting, generator)
    return Task(X, X_test, prepared, prepared_test, given, data.labels, data.test_labels)


@lru_cache(maxsize=1)  # settings of one set follow each other
def load(name: str, folder: Path | None) -> Data:
    """Return a set with all of its rows."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        parts = train_test_split(X / 16, y, test_size=0.3, stratify=y, random_state=0)
        rows, test_rows, labels, test_labels = parts
        return Data(rows, labels, test_rows, test_labels)
    if name == "generated":
        return generate()
    if folder is None or not (folder / FILES[name]).is_file():
        raise FileNotFoundError(f"--features {folder} has no {FILES[name]}, which {name} needs.")
    with np.load(folder / FILES[name], allow_pickle=False) as arrays:
        X, X_test = arrays["X_train"], arrays["X_test"]
        y, y_test, superclass, *votes = (
            arrays[key].astype(np.int64) if key in arrays else None
            for key in ("y_train", "y_test", "superclass", *VOTES.values())
        )
    found = {name: given for name, given in zip(VOTES, votes, strict=True) if given is not None}
    return Data(X, y, X_test, y_test, superclass, found)


def generate() -> Data:
    generator = np.random.default_rng(0)
    means = APART * generator.normal(size=(SUPERCLASS.max() + 1, N_FEATURES))[SUPERCLASS]
    means += APART_INSIDE * generator.normal(size=means.shape)
    labels = np.repeat(np.arange(len(means)), CLASS_ROWS)
    rows, test_rows = (
        (means[labels] + generator.standard_normal((len(labels), N_FEATURES))).astype(np.float32)
        for _ in range(2)
    )
    return Data(rows, labels, test_rows, labels, SUPERCLASS)


def some_classes(data: Data, n_classes: int, generator: np.random.Generator) -> Data:
    """Return the rows of some classes, numbered anew."""
    chosen = np.sort(generator.choice(data.labels.max() + 1, n_classes, replace=False))
    parts = ((data.rows, data.labels), (data.test_rows, data.test_labels))
    kept = [(rows[found], y[found]) for rows, y in parts for found in [np.isin(y, chosen)]]
    (rows, y), (test_rows, y_test) = kept
    return Data(rows, np.searchsorted(chosen, y), test_rows, np.searchsorted(chosen, y_test))


def shaped(
    labels: NDArray[np.int64], shape: str, generator: np.random.Generator
) -> NDArray[np.intp]:
    """Return which rows are kept."""
    order = generator.permutation(len(labels))
    if shape in ("all", "3000"):
        return order if shape == "all" else order[:MOST_ROWS]
    sizes = np.bincount(labels)
    n_classes = len(sizes)
    if shape == "balanced":
        kept = np.full(n_classes, min(sizes.min(), MOST_ROWS // n_classes))
    elif shape == "few":
        kept = np.minimum(sizes, FEW_ROWS)
    else:  # "tail": n · 20^(-i / (K - 1)) of the class in place i of a random order
        profile = TAIL_RATIO ** (-generator.permutation(n_classes) / (n_classes - 1))
        largest = min(MOST_ROWS / profile.sum(), sizes.max())
        kept = np.clip(np.rint(largest * profile).astype(np.int64), LEAST_ROWS, sizes)
    return np.concatenate([order[labels[order] == k][:size] for k, size in enumerate(kept)])


def prepare(
    X: NDArray[np.float32], X_test: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return rows centred by the training mean and of unit norm, on principal axes if many."""
    centred = (each - X.mean(axis=0) for each in (X, X_test))
    rows, test_rows = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in centred)
    if X.shape[1] > MOST_COLUMNS:
        axes = PCA(min(N_AXES, len(X)), svd_solver="randomized", random_state=0).fit(rows)
        rows, test_rows = axes.transform(rows), axes.transform(test_rows)
    return rows, test_rows


def given_labels(
    data: Data, prepared: NDArray[np.float32], setting: Setting, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return the labels that a setting's noise makes of the true ones."""
    kind, rate, n_classes = setting.noise, setting.rate, int(data.labels.max()) + 1
    if kind == "none":
        return data.labels
    if kind in VOTES:
        return data.votes[kind]
    if kind == "boundary":
        likely = clean_probabilities(prepared, data.labels)
        drawn = noise.boundary_noise(data.labels, likely, rate, random_state=generator)
        return drawn.given_labels
    if kind == "one class":  # the largest, so that there is something to find
        largest = int(np.bincount(data.labels).argmax())
        matrix = np.eye(n_classes)
        matrix[largest] = noise.pair_flip(n_classes, rate)[largest]
    elif kind == "superclass":
        matrix = noise.superclass_noise(data.superclass, rate)
    else:
        make = {"symmetric": noise.symmetric, "pair": noise.pair_flip}[kind]
        matrix = make(n_classes, rate)
    return noise.corrupt_labels(data.labels, matrix, random_state=generator).given_labels


def clean_probabilities(X: NDArray[np.float32], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how likely each class is for each row by a fit to clean labels of other rows."""
    found = np.zeros((len(X), int(labels.max()) + 1))
    folds = StratifiedKFold(BOUNDARY_FOLDS, shuffle=True, random_state=0).split(X, labels)
    for train, held_out in folds:
        fitted = LogisticRegression(C=BOUNDARY_C, max_iter=1_000).fit(X[train], labels[train])
        found[held_out] = fitted.predict_proba(X[held_out])
    return found / found.sum(axis=1, keepdims=True)

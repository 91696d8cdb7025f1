"""Any table gives the right answer, or an error that names an argument.

One harness makes tables: types, missing values, names, encodings and scales. It asks every public
entry point for an answer, which a plain copy of the table, float64 and integers, tells in another
way; what is refused is refused by a sentence that names an argument, a column or the file.

The default run takes a few examples, `TWOHOT_EXAMPLES=2000` as many as continuous integration, and
the slow tests 100,000.
"""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from twohot import (
    DiscriminantProbe,
    LinearProbe,
    evaluate_probe,
    explain_label,
    find_data_issues,
    find_label_issues,
    top_candidates,
)
from twohot._checks.labels import code_labels
from twohot.classes import class_correlation, pair_statistics
from twohot.classes.description import describe_table
from twohot.tables import read_table

# Of the default run: a few seconds of the whole suite.
EXAMPLES = int(os.environ.get("TWOHOT_EXAMPLES", "200"))
SLOW_EXAMPLES = 100_000

N_ROWS, N_FEATURES = 24, 3
CLASSES = 3
# What a message may call by its name.
NAMED = ("X", "y", "labels", "source", "column", "table", "sample_weight", "features", ".csv")

CONTAINERS = ("array", "list", "pandas", "polars", "sparse", "fortran", "masked", "csv", "parquet")
CELLS = ("float64", "float32", "float16", "int64", "bool", "object", "text", "dates", "complex")
SCALES = (1.0, 1e-3, 1e6, 2.0**-40, 1e100, 1e-100)
DAMAGE = ("", "nan", "infinity", "masked", "ragged", "one more label", "no label", "one class")
NAMES = (
    "0",
    "1",
    "cat",
    "Cat",
    "",
    " cat",
    "cafe\u0301",
    "caf\u00e9",
    "=1+1",
    "\u202ebidi",
    "a,b",
    "a\nb",
    "nan",
)


@dataclass(frozen=True)
class Made:
    """One table as a user might pass it."""

    container: str = "array"
    cells: str = "float64"
    scale: float = 1.0
    damage: str = ""
    labels: tuple[Any, ...] = (0, 1, 2)  # names of the classes
    label_type: str = "list"
    seed: int = 0

    @property
    def true(self) -> Any:
        return np.arange(N_ROWS) % (1 if self.damage == "one class" else CLASSES)

    @property
    def plain(self) -> Any:
        """The features in float64."""
        rng = np.random.default_rng(self.seed)
        rows = 4 * np.eye(CLASSES, N_FEATURES)[self.true] + rng.integers(-2, 3, (N_ROWS, 3)) / 2
        rows[rng.integers(N_ROWS)] += 1
        return rows

    def features(self, folder: Path) -> Any:
        rows = self.plain * self.scale
        if self.damage in ("nan", "infinity"):
            rows[5, 1] = np.nan if self.damage == "nan" else np.inf
        with np.errstate(all="ignore"):
            made = _cells(rows, self.cells)
        if self.damage == "masked":
            return np.ma.masked_array(made, np.arange(made.size).reshape(made.shape) == 16)
        if self.damage == "ragged":
            return [*made.tolist()[:-1], made.tolist()[-1][:-1]]
        try:
            return CONTAIN[self.container](made, folder)
        except (ValueError, TypeError, NotImplementedError):
            return reject()  # a container that cannot hold such cells

    def given(self) -> Any:
        values = [self.labels[code] for code in self.true.tolist()]
        if self.damage == "one more label":
            values.append(self.labels[0])
        if self.damage == "no label":
            values[3] = None
        if self.label_type == "series":
            return pd.Series(values, dtype=object)
        if self.label_type == "array":
            return np.array(values, dtype=object)
        return values


def _cells(rows: Any, cells: str) -> Any:
    if cells == "text":
        return rows.astype(str)
    if cells == "dates":
        return np.nan_to_num(rows, posinf=0).clip(-1e9, 1e9).astype("i8").astype("M8[s]")
    if cells == "complex":
        return rows * 1j
    if cells == "bool":
        return rows > 0
    if cells == "int64":
        return np.nan_to_num(rows, posinf=0).clip(-1e15, 1e15).astype("i8")
    return rows.astype(cells)


def _frame(made: Any) -> pd.DataFrame:
    return pd.DataFrame(made, columns=[f"x{k}" for k in range(N_FEATURES)])


def _csv(made: Any, folder: Path) -> Path:
    _frame(made).to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def _parquet(made: Any, folder: Path) -> Path:
    _frame(made).to_parquet(folder / "t.parquet")
    return folder / "t.parquet"


CONTAIN: dict[str, Callable[[Any, Path], Any]] = {
    "array": lambda made, _: made,
    "list": lambda made, _: made.tolist(),
    "pandas": lambda made, _: _frame(made),
    "polars": lambda made, _: pl.from_pandas(_frame(made)),
    "sparse": lambda made, _: sp.csr_matrix(made),
    "fortran": lambda made, _: np.asfortranarray(made),
    "masked": lambda made, _: np.ma.masked_array(made),
    "csv": _csv,
    "parquet": _parquet,
}


def _codes(y: Any) -> Any:
    return code_labels(y).codes


def as_features(X: Any) -> Any:
    """Return what a call takes: a path is read first, as a command reads it."""
    return read_table(X, labelled=False).features if isinstance(X, Path) else X


def fitted(probe: Any, X: Any, y: Any) -> Any:
    found = probe.fit(as_features(X), y)
    return found.classes_[np.argmax(found.predict_proba(as_features(X)), axis=1)]


def audited(X: Any, y: Any) -> Any:
    rows = as_features(X)
    issues = find_label_issues(rows, y, probe=LinearProbe().fit(rows, y))
    find_data_issues(rows, issues)


def described(X: Any, y: Any) -> Any:
    """Describe a table of any container: what is none becomes a frame."""
    is_table = isinstance(X, Path | pd.DataFrame | pl.DataFrame)
    dense = X.toarray() if sp.issparse(X) else X
    describe_table(read_table(X if is_table else pd.DataFrame(dense), labels=y))


def evaluated(X: Any, y: Any) -> Any:
    rows = as_features(X)
    probe = LinearProbe().fit(rows, y)
    return probe.classes_ if evaluate_probe(probe, rows, y).n_rows else None


ENTRY_POINTS: dict[str, Callable[[Any, Any], Any]] = {
    "LinearProbe": lambda X, y: fitted(LinearProbe(), X, y),
    "DiscriminantProbe": lambda X, y: fitted(DiscriminantProbe(), X, y),
    "find_label_issues": audited,
    "evaluate_probe": evaluated,
    "explain_label": lambda X, y: explain_label(as_features(X), y, [0]) and None,
    "class_correlation": lambda X, y: class_correlation(as_features(X), _codes(y)) and None,
    "pair_statistics": lambda X, y: (
        pair_statistics(as_features(X), _codes(y), np.zeros(CLASSES, int)) and None
    ),
    "read_table": described,
    "top_candidates": lambda X, y: (
        top_candidates(LinearProbe().fit(as_features(X), y), as_features(X)) and None
    ),
}
# Answers of these are predictions, which the plain copy of a table tells too.
PREDICTING = ("LinearProbe", "DiscriminantProbe")

made_tables = st.builds(
    Made,
    container=st.sampled_from(CONTAINERS),
    cells=st.sampled_from(CELLS),
    scale=st.sampled_from(SCALES),
    damage=st.sampled_from(DAMAGE),
    labels=st.one_of(
        st.lists(st.sampled_from(NAMES), min_size=CLASSES, max_size=CLASSES, unique=True),
        st.permutations([3, -7, 10**12]),
        st.sampled_from(
            [[0.0, 1.0, 2.0], [0.5, 1, 2], [1j, 2, 3], [True, False, 2], [b"a", b"b", b"c"]]
        ),
    ).map(tuple),
    label_type=st.sampled_from(["list", "array", "series"]),
    seed=st.integers(0, 2**16),
)


def check(made: Made, call: str, folder: Path) -> None:
    """Fail unless an entry point answers rightly, or refuses by a sentence that names something."""
    features, labels = made.features(folder), made.given()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem, answer = "", None
        try:
            answer = ENTRY_POINTS[call](features, labels)
        except (ValueError, TypeError) as error:
            problem = str(error) or repr(error)
        if problem:
            assert any(name in problem for name in NAMED), problem
            return
        # What must be refused is: these have no right answer.
        assert made.damage not in ("nan", "infinity", "masked", "ragged") or _is_harmless(made)
        assert made.cells not in ("text", "dates", "complex") or made.container == "csv"
        if call in PREDICTING and not made.damage and _keeps_digits(made):
            expected = ENTRY_POINTS[call](made.plain, labels)
            assert np.mean(np.asarray(answer) == np.asarray(expected)) > 0.9


def _is_harmless(made: Made) -> bool:
    """Return whether cells of a type cannot hold the damage."""
    return made.damage in ("nan", "infinity") and made.cells in ("int64", "bool", "dates")


def _keeps_digits(made: Made) -> bool:
    """Return whether cells of a type hold the features at their scale."""
    if made.cells not in ("float64", "float32", "object", "text"):
        return False
    with np.errstate(over="ignore", under="ignore"):
        stored = _cells(made.plain * made.scale, made.cells).astype(float) / made.scale
    return np.allclose(stored, made.plain, rtol=1e-3)


# Findings, each of which once gave a wrong answer or a message without a name.
FINDINGS = (
    Made(damage="masked"),
    Made(cells="text"),
    Made(cells="dates", container="pandas"),
    Made(cells="text", container="list"),
    Made(labels=(1j, 2, 3)),
    Made(labels=("1", "1.0", "2")),
    Made(scale=1e100),
    Made(cells="complex", container="pandas"),
)


@pytest.mark.parametrize("made", FINDINGS, ids=repr)
@pytest.mark.parametrize("call", list(ENTRY_POINTS))
def test_findings_stay_mended(made, call, tmp_path) -> None:
    check(made, call, tmp_path)


@settings(max_examples=EXAMPLES)
@given(made=made_tables, call=st.sampled_from(list(ENTRY_POINTS)))
def test_any_table_is_answered_rightly_or_refused_by_name(made, call, tmp_path_factory) -> None:
    check(made, call, tmp_path_factory.getbasetemp())


@pytest.mark.slow
@settings(max_examples=SLOW_EXAMPLES)
@given(made=made_tables, call=st.sampled_from(list(ENTRY_POINTS)))
def test_many_tables_are_answered_rightly_or_refused_by_name(made, call, tmp_path_factory) -> None:
    check(made, call, tmp_path_factory.getbasetemp())

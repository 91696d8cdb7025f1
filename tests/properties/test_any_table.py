"""Any table gives the right answer, or an error that names an argument.

Tables differ in their container, the type of their cells, scale, damage and names of classes. The
right answer is that for a plain copy of the table, of float64.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from hypothesis import reject
from hypothesis import strategies as st
from refusals import answer_of, fuzzed

from twohot import (
    AutoProbe,
    DiscriminantProbe,
    DistilledProbe,
    LinearProbe,
    PartialLabelProbe,
    evaluate_probe,
    explain_label,
    find_data_issues,
    find_label_issues,
    forecast,
    load,
    top_candidates,
)
from twohot.base.labels import code_labels
from twohot.describe import class_correlation, cluster_classes, pair_statistics
from twohot.describe.description import describe_table
from twohot.tables import FeatureTable, read_features, read_table, write_features

N_ROWS, N_FEATURES, N_CLASSES = 24, 3, 3
CHUNK_ROWS = 10

CELLS = ("float64", "float32", "float16", "int64", "bool", "object", "text", "dates", "complex")
SCALES = (1.0, 1e-3, 1e6, 2.0**-40, 1e100, 1e-100)
# Damage that has no right answer.
REFUSED = ("nan", "infinity", "masked", "ragged", "one more label", "one huge row")
DAMAGE = ("", *REFUSED, "no label", "one class")
ACCENTS = ("caf\u00e9", "cafe\u0301")
NAMES = (
    "0",
    "1",
    "1.0",
    "cat",
    "Cat",
    " cat",
    *ACCENTS,
    "=1+1",
    "\u202ebidi",
    "a,b",
    "a\nb",
    "nan",
)
WEIGHTS: dict[str, Any] = {
    "": None,
    "one": np.ones(N_ROWS),
    "whole": np.ones(N_ROWS, int),
    "text": np.full(N_ROWS, "1"),
    "objects": np.full(N_ROWS, "1", object),
    "dates": np.full(N_ROWS, np.datetime64(1, "s")),
    "complex": np.full(N_ROWS, 1j),
    "columns": np.ones((N_ROWS, 2)),
    "zero": np.zeros(N_ROWS),
    "nan": np.full(N_ROWS, np.nan),
    "infinite": np.full(N_ROWS, np.inf),
    "negative": -np.ones(N_ROWS),
    "few": np.ones(3),
    "masked": np.ma.masked_array(np.ones(N_ROWS), np.arange(N_ROWS) == 3),
}
GOOD_WEIGHTS = ("", "one", "whole")
SEEDS: tuple[Any, ...] = (0, np.int64(7), None, "x", 1.5, -1, True, [1])
GOOD_SEEDS = SEEDS[:3]


@dataclass(frozen=True)
class Made:
    """One table as a user might pass it."""

    container: str = "array"
    cells: str = "float64"
    scale: float = 1.0
    damage: str = ""
    labels: tuple[Any, ...] = (0, 1, 2)  # names of the classes
    label_type: str = "list"
    weight: str = ""
    seed: Any = 0  # random_state
    drawn: int = 0  # seed of the features

    @property
    def true(self) -> Any:
        return np.arange(N_ROWS) % (1 if self.damage == "one class" else N_CLASSES)

    @property
    def plain(self) -> Any:
        """The features in float64."""
        rng = np.random.default_rng(self.drawn)
        size = (N_ROWS, N_FEATURES)
        rows = 4 * np.eye(N_CLASSES, N_FEATURES)[self.true] + rng.integers(-2, 3, size) / 2
        rows[rng.integers(N_ROWS)] += 1
        return rows

    def features(self, folder: Path) -> Any:
        rows = self.plain * self.scale
        if self.damage in ("nan", "infinity"):
            rows[5, 1] = np.nan if self.damage == "nan" else np.inf
        if self.damage == "one huge row":
            rows[5] = 1e300
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

    @property
    def keeps_digits(self) -> bool:
        """Whether its cells hold the features at their scale."""
        if self.cells not in ("float64", "float32", "object"):
            return False
        with np.errstate(over="ignore", under="ignore"):
            stored = _cells(self.plain * self.scale, self.cells).astype(float) / self.scale
        return bool(np.allclose(stored, self.plain, rtol=1e-3))


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


def _file(made: Any, path: Path) -> Path:
    frame = _frame(made)
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    return path


def _in_chunks(made: Any, _: Path) -> Any:
    """Return a Dask array whose declared type is float64, whatever the cells are."""
    starts = range(0, N_ROWS, CHUNK_ROWS)
    parts = (made[start : start + CHUNK_ROWS] for start in starts)
    return da.concatenate(
        [da.from_delayed(dask.delayed(part), part.shape, dtype=float) for part in parts]
    )


CONTAIN: dict[str, Callable[[Any, Path], Any]] = {
    "array": lambda made, _: made,
    "list": lambda made, _: made.tolist(),
    "pandas": lambda made, _: _frame(made),
    "polars": lambda made, _: pl.from_pandas(_frame(made)),
    "sparse": lambda made, _: sp.csr_matrix(made),
    "fortran": lambda made, _: np.asfortranarray(made),
    "masked": lambda made, _: np.ma.masked_array(made),
    "csv": lambda made, folder: _file(made, folder / "t.csv"),
    "parquet": lambda made, folder: _file(made, folder / "t.parquet"),
    "dask": _in_chunks,
}


# Entry points -------------------------------------------------------------------------------------


def as_features(X: Any) -> Any:
    """Return features as passed to a call; a file is read first."""
    return read_table(X, labelled=False).features if isinstance(X, Path) else X


def in_memory(X: Any) -> Any:
    """Return features for a call that takes no Dask arrays."""
    return reject() if isinstance(X, da.Array) else as_features(X)


def fitted(probe: Any, X: Any, y: Any, made: Made) -> Any:
    rows = as_features(X)
    found = probe.fit(rows, y, sample_weight=WEIGHTS[made.weight])
    return np.asarray(found.predict(rows))


def predicted(X: Any, made: Made) -> Any:
    """Predict by a probe of the plain copy, from its file."""
    with TemporaryDirectory() as folder:
        LinearProbe().fit(made.plain * made.scale, made.true).save(f"{folder}/p")
        return np.asarray(load(f"{folder}/p").predict(as_features(X)))


def stored(X: Any, y: Any, _: Made) -> Any:
    """Write a feature file and read it."""
    features, labels = in_memory(X), code_labels(y, by_name=True)
    if not hasattr(features, "shape") or isinstance(features, pd.DataFrame | pl.DataFrame):
        return reject()  # a table takes arrays
    names = tuple(labels.classes.tolist())
    table = FeatureTable(features=features, labels=labels.codes, classes=names)
    with TemporaryDirectory() as folder:
        write_features(f"{folder}/t.features", table)
        again = read_features(f"{folder}/t.features")
    assert again.given_labels.tolist() == table.given_labels.tolist()
    return np.asarray(again.features) / np.abs(again.features).max()


def audited(X: Any, y: Any, made: Made, **options: Any) -> Any:
    rows = in_memory(X)
    issues = find_label_issues(rows, y, random_state=made.seed, **options)
    find_data_issues(rows, issues)
    return issues["is_label_issue"]


def audited_by_probabilities(X: Any, y: Any, made: Made) -> Any:
    shares = (np.eye(N_CLASSES) * 8 + 1)[made.true] / (8 + N_CLASSES)
    return audited(X, y, made, probabilities=shares[:, : len(set(made.true.tolist()))])


def audited_by_groups(X: Any, y: Any, made: Made) -> Any:
    return audited(X, y, made, groups=np.arange(N_ROWS) // 2)


def described(X: Any, y: Any, _: Made) -> Any:
    """Describe a table; features without columns become a frame."""
    is_table = isinstance(X, Path | pd.DataFrame | pl.DataFrame)
    dense = X.toarray() if sp.issparse(X) else X
    table = read_table(X if is_table else _frame(in_memory(dense)), labels=y)
    assert describe_table(table)
    features = np.asarray(table.features)
    return features / np.abs(features).max()


def correlated(X: Any, y: Any, _: Made) -> Any:
    found = class_correlation(in_memory(X), code_labels(y).codes)
    assert len(cluster_classes(found.means).superclass) == len(found.means)
    return found.means


def paired(X: Any, y: Any, _: Made) -> Any:
    codes = code_labels(y)
    pair_statistics(in_memory(X), codes.codes, np.zeros(codes.n_classes, int))


def evaluated(X: Any, y: Any, _: Made) -> Any:
    rows = in_memory(X)
    return float(evaluate_probe(LinearProbe().fit(rows, y), rows, y).accuracy)


def candidates(X: Any, y: Any, _: Made) -> Any:
    rows = in_memory(X)
    return top_candidates(LinearProbe().fit(rows, y).predict_proba(rows), 2).toarray()


def explained(X: Any, y: Any, _: Made) -> Any:
    assert explain_label(in_memory(X), y, [0])


def forecasted(X: Any, y: Any, made: Made) -> Any:
    assert str(forecast(in_memory(X), y, random_state=made.seed))


def with_seed(probe: Callable[..., Any]) -> Callable[[Any, Any, Made], Any]:
    return lambda X, y, made: fitted(probe(random_state=made.seed), X, y, made)


FAST: dict[str, Callable[[Any, Any, Made], Any]] = {
    "LinearProbe": with_seed(LinearProbe),
    "DistilledProbe": with_seed(DistilledProbe),
    "PartialLabelProbe": with_seed(PartialLabelProbe),
    "DiscriminantProbe": lambda X, y, made: fitted(DiscriminantProbe(), X, y, made),
    "predict": lambda X, _, made: predicted(X, made),
    "find_label_issues by probabilities": audited_by_probabilities,
    "evaluate_probe": evaluated,
    "explain_label": explained,
    "class_correlation": correlated,
    "pair_statistics": paired,
    "read_table": described,
    "write_features": stored,
    "top_candidates": candidates,
}
# These take a tenth of a second each.
SLOW: dict[str, Callable[[Any, Any, Made], Any]] = {
    "AutoProbe": with_seed(AutoProbe),
    "find_label_issues": audited,
    "find_label_issues by groups": audited_by_groups,
    "forecast": forecasted,
}
ENTRY_POINTS = FAST | SLOW
SEEDED = ("LinearProbe", "DistilledProbe", "PartialLabelProbe", *SLOW)
WEIGHTED = (*SEEDED[:3], "DiscriminantProbe", "AutoProbe")
UNLABELLED = ("predict",)
STORES = ("write_features",)  # store any floats

made_tables = st.builds(
    Made,
    container=st.sampled_from(list(CONTAIN)),
    cells=st.sampled_from((*CELLS, *["float64"] * 6)),
    scale=st.sampled_from(SCALES),
    damage=st.sampled_from((*DAMAGE, *[""] * 8)),
    labels=st.one_of(
        st.lists(st.sampled_from(NAMES), min_size=N_CLASSES, max_size=N_CLASSES, unique=True),
        st.permutations([3, -7, 10**12]),
        st.sampled_from(
            [[0.0, 1.0, 2.0], [0.5, 1, 2], [1j, 2, 3], [True, False, 2], [b"a", b"b", b"c"]]
        ),
    ).map(tuple),
    label_type=st.sampled_from(["list", "array", "series"]),
    weight=st.sampled_from((*WEIGHTS, *[""] * len(WEIGHTS))),
    seed=st.sampled_from((*SEEDS, *[0] * len(SEEDS))),
    drawn=st.integers(0, 2**16),
)


# The property -------------------------------------------------------------------------------------


def must_be_refused(made: Made, call: str) -> bool:
    """Return whether there is no right answer."""
    damage = made.damage
    if damage in ("nan", "infinity", "one huge row") and made.cells in ("int64", "bool", "dates"):
        damage = ""  # cells of these types cannot hold it
    if damage in ("nan", "infinity") and call in STORES:
        damage = ""
    if damage == "one huge row" and not (made.cells == "float64" and call in WEIGHTED):
        damage = ""
    if damage == "one more label" and call in UNLABELLED:
        damage = ""
    return (
        damage in REFUSED
        or (made.cells in ("text", "dates", "complex") and made.container != "csv")
        or (made.weight not in GOOD_WEIGHTS and call in WEIGHTED)
        or (made.seed not in GOOD_SEEDS and call in SEEDED)
        or (made.seed is True and call in SEEDED)
    )


def is_alike(found: Any, expected: Any) -> bool:
    """Return whether an answer is that for a plain copy, except for lost digits."""
    left, right = np.asarray(found), np.asarray(expected)
    if left.dtype.kind == "f":
        return bool(np.allclose(left, right, rtol=1e-2, atol=1e-2, equal_nan=True))
    return bool(np.mean(left == right) > 0.9)


def check(call: str, made: Made, tmp_path_factory: Any) -> None:
    """Fail unless an entry point answers correctly, or refuses an argument by name."""
    features, labels = made.features(tmp_path_factory.getbasetemp()), made.given()
    with dask.config.set(scheduler="synchronous"):  # threads share warning filters
        found, refused = answer_of(lambda: ENTRY_POINTS[call](features, labels, made))
    if refused:
        return
    assert not must_be_refused(made, call)
    if not made.damage and made.keeps_digits:
        plain = replace(made, scale=1.0, weight="")
        expected, refused = answer_of(lambda: ENTRY_POINTS[call](made.plain, labels, plain))
        assert not refused
        assert found is expected is None or is_alike(found, expected)


# Each of these once gave a wrong answer, or an error without a name.
FINDINGS = (
    *(Made(damage=damage) for damage in ("masked", "one huge row")),
    Made(cells="text"),
    *(Made(cells="text", container=container) for container in ("list", "dask")),
    *(Made(cells="complex", container=container) for container in ("pandas", "dask")),
    Made(cells="dates", container="pandas"),
    *(Made(labels=labels) for labels in ((1j, 2, 3), ("1", "1.0", "2"))),
    Made(scale=1e100),
    *(Made(weight=weight) for weight in ("zero", "columns", "text")),
    Made(seed="x"),
)


# 2,000 examples of all properties run with all tests, and 100,000 by `make test-slow`.
test_table_is_answered_or_refused, test_many_tables = fuzzed(
    check, 88, 4620, *FINDINGS, calls=FAST, made=made_tables
)
test_table_is_audited_or_refused, test_many_tables_are_audited = fuzzed(
    check, 30, 1500, *FINDINGS, calls=SLOW, made=made_tables
)

"""Nothing is done twice: what an audit checks, codes, prepares and fits is counted call by call."""

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import problems
import twohot
from twohot import find_label_issues, forecast
from twohot.audit.folder import write_audit_folder
from twohot.audit.report import review_rows, review_summary
from twohot.tables import FeatureTable

SOURCE = str(Path(twohot.__file__).parent)
DATA = problems.digits(0.3, 300)
NAMES = np.array([*"abcdefghij"], dtype=object)[DATA.given_labels]


class Calls(Counter[str]):
    """How often each function of the package was called, and with what a few of them were."""

    def __init__(self) -> None:
        super().__init__()
        self.modules: set[str] = set()  # that were entered
        self.weighed: list[Any] = []  # members and noise that weights were fitted for
        self.asked: set[Any] = set()  # members of the library and folds that they were fitted on

    def record(self, frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(SOURCE):
            return
        self[code.co_qualname] += 1
        self.modules.add(code.co_filename)
        if code.co_qualname == "weigh":
            known = frame.f_locals
            members = tuple(float(np.square(each).sum()) for each in known["members"])
            self.weighed.append((members, known["noise"].tobytes()))
        if code.co_qualname == "Library._fit":
            self.asked.add((frame.f_locals["recipe"], frame.f_locals["fold"]))
        if code.co_qualname == "fit_round":
            self[f"fit_round to {type(frame.f_locals['given']).__name__}"] += 1


@contextmanager
def counted() -> Iterator[Calls]:
    calls = Calls()
    threading.setprofile(calls.record)
    sys.setprofile(calls.record)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def calls_of(run: Callable[[], Any]) -> tuple[Calls, Any]:
    with counted() as calls:
        found = run()
    return calls, found


@pytest.mark.parametrize("unlabelled", [0, 40])
def test_an_audit_does_nothing_twice(unlabelled):
    labels = NAMES.copy()
    labels[:unlabelled] = None
    calls, issues = calls_of(lambda: find_label_issues(DATA.X, labels, n_jobs=1))
    once = ("check_features", "code_labels", "draw_sample", "distance_from_mean", "audited_ids")
    assert {name: calls[name] for name in once} == dict.fromkeys(once, 1)
    # All rows are prepared once, their distances from the mean need it, and two ways of preparing
    # a few rows are compared.
    assert calls["prepare"] == 1 + 2
    assert calls["fit_preparation"] == calls["prepare"] + 1
    # Labels are checked where they are coded, and not again.
    assert calls["Labels.__post_init__"] == 1
    # Neighbours are searched once for copies, and once for votes, which all rounds take.
    assert calls["nearest_rows"] == 2
    assert calls["as_text"] <= 10 * len(set(NAMES))  # of names of classes, and of no row
    assert issues.n_issues > 30
    assert len(calls.modules) <= 50  # stops of a reader who follows it


def test_each_model_is_fitted_once():
    calls, issues = calls_of(lambda: find_label_issues(DATA.X, DATA.given_labels, n_jobs=1))
    assert len(calls.weighed) == len(set(calls.weighed)) == calls["weigh"] > 3
    choice = issues.probe.choice_
    n_tried = sum(entry.ridge is not None for entry in choice.tried)
    assert calls["Library.attempt"] == n_tried
    assert len(calls.asked) == n_tried * choice.n_folds  # all rows are compared on
    assert calls["fit_round to LabelTargets"] == len(calls.asked)
    # Robust members on plain and on half-whitened rows, in each round and fold.
    n_soft = 2 * choice.n_rounds * choice.n_folds
    assert calls["fit_round to StoredTargets"] == n_soft + calls["make_round"]


def test_a_forecast_does_nothing_twice():
    calls, _ = calls_of(lambda: forecast(DATA.X, DATA.given_labels, n_jobs=1))
    assert calls["code_labels"] == calls["draw_sample"] == calls["judge_rows"] == 1
    assert calls["compare"] == 1


def test_the_folder_of_an_audit_reads_the_rows_once_more(tmp_path):
    classes = tuple("abcdefghij")
    table = FeatureTable(features=DATA.X, labels=DATA.given_labels, classes=classes)
    issues = find_label_issues(table.features, table.coded, n_jobs=1)

    def write() -> None:
        summary = review_summary(table.features, issues, title="", details={})
        write_audit_folder(tmp_path, review_rows(table, issues), summary)

    calls, _ = calls_of(write)
    # Correlations, neighbours, evidence and the map share one check and one mean of the rows.
    assert calls["check_features"] == calls["fit_preparation"] == calls["nearest_rows"] == 1
    assert calls["AuditedRows.open"] == 3
    assert calls["RowIds.__iter__"] == 1

"""Nothing is computed twice: calls of functions that check, code, prepare and fit are counted."""

import sys
import threading
from collections import Counter
from collections.abc import Callable
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
    """Number of calls by function of the package, and the arguments of two functions."""

    def __init__(self) -> None:
        super().__init__()
        self.modules: set[str] = set()  # modules of the functions that were called
        self.weighed: list[Any] = []  # members and noise of each call of `weigh`
        self.fitted: set[Any] = set()  # recipe and fold of each call of `Library._fit`

    def record(self, frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(SOURCE):
            return
        self[code.co_qualname] += 1
        self.modules.add(code.co_filename)
        values = frame.f_locals
        if code.co_qualname == "weigh":
            members = tuple(float(np.square(each).sum()) for each in values["members"])
            self.weighed.append((members, values["noise"].tobytes()))
        if code.co_qualname == "Library._fit":
            self.fitted.add((values["recipe"], values["fold"]))
        if code.co_qualname == "fit_round":
            self[f"fit_round to {type(values['given']).__name__}"] += 1


def calls_of(run: Callable[[], Any]) -> tuple[Calls, Any]:
    calls = Calls()
    threading.setprofile(calls.record)
    sys.setprofile(calls.record)
    try:
        return calls, run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@pytest.mark.parametrize("unlabelled", [0, 40])
def test_an_audit_does_nothing_twice(unlabelled):
    labels = NAMES.copy()
    labels[:unlabelled] = None
    calls, issues = calls_of(lambda: find_label_issues(DATA.X, labels, n_jobs=1))
    once = ("check_features", "code_labels", "draw_sample", "distance_from_mean", "audited_ids")
    assert {name: calls[name] for name in once} == dict.fromkeys(once, 1)
    # All rows are prepared once. A sample is prepared in two ways, which are compared.
    assert calls["prepare"] == 1 + 2
    assert calls["fit_preparation"] == calls["prepare"] + 1  # for distances from the mean
    # Labels are checked only where they are coded.
    assert calls["Labels.__post_init__"] == 1
    # Neighbours are searched once for copies, and once for the votes of all rounds.
    assert calls["nearest_rows"] == 2
    assert calls["as_text"] <= 10 * len(set(NAMES))  # called for classes, not for rows
    assert issues.n_issues > 30
    assert len(calls.modules) <= 50  # so that a reader can follow an audit


def test_each_model_is_fitted_once():
    calls, issues = calls_of(lambda: find_label_issues(DATA.X, DATA.given_labels, n_jobs=1))
    assert len(calls.weighed) == len(set(calls.weighed)) == calls["weigh"] > 3
    choice = issues.probe.choice_
    n_tried = sum(entry.ridge is not None for entry in choice.tried)
    assert calls["Library.attempt"] == n_tried
    assert len(calls.fitted) == n_tried * choice.n_folds
    assert calls["fit_round to LabelTargets"] == len(calls.fitted)
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

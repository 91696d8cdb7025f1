"""Damaged files give an audit, decisions, or an error that names the file."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits import audit_rows
from mutations import changed_bytes, changed_json, read_or_refused
from twohot.audit.folder import read_audit_folder, write_audit_folder
from twohot.review.decisions import apply_decisions, read_decisions
from twohot.review.records import ReviewSummary
from twohot.tables.csv_file import write_csv

ROWS = audit_rows(6, items=tuple("abcdef"), item_kind="text")


@pytest.fixture(scope="module", params=["summary.json", "issues.csv"])
def file(request, tmp_path_factory):
    """The path and the content of a file of an audit."""
    folder = tmp_path_factory.mktemp("audit")
    write_audit_folder(folder, ROWS, ReviewSummary())
    return folder / request.param, (folder / request.param).read_bytes()


@given(data=st.data())
def test_changed_bytes_give_the_audit_or_name_the_file(file, data):
    path, content = file
    path.write_bytes(data.draw(changed_bytes(content)))
    with read_or_refused(path.parent):
        assert read_audit_folder(path.parent).report_id() == ROWS.report_id()


@given(data=st.data())
def test_any_summary_gives_the_audit_or_names_the_file(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp() / "summaries"
    write_audit_folder(folder, ROWS, ReviewSummary(), force=True)
    path = folder / "summary.json"
    summary = data.draw(changed_json(json.loads(path.read_text())))
    path.write_text(json.dumps(summary))
    with read_or_refused(path.parent):
        assert read_audit_folder(folder).report_id() == ROWS.report_id()


@given(data=st.data())
def test_changed_bytes_give_decisions_or_name_the_file(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "decisions.csv"
    lines = [[ROWS.report_id(), "0", "accept", ""], [ROWS.report_id(), "2", "relabel", "fox"]]
    write_csv(path, ["report", "row", "decision", "label"], lines)
    path.write_bytes(data.draw(changed_bytes(path.read_bytes())))
    with read_or_refused(path):
        for decision in read_decisions(path):
            with suppress(ValueError):  # another row or class has its own error
                apply_decisions(ROWS, [decision])

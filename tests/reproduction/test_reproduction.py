"""The runs of a reproduction: results, missing data, estimated time, pages."""

import json
import re
from pathlib import Path

import pytest

from benchmarks.sgd.trainer import SgdResult, SgdRun
from small_data import write_small_data
from twohot_paper import Log, Record, identity
from twohot_paper.data_set import read_data_set
from twohot_paper.exhibit import RUN_KINDS, choose_exhibits
from twohot_paper.reproduction import Reproduction
from twohot_paper.runs import kind_name
from twohot_paper.synthetic_makers import EigenvalueResult, EigenvalueRun
from twohot_paper.synthetic_outputs import OutputResult, OutputRun
from twohot_paper.synthetic_setting import SyntheticMatrix

MATRIX = SyntheticMatrix()
RECORDS = Path(__file__).parents[2] / "docs" / "reproduction" / "runs.jsonl"


class CountingLog(Log):
    """A log that counts how often its file is read."""

    n_readings = 0

    def _lines(self):
        self.n_readings += 1
        return super()._lines()


@pytest.fixture
def log(tmp_path):
    """Return a log with finished runs of two kinds, and a failed one."""
    log = CountingLog(tmp_path / "runs.jsonl")
    ended = [
        (OutputRun(MATRIX, 0.1), OutputResult([]), None),
        (EigenvalueRun(MATRIX), EigenvalueResult([0.5]), None),
        (OutputRun(MATRIX, 0.2), None, "ValueError: no luck"),
    ]
    for run, result, error in ended:
        log.append(Record(run, result, error, 0.1, 0.1, {}))
    return log


def test_reads_the_log_once(log):
    results = Reproduction([], {}, log).results()
    assert list(results) == [OutputRun(MATRIX, 0.1), EigenvalueRun(MATRIX)]
    assert results[EigenvalueRun(MATRIX)].factors == [0.5]
    assert log.n_readings == 1


def test_all_published_records_are_readable():
    log = Log(RECORDS)
    found = {identity(run) for run in Reproduction([], {}, log).results()}
    found |= {identity(each.run) for each in log.finished(SgdRun, SgdResult)}
    kinds = {kind_name(run) for run in (*RUN_KINDS, SgdRun)}
    lines = map(json.loads, RECORDS.read_text("utf-8").splitlines())
    assert found == {line["id"] for line in lines if line["kind"] in kinds and not line["error"]}


def test_exhibits_of_missing_data_are_skipped(tmp_path):
    path = write_small_data(tmp_path)
    chosen = choose_exhibits(["fig:gram_mat", "fig:topk", "fig:real_gain", "tab:sym_base"])
    work = Reproduction(chosen, {str(path): read_data_set(path)}, Log(tmp_path / "runs.jsonl"))
    missing = {exhibit.id: lacks for exhibit, lacks in work.missing().items()}
    assert missing.keys() == {"fig:gram_mat", "fig:topk"}
    assert "a file whose name starts with cifar100" in missing["fig:topk"]
    tables = [table for each in work.able().exhibits for table in work.make(each, {}).tables]
    assert tables == []


def test_page_of_verdicts_is_short_and_its_links_exist():
    page = RECORDS.parents[1] / "reproduction.md"
    text = page.read_text("utf-8")
    assert len(text.split()) <= 3000
    linked = set(re.findall(r"\]\((reproduction/[^)#]+\.md)", text))
    assert len(linked) > 30
    assert [each for each in linked if not (page.parent / each).exists()] == []

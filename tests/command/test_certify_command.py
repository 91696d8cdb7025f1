"""`twohot audit --draw-check`, `certify`, `review` and `verify`, and the gate of `twohot audit`.

What these commands refuse is in `test_command_refusals.py`.
"""

import json
import re
import shutil
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from label_tables import (
    NAMES,
    blobs,
    column,
    done,
    everything,
    refused,
    run,
    write_table,
    wrong_every,
)

from twohot.audit import read_audit_folder, review_of, write_review_certificate
from twohot.tables.csv_file import read_csv, write_csv

N_ROWS = 900


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """A table whose every fifth label is wrong, its audit with a draw, and the true names."""
    folder = tmp_path_factory.mktemp("certified")
    features, true = blobs(N_ROWS)
    table = write_table(folder / "table.csv", features, label=wrong_every(true, 5))
    audit = ("audit", table, "-o", folder / "audit", "--quiet", "--draw-check", 0.1, "--seed", 2)
    return folder, [NAMES[k] for k in true], done(*audit).output


@pytest.fixture
def audit(audited, tmp_path):
    """A copy of that audit, without a list."""
    return shutil.copytree(audited[0] / "audit", tmp_path / "copied")


def fill(audit, true, target, **changes):
    """Write check.csv with a verdict on every row, some of them changed."""
    header, *lines = read_csv(audit / "check.csv")
    verdicts = {
        line[0]: "right" if true[int(line[0])] == line[2] else "wrong" for line in lines
    } | changes
    write_csv(target, header, [[*line[:3], verdicts[line[0]]] for line in lines])
    return target


@pytest.fixture
def checked(audited, audit, tmp_path):
    """The verdicts on the drawn rows."""
    return fill(audit, audited[1], tmp_path / "done.csv")


@pytest.fixture
def certified(audit, checked):
    """The certificate of a list."""
    done("certify", audit, checked)
    return audit / "certificate.json"


def test_a_list_is_certified_and_verified(audited, audit, checked):
    folder, true, said = audited
    n_flagged = column(audit / "issues.csv", "is_label_issue").count("true")
    given, suggested = (
        np.array(column(audit / "issues.csv", f"{name}_label")) for name in ("given", "predicted")
    )
    n_pool = min(-(-3 * n_flagged // 2), np.count_nonzero(given != suggested))
    n_rows = len(column(audit / "check.csv", "id"))
    pool = f"the {n_pool} most suspicious rows whose suggestion differs from their label"
    assert f"Drawn from {pool}: {n_rows} rows to check." in said
    assert f"twohot certify {folder / 'audit'} {folder / 'audit' / 'check.csv'}" in said
    result = done("certify", audit, checked, "--fdr", 0.1)
    ids = column(audit / "certified.csv", "id")
    assert f"{len(ids)} labels listed as wrong. On average over" in result.output
    right = np.array([true[int(row)] for row in ids])
    assert np.mean(column(audit / "certified.csv", "given_label") == right) < 0.3
    assert np.mean(column(audit / "certified.csv", "suggested_label") == right) > 0.6
    verified = done("verify", audit / "certificate.json").output
    assert f"Valid: {len(ids)} labels listed as wrong." in verified
    first = (audit / "certificate.json").read_bytes()
    assert "certified.csv" in refused("certify", audit, checked)
    said = refused("certify", audit, "--extend", 100)
    assert "--extend=100 needs an empty list, and this list has" in said
    done("certify", audit, checked, "--force")
    # A certificate has no path and no time.
    assert (audit / "certificate.json").read_bytes() == first
    assert str(audit) not in json.dumps(json.loads(first))
    table, alone = folder / "table.csv", shutil.copy(audit / "certificate.json", audit.parent)
    done("verify", audit / "certificate.json", table)
    said = refused("verify", alone, table)
    assert "certifies a list, and its audit is needed to verify it: pass the folder" in said


def test_rejects_a_second_draw_a_check_of_another_audit_and_few_flags(
    audited, audit, checked, tmp_path
):
    folder = audited[0]
    draw = ("audit", folder / "table.csv", "-o", audit, "--quiet", "--draw-check", 0.1, "--force")
    said = "a second draw would void the guarantee of both draws: finish the check of this folder"
    before = everything(audit)
    assert said in refused(*draw)
    assert everything(audit) == before
    features, true = blobs(N_ROWS, seed=1)
    other = write_table(tmp_path / "other.csv", features, label=wrong_every(true, 5))
    done("audit", other, "-o", tmp_path / "audit", "--quiet")
    said = refused("certify", tmp_path / "audit", checked)
    assert "check.json does not exist: draw rows first, with twohot audit --draw-check" in said
    (tmp_path / "audit" / "check.json").write_bytes((audit / "check.json").read_bytes())
    said = refused("certify", tmp_path / "audit", checked)
    assert "another audit, because labels or scores changed after the draw" in said
    options = ("-o", tmp_path / "few", "--quiet", "--draw-check", 0.01)
    said = refused("audit", folder / "table.csv", *options)
    assert "--draw-check=0.01 needs 300 checked rows, and only" in said
    assert not (tmp_path / "few" / "check.csv").exists()


def test_a_second_attempt_has_half_the_rate(audited, audit, tmp_path):
    first = column(audit / "check.csv", "id")
    unsure = fill(audit, audited[1], tmp_path / "one.csv", **dict.fromkeys(first, "unsure"))
    said = done("certify", audit, unsure).output
    assert "No list: with 30 checked rows, a list needs at least" in said
    assert column(audit / "certified.csv", "id") == []
    done("verify", audit / "certificate.json")
    assert "pass more than 30, the number of rows" in refused("certify", audit, "--extend", 9)
    extended = done("certify", audit, "--extend", 150)
    assert (
        "Drawn: 120 more rows. The next list has a false discovery rate of at most 0.05."
        in extended.output
    )
    verdicts = (column(audit / "check.csv", name) for name in ("id", "verdict"))
    known = {row: verdict for row, verdict in zip(*verdicts, strict=True) if verdict}
    assert set(known) == set(first)
    changed = fill(audit, audited[1], tmp_path / "two.csv")
    assert "checked has another verdict on row" in refused("certify", audit, changed)
    both = fill(audit, audited[1], tmp_path / "two.csv", **known)
    said = done("certify", audit, both).output
    assert "Attempt 2 has a false discovery rate of at most 5%; the lists of all" in said
    done("verify", audit / "certificate.json")
    fields = json.loads((audit / "certificate.json").read_text())
    assert (fields["fdr"], fields["n_checked"]) == (0.1, [30, 150])


# A gate ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (
            ["5%", "--fail-on", "upper"],
            3,
            r"Failed: up to \d+\.\d\d% .*, more than the allowed 5\.00%\.",
        ),
        ([".05", "--fail-on", "estimate"], 3, r"Failed: about 14\.67% of the labels of table\.csv"),
        (["50 %", "--fail-on", "upper"], 0, r"Passed: up to .* within the allowed 50\.00%\."),
        # Few rows: the lower end is 0.
        (
            ["5%", "--annotations"],
            0,
            r"::warning .*\n*Passed: .* higher: 14\.67%\. To compare the estimate, pass",
        ),
    ],
)
def test_a_failed_gate_exits_with_code_3(noisy, tmp_path, options, code, message):
    result = run(
        "audit", noisy / "table.csv", "-o", tmp_path / "audit", "--quiet", "--fail-above", *options
    )
    assert result.exit_code == code, result.output
    assert re.search(message, result.output)
    assert (tmp_path / "audit" / "summary.json").exists()


@pytest.mark.parametrize(("allowed", "code", "kind"), [("5%", 3, "error"), ("50%", 0, "notice")])
def test_a_gate_writes_junit_and_annotations(noisy, tmp_path, allowed, code, kind):
    options = ["--fail-above", allowed, "--junit", tmp_path / "junit.xml", "--annotations"]
    options += ["--fail-on", "estimate", "-o", tmp_path / "audit", "--quiet"]
    result = run("audit", noisy / "table.csv", *options)
    assert result.exit_code == code, result.output
    (suite,) = ET.parse(tmp_path / "junit.xml").getroot()  # noqa: S314 (our own)
    assert suite.attrib["failures"] == str(int(code == 3))
    (case,) = suite
    assert case.attrib["name"] == "labels of table.csv"
    assert len(case) == int(code == 3)
    assert f"::{kind} title=twohot audit::about 14.67%25 of" in result.output


def test_a_gate_passes_if_there_is_nothing_to_draw(tmp_path):
    features, true = blobs()
    source = write_table(tmp_path / "clean.csv", features, label=[NAMES[k] for k in true])
    options = ["--draw-check", "0.1", "--fail-above", "5%", "--junit", tmp_path / "junit.xml"]
    result = done("audit", source, "-o", tmp_path / "audit", "--quiet", *options)
    assert "No rows are drawn to check, because no label is flagged." in result.output
    assert (tmp_path / "junit.xml").exists()


def test_a_failed_gate_is_printed_although_no_draw_is_possible(noisy, tmp_path):
    options = ["--draw-check", "0.1", "--fail-above", "1%", "--fail-on", "estimate"]
    result = run("audit", noisy / "table.csv", "-o", tmp_path / "audit", "--quiet", *options)
    assert result.exit_code == 3
    assert "Failed: about" in result.output
    assert "Error: --draw-check=0.1 needs 30 checked rows, and only" in result.output


def test_a_gate_compares_the_bounds_of_a_certificate(audited, certified, noisy, tmp_path):
    def gate(*options, labels=audited[0] / "table.csv"):
        target = ("-o", tmp_path / "audit", "--force", "--quiet")
        return run("audit", labels, *target, "--certificate", certified, "--fail-above", *options)

    failed = gate("5%")
    assert failed.exit_code == 3, failed.output
    found = re.search(r"Failed: at least (\d+\.\d\d)% .*\(95% confidence, by", failed.output)
    assert 10 < float(found[1]) < 20  # every fifth label is wrong
    passed = gate(f"{float(found[1]) + 0.01}%", "--annotations")
    assert passed.exit_code == 0
    assert "::warning" in passed.output
    assert "pass --fail-on estimate, without --certificate." in passed.output
    assert gate("20%", "--fail-on", "upper").exit_code == 3  # nothing is known of the other rows
    other = gate("5%", labels=noisy / "table.csv")
    assert other.exit_code == 1
    assert "belongs to other labels, because labels changed after the check" in other.output


# A review ----------------------------------------------------------------------------------------


def test_a_review_is_written_and_its_certificate_verified(audited, audit, tmp_path):
    folder, true, _ = audited
    result = done("review", audit, "--until", "2.9%", "--twice", "10%", "--no-open")
    said = f"Review until at most 2.9% of the labels are wrong: {audit / 'review.html'}"
    assert said in result.output
    page = (audit / "review.html").read_text("utf-8")
    data = json.loads(page.partition('id="report-data">')[2].partition("</script>")[0])
    assert data["task"]["target"] == 26  # of 900
    assert not {"wrong", "confidence", "secondConfidence", "undecided"} & data.keys()
    rows = read_audit_folder(audit)
    review = review_of(rows, until=0.029)
    while review.bound > review.target:
        row = review.next().row
        is_right = rows.label_name(int(rows.given_labels[row])) == true[row]
        review.decide("right" if is_right else "wrong")
    path = tmp_path / "certificate.json"
    write_review_certificate(path, rows, review)
    for source, order in (
        (audit, ""),
        (audit / "issues.csv", "The order of the list was not compared"),
        (folder / "table.csv", "The order of the list was not compared"),
    ):
        said = done("verify", path, source).output
        assert f"Valid: At most {review.bound} of 900 labels" in said
        assert "The bound assumes that all verdicts are right" in said
        assert order in said
    options = ["--quiet", "--fail-on", "upper", "--certificate", path, "--fail-above"]
    done("audit", folder / "table.csv", "-o", tmp_path / "one", *options, "25%")
    failed = run("audit", folder / "table.csv", "-o", tmp_path / "two", *options, "19%")
    assert failed.exit_code == 3


def test_labels_that_were_merged_or_missing_are_verified_alone(tmp_path):
    features, true = blobs(N_ROWS)
    labels = wrong_every(true, 5)
    labels[0], labels[1], labels[2] = labels[0].upper(), f" {labels[1]}", "?"
    table = write_table(tmp_path / "table.csv", features, label=labels)
    options = ["-o", tmp_path / "audit", "--quiet", "--merge-spellings", "--missing", "?"]
    done("audit", table, *options)
    rows = read_audit_folder(tmp_path / "audit")
    assert rows.spellings
    review = review_of(rows, until=0.02)
    for _ in range(30):
        review.decide("wrong")
    path = tmp_path / "certificate.json"
    write_review_certificate(path, rows, review)
    done("verify", path, table)
    labels[3] = "?"
    write_table(table, features, label=labels)
    assert "are not those for which" in refused("verify", path, table)

"""`twohot audit --draw-check`, `certify` and `verify`, and the gate of `twohot audit`."""

import json
import re
import shutil
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from label_tables import NAMES, blobs, column, everything, run, write_table, wrong_every

from twohot.audit import read_audit_folder, review_of, write_review_certificate
from twohot.tables.csv_file import read_csv, write_csv

N_ROWS = 900


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """A table whose every fifth label is wrong, its audit with a draw, and the true names."""
    folder = tmp_path_factory.mktemp("certified")
    features, true = blobs(N_ROWS)
    table = write_table(folder / "table.csv", features, label=wrong_every(true, 5))
    said = run("audit", table, "-o", folder / "audit", "--quiet", "--draw-check", 0.1, "--seed", 2)
    assert said.exit_code == 0, said.output
    return folder, [NAMES[k] for k in true], said.output


def fill(audit, true, target, **changes):
    """Write check.csv with a verdict on every row, some of them changed."""
    header, *lines = read_csv(audit / "check.csv")
    verdicts = {
        line[0]: "right" if true[int(line[0])] == line[2] else "wrong" for line in lines
    } | changes
    write_csv(target, header, [[*line[:3], verdicts[line[0]]] for line in lines])
    return target


@pytest.fixture
def done(audited, tmp_path):
    folder, true, _ = audited
    return folder / "audit", fill(folder / "audit", true, tmp_path / "done.csv")


def test_a_list_is_certified_and_verified(audited, done) -> None:
    _, true, said = audited
    audit, checked = done
    n_pool = -(-3 * column(audit / "issues.csv", "is_label_issue").count("true") // 2)
    assert f"Drawn from the {n_pool} most suspicious rows: 45 rows to check." in said
    assert f"twohot certify {audit} {audit / 'check.csv'}" in said
    result = run("certify", audit, checked, "--fdr", 0.1)
    assert result.exit_code == 0, result.output
    ids = column(audit / "certified.csv", "id")
    assert f"{len(ids)} labels. On average at most 10% of the labels" in result.output
    given, suggested = (column(audit / "certified.csv", f"{each}_label") for each in LABELS)
    right = [true[int(row)] for row in ids]
    assert np.mean([a == b for a, b in zip(given, right, strict=True)]) < 0.3
    assert np.mean([a == b for a, b in zip(suggested, right, strict=True)]) > 0.6
    again = run("verify", audit / "certificate.json")
    assert again.exit_code == 0, again.output
    assert f"Valid: {len(ids)} labels. On average" in again.output
    refused = run("certify", audit, checked)
    assert refused.exit_code == 1
    assert "certified.csv" in refused.output
    assert run("certify", audit, checked, "--force").exit_code == 0


LABELS = ("given", "suggested")


def test_an_empty_list_is_said_and_certified(audited, tmp_path) -> None:
    folder, _, _ = audited
    nothing = dict.fromkeys(column(folder / "audit" / "check.csv", "id"), "unsure")
    checked = fill(folder / "audit", [""] * N_ROWS, tmp_path / "done.csv", **nothing)
    result = run("certify", folder / "audit", checked, "--force")
    assert result.exit_code == 0, result.output
    assert "No list: with 45 checked rows, a list needs at least" in result.output
    assert column(folder / "audit" / "certified.csv", "id") == []
    assert run("verify", folder / "audit" / "certificate.json").exit_code == 0


def test_another_rate_is_refused(done) -> None:
    audit, checked = done
    before = everything(audit)
    result = run("certify", audit, checked, "--force", "--fdr", 0.2)
    assert result.exit_code == 1
    assert (
        "--fdr=0.2 differs from 0.1, for which the rows were drawn: leave it out" in result.output
    )
    assert everything(audit) == before


def test_a_seed_that_a_browser_cannot_hold_is_refused_before_the_work(audited, tmp_path) -> None:
    folder, _, _ = audited
    asked = ["-o", tmp_path / "audit", "--draw-check", 0.1, "--seed", 2**53 - 1]
    result = run("audit", folder / "table.csv", *asked)
    assert result.exit_code == 1
    assert "--seed=9007199254740991 is more than a browser can count to" in result.output
    assert not (tmp_path / "audit").exists()


@pytest.mark.parametrize(
    ("fdr", "says"),
    [
        (0.01, "--draw-check=0.01 needs 450 checked rows, and only"),
        (1, "--draw-check=1.0 is not allowed: pass a number between 0 and 1"),
    ],
)
def test_a_draw_that_cannot_be_is_refused(audited, tmp_path, fdr, says) -> None:
    folder, _, _ = audited
    asked = ["-o", tmp_path / "audit", "--quiet", "--draw-check", fdr]
    result = run("audit", folder / "table.csv", *asked)
    assert result.exit_code == 1
    assert says in result.output
    assert not (tmp_path / "audit" / "check.csv").exists()


def test_missing_verdicts_and_a_second_draw_are_refused(audited, tmp_path) -> None:
    folder, true, _ = audited
    audit = folder / "audit"
    first = column(audit / "check.csv", "id")[0]
    unfinished = fill(audit, true, tmp_path / "done.csv", **{first: ""})
    result = run("certify", audit, unfinished, "--force")
    assert result.exit_code == 1
    assert f"has no verdict on 1 of the 45 rows that were drawn ('{first}')" in result.output
    table = folder / "table.csv"
    result = run("audit", table, "-o", audit, "--quiet", "--draw-check", 0.1, "--force")
    assert result.exit_code == 1
    assert "a second draw voids both: fill in that check, or choose another folder" in result.output


def test_an_audit_without_a_draw_certifies_nothing(audited, tmp_path) -> None:
    folder, _, _ = audited
    assert run("audit", folder / "table.csv", "-o", tmp_path / "audit", "--quiet").exit_code == 0
    result = run("certify", tmp_path / "audit", folder / "table.csv")
    assert result.exit_code == 1
    assert (
        "check.json does not exist: draw rows first, with twohot audit --draw-check"
        in result.output
    )


def test_another_audit_in_the_folder_is_seen(audited, done, tmp_path) -> None:
    folder, _, _ = audited
    _, checked = done
    features, true = blobs(N_ROWS, seed=1)
    other = write_table(tmp_path / "other.csv", features, label=wrong_every(true, 5))
    assert run("audit", other, "-o", tmp_path / "audit", "--quiet").exit_code == 0
    (tmp_path / "audit" / "check.json").write_bytes((folder / "audit/check.json").read_bytes())
    result = run("certify", tmp_path / "audit", checked)
    assert result.exit_code == 1
    assert "belongs to another audit: labels or scores changed after the draw" in result.output


# A gate ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    features, true = blobs()
    labels = wrong_every(true, 7)
    return write_table(tmp_path_factory.mktemp("gate") / "table.csv", features, label=labels)


@pytest.mark.parametrize(
    ("asked", "code", "says"),
    [
        (["5%", "--fail-on", "upper"], 3, r"Failed: up to \d+\.\d\d% .*, more than 5\.00%\."),
        ([".05", "--fail-on", "estimate"], 3, r"Failed: about 14\.67% of the labels of table\.csv"),
        (["50 %", "--fail-on", "upper"], 0, r"Passed: up to .* within 50\.00%\."),
        (["5%"], 0, r"Passed: at least 0\.00% .* The estimate is more: 14\.67%"),  # few rows
    ],
)
def test_a_gate_fails_with_code_3(table, tmp_path, asked, code, says) -> None:
    result = run("audit", table, "-o", tmp_path / "audit", "--quiet", "--fail-above", *asked)
    assert result.exit_code == code, result.output
    assert re.search(says, result.output)
    assert (tmp_path / "audit" / "summary.json").exists()


def test_labels_that_are_surely_wrong_fail_by_default(audited, tmp_path) -> None:
    folder, _, _ = audited
    asked = ["-o", tmp_path / "audit", "--quiet", "--fail-above", "1%"]
    result = run("audit", folder / "table.csv", *asked)
    assert result.exit_code == 3, result.output
    assert "Failed: at least" in result.output


def test_a_gate_writes_junit_and_annotations(table, tmp_path) -> None:
    for allowed, code in (("5%", 3), ("50%", 0)):
        asked = ["--fail-above", allowed, "--junit", tmp_path / "junit.xml", "--annotations"]
        asked += ["--fail-on", "estimate"]
        folder = tmp_path / f"audit{code}"
        result = run("audit", table, "-o", folder, "--quiet", "--force", *asked)
        assert result.exit_code == code, result.output
        (suite,) = ET.parse(tmp_path / "junit.xml").getroot()  # noqa: S314 (our own)
        assert suite.attrib["failures"] == str(int(code == 3))
        (case,) = suite
        assert case.attrib["name"] == "labels of table.csv"
        assert len(case) == int(code == 3)
        kind = "error" if code else "notice"
        assert f"::{kind} title=twohot audit::about 14.67%25 of" in result.output


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["--fail-above", "5 percent"], "--fail-above='5 percent' is not allowed: pass a share"),
        (["--fail-above", "101%"], "--fail-above='101%' is not allowed"),
        (["--fail-above", "5%", "--fail-on", "mean"], "--fail-on='mean' is not known: pass one of"),
        (["--junit", "junit.xml"], "--junit=junit.xml needs a gate: pass --fail-above=… too"),
        (["--annotations"], "--annotations needs a gate: pass --fail-above=… too"),
    ],
)
def test_a_gate_that_cannot_be_is_refused_before_the_work(table, tmp_path, asked, says) -> None:
    result = run("audit", table, "-o", tmp_path / "audit", "--quiet", *asked)
    assert result.exit_code == 1
    assert says in result.output
    assert not (tmp_path / "audit").exists()


def test_nothing_to_draw_passes_the_gate(tmp_path) -> None:
    features, true = blobs()
    source = write_table(tmp_path / "clean.csv", features, label=[NAMES[k] for k in true])
    asked = ["--draw-check", "0.1", "--fail-above", "5%", "--junit", tmp_path / "junit.xml"]
    result = run("audit", source, "-o", tmp_path / "audit", "--quiet", *asked)
    assert result.exit_code == 0, result.output
    assert "No rows are drawn to check, because no label is flagged." in result.output
    assert (tmp_path / "junit.xml").exists()


def test_a_gate_that_fails_is_said_although_no_draw_is_possible(table, tmp_path) -> None:
    asked = ["--draw-check", "0.1", "--fail-above", "1%", "--fail-on", "estimate"]
    asked += ["--junit", tmp_path / "junit.xml"]
    result = run("audit", table, "-o", tmp_path / "audit", "--quiet", *asked)
    assert result.exit_code == 3
    assert "Failed: about" in result.output
    assert "Error: --draw-check=0.1 needs 45 checked rows, and only" in result.output
    assert (tmp_path / "junit.xml").exists()


@pytest.mark.parametrize(
    "name",
    ["issues.csv", "check.csv", "certificate.json", "review.html", "issues.parquet/junit.xml"],
)
def test_a_gate_does_not_replace_what_the_audit_writes(table, tmp_path, name) -> None:
    folder = tmp_path / "audit"
    (folder / "issues.parquet").mkdir(parents=True)
    asked = ["--fail-above", "5%", "--junit", folder / name, "--force"]
    result = run("audit", table, "-o", folder, "--quiet", *asked)
    assert result.exit_code == 1
    assert "is a file of the audit: choose another name" in result.output


def test_certificates_hold_no_path_and_no_time(done) -> None:
    audit, checked = done
    assert run("certify", audit, checked, "--force").exit_code == 0
    first = (audit / "certificate.json").read_bytes()
    assert run("certify", audit, checked, "--force").exit_code == 0
    assert (audit / "certificate.json").read_bytes() == first
    assert str(audit) not in json.dumps(json.loads(first))


# A certificate in the gate ------------------------------------------------------------------------


def test_a_gate_compares_the_bounds_of_a_certificate(audited, done, tmp_path) -> None:
    folder, _, _ = audited
    audit, checked = done
    assert run("certify", audit, checked, "--force").exit_code == 0
    made = audit / "certificate.json"

    def gate(allowed, *asked, made=made):
        target = tmp_path / allowed / "-".join(map(str, asked)).replace("/", "_")
        asked = ["--fail-above", allowed, "--certificate", made, *asked]
        return run("audit", folder / "table.csv", "-o", target, "--quiet", *asked)

    failed = gate("5%")
    assert failed.exit_code == 3, failed.output
    found = re.search(
        r"Failed: at least (\d+\.\d\d)% of the labels .*\(95% confidence, by", failed.output
    )
    assert 10 < float(found[1]) < 20  # every fifth label is wrong
    assert gate("20%").exit_code == 0
    assert gate("20%", "--fail-on", "upper").exit_code == 3  # nothing is known of the other rows
    refused = gate("5%", "--fail-on", "estimate")
    assert refused.exit_code == 1
    assert "--fail-on='estimate' is not in a certificate: pass lower or" in refused.output
    for made, says in (
        (
            audit / "check.json",
            "is a draw, not a certificate: pass the certificate.json made from it",
        ),
        (audit / "issues.csv", "issues.csv was not written by twohot"),
        (audit / "none.json", "does not exist: pass the certificate.json that twohot certify or"),
    ):
        refused = gate("6%", made=made)
        assert refused.exit_code == 1
        assert says in refused.output
    assert not any(tmp_path.glob("6%/*"))  # nothing was computed


def test_a_certificate_of_other_labels_is_no_gate(done, table, tmp_path) -> None:
    audit, checked = done
    assert run("certify", audit, checked, "--force").exit_code == 0
    asked = ["--fail-above", "5%", "--certificate", audit / "certificate.json"]
    result = run("audit", table, "-o", tmp_path / "audit", "--quiet", *asked)
    assert result.exit_code == 1
    assert "belongs to other labels: they changed after the check: draw and check" in result.output


# A second attempt, and a review ------------------------------------------------------------------


def test_a_second_attempt_has_half_the_rate(audited, tmp_path) -> None:
    folder, true, _ = audited
    audit = tmp_path / "audit"
    shutil.copytree(folder / "audit", audit)
    for name in ("certified.csv", "certificate.json", "certified.html"):
        (audit / name).unlink(missing_ok=True)
    first = column(audit / "check.csv", "id")
    unsure = fill(audit, [""] * N_ROWS, tmp_path / "one.csv", **dict.fromkeys(first, "unsure"))
    early = run("certify", audit, "--extend", 100)
    assert early.exit_code == 1
    assert "draw rows first" in early.output
    assert run("certify", audit, unsure).exit_code == 0
    assert "pass more than 45, the number of rows" in run("certify", audit, "--extend", 9).output
    extended = run("certify", audit, "--extend", 150)
    assert extended.exit_code == 0, extended.output
    assert "Drawn: 105 more rows. The next list has a rate of 0.05." in extended.output
    verdicts = dict(zip(*(column(audit / "check.csv", name) for name in NEEDED), strict=True))
    assert {row for row, said in verdicts.items() if said} == set(first)
    known = {row: said for row, said in verdicts.items() if said}
    changed = fill(audit, true, tmp_path / "two.csv")
    refused = run("certify", audit, changed)
    assert refused.exit_code == 1
    assert "checked has another verdict on row" in refused.output
    result = run("certify", audit, fill(audit, true, tmp_path / "two.csv", **known))
    assert result.exit_code == 0, result.output
    assert "Attempt 2 has a rate of 5%; the lists of all attempts together have at" in result.output
    assert run("verify", audit / "certificate.json").exit_code == 0
    fields = json.loads((audit / "certificate.json").read_text())
    assert (fields["fdr"], fields["n_checked"]) == (0.1, [45, 150])
    before = everything(audit)
    refused = run("certify", audit, tmp_path / "two.csv")
    assert refused.exit_code == 1
    assert "certified.csv" in refused.output
    assert everything(audit) == before


NEEDED = ("id", "verdict")


def test_more_rows_follow_an_empty_list_only(done) -> None:
    audit, checked = done
    assert run("certify", audit, checked, "--force").exit_code == 0
    result = run("certify", audit, "--extend", 100)
    assert result.exit_code == 1
    assert "--extend=100 needs an empty list, and this list has" in result.output
    for asked in ([], [checked, "--extend", 100]):
        result = run("certify", audit, *asked)
        assert result.exit_code == 1
        assert "pass the finished check, or --extend=… to draw" in result.output


def test_a_review_is_written_and_its_certificate_verified(audited, tmp_path) -> None:
    folder, true, _ = audited
    audit = folder / "audit"
    result = run("review", audit, "--until", "2.9%", "--twice", "10%", "--no-open")
    assert result.exit_code == 0, result.output
    assert f"Review until at most 2.9% of the labels are wrong: {audit / 'review.html'}" in (
        result.output
    )
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
    said = f"Valid: At most {review.bound} of 900 labels"
    for source, order in (
        (audit, ""),
        (audit / "issues.csv", "The order of the list was not compared"),
        (folder / "table.csv", "The order of the list was not compared"),
    ):
        result = run("verify", path, source)
        assert result.exit_code == 0, result.output
        assert said in result.output
        assert "It assumes that the verdicts are right" in result.output
        assert order in result.output
    asked = ["--quiet", "--fail-on", "upper", "--certificate", path, "--fail-above"]
    passed = run("audit", folder / "table.csv", "-o", tmp_path / "one", *asked, "25%")
    assert passed.exit_code == 0, passed.output
    failed = run("audit", folder / "table.csv", "-o", tmp_path / "two", *asked, "19%")
    assert failed.exit_code == 3


def test_labels_that_were_merged_or_missing_are_verified_alone(tmp_path) -> None:
    features, true = blobs(N_ROWS)
    labels = wrong_every(true, 5)
    labels[0], labels[1], labels[2] = labels[0].upper(), f" {labels[1]}", "?"
    table = write_table(tmp_path / "table.csv", features, label=labels)
    asked = ["-o", tmp_path / "audit", "--quiet", "--merge-spellings", "--missing", "?"]
    assert run("audit", table, *asked).exit_code == 0
    rows = read_audit_folder(tmp_path / "audit")
    assert rows.spellings
    review = review_of(rows, until=0.02)
    for _ in range(30):
        review.decide("wrong")
    path = tmp_path / "certificate.json"
    write_review_certificate(path, rows, review)
    result = run("verify", path, table)
    assert result.exit_code == 0, result.output
    labels[3] = "?"
    write_table(table, features, label=labels)
    assert "does not have the labels of" in run("verify", path, table).output


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["--until", "0.1%"], "--until=0.001 is less than one of 900 labels: review every row"),
        (["--until", "1%", "--seed", 2**53 - 1], "--seed=9007199254740991 is more than a browser"),
        (["--until", "many"], "--until='many' is not allowed: pass a share of the labels"),
        (["--until", "1%", "--twice", "200%"], "--twice='200%' is not allowed"),
        (["--until", "1%", "--images", "."], "--images=. needs image paths, which"),
    ],
)
def test_a_review_that_cannot_be_is_refused(audited, asked, says) -> None:
    folder, _, _ = audited
    result = run("review", folder / "audit", "--no-open", *asked)
    assert result.exit_code == 1
    assert says in result.output


def test_the_certificate_of_a_list_needs_its_audit(audited, done, tmp_path) -> None:
    folder, _, _ = audited
    audit, checked = done
    assert run("certify", audit, checked, "--force").exit_code == 0
    with_labels = run("verify", audit / "certificate.json", folder / "table.csv")
    assert with_labels.exit_code == 0, with_labels.output
    alone = shutil.copy(audit / "certificate.json", tmp_path)
    refused = run("verify", alone, folder / "table.csv")
    assert refused.exit_code == 1
    assert "certifies a list, which needs the order of its audit: pass the folder" in refused.output

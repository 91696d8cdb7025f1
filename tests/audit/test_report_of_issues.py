"""`LabelIssues.report` writes a page, and `LabelIssues.apply` applies its decisions."""

import html
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import problems
from twohot import find_label_issues
from twohot.audit import group_shares, label_shares
from twohot.review.decisions import Decision, apply_decisions, read_decisions

DATA = problems.digits(0.3, 300)
ISSUES = find_label_issues(DATA.X, DATA.given_labels, ids=[f"T{row}" for row in range(300)])


def test_a_report_shows_texts_and_leads_to_labels(tmp_path):
    texts = [f"text <{row}>" for row in range(300)]
    rows = ISSUES.report(tmp_path / "report.html", texts=texts, X=DATA.X, title="Mine & yours")
    page = (tmp_path / "report.html").read_text()
    assert "<title>Mine &amp; yours</title>" in page
    flagged = ISSUES.rows[0]
    assert f"text \\u003c{flagged}\\u003e" in page
    assert '"nearSuggested":' in page
    assert rows.report_id() in page
    made = Decision(rows.report_id(), f"T{flagged}", "accept", "")
    assert apply_decisions(rows, [made]).labels[flagged] == ISSUES.predicted[flagged]


def test_a_report_shows_images_by_their_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Image.new("RGB", (8, 8), "red").save("red.png")
    ISSUES.report("report.html", images=[tmp_path / "red.png"] * 300)
    page = (tmp_path / "report.html").read_text()
    assert page.count("data:image/webp") == ISSUES.n_issues
    assert '"nearSuggested":' not in page


def test_groups_and_labels_are_listed_by_their_wrong_labels(tmp_path):
    # All rows of one annotator except one are flagged, and no others.
    flagged = ISSUES.is_label_issue
    names = np.where(flagged, "<b>Ann", [f"B{row % 3}" for row in range(300)]).astype(object)
    names[np.flatnonzero(~flagged)[0]] = "<b>Ann"
    names[ISSUES.rows[0]] = "one row"  # it has the largest share of wrong labels, by chance
    ISSUES.report(tmp_path / "report.html", groups=names)
    assert "&lt;b&gt;Ann" in (tmp_path / "report.html").read_text()
    shares = {each.name: each for each in group_shares(ISSUES, names)}
    assert list(shares)[:2] == ["<b>Ann", "one row"]
    assert shares["<b>Ann"].n_rows == flagged.sum()
    for name, share in shares.items():
        assert share.n_wrong == pytest.approx(ISSUES.probability_wrong[names == name].sum())
        assert share.share == pytest.approx(share.n_wrong / share.n_rows)
    assert group_shares(ISSUES, None) == ()
    by_label = label_shares(ISSUES)
    assert len(by_label) == 8
    assert sum(each.n_rows for each in by_label) < 300


def decisions_file(path, issues, *decisions):
    """Write the file that a page exports; a decision is (position of the row, decision, label)."""
    named = issues.to_pandas()
    lines = [
        ("r1", issues.ids[row], *named.iloc[row][["given_label", "predicted_label"]], made, label)
        for row, made, label in decisions
    ]
    columns = ["report", "id", "given_label", "suggested_label", "decision", "label"]
    pd.DataFrame(lines, columns=columns).to_csv(path, index=False)
    return path


def test_decisions_become_labels_in_the_index_of_the_data(tmp_path):
    issues = issues_with_index(FRAME.index)
    first, second, third = issues.rows[:3].tolist()
    made = [(first, "accept", ""), (second, "exclude", ""), (third, "new_class", "12")]
    labels = issues.apply(decisions_file(tmp_path / "decisions.csv", issues, *made))
    expected = pd.Series(DATA.given_labels, FRAME.index, dtype="Int64", name="label")
    expected.iloc[[first, second, third]] = [issues.predicted[first], pd.NA, 12]
    pd.testing.assert_series_equal(labels, expected)
    path = decisions_file(tmp_path / "decisions.csv", issues, (first, "new_class", "a fox"))
    assert issues.apply(path).iloc[first] == "a fox"
    assert issues.apply(path).iloc[second] == DATA.given_labels[second]
    assert issues.apply(iter(read_decisions(path))).iloc[first] == "a fox"


def test_rejects_decisions_on_other_labels(tmp_path):
    issues = issues_with_index(FRAME.index)
    path = decisions_file(tmp_path / "decisions.csv", issues, (issues.rows[0], "accept", ""))
    lines = pd.read_csv(path)
    lines.assign(suggested_label=lines["given_label"]).to_csv(path, index=False)
    with pytest.raises(ValueError, match="has the suggested_label"):
        issues.apply(path)
    lines.drop(columns="suggested_label").to_csv(path, index=False)
    with pytest.raises(ValueError, match="has no column suggested_label, which is needed"):
        issues.apply(path)


def test_page_shows_how_to_apply_its_decisions(tmp_path):
    rows = ISSUES.report(tmp_path / "report.html")
    assert rows.items is None
    assert repr(rows) == f"<ReviewRows: 300 rows of 10 classes, {ISSUES.n_issues} flagged>"
    page = (tmp_path / "report.html").read_text()
    step = f'labels = issues.apply("decisions-{rows.report_id()}.csv")'
    assert json.dumps(step)[1:-1] in page
    assert html.escape(step).replace("&quot;", "&#34;") in page
    assert "--audit" not in page


FRAME = pd.DataFrame(DATA.X).assign(note="a", path="a.png")
FRAME.index = np.random.default_rng(0).permutation(300)


def issues_with_index(index: pd.Index):
    labels = pd.Series(DATA.given_labels, index=index)
    return find_label_issues(None, labels, probabilities=np.eye(10)[DATA.true_labels])


@pytest.mark.parametrize(
    ("name", "column"), [("texts", "note"), ("images", "path"), ("X", [*range(DATA.X.shape[1])])]
)
def test_rejects_columns_with_another_index(tmp_path, name, column):
    path, in_order = tmp_path / "report.html", FRAME.sort_index()
    advised = rf"pass {name}.loc\[issues.to_pandas\(\).index\], or {name}.to_numpy\(\) if"
    for audited, other in [(FRAME, in_order), (in_order, FRAME)]:
        issues = issues_with_index(audited.index)
        with pytest.raises(ValueError, match=f"{name} has another index than issues.*{advised}"):
            issues.report(path, **{name: other[column]})
        assert not path.exists()
    issues_with_index(FRAME.index).report(path, **{name: FRAME[column]})
    # A default index, and an array, are matched by position.
    renamed = issues_with_index(FRAME.index + 7)
    renamed.report(path, **{name: in_order[column]})
    renamed.report(path, **{name: FRAME[column].to_numpy()})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"texts": ["a"]}, "texts has 1 entry, but issues has 300 rows: pass one entry"),
        ({"images": []}, "images has 0 entries, but issues has 300 rows"),
        ({"texts": ["a"] * 300, "images": ["b"] * 300}, "texts and images are both given"),
        ({"texts": FRAME[["note", "path"]]}, r"texts has shape \(300, 2\): pass"),
        ({"groups": ["a", "b"]}, "groups has 2 entries, but issues has 300 rows: pass one"),
        ({"X": np.eye(4)}, "X has 4 rows, but issues has 300"),
    ],
)
def test_rejects_columns_that_do_not_fit(tmp_path, given, message):
    with pytest.raises(ValueError, match=message):
        ISSUES.report(tmp_path / "report.html", **given)
    assert not (tmp_path / "report.html").exists()


def test_rejects_a_path_that_cannot_be_written(tmp_path):
    with pytest.raises(ValueError, match=r"path=.*/rep/report.html is in a folder that does not"):
        ISSUES.report(tmp_path / "rep" / "report.html")
    with pytest.raises(ValueError, match=r"path=.* is a folder: pass the name of a file"):
        ISSUES.report(tmp_path)
    with pytest.raises(ValueError, match=r"path=.*out/' is a folder: pass a file, such as"):
        ISSUES.report(f"{tmp_path}/out/")
    if Path("/proc").is_dir():  # no file can be created there; this is checked before X
        with pytest.raises(ValueError, match=r"path=/proc/r.html cannot be written"):
            ISSUES.report("/proc/r.html", X=np.eye(4))
    assert [*tmp_path.iterdir()] == []

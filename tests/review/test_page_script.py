"""The page's script without a browser: modules, filters, stored and imported decisions."""

import base64
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from page_script import Storage, run_page

from audits import audit_rows
from decision_cases import CASES, EXCLUDED, SPELLED, SPELLING_CASES
from twohot.review.decisions import Decision, apply_decisions, read_decisions
from twohot.review.page import SCRIPTS, write_review
from twohot.review.records import ReviewSummary, RowFinding
from twohot.review.reviewers import merge_reviews

ROWS, RESPELT = audit_rows(12), audit_rows(12, classes=SPELLED)
ROWS_OF = {case: RESPELT if case in SPELLING_CASES else ROWS for case in (*CASES, *SPELLING_CASES)}
LOADED = """loadDecisions(); takeCopies(kept); loadDecisions();
return [...decisions].map(([i, made]) => [report.id[i], made.kind, className(made.label)]).sort()"""
IMPORTED = """return argument.map((bytes) => {
  try {
    const { changes, spellings } = changesFromCsv(textOfBytes(Buffer.from(bytes, "base64")));
    const merged = (label) => className(spellings.get(label) ?? label);
    const named = (made) => (made.kind === "exclude" ? "(excluded)" : merged(made.label));
    const rows = changes.map(([i, { decision, note }]) =>
      [report.id[i], decision ? named(decision) : null, note ?? ""]);
    return [rows, [...spellings].map((pair) => pair.map(className))];
  } catch (error) {
    return error.message;
  }
});"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_review(path, ROWS, ReviewSummary())
    return path


@pytest.mark.parametrize("case", ROWS_OF, ids=lambda case: case.name)
def test_python_reads_and_rejects_the_cases(case, tmp_path) -> None:
    rows, path = ROWS_OF[case], tmp_path / "decisions.csv"
    path.write_bytes(case.content(rows.report_id()))

    def merged() -> Sequence[Decision]:
        return merge_reviews(rows, {str(path): read_decisions(path)}).decisions

    for read in (lambda: read_decisions(path), merged):
        if case.labels is None:
            with pytest.raises(ValueError, match=r".+: .+"):
                apply_decisions(rows, read())
            continue
        applied = apply_decisions(rows, read())
        assert sum(applied.n_decided.values()) == len(case.labels)
        for row, label in case.labels.items():
            name = applied.classes[applied.labels[int(row)]]
            assert (EXCLUDED if applied.excluded[int(row)] else name) == label
        assert {str(row): note for row, note in applied.notes.items()} == case.notes
        assert applied.spellings == case.spellings


@pytest.mark.parametrize("cases", [CASES, SPELLING_CASES], ids=["decisions", "spellings"])
def test_page_reads_and_rejects_the_same_cases(cases, tmp_path) -> None:
    rows = ROWS_OF[cases[0]]
    write_review(tmp_path / "report.html", rows, ReviewSummary())
    contents = [base64.b64encode(case.content(rows.report_id())).decode() for case in cases]
    found = run_page(tmp_path / "report.html", IMPORTED, contents)
    for case, read in zip(cases, found, strict=True):
        assert isinstance(read, str if case.labels is None else list), (case.name, read)
        if case.labels is not None:
            changes, spellings = read
            assert {row: label for row, label, _ in changes if label} == case.labels, case.name
            assert {row: note for row, _, note in changes if note} == case.notes, case.name
            assert dict(spellings) == case.spellings, case.name


def test_decisions_stay_with_their_rows_if_scores_change(page, tmp_path) -> None:
    storage = Storage()
    decide = """argument.forEach((kind, i) => decide([[i, { kind, label: labelOf(i, kind) }]]));
    return report.id"""
    kinds = ["accept", "reject", "second", "accept", "exclude"]
    order = run_page(page, decide, kinds, storage)
    names = {"accept": ROWS.suggested_labels, "reject": ROWS.given_labels}
    names |= {"second": ROWS.second_labels, "exclude": None}
    rng = np.random.default_rng(0)
    for turn in range(4):
        other = audit_rows(12, label_quality=rng.permutation(ROWS.label_quality))
        assert other.report_id() == ROWS.report_id()
        path = tmp_path / f"{turn}.html"
        write_review(path, other, ReviewSummary())
        assert run_page(path, "return report.id") != order
        expected = [
            [row, kind, "" if names[kind] is None else ROWS.label_name(names[kind][int(row)])]
            for row, kind in zip(order, kinds, strict=False)
        ]
        assert run_page(path, LOADED, storage=storage) == sorted(expected)


def test_decisions_stay_with_their_report_and_rows(page, tmp_path) -> None:
    more, other = tmp_path / "more.html", tmp_path / "other.html"
    finding = RowFinding("odd", "look", np.array([1, 3]), np.zeros(2))
    write_review(more, ROWS, ReviewSummary(findings=(finding,)))
    storage = Storage()
    decide = """loadDecisions(); const i = placeOf.get(argument);
    decide([[i, { kind: "reject", label: report.given[i] }]])"""
    run_page(more, decide, "1", storage)
    run_page(page, decide, "0", storage)
    assert [row for row, *_ in run_page(page, LOADED, storage=storage)] == ["0"]
    assert [row for row, *_ in run_page(more, LOADED, storage=storage)] == ["0", "1"]
    write_review(other, replace(ROWS, given_labels=ROWS.given_labels[::-1]), ReviewSummary())
    assert run_page(other, LOADED, storage=storage) == []


def test_second_copy_replaces_full_storage(page) -> None:
    storage = Storage(has_room=False)
    decide = """decide([[0, { kind: "accept", label: labelOf(0, "accept") }]]);
    return [...copies]"""
    storage.kept = run_page(page, decide, storage=storage)
    assert storage.texts == []
    assert [kind for _, kind, _ in run_page(page, LOADED, storage=storage)] == ["accept"]
    # The later copy replaces an older text in the storage.
    storage.texts = [[key, '{"rows": [], "at": 1}'] for key, _ in storage.kept]
    assert [kind for _, kind, _ in run_page(page, LOADED, storage=storage)] == ["accept"]


def test_filters_count_the_rows_of_each_option(tmp_path) -> None:
    rows = audit_rows(120, items=tuple(f"text z{i % 7}" for i in range(120)), item_kind="text")
    odd = RowFinding("odd", "look", np.array([1, 2, 5]), np.zeros(3))
    write_review(tmp_path / "r.html", rows, ReviewSummary(findings=(odd,)))
    code = """decide([[0, { kind: "reject", label: report.given[0] }]]);
    const { view, counts } = look(argument);
    return [view.map((i) => report.row[i]),
      Object.fromEntries(FILTERS.map((name) => [name, Object.fromEntries(counts[name])]))];"""
    wanted = dict.fromkeys(("finding", "given", "suggested", "decision", "close", "confidence"), "")
    wanted |= {"search": "TEXT Z3", "finding": "wrong", "given": "1", "confidence": "800"}
    view, counts = run_page(tmp_path / "r.html", code, wanted)

    found = rows.flagged[rows.flagged % 7 == 3]
    is_given, is_probable = rows.given_labels == 1, np.rint(1000 * rows.confidence) >= 800
    assert view == found[is_given[found] & is_probable[found]].tolist()
    assert counts["close"][""] == len(view)
    # The counts of a filter are those without this filter.
    sizes = np.bincount(rows.given_labels[found[is_probable[found]]], minlength=4)
    assert [counts["given"].get(str(code), 0) for code in range(4)] == sizes.tolist()
    assert counts["confidence"][""] == is_given[found].sum()


def test_undo_reverts_one_step(page) -> None:
    code = """const told = []; watch((rows) => told.push(rows));
    const accepted = { kind: "accept", label: labelOf(0, "accept") };
    decide([[0, accepted], [1, { kind: "exclude", label: NO_LABEL }]]);
    answer([[0, { ...answerOf(0), note: "mine" }]]);
    const seen = [[...decisions.keys()], [...notes]];
    undo(); seen.push([...decisions.keys()], [...notes]);
    undo(); seen.push([...decisions.keys()], canUndo(), undo());
    return [seen, told];"""
    seen, told = run_page(page, code)
    assert seen == [[0, 1], [[0, "mine"]], [0, 1], [], [], False, None]
    assert told == [[0, 1], [0], [0], [0, 1]]


def test_merging_is_one_step_that_can_be_reverted(tmp_path) -> None:
    # The two labels of three rows differ only in spelling. One is decided before the merge,
    # one after it.
    rows = audit_rows(24, classes=SPELLED)
    write_review(tmp_path / "r.html", rows, ReviewSummary())
    loaded = """loadDecisions();
    const [before, taken, after] = ["0", "8", "16"].map((id) => placeOf.get(id));
    const seen = [];
    const made = () => [...decisions].map(([i, { kind }]) => [report.id[i], kind]).sort();
    const record = () => seen.push([made(), [...merges].map((pair) => pair.map(className))]);
    const group = report.spellings.find((each) => each.some(([code]) => className(code) === "cat"));
    """
    code = """decide([[before, { kind: "accept", label: labelOf(before, "accept") }]]);
    toggleMerge(group); record();
    undo(); record();
    toggleMerge(group);
    answer([[taken, { ...answerOf(taken), note: "mine" }]]);
    decide([[after, { kind: "reject", label: report.given[after] }]]);
    return seen;"""
    storage = Storage()
    merged, undone = run_page(tmp_path / "r.html", loaded + code, storage=storage)
    assert merged == [[["0", "accept"], ["16", "accept"], ["8", "accept"]], [["cat", "CAT"]]]
    assert undone == [[["0", "accept"]], []]
    # After a reload, decisions by the merge are still known; a note does not change them.
    code = """record(); toggleMerge(group); record(); undo(); record();
    return [seen, [...notes.values()]]"""
    (seen, notes) = run_page(tmp_path / "r.html", loaded + code, storage=storage)
    decided = [["0", "accept"], ["16", "reject"], ["8", "accept"]]
    assert seen[0] == seen[2] == [decided, [["cat", "CAT"]]]
    assert seen[1] == [decided[:2], []]
    assert notes == ["mine"]


def test_merged_spellings_are_one_class_in_filters_and_matrices(tmp_path) -> None:
    rows = audit_rows(24, classes=SPELLED)
    write_review(tmp_path / "r.html", rows, ReviewSummary())
    code = """const { noise, alike } = argument;
    toggleMerge(report.spellings[0]);
    const [[into], [other]] = report.spellings[0];
    const wanted = Object.fromEntries([...FILTERS, "search"].map((name) => [name, ""]));
    return { into, other, given: [...look(wanted).counts.given],
      noise: mergedMatrix(noise, false), alike: mergedMatrix(alike, true) };"""
    rng = np.random.default_rng(0)
    noise, alike = rng.dirichlet(np.ones(4), 4), rng.normal(size=(4, 4))
    matrices = {"noise": noise.ravel().tolist(), "alike": alike.ravel().tolist()}
    found = run_page(tmp_path / "r.html", code, matrices)
    into, other = found["into"], found["other"]
    becomes = np.where(np.arange(4) == other, into, np.arange(4))
    sizes = np.bincount(rows.given_labels, minlength=4)
    member = np.eye(4)[becomes]  # (n_classes, class that each becomes)
    weights = member * sizes[:, np.newaxis] / np.maximum(sizes @ member, 1)
    kept = np.delete(np.arange(4), other)
    matrices = {"noise": weights.T @ noise @ member, "alike": weights.T @ alike @ weights}
    for name, expected in matrices.items():
        merged = np.array(found[name], dtype=float).reshape(4, 4)
        np.testing.assert_allclose(merged[np.ix_(kept, kept)], expected[np.ix_(kept, kept)])
    counts = np.bincount(becomes[rows.given_labels[rows.flagged]], minlength=4).tolist()
    sizes = {str(code): count for code, count in enumerate(counts) if count}
    assert dict(found["given"]) == {"": len(rows.flagged), **sizes}


def test_decisions_keep_the_name_of_their_reviewer(page) -> None:
    start = """loadDecisions();
    const make = (i, kind) => decide([[i, { kind, label: labelOf(i, kind) }]]);
    const signatures = () => Object.fromEntries(parseCsv(decisionsAsCsv()).slice(1).map((fields) =>
      [report.row.indexOf(Number(fields[1])), fields.at(-1)]));
    """
    code = """make(0, "reject"); make(1, "accept"); make(1, "reject");
    const seen = [signatures()];
    nameReviewer("Anna"); undo();
    seen.push(signatures());
    nameReviewer("Ben"); make(2, "reject"); make(0, "accept");
    seen.push(signatures());
    return seen;"""
    storage = Storage()
    unnamed, first, both = run_page(page, start + code, storage=storage)
    assert unnamed == {"0": "", "1": ""}
    # Earlier decisions get the first name, also one that an undo restored.
    assert first == {"0": "Anna", "1": "Anna"}
    assert both == {"0": "Ben", "1": "Anna", "2": "Ben"}
    code = 'nameReviewer("Cleo"); make(3, "reject"); return signatures()'
    assert run_page(page, start + code, storage=storage) == {**both, "3": "Cleo"}
    # Imported decisions without a name get that of the reviewer who imports them.
    code = """nameReviewer("Dora");
    const line = ([i, by]) => [report.report, report.id[i], "accept", "", by];
    const header = ["report", "id", "decision", "label", "reviewer"];
    const lines = [header, ...[[0, ""], [1, "Eve"]].map(line)];
    answer(changesFromCsv(csvText(lines)).changes);
    // Only Eve may change her decision, also under another spelling, unless the row is settled.
    const other = (by, suffix = "") =>
      csvText([header, [report.report + suffix, report.id[1], "reject", "", by]]);
    changesFromCsv(other("EVE "));
    changesFromCsv(other("Finn", "-settled"));
    let message = "";
    try { changesFromCsv(other("Finn")); } catch (error) { message = error.message; }
    make(2, "reject"); nameReviewer("Finn"); return [message, signatures()]"""
    message, signed = run_page(page, start + code)
    assert message.startswith("Eve and Finn decided row ")
    assert signed == {"0": "Dora", "1": "Eve", "2": "Dora"}


@pytest.mark.parametrize("name", SCRIPTS)
def test_modules_import_from_earlier_modules(name) -> None:
    folder = Path(write_review.__code__.co_filename).parent / "templates"
    text = (folder / f"{name}.mjs").read_text("utf-8")
    imported = re.findall(r"^import \{([^}]*)\} from \"\./(\w+)\.mjs\";$", text, re.MULTILINE)
    for names, module in imported:
        assert SCRIPTS.index(module) < SCRIPTS.index(name)
        exported = (folder / f"{module}.mjs").read_text("utf-8")
        for each in names.split(","):
            pattern = rf"^export (async )?(function|const|let) {each.strip()}\b"
            assert re.search(pattern, exported, re.MULTILINE), each
            assert len(re.findall(rf"\b{each.strip()}\b", text)) > 1, f"{each} is not used"
    assert text.count("\nimport ") + text.startswith("import ") == len(imported)

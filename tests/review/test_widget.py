"""The review in a notebook: the page in a frame, and its decisions in Python."""

import sys

import pytest
from browser_page import BrowserPage

from audits import audit_rows
from problems import digits
from twohot import find_label_issues
from twohot.review import Decision, ReviewSummary, ReviewWidget
from twohot.review.page import read_template

# The host of a widget in a notebook: a model, and one element per output.
HOST = """
const source = new Blob([arguments[0]], {type: "text/javascript"});
const module = await import(URL.createObjectURL(source));
const state = {page: arguments[1], height: 700, decisions: "", kept: arguments[2]};
const listeners = new Set();
window.model = {
  get: (name) => state[name],
  set(name, value) {
    state[name] = value;
    if (name === "kept") for (const call of [...listeners]) call();
  },
  on: (name, call) => listeners.add(call), off: (name, call) => listeners.delete(call),
  save_changes() { window.saved = [state.decisions, state.kept]; },
};
window.listeners = listeners;
window.forget = [0, 1].map(() => {
  const el = document.body.appendChild(document.createElement("div"));
  return module.default.render({model: window.model, el});
});
arguments[3]();
"""


@pytest.fixture
def notebook(fresh, tmp_path, downloads):
    """Show a widget in two outputs of an empty page, with its stored entries."""

    def show(widget: ReviewWidget) -> tuple[BrowserPage, list]:
        (tmp_path / "notebook.html").write_text("<!doctype html><title>A notebook</title>")
        page = BrowserPage(fresh, tmp_path / "notebook.html", downloads)
        fresh.set_script_timeout(20)
        model = widget.widget
        fresh.execute_async_script(HOST, read_template("widget.mjs"), model.page, model.kept)
        return page, fresh.find_elements("tag name", "iframe")

    yield show
    fresh.switch_to.default_content()


def test_decisions_of_the_frame_are_available_in_python(notebook) -> None:
    rows = audit_rows(40)
    widget = ReviewWidget(rows, ReviewSummary(title="</iframe><script>alert(1)</script>"))
    page, (first, second) = notebook(widget)
    frames = page.browser.switch_to
    frames.frame(first)
    page.find("#start").click()
    page.press("a", "x")
    page.wait(lambda: page.said("saved") == "✓ Saved")
    # The frame has no address for a row, and stores nothing in the browser.
    page.find(".focus .id").click()
    assert page.script("return [location.href, origin]") == ["about:srcdoc", "null"]
    frames.default_content()
    page.wait(lambda: page.script("return window.saved"))
    widget.widget.decisions, widget.widget.kept = page.script("return window.saved")
    decided = {made.id: made.decision for made in widget.decisions}
    accepted, excluded = (rows.id_texts()[row] for row in rows.flagged[:2])
    assert decided == {accepted: "accept", excluded: "exclude"}
    # Other outputs of the same widget show the decisions too.
    for shown in (lambda: second, lambda: notebook(widget)[1][0]):
        frames.frame(shown())
        page.wait(lambda: page.script("return decisions.size") == 2)
        frames.default_content()
    page.script("window.forget.forEach(call => call())")
    assert page.script("return window.listeners.size") == 0


def test_ignores_messages_of_other_frames(notebook) -> None:
    page, (first, _) = notebook(ReviewWidget(audit_rows(40), ReviewSummary()))
    page.script("postMessage({decisions: 'x', kept: []}, '*')")
    page.browser.switch_to.frame(first)
    # The page has no access to the notebook.
    reach = "try { return String(parent.document.title); } catch (error) { return error.name; }"
    assert page.script(reach) == "SecurityError"
    page.script("parent.postMessage({decisions: 7, kept: []}, '*')")
    page.browser.switch_to.default_content()
    kept = page.script("return [window.saved ?? null, model.get('decisions')]")
    assert kept == [None, ""]


def test_decisions_are_checked_like_a_file() -> None:
    rows = audit_rows(40)
    widget = ReviewWidget(rows, ReviewSummary())
    line = f"{rows.report_id()},{rows.id_texts()[rows.flagged[0]]}"
    for sent, problem in {
        "report,id\nr,0\n": r"lacks 2 columns \(decision, label\)",
        f"report,id,decision,label\n{line},accept,\nr1,0,accept,\n": "was decided in report 'r1'",
        f"report,id,decision,label\n{line},relabel,<b>\n": "<b>",
    }.items():
        widget.widget.decisions = sent
        with pytest.raises(ValueError, match=problem):
            _ = widget.decisions


def test_decisions_of_the_widget_become_labels() -> None:
    data = digits(0.3, 200)
    issues = find_label_issues(data.X, data.given_labels)
    review = issues.review(texts=["half \ud83d"] * 200)
    assert review.decisions == []
    row = int(issues.rows[0])
    given, suggested = (str(issues[name][row]) for name in ("given_label", "predicted_label"))
    header = "report,id,given_label,suggested_label,decision,label"
    report = review.rows.report_id()
    review.widget.decisions = f"{header}\n{report},{row},{given},{suggested},accept,\n"
    assert review.decisions == [Decision(report, str(row), "accept", "", given, suggested)]
    labels = issues.apply(review.decisions)
    assert labels[row] == issues["predicted_label"][row]
    with pytest.raises(ValueError, match="decisions has no column given_label"):
        issues.apply([Decision(report, str(row), "accept", "")])


def test_names_missing_package(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(ImportError, match=r'pip install "twohot\[notebook\]"'):
        ReviewWidget(audit_rows(8), ReviewSummary())

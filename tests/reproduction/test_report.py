"""The page of verdicts, as HTML and as Markdown, from one record."""

from dataclasses import replace

from twohot_paper.claim import NOT_IN_PAPER, Answer, Claim, ClaimVerdict
from twohot_paper.exhibit import Exhibit, Made
from twohot_paper.reproduction import Report, Shown
from twohot_paper.table import Table

EXHIBIT = Exhibit("fig:mine", "Mine", "Figure 1", "nothing", 1.0, "gains")
ABSENT = Exhibit("fig:other", "Other", "Figure 2", "features", 1.0, "gains")
CLAIM = Claim(
    id="mine",
    title="It holds: 100 % (C_kk > 0)",
    text="We <b>see</b> it.",
    place="Section 1",
    rule="Look.",
    shared_rule="And look again.",
    exhibits=("fig:mine",),
    order=1,
    check=lambda *_: None,
)
VERDICT = ClaimVerdict(
    Answer.CONDITIONAL,
    "In 1 of 2.",
    "the dataset is a|b IV",
    Table("Numbers", ("η",), ((0.5,),)),
    "Do.",
    "1 of 2 settings, 1 draw",
)
REPORT = Report(
    [(CLAIM, VERDICT)],
    [
        Shown(EXHIBIT, Made({"plot one": None}, subject="of cats"), 2, 1),
        Shown(ABSENT, Made(), 0, 0, "feature files"),
    ],
    ["pets <i>"],
)


def test_page_lists_every_claim_with_its_rule():
    text = REPORT.to_markdown("# Page", folder="figures")
    assert text.startswith("# Page\n")
    row = "| [We <b>see</b> it.](figures/fig-mine.md#it-holds-100--c_kk--0) (Section 1) | Look. |"
    row += " ◐ when the dataset is a\\|b IV; 1 of 2 settings, 1 draw |"
    assert row in text
    assert "◐ confirmed only when" in text
    assert "Claims about settings: And look again." in text
    assert "[fig:mine](figures/fig-mine.md) 1/2, fig:other (needs feature files)." in text
    assert "Questions of our own" not in text


def test_page_separates_questions_of_our_own():
    own = replace(CLAIM, title="And we?", place=NOT_IN_PAPER)
    text = replace(REPORT, verdicts=[*REPORT.verdicts, (own, VERDICT)]).to_markdown("", "figures")
    verdicts, questions = text.split("## Questions of our own")
    assert "We <b>see</b> it." in verdicts
    assert "And we?" not in verdicts
    assert "And we?" in questions


def test_every_exhibit_has_a_page_with_its_claims():
    pages = REPORT.pages()
    assert pages.keys() == {"fig-mine"}
    page = pages["fig-mine"]
    assert page.startswith("# Mine: of cats\n")
    assert "fig:mine; Figure 1; 1 of 2 runs finished." in page
    assert "![Mine: of cats](fig-mine/plot%20one.svg)" in page
    assert "## It holds: 100 % (C_kk > 0)" in page
    assert (
        "**◐ Confirmed only when the dataset is a|b IV (1 of 2 settings, 1 draw).** In 1 of 2."
        in page
    )
    assert "*Rule.* Look. And look again." in page
    assert "*In practice.* Do." in page


def test_html_is_escaped():
    page = REPORT.to_html()
    assert "<i>" not in page
    assert "<b>" not in page
    assert "We &lt;b&gt;see&lt;/b&gt; it." in page
    assert 'alt="Mine: of cats"' in page
    assert "fig:mine: Mine: of cats" in page
    assert 'src="fig-mine/plot%20one.svg"' in page
    assert "0 confirmed, 1 confirmed only when …, 0 not confirmed" in page
    assert "not run: needs feature files" in page

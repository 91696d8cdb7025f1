"""The page of verdicts, as HTML and as Markdown, from one record."""

from twohot.reproduce.claim import Answer, Claim, ClaimVerdict
from twohot.reproduce.exhibit import Exhibit
from twohot.reproduce.maker import Made
from twohot.reproduce.report import Report, Shown
from twohot.reproduce.table import Table

EXHIBIT = Exhibit("fig:mine", "Mine", "Figure 1", "nothing", 1.0, "gains")
ABSENT = Exhibit("fig:other", "Other", "Figure 2", "features", 1.0, "gains")
CLAIM = Claim(
    id="mine",
    title="It holds: 100 % (C_kk > 0)",
    text="We <b>see</b> it.",
    place="Section 1",
    rule="Look.",
    exhibits=("fig:mine",),
    judge=lambda *_: None,
    order=1,
)
VERDICT = ClaimVerdict(
    Answer.CONDITIONAL,
    "In 1 of 2.",
    "the data set is a|b IV",
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


def test_markdown_has_a_line_and_a_section_for_every_claim():
    text = REPORT.to_markdown("# Page", folder="figures")
    assert text.startswith("# Page\n")
    assert "| [It holds: 100 % (C_kk > 0)](#it-holds-100--c_kk--0) | Section 1 |" in text
    assert "confirmed only when the data set is a\\|b IV (1 of 2 settings, 1 draw) |" in text
    assert "## It holds: 100 % (C_kk > 0)" in text
    assert (
        "**◐ Confirmed only when the data set is a|b IV (1 of 2 settings, 1 draw).** In 1 of 2."
        in text
    )
    assert "![Mine: of cats](figures/fig-mine/plot%20one.svg)" in text
    assert "*In practice.* Do." in text
    assert "| fig:mine | Figure 1 | 1 of 2 | Mine: of cats |" in text
    assert "| fig:other | Figure 2 | – | not run: needs feature files |" in text


def test_html_escapes_what_comes_from_outside():
    page = REPORT.to_html()
    assert "<i>" not in page
    assert "<b>" not in page
    assert "We &lt;b&gt;see&lt;/b&gt; it." in page
    assert 'alt="Mine: of cats"' in page
    assert "fig:mine: Mine: of cats" in page
    assert 'src="fig-mine/plot%20one.svg"' in page
    assert "0 confirmed, 1 confirmed only when …, 0 not confirmed" in page
    assert "not run: needs feature files" in page

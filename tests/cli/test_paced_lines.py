"""Where no bar can be seen, a line every half minute says how far things are."""

import pytest

from twohot.cli import _terminal
from twohot.cli._terminal import PacedLines, choosing


def test_a_line_every_half_minute(capsys):
    now = [0.0]
    lines = PacedLines(lambda: now[0])
    for second in range(0, 100, 5):
        now[0] = float(second)
        lines.say(f"{second} of 100")
    assert capsys.readouterr().err.splitlines() == ["30 of 100", "60 of 100", "90 of 100"]


@pytest.mark.parametrize("quiet", [False, True])
def test_a_choice_says_where_it_is(capsys, monkeypatch, quiet):
    monkeypatch.setattr(_terminal, "BETWEEN_LINES", 0.0)
    with choosing(quiet=quiet) as callback:
        callback("teacher (ridge 30)")
    said = "Choosing a probe, candidate 1: teacher (ridge 30)"
    assert (said in capsys.readouterr().err) is not quiet

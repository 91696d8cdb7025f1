"""How far things are: a bar, and where none can be seen a line every half minute."""

import pytest

from twohot.extract import ExtractionProgress
from twohot_command import terminal as _terminal
from twohot_command.extract import extracting
from twohot_command.terminal import PacedLines, choosing


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


@pytest.mark.parametrize(("n_batches", "rate"), [(1, "2.0"), (3, "2.0")])
def test_the_rate_after_a_resume_is_that_of_the_model(capsys, n_batches, rate):
    now = [0.0]
    with extracting("pixels", 1000, quiet=False, clock=lambda: now[0]) as callback:
        for n_known in range(0, 901, 10):  # which an earlier run has stored
            now[0] += 0.001
            callback(ExtractionProgress(n_known, 1000, 0))
        for batch in range(1, n_batches + 1):
            now[0] += 5.0
            callback(ExtractionProgress(900 + 10 * batch, 1000, 10 * batch))
    said = capsys.readouterr().err
    assert f"{rate} items/s" in said
    if n_batches > 1:
        assert "0:00:35" in said


def test_nothing_is_written_where_quiet_is_asked_for(capsys):
    with extracting("pixels", 1, quiet=True) as callback:
        callback(ExtractionProgress(1, 1, 1))
    with choosing(quiet=True) as tried:
        tried("teacher (ridge 30)")
    assert capsys.readouterr() == ("", "")

"""Progress: a bar, and a line every half minute if no terminal shows it."""

from itertools import count

import pytest

from twohot.extract import ExtractionProgress
from twohot_command.extract import extracting
from twohot_command.terminal import PacedLines, counting


def test_prints_a_line_every_half_minute(capsys):
    now = [0.0]
    lines = PacedLines(lambda: now[0])
    for second in range(0, 100, 5):
        now[0] = float(second)
        lines.say(f"{second} of 100")
    assert capsys.readouterr().err.splitlines() == ["30 of 100", "60 of 100", "90 of 100"]


def test_counts_the_steps_unless_quiet(capsys):
    minutes = count(0.0, 60.0).__next__
    for quiet in (True, False):
        with counting("Choosing a probe", 5, quiet=quiet, clock=minutes) as done:
            done("teacher (ridge 30)")
            done()
        with extracting("pixels", 1, quiet=True) as callback:
            callback(ExtractionProgress(1, 1, 1))
        said = capsys.readouterr()
        if quiet:
            assert said == ("", "")
    assert "Choosing a probe, 1 of 5: teacher (ridge 30)\n" in said.err
    assert "Choosing a probe, 2 of 5\n" in said.err


@pytest.mark.parametrize("n_batches", [1, 3])
def test_the_rate_after_a_resume_is_that_of_the_model(capsys, n_batches):
    now = [0.0]
    with extracting("pixels", 1000, quiet=False, clock=lambda: now[0]) as callback:
        for n_known in range(0, 901, 10):  # which an earlier run has stored
            now[0] += 0.001
            callback(ExtractionProgress(n_known, 1000, 0))
        for batch in range(1, n_batches + 1):
            now[0] += 5.0
            callback(ExtractionProgress(900 + 10 * batch, 1000, 10 * batch))
    said = capsys.readouterr().err
    assert "2.0 items/s" in said
    assert n_batches == 1 or "0:00:35" in said

"""The help is a map, and its examples run."""

import csv
import json
import re
import shlex
from pathlib import Path

import pytest
from label_tables import done, run
from PIL import Image

from audits import audit_rows
from twohot.audit import read_audit_folder, write_audit_folder, write_check
from twohot.review import ReviewSummary
from twohot.tables import write_csv
from twohot_command.app import examples_of
from twohot_command.commands import COMMANDS, PANELS

TEXTS = {
    "card": ["Where is my card?", "My card has not come.", "The card was sent.", "A new card."],
    "pin": ["I forgot my PIN.", "My PIN is blocked.", "How do I set a PIN?", "A new PIN."],
}


def test_the_help_lists_every_command_below_what_it_is_for():
    shown = run("--help").output
    places = [shown.index(f"─ {heading} ─") for heading in PANELS]
    assert places == sorted(places)
    ends = [*places[1:], len(shown)]
    for (heading, commands), start, end in zip(PANELS.items(), places, ends, strict=True):
        part = shown[start:end]
        assert all(re.search(rf"^\W*{name} ", part, re.MULTILINE) for name in commands), heading


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_shows_no_types_and_ends_with_examples(name):
    options, _, examples = run(name, "--help").output.rpartition("Examples:")
    assert examples_of(name)
    assert [line.strip() for line in examples.splitlines() if line.strip()] == [*examples_of(name)]
    assert "--help" in options
    assert not re.search(r"<(int|float|str|bool|list\[\w+\])( range)?>", options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the files that the examples speak of."""
    folder = tmp_path_factory.mktemp("examples")
    rows = [(text, label) for label, texts in TEXTS.items() for text in texts]
    for name in ("tickets.csv", "trusted_tickets.csv", "new_tickets.csv"):
        with (folder / name).open("w", newline="") as file:
            csv.writer(file).writerows([("text", "label"), *rows])
    for label, grey in {"dark": 40, "light": 200}.items():
        (folder / "photos" / label).mkdir(parents=True)
        Image.new("RGB", (16, 16), (grey,) * 3).save(folder / "photos" / label / "0.png")
    return folder


def test_the_examples_run_one_after_another(folder, monkeypatch):
    monkeypatch.chdir(folder)
    # In the order of the panels, but for what makes the probe and the corrected file.
    for name in COMMANDS:
        for line in examples_of(name):
            if "decisions.csv" in line:
                report = json.loads(Path("audit/summary.json").read_text())["report"]
                Path("decisions.csv").write_text(f"report,id,decision,label\n{report},0,reject,\n")
            if "check_done.csv" in line:
                check_a_hundred_labels(Path("checked"), Path("check_done.csv"))
            done(*shlex.split(line)[1:])


def check_a_hundred_labels(audit, done):
    """Draw rows of an audit that flags enough labels for a list, and call all of them wrong."""
    write_audit_folder(audit, audit_rows(240), ReviewSummary())
    draw = write_check(audit, read_audit_folder(audit), 0.1).draw
    write_csv(done, ["id", "verdict"], ([str(row), "wrong"] for row in draw.rows))

"""The first screen of a command fits, answers, and names a next step that can be pasted."""

import re
import shlex

import pandas as pd
import pytest
from label_tables import done, run

from problems import digits
from twohot_command.app import parser_of
from twohot_command.commands import COMMANDS

STEP = re.compile(r"^(?:Next:|Also:)?\s*twohot (.*)$", re.MULTILINE)


KIND, PROBE = ["my rows.csv", "--label-column", "kind"], "my probe.safetensors"
# A session: every command and its arguments, one after another.
SESSION = {
    "describe": [*KIND],
    "forecast": [*KIND],
    "audit": [*KIND, "-o", "an audit"],
    "apply": ["--accept-all", "0.9", "--audit", "an audit"],
    "fit": [*KIND, "-o", PROBE],
    "predict": [PROBE, *KIND, "-o", "new.csv"],
    "evaluate": [PROBE, *KIND],
    "corrupt": [*KIND, "--rate", "0.1", "-o", "worse rows.features"],
    "extract": ["digits", "--backbone", "pixels", "-o", "d.features"],
    "demo": ["--noise", "0.4"],
}


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """Return the folder, and what every command prints about digits with noisy labels."""
    folder = tmp_path_factory.mktemp("a session")  # a path that has to be quoted
    data = digits(0.3, 600)
    frame = pd.DataFrame(data.X).add_prefix("x")
    frame["kind"] = [f"n {label}" for label in data.given_labels]
    frame.to_csv(folder / "my rows.csv", index=False)
    printed = {}
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        for name, arguments in SESSION.items():
            result = done(name, *arguments, columns="100")
            printed[name] = result.stdout
    return folder, printed


@pytest.mark.parametrize("name", SESSION)
def test_the_first_screen_fits(session, name):
    assert 1 < len(session[1][name].splitlines()) <= 25


ONWARD = {
    "forecast": ["fit", "audit"],
    "audit": ["apply", "apply"],
    "fit": ["predict"],
    "predict": ["evaluate"],
    "corrupt": ["audit"],
    "extract": ["audit"],
}


@pytest.mark.parametrize("name", ONWARD)
def test_the_next_step_runs_as_printed(session, name, monkeypatch):
    folder, printed = session
    monkeypatch.chdir(folder)
    found = [shlex.split(line) for line in STEP.findall(printed[name])]
    assert [words[0] for words in found] == ONWARD[name]
    for words in found:
        if words[1].startswith("decisions-"):  # which the report exports
            report = words[1].removeprefix("decisions-").removesuffix(".csv")
            (folder / words[1]).write_text(f"report,id,decision,label\n{report},0,reject,\n")
        again = [] if words[0] == "evaluate" else ["--force"]  # another step wrote there too
        done(*words, *again)


def test_a_fit_prints_its_accuracy_and_all_candidates_if_verbose(session, monkeypatch):
    folder, printed = session
    monkeypatch.chdir(folder)
    said = re.search(
        r"predicts (\d\d\.\d)% ± \d\.\d% \(standard error\) of the held-out given labels\.\n"
        r"About (\d\d\.\d)% of the given labels are wrong",
        printed["fit"],
    )
    assert float(said[1]) + float(said[2]) == pytest.approx(100, abs=6)
    more = run("fit", "my rows.csv", "--label-column", "kind", "-o", "again.st", "--verbose")
    assert "teacher (ridge 30)" in more.stdout
    assert len(more.stdout.splitlines()) > 20


def options_of(name):
    """Return the options of a command in the order of its help, and which are required."""
    entries = [entry for entry in parser_of(name).params if entry.param_type_name == "option"]
    return [entry.opts[0] for entry in entries], [entry.required for entry in entries]


def test_options_have_the_same_order_in_every_help():
    orders = {name: options_of(name) for name in COMMANDS if name != "reproduce"}
    for names, required in orders.values():
        assert required == sorted(required, reverse=True)
        for others, _ in orders.values():
            shared = set(names) & set(others)
            assert [n for n in names if n in shared] == [n for n in others if n in shared]
    # -o is where the result goes, and comes first.
    assert {names[0] for names, _ in orders.values() if "--output" in names} == {"--output"}

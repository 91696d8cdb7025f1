"""The first screen of a command fits, answers, and names a next step that can be pasted."""

import re
import shlex

import pytest
from label_tables import done, run
from typer.testing import CliRunner

from problems import digits
from twohot_command.app import parser_of
from twohot_command.commands import COMMANDS, app

# As wide as a terminal is.
NARROW = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
STEP = re.compile(r"^(?:Next:|Also:)?\s*twohot (.*)$", re.MULTILINE)


def steps(output):
    """Return the arguments of the commands that are printed to go on with."""
    return [shlex.split(line) for line in STEP.findall(output)]


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """Return what every command prints about digits with noisy labels, one after another."""
    folder = tmp_path_factory.mktemp("a session")  # a path that has to be quoted
    data = digits(0.3, 600)
    header = ",".join([*(f"x{i}" for i in range(data.X.shape[1])), "kind"])
    lines = [",".join(map(str, [*row, f"n {label}"])) for row, label in zip(
        data.X.tolist(), data.given_labels.tolist(), strict=True)]  # fmt: skip
    (folder / "my rows.csv").write_text("\n".join([header, *lines]))
    kind, probe = ["my rows.csv", "--label-column", "kind"], "my probe.safetensors"
    asked = {
        "describe": [*kind],
        "forecast": [*kind],
        "audit": [*kind, "-o", "an audit"],
        "apply": ["--accept-all", "0.9", "--audit", "an audit"],
        "fit": [*kind, "-o", probe],
        "predict": [probe, *kind, "-o", "new.csv"],
        "evaluate": [probe, *kind],
        "corrupt": [*kind, "--rate", "0.1", "-o", "worse rows.features"],
        "extract": ["digits", "--backbone", "pixels", "-o", "d.features"],
        "demo": ["--noise", "0.4"],
    }
    printed = {}
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        for name, arguments in asked.items():
            result = CliRunner().invoke(app, [name, *arguments], env=NARROW)
            assert result.exit_code == 0, result.output
            printed[name] = result.stdout
    return folder, printed


ASKED = ("describe", "forecast", "audit", "apply", "fit", "predict", "evaluate", "corrupt",
         "extract", "demo")  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
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
def test_what_is_printed_as_the_next_step_runs(session, name, monkeypatch):
    folder, printed = session
    monkeypatch.chdir(folder)
    found = steps(printed[name])
    assert [words[0] for words in found] == ONWARD[name]
    for words in found:
        if words[1].startswith("decisions-"):  # which the report exports
            report = words[1].removeprefix("decisions-").removesuffix(".csv")
            (folder / words[1]).write_text(f"report,id,decision,label\n{report},0,reject,\n")
        again = [] if words[0] == "evaluate" else ["--force"]  # another step wrote there too
        done(*words, *again)


def test_a_fit_says_how_good_the_probe_is_and_verbose_what_was_tried(session, monkeypatch):
    folder, printed = session
    monkeypatch.chdir(folder)
    said = re.search(
        r"Predicts (\d\d\.\d)% ± \d\.\d% of the held-out given labels; about "
        r"(\d\d\.\d)% of them are wrong",
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


def test_options_stand_in_the_same_order_in_every_help():
    orders = {name: options_of(name) for name in COMMANDS if name != "reproduce"}
    for names, required in orders.values():
        assert required == sorted(required, reverse=True)
        for others, _ in orders.values():
            shared = set(names) & set(others)
            assert [n for n in names if n in shared] == [n for n in others if n in shared]
    # -o is where the result goes, and comes first.
    assert {names[0] for names, _ in orders.values() if "--output" in names} == {"--output"}

"""`twohot reproduce`: what is missing is run, drawn and judged; what cannot be used is refused."""

import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from label_tables import done, refused, run

import twohot
from small_data import write_small_data
from twohot_paper import reproduction
from twohot_paper.exhibit import exhibits

FIGURE = "fig:real_gain"


@pytest.fixture(scope="module")
def features(tmp_path_factory):
    return write_small_data(tmp_path_factory.mktemp("paper"), "pets <b>&")


@pytest.fixture(scope="module")
def asked(features):
    """Return the arguments that make one figure of small data."""
    return [FIGURE, "--features", features, "-o", features.parent / "out", "--seeds", "1"]


@pytest.fixture(scope="module")
def printed(asked):
    return done("reproduce", *asked).output


@pytest.fixture
def runs(printed, features):  # noqa: ARG001 - which did them
    return (features.parent / "out" / "runs.jsonl").read_text().splitlines()


@pytest.mark.parametrize("columns", ["400", "100"])
def test_lists_all_exhibits_with_what_they_need(columns):
    output = run("reproduce", "list", columns=columns).output
    assert all(exhibit.id[:12] in output for exhibit in exhibits())
    assert "CIFAR-100" in output
    lines = [line.split("│")[1].strip() for line in output.splitlines() if "│" in line]
    if columns == "100":  # titles are below the ids
        assert lines[lines.index("fig:acc_gain") + 1].startswith("Figure 3a")
    assert "\\n" not in output


def test_a_missing_extra_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "twohot_paper.app", None)
    said = refused("reproduce", "list", "--no-such-option")
    assert 'pip install "twohot[paper]"' in said


def test_writes_a_figure_in_all_formats_and_a_page(printed, runs, features):
    out = features.parent / "out"
    assert {path.suffix for path in out.rglob("*")} >= {
        ".svg", ".png", ".csv", ".md", ".html", ".jsonl",
    }  # fmt: skip
    for line in (
        "pets <b>& is not one of the paper's datasets, so its penalty",
        "Test accuracy rises with the round: ",
        "of 4 settings, 1 draw)",
    ):
        assert line in printed
    # Clean labels, and seven noise rates.
    assert [json.loads(line)["error"] for line in runs] == [None] * 8
    page = (out / "index.html").read_text()
    for text in (
        "pets &lt;b&gt;&amp;",
        f"Made by twohot {twohot.__version__}, ",
        "noisy labels drawn with seeds 0.",
        "120 training and 60 test rows of 12 features, 6 classes",
    ):
        assert text in page
    assert "<b>" not in page


def test_finished_runs_are_skipped_and_counted(asked, runs, features):
    assert "8 of 8 runs were already finished." in done("reproduce", *asked).output
    assert (features.parent / "out" / "runs.jsonl").read_text().splitlines() == runs
    assert "8 of 8" in run("reproduce", "list", *asked[1:]).output


def test_a_failed_run_is_reported_and_tried_again(features, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise ValueError("no luck")

    asked = [FIGURE, "--features", features, "-o", tmp_path, "--seeds", "1"]
    with monkeypatch.context() as patched:
        patched.setattr(reproduction, "measure_run", fail)
        said = refused("reproduce", *asked)
    assert "no luck" in said
    assert "8 runs failed" in said
    done("reproduce", *asked)


def test_records_only_runs_nothing_and_takes_more_features(features, tmp_path):
    other = write_small_data(tmp_path, "cats", seed=1)
    asked = ["--features", features, other, "-o", tmp_path, "--records-only"]
    done("reproduce", FIGURE, *asked)
    assert not (tmp_path / "runs.jsonl").exists()
    assert "cats" in (tmp_path / "index.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fig:real_gian"], "'fig:real_gian' is not a figure or table of the paper: did you mean"),
        (["bogus"], "`twohot reproduce list` shows all"),
        ([FIGURE], "fig:real_gain needs feature files: pass --features"),
        (
            ["fig:gram_mat", "--features", "pets.npz"],
            (
                "fig:gram_mat needs CIFAR-100 features, a file whose name starts with cifar100:"
                " pass --features=…, or run `twohot reproduce fig:ft_corr`, which makes the"
                " same figure from any features."
            ),
        ),
        ([FIGURE, "--features", "empty"], "=empty is a folder: pass --features-dir=empty"),
        ([FIGURE, "--features", "pets.npz", "-o", "notes.jsonl"], "--output=notes.jsonl is a file"),
        ([FIGURE, "--features", "pets.npz", "-o", "notes.jsonl/a"], "notes.jsonl, which is a file"),
        ([FIGURE, "--features", "pets.npz", "--log", "empty"], "--log=empty is a folder: name a"),
        (["real"], "real needs feature files: pass --features=… or --features-dir=…"),
        ([FIGURE, "--features-dir", "empty"], "--features-dir=empty has no feature files"),
        ([FIGURE, "--features", "none.npz"], "none.npz does not exist"),
        ([FIGURE, "--features", "plain.npz"], "has no splits, and not 'train'"),
        (
            [FIGURE, "--features", "pets.npz", "--log", "other.jsonl"],
            "has format 99, but this version reads format 1",
        ),
        ([FIGURE, "--features", "pets.npz", "--log", "notes.jsonl"], "is not the record of a run"),
    ],
)
def test_rejects_unusable_input_and_keeps_the_log(here, arguments, message):
    write_small_data(here)
    (here / "empty").mkdir()
    np.savez("plain.npz", X=np.eye(4), y=[0, 1, 2, 0])
    logs = {"other.jsonl": '{"format": 99}\n', "notes.jsonl": "milk, eggs\n"}
    for name, text in logs.items():
        Path(name).write_text(text)
    printed = refused("reproduce", *arguments)
    assert message in printed
    assert {name: Path(name).read_text() for name in logs} == logs
    assert not Path("paper").exists()


def test_features_that_nothing_needs_are_not_read(tmp_path):
    given = ["--features", "digits.npz", "--records-only", "-o", tmp_path]
    printed = done("reproduce", "fig:acc_gain", *given)
    assert "fig:acc_gain needs no features, so digits.npz is not used." in printed.output
    printed = run("reproduce", "fig:acc_gain", "synthetic", "other.npz", *given)
    assert "need no features, so digits.npz, other.npz are not used." in printed.output


def test_the_module_runs_the_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["twohot", "--version"])
    with pytest.raises(SystemExit):
        runpy.run_module("twohot", run_name="__main__")
    assert capsys.readouterr().out.strip() == f"twohot {twohot.__version__}"

"""`twohot reproduce`: what is missing is run, drawn and judged; what cannot be used is refused."""

import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from label_tables import run

import twohot
from small_data import write_small_data
from twohot_paper import reproduction
from twohot_paper.exhibit import exhibits

FIGURE = "fig:real_gain"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with one figure, the features it is made of, and what was printed."""
    folder = tmp_path_factory.mktemp("paper")
    features = write_small_data(folder, "pets <b>&")
    printed = run("reproduce", FIGURE, "--features", features, "-o", folder / "out", "--seeds", "1")
    return folder, features, printed


def runs(folder):
    return (folder / "out" / "runs.jsonl").read_text().splitlines()


def test_the_list_names_everything_with_what_it_needs():
    printed = run("reproduce", "list")
    assert printed.exit_code == 0
    ids = [exhibit.id for exhibit in exhibits()]
    assert all(name[:12] in printed.output for name in ids)
    assert "Figure 3a: Training" in printed.output
    assert "CIFAR-100" in printed.output


def test_a_list_in_a_narrow_terminal_has_titles_below_their_ids(monkeypatch):
    monkeypatch.setattr("twohot_paper.app.NARROW", 10_000)
    printed = run("reproduce", "list")
    lines = [line.split("│")[1].strip() for line in printed.output.splitlines() if "│" in line]
    assert "Figure 3a: Training accuracy" in lines[lines.index("fig:acc_gain") + 1]
    assert "'" not in printed.output.replace("paper's", "")
    assert "\\n" not in printed.output


def test_a_missing_laboratory_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "twohot_paper.app", None)
    printed = run("reproduce", "list", "--no-such-option")
    assert printed.exit_code == 1
    assert 'pip install "twohot[paper]"' in printed.output


def test_a_figure_is_written_in_all_formats(made):
    folder, _, printed = made
    assert printed.exit_code == 0, printed.output
    suffixes = {path.suffix for path in (folder / "out").rglob("*")}
    assert suffixes >= {".svg", ".png", ".csv", ".md", ".html", ".jsonl"}
    assert "pets <b>& is not one of the paper's datasets: its penalty" in printed.output
    assert len(runs(folder)) == 8  # clean labels, and seven noise rates
    assert "Test accuracy rises with the round: " in printed.output
    assert "of 4 settings, 1 draw)" in printed.output
    assert all(json.loads(line)["error"] is None for line in runs(folder))


def test_names_of_a_user_are_escaped(made):
    folder, _, _ = made
    page = (folder / "out" / "index.html").read_text()
    assert "pets &lt;b&gt;&amp;" in page
    assert "<b>" not in page


def test_the_top_of_the_page_says_what_it_was_made_by_and_of(made):
    folder, _, _ = made
    page = (folder / "out" / "index.html").read_text()
    assert f"Made by twohot {twohot.__version__}, " in page
    assert "noisy labels drawn with seeds 0." in page
    assert "120 training and 60 test rows of 12 features, 6 classes" in page


def test_finished_runs_are_skipped_and_counted(made):
    folder, features, _ = made
    before = runs(folder)
    options = ["--features", features, "-o", folder / "out", "--seeds", "1"]
    printed = run("reproduce", FIGURE, *options)
    assert printed.exit_code == 0
    assert "8 of 8 runs were already finished." in printed.output
    assert runs(folder) == before
    assert "8 of 8" in run("reproduce", "list", *options).output


def test_records_only_does_no_run(made, tmp_path):
    _, features, _ = made
    printed = run("reproduce", FIGURE, "--features", features, "-o", tmp_path, "--records-only")
    assert printed.exit_code == 0
    assert not (tmp_path / "runs.jsonl").exists()


def test_a_failed_run_is_told_and_tried_again(made, tmp_path, monkeypatch):
    _, features, _ = made

    def refuse(*_, **__):
        raise ValueError("no luck")

    options = ["--features", features, "-o", tmp_path, "--seeds", "1"]
    with monkeypatch.context() as patched:
        patched.setattr(reproduction, "measure_run", refuse)
        printed = run("reproduce", FIGURE, *options)
    assert printed.exit_code == 1
    assert "no luck" in printed.output
    assert "8 runs failed" in printed.output
    assert run("reproduce", FIGURE, *options).exit_code == 0


def test_more_feature_files_may_follow(made, tmp_path):
    _, features, _ = made
    other = write_small_data(tmp_path, "cats", seed=1)
    printed = run(
        "reproduce", FIGURE, "--features", features, other, "-o", tmp_path, "--records-only"
    )
    assert printed.exit_code == 0
    assert "cats" in (tmp_path / "index.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["fig:real_gian"],
            "'fig:real_gian' is not a figure or table of the paper: did you mean fig:",
        ),
        (["bogus"], "`twohot reproduce list` shows all"),
        ([FIGURE], "fig:real_gain needs feature files: pass --features"),
        (
            ["fig:gram_mat", "--features", "pets.npz"],
            (
                "fig:gram_mat needs CIFAR-100 features, a file whose name starts with cifar100:"
                " pass --features=…, or take fig:ft_corr, which shows it of any features."
            ),
        ),
        (
            [FIGURE, "--features", "empty"],
            "=empty is a folder: pass --features-dir=empty",
        ),
        ([FIGURE, "--features", "pets.npz", "-o", "notes.jsonl"], "--output=notes.jsonl is a file"),
        ([FIGURE, "--features", "pets.npz", "-o", "notes.jsonl/a"], "notes.jsonl, which is a file"),
        ([FIGURE, "--features", "pets.npz", "--log", "empty"], "--log=empty is a folder: name a"),
        (["real"], "real needs feature files: pass --features=… or --features-dir=…"),
        ([FIGURE, "--features-dir", "empty"], "--features-dir=empty has no feature files"),
        ([FIGURE, "--features", "none.npz"], "none.npz is not a file"),
        ([FIGURE, "--features", "plain.npz"], "has no splits, and not 'train'"),
        ([FIGURE, "--features", "pets.npz", "--log", "other.jsonl"], "of format 99, not 1"),
        ([FIGURE, "--features", "pets.npz", "--log", "notes.jsonl"], "is not the record of a run"),
    ],
)
def test_what_cannot_be_used_is_refused_and_the_log_untouched(
    tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    write_small_data(tmp_path)
    (tmp_path / "empty").mkdir()
    np.savez("plain.npz", X=np.eye(4), y=[0, 1, 2, 0])
    logs = {"other.jsonl": '{"format": 99}\n', "notes.jsonl": "milk, eggs\n"}
    for name, text in logs.items():
        Path(name).write_text(text)
    printed = run("reproduce", *arguments)
    assert printed.exit_code == 1
    assert message in printed.output
    assert {name: Path(name).read_text() for name in logs} == logs
    assert not Path("paper").exists()


def test_features_that_nothing_needs_are_not_used_nor_read(tmp_path):
    given = ["--features", "digits.npz", "--records-only", "-o", tmp_path]
    printed = run("reproduce", "fig:acc_gain", *given)
    assert printed.exit_code == 0
    assert "fig:acc_gain needs no features: digits.npz is not used." in printed.output
    printed = run("reproduce", "fig:acc_gain", "synthetic", "other.npz", *given)
    assert "need no features: digits.npz, other.npz are not used." in printed.output


def test_the_module_is_the_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["twohot", "--version"])
    with pytest.raises(SystemExit):
        runpy.run_module("twohot", run_name="__main__")
    assert capsys.readouterr().out.strip() == f"twohot {twohot.__version__}"

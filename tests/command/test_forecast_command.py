"""`twohot forecast` prints the forecast of a file, and writes it."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from label_tables import done, refused, run

from problems import digits
from twohot import AutoProbe, LinearProbe, load
from twohot.describe.forecast import forecast
from twohot.tables import FeatureTable, write_features
from twohot_command.sources import FeatureOptions, TableOptions


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("forecast")
    data = digits(0.6)
    names = np.array([f"[b]{k}[/b]" for k in range(10)])  # looks like markup, and is a name
    np.savez(path / "digits.npz", features=data.X, labels=names[data.given_labels])
    return path


@pytest.fixture(scope="module")
def result(folder):
    return run("forecast", folder / "digits.npz", "-o", folder / "out")


def test_the_first_screen_is_the_advice(folder, result):
    data = digits(0.6)
    advice = forecast(data.X, data.given_labels).advice
    path = folder / "digits.npz"
    assert result.exit_code == 0, result.output
    printed = result.stdout.splitlines()
    assert len(printed) <= 25
    start = printed.index("digits.npz: 1000 rows with a label, 10 classes") + 1
    assert printed[start : start + 5] == [
        f"Advice: {advice.summary}",
        f"Labels: {advice.wrong_labels}",
        f"Next:   twohot fit {path} -o probe.safetensors",
        f"Also:   twohot audit {path} -o audit/",
        "Add --verbose for the evidence, its limits and the tables.",
    ]


def test_a_table_is_named_as_a_command_line_has_it():
    options = TableOptions(source=Path("a b.csv"), label_column="kind", missing=["NA", "?"])
    expected_words = "'a b.csv' --label-column kind --missing NA --missing '?'"
    assert shlex.join(options.words()) == expected_words
    assert options.words(FeatureOptions, ["label_column"]) == ["a b.csv"]


def test_evidence_and_tables_are_printed_where_asked(folder):
    data = digits(0.6)
    expected = forecast(data.X, data.given_labels)
    output = run("forecast", folder / "digits.npz", "--verbose", "--quiet").output
    for sentence in (*expected.advice.evidence, *expected.advice.cautions):
        assert f"- {sentence}" in output
    assert f"{expected.theory.separation:.3g}" in output
    printed = [" ".join(line.split()) for line in output.splitlines()]
    for entry in expected.comparison.choice.tried:
        agreement = f"{entry.name} │ {entry.agreement:.1%} ± {entry.agreement_error:.1%} │"
        assert any(agreement in line for line in printed)
    weakest = int(expected.theory.guarantees[-1].margins.argmin())
    assert f"[b]{weakest}[/b]" in output


def test_files_are_written_where_asked(folder, result):
    assert f"Wrote forecast.json, forecast.png to {folder / 'out'}" in result.output
    record = json.loads((folder / "out" / "forecast.json").read_text())
    assert record["advice"]["summary"] in result.output
    assert (folder / "out" / "forecast.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def csv(tmp_path_factory):
    """Rows with a split, in groups of ten."""
    data = digits(0.6)
    frame = {f"x{i}": column for i, column in enumerate(data.X.T)}
    frame["label"] = data.given_labels
    frame["split"] = np.where(np.arange(1000) < 600, "train", "test")
    frame["patient"] = [f"p{row // 10}" for row in range(1000)]
    rows = [frame, *zip(*frame.values(), strict=True)]
    path = tmp_path_factory.mktemp("csv") / "d.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in rows))
    return path


def test_rows_of_a_split_are_looked_at(csv):
    data = digits(0.6)
    assert "d.csv: 600 rows" in run("forecast", csv, "--rounds", 2).output
    chosen = run("forecast", csv, "--split", "test", "--folds", 3, "--seed", 1)
    assert "d.csv: 400 rows" in chosen.output
    expected = forecast(data.X[600:], data.given_labels[600:].astype(str), cv=3, random_state=1)
    assert f"Advice: {expected.advice.summary}" in chosen.output
    assert f"Labels: {expected.advice.wrong_labels}" in chosen.output
    assert f"twohot fit {csv} --split test" in chosen.output
    assert "--folds 3 --seed 1 -o probe.safetensors" in chosen.output
    wrong = refused("forecast", csv, "--split", "validation")
    assert "split='validation' is not in this table, which has" in wrong
    assert "d.csv: 1000 rows" in run("forecast", csv, "--split", "all", "--quiet").output


def test_groups_are_held_out_together_and_named_in_the_next_command(csv):
    data = digits(0.6)
    output = run("forecast", csv, "--split", "all", "--group-column", "patient", "--quiet").output
    groups = np.arange(1000) // 10
    expected = forecast(data.X, data.given_labels.astype(str), groups=groups)
    assert f"Advice: {expected.advice.summary}" in output
    assert f"Labels: {expected.advice.wrong_labels}" in output
    assert f"twohot fit {csv} --split all --group-column patient " in output
    assert f"twohot audit {csv} --split all --group-column patient -o audit/" in output


def test_superclasses_of_classes_without_rows_are_left_out(tmp_path):
    data = digits(0.6)
    groups = np.array([2, 0] * 5 + [1])  # the last class has no row
    table = FeatureTable(
        features=data.X,
        labels=data.given_labels,
        classes=(*"0123456789", "none"),
        superclass=groups,
        superclass_names=("odd", "unused", "even"),
    )
    write_features(tmp_path / "d.features", table)
    done("forecast", tmp_path / "d.features", "--quiet", "-o", tmp_path)
    expected = forecast(data.X, data.given_labels, superclass=groups[:10] // 2)
    record = json.loads((tmp_path / "forecast.json").read_text())
    assert record["correlation"]["superclass"] == [1, 0] * 5
    same = expected.correlation.same_superclass
    assert record["correlation"]["same_superclass"] == pytest.approx(same)


def test_features_and_classes_can_be_chosen(tmp_path):
    data = digits(0.6)
    np.savez(tmp_path / "d.npz", features=data.X[:, ::-1], mine=data.X, labels=data.given_labels)
    (tmp_path / "names.txt").write_text("\n".join(f"digit {k}" for k in range(10)))
    arguments = ["--feature-column", "mine", "--classes", tmp_path / "names.txt"]
    done("forecast", tmp_path / "d.npz", *arguments, "-o", tmp_path)
    record = json.loads((tmp_path / "forecast.json").read_text())
    assert record["classes"] == [f"digit {k}" for k in range(10)]
    expected = forecast(data.X, data.given_labels)
    assert record["theory"]["separation"] == pytest.approx(expected.theory.separation)


@pytest.mark.parametrize(("noise", "choice"), [(0.0, []), (0.6, ["--folds", 3, "--seed", 1])])
def test_the_next_command_fits_what_is_advised(tmp_path, monkeypatch, noise, choice):
    """It is run as it is printed."""
    monkeypatch.chdir(tmp_path)
    data = digits(noise, 1000 if noise else 1797)
    np.savez("digits.npz", X=data.X, y=data.given_labels)
    said = run("forecast", "digits.npz", "--quiet", *choice, "-o", ".").output
    advice = json.loads(Path("forecast.json").read_text())["advice"]
    assert advice["action"] == ("use AutoProbe" if noise else "use a plain probe")
    (line,) = (line for line in said.splitlines() if line.startswith("Next:"))
    _, _, *words = shlex.split(line)
    done(*words, "--quiet")
    fitted = load("probe.safetensors")
    if noise:
        assert advice["code"] == "AutoProbe()"
        expected = AutoProbe(cv=3, random_state=1).fit(data.X, data.given_labels.astype(str))
        assert fitted.choice_ == expected.choice_
    else:
        assert " ".join(str(fitted).split()) == advice["code"]
        expected = LinearProbe(**fitted.get_params()).fit(data.X, data.given_labels.astype(str))
        np.testing.assert_array_equal(fitted.coef_, expected.coef_)


def test_nothing_is_to_be_fitted_where_nothing_helps(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = digits(0.6)
    shuffled = np.random.default_rng(1).permutation(data.given_labels)
    np.savez("digits.npz", X=data.X, y=shuffled)
    said = run("forecast", "digits.npz", "--quiet").output
    assert "Advice: no linear method will help: " in said
    assert "Labels: The number of wrong labels cannot be estimated" in said
    assert "Next:   twohot describe digits.npz" in said
    assert "twohot fit" not in said
    assert "twohot audit" not in said

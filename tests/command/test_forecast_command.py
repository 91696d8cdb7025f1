"""`twohot forecast` prints the forecast of a file, and writes it."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from label_tables import done, run

from problems import digits
from twohot import AutoProbe, LinearProbe, load
from twohot.describe.forecast import forecast
from twohot.tables import FeatureTable, write_features
from twohot_command.sources import FeatureOptions, TableOptions


@pytest.fixture(scope="module")
def data():
    return digits(0.6)


@pytest.fixture(scope="module")
def expected(data):
    return forecast(data.X, data.given_labels)


@pytest.fixture(scope="module")
def path(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("forecast") / "digits.npz"
    names = np.array([f"[b]{k}[/b]" for k in range(10)])  # looks like markup, and is a name
    np.savez(path, features=data.X, labels=names[data.given_labels])
    return path


def test_prints_the_advice_and_writes_the_forecast(path, expected):
    result = done("forecast", path, "-o", path.parent / "out")
    advice, printed = expected.advice, result.stdout.splitlines()
    assert len(printed) <= 25
    start = printed.index("digits.npz: 1000 rows with a label, 10 classes") + 1
    assert printed[start : start + 5] == [
        f"Advice: {advice.summary}",
        f"Labels: {advice.wrong_labels}",
        f"Next:   twohot fit {path} -o probe.safetensors",
        f"Also:   twohot audit {path} -o audit/",
        "Add --verbose for the evidence, the limits of the evidence and the tables.",
    ]
    assert f"Wrote forecast.json, forecast.png to {path.parent / 'out'}" in result.output
    record = json.loads((path.parent / "out" / "forecast.json").read_text())
    assert record["advice"]["summary"] == advice.summary
    assert (path.parent / "out" / "forecast.png").read_bytes().startswith(b"\x89PNG")


def test_verbose_prints_the_evidence_and_tables(path, expected):
    output = run("forecast", path, "--verbose", "--quiet").output
    for sentence in (*expected.advice.evidence, *expected.advice.cautions):
        assert f"- {sentence}" in output
    assert f"{expected.theory.separation:.3g}" in output
    printed = [" ".join(line.split()) for line in output.splitlines()]
    for entry in expected.comparison.choice.tried:
        agreement = f"{entry.name} │ {entry.agreement:.1%} ± {entry.agreement_error:.1%} │"
        assert any(agreement in line for line in printed)
    weakest = int(expected.theory.guarantees[-1].margins.argmin())
    assert f"[b]{weakest}[/b]" in output


def test_writes_a_table_as_words_of_a_command():
    options = TableOptions(source=Path("a b.csv"), label_column="kind", missing=["NA", "?"])
    expected_words = "'a b.csv' --label-column kind --missing NA --missing '?'"
    assert shlex.join(options.words()) == expected_words
    assert options.words(FeatureOptions, ["label_column"]) == ["a b.csv"]


@pytest.fixture(scope="module")
def csv(tmp_path_factory, data):
    """Rows with a split, in groups of ten."""
    frame = {f"x{i}": column for i, column in enumerate(data.X.T)}
    frame["label"] = data.given_labels
    frame["split"] = np.where(np.arange(1000) < 600, "train", "test")
    frame["patient"] = [f"p{row // 10}" for row in range(1000)]
    rows = [frame, *zip(*frame.values(), strict=True)]
    path = tmp_path_factory.mktemp("csv") / "d.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in rows))
    return path


@pytest.mark.parametrize(
    ("options", "n_rows", "how"),
    [
        (["--rounds", "2"], 600, {"n_rounds": 2}),
        (["--split", "test", "--folds", "3", "--seed", "1"], 400, {"cv": 3, "random_state": 1}),
        (
            ["--split", "all", "--group-column", "patient"],
            1000,
            {"groups": np.arange(1000) // 10},
        ),
    ],
)
def test_options_choose_the_forecast_and_are_in_the_next_command(csv, data, options, n_rows, how):
    output = done("forecast", csv, *options, "--quiet").output
    rows = slice(600, None) if n_rows == 400 else slice(n_rows)
    expected = forecast(data.X[rows], data.given_labels[rows].astype(str), **how)
    assert f"d.csv: {n_rows} rows" in output
    assert f"Advice: {expected.advice.summary}" in output
    assert f"Labels: {expected.advice.wrong_labels}" in output
    if "--rounds" not in options:
        assert f"twohot fit {csv} {' '.join(options)} -o probe.safetensors" in output
        assert f"twohot audit {csv} {' '.join(options[: 4 if n_rows == 1000 else 2])} -o" in output


def test_superclasses_of_classes_without_rows_are_left_out(tmp_path, data):
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
    found = json.loads((tmp_path / "forecast.json").read_text())["correlation"]
    assert found["superclass"] == [1, 0] * 5
    assert found["same_superclass"] == pytest.approx(expected.correlation.same_superclass)


def test_features_and_names_of_classes_are_chosen(tmp_path, data, expected):
    np.savez(tmp_path / "d.npz", features=data.X[:, ::-1], mine=data.X, labels=data.given_labels)
    (tmp_path / "names.txt").write_text("\n".join(f"digit {k}" for k in range(10)))
    options = ["--feature-column", "mine", "--classes", tmp_path / "names.txt"]
    done("forecast", tmp_path / "d.npz", *options, "-o", tmp_path)
    record = json.loads((tmp_path / "forecast.json").read_text())
    assert record["classes"] == [f"digit {k}" for k in range(10)]
    assert record["theory"]["separation"] == pytest.approx(expected.theory.separation)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("noise", "options"), [(0.0, []), (0.6, ["--folds", 3, "--seed", 1])])
def test_the_next_command_fits_what_is_advised(noise, options):
    data = digits(noise, 1000 if noise else 1797)
    labels = data.given_labels.astype(str)
    np.savez("digits.npz", X=data.X, y=data.given_labels)
    said = run("forecast", "digits.npz", "--quiet", *options, "-o", ".").output
    advice = json.loads(Path("forecast.json").read_text())["advice"]
    assert advice["action"] == ("use AutoProbe" if noise else "use a plain probe")
    (line,) = (line for line in said.splitlines() if line.startswith("Next:"))
    done(*shlex.split(line)[2:], "--quiet")
    fitted = load("probe.safetensors")
    if noise:
        assert advice["code"] == "AutoProbe()"
        assert fitted.choice_ == AutoProbe(cv=3, random_state=1).fit(data.X, labels).choice_
    else:
        assert " ".join(str(fitted).split()) == advice["code"]
        expected = LinearProbe(**fitted.get_params()).fit(data.X, labels)
        np.testing.assert_array_equal(fitted.coef_, expected.coef_)


@pytest.mark.usefixtures("here")
def test_advises_no_fit_if_nothing_helps(data):
    np.savez("digits.npz", X=data.X, y=np.random.default_rng(1).permutation(data.given_labels))
    said = run("forecast", "digits.npz", "--quiet").output
    assert "Advice: no linear method will help: " in said
    assert "Labels: The number of wrong labels cannot be estimated" in said
    assert "Next:   twohot describe digits.npz" in said
    assert "twohot fit" not in said
    assert "twohot audit" not in said

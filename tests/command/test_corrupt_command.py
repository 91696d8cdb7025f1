"""`twohot corrupt` writes a whole feature file, or nothing."""

import numpy as np
import pandas as pd
import pytest
from label_tables import done

from twohot import LinearProbe
from twohot.judge.given import out_of_fold_probabilities
from twohot.noise import corrupt_table, corrupt_table_at_boundary, corruption_for
from twohot.tables import FeatureTable, read_features, write_features

TABLE = FeatureTable(
    features=np.arange(120.0).reshape(60, 2),
    labels=np.arange(60) % 3,
    classes=("a", "b", "c"),
    superclass=np.array([0, 0, 1]),
    superclass_names=("s", "t"),
    split=np.arange(60) // 40,
    split_names=("train", "test"),
)


@pytest.fixture
def folder(here):
    write_features("in.features", TABLE)
    np.save("X.npy", TABLE.features)
    pd.DataFrame({"name": TABLE.given_labels, "z": 0}).to_csv("y.csv", index=False)
    (here / "m.csv").write_text("a,b,c\n0,1,0\n0,0,1\n1,0,0\n")
    return here


@pytest.mark.parametrize("kind", ["symmetric", "asymmetric", "pair_flip", "superclass"])
def test_writes_the_table_of_the_function(folder, kind):
    options = ("--kind", kind, "--rate", "0.6", "--seed", "3")
    result = done("corrupt", "in.features", *options, "-o", "out.features")
    expected = corrupt_table(TABLE, corruption_for(TABLE, kind, 0.6), seed=3, kind=kind, rate=0.6)
    noisy = read_features("out.features")
    np.testing.assert_array_equal(noisy.labels, expected.labels)
    np.testing.assert_array_equal(noisy.true_labels, TABLE.labels)
    np.testing.assert_array_equal(noisy.features, TABLE.features)
    assert noisy.provenance == expected.provenance
    n_changed = int((noisy.labels != noisy.true_labels).sum())
    row = next(line for line in result.output.splitlines() if kind in line)
    cells = [cell.strip() for cell in row.strip(" │").split("│")]
    assert cells == ["train", kind, "40", str(n_changed), "60.00%", f"{n_changed / 40:.2%}"]
    assert "20 other rows keep their labels." in result.output
    first = (folder / "out.features").read_bytes()
    done("corrupt", "in.features", *options, "-o", "same.features")
    assert (folder / "same.features").read_bytes() == first


def test_noise_at_the_boundary_is_that_of_a_probe_with_the_right_labels(folder):
    """Classes 0 and 1 are the same rows, class 2 is apart; class 3 has no row, some no label."""
    generator = np.random.default_rng(0)
    labels = np.arange(300) % 3
    features = np.where(labels < 2, -5.0, 5.0)[:, np.newaxis] + generator.normal(size=(300, 2))
    labels[::10] = -1
    table = FeatureTable(features=features, labels=labels, classes=("a", "b", "c", "d"))
    write_features("overlap.features", table)
    options = ("--kind", "boundary", "--rate", "0.3", "--seed", "1", "-o", "out.features")
    done("corrupt", "overlap.features", *options)
    noisy = read_features(folder / "out.features")
    record = noisy.provenance["corruption"]
    assert (record["kind"], record["rate"], record["seed"], record["n_rows"]) == (
        "boundary", 0.3, 1, 270,
    )  # fmt: skip
    np.testing.assert_array_equal(noisy.labels[::10], -1)
    changed = noisy.labels != noisy.true_labels
    assert record["n_changed"] == changed.sum()
    assert changed.mean() == pytest.approx(0.27, abs=0.07)
    # Those that are alike are confused with each other, and more often.
    alike = noisy.true_labels < 2
    assert changed[alike].mean() > 2 * changed[~alike].mean()
    assert np.mean(noisy.labels[alike & changed] < 2) > 0.9
    assert not (noisy.labels == 3).any()
    labelled = labels >= 0
    probabilities = np.zeros((270, 4))
    probabilities[:, :3] = out_of_fold_probabilities(
        LinearProbe(ridge=4), features[labelled], labels[labelled], random_state=1
    )
    expected = corrupt_table_at_boundary(table, probabilities, 0.3, seed=1)
    np.testing.assert_array_equal(noisy.labels, expected.labels)
    assert noisy.provenance == expected.provenance


def test_a_matrix_corrupts_another_split(folder):
    options = ("--kind", "matrix", "--matrix", "m.csv", "--split", "all", "--exact")
    result = done("corrupt", "in.features", *options, "-o", "out.features")
    noisy = read_features(folder / "out.features")
    np.testing.assert_array_equal(noisy.labels, (TABLE.labels + 1) % 3)
    assert "100.00%" in result.output
    assert "keep their labels" not in result.output


def test_reads_other_formats(folder):
    options = ("--label-column", "name", "--rate", "0.5", "-o", "out.features", "--force")
    done("corrupt", "X.npy", "--labels", "y.csv", *options)
    noisy = read_features(folder / "out.features")
    np.testing.assert_array_equal(noisy.true_labels, TABLE.labels)
    pd.DataFrame(TABLE.features).assign(name=TABLE.given_labels).to_csv("t.csv", index=False)
    for columns, n_features in ([], 2), (["1"], 1), (["0", "1"], 2):
        chosen = [word for name in columns for word in ("--feature-column", name)]
        done("corrupt", "t.csv", *chosen, *options)
        assert read_features(folder / "out.features").n_features == n_features

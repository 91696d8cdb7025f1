"""Tensors and frames are computed with in the precision that they have, whoever made them."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import polars as pl
import pytest
import torch
from scipy.special import log_softmax

import problems
from twohot import LinearProbe
from twohot.probes.inputs import check_features
from twohot.tables import read_table

DATA = problems.synthetic()
X, Y = DATA.X, DATA.given_labels
SINGLE = X.astype(np.float32)
FOREIGN = {
    "torch float32": (lambda: torch.tensor(SINGLE), np.float32),
    "torch float16": (lambda: torch.tensor(X.astype(np.float16)), np.float16),
    "torch float64": (lambda: torch.tensor(X), np.float64),
    "torch bfloat16": (lambda: torch.tensor(SINGLE).bfloat16(), np.float32),
    "torch with gradient": (lambda: torch.tensor(SINGLE, requires_grad=True), np.float32),
    "polars Float32": (lambda: pl.DataFrame(SINGLE), np.float32),
    "polars Float64": (lambda: pl.DataFrame(X), np.float64),
    "polars lazy": (lambda: pl.DataFrame(SINGLE).lazy(), np.float32),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_precision_is_kept(name):
    make, dtype = FOREIGN[name]
    checked = check_features(LinearProbe(), make(), reset=True)
    assert type(checked) is np.ndarray
    assert checked.dtype == dtype
    expected = LinearProbe().fit(checked, Y).predict_proba(checked)
    np.testing.assert_array_equal(LinearProbe().fit(make(), Y).predict_proba(make()), expected)


def test_tensors_are_not_copied():
    tensor = torch.tensor(SINGLE)
    checked = check_features(LinearProbe(), tensor, reset=True)
    assert np.shares_memory(checked, tensor.numpy())


def test_names_of_a_polars_frame_are_kept_and_checked():
    frame = pl.DataFrame(SINGLE, schema=[f"f{i}" for i in range(X.shape[1])])
    probe = LinearProbe().fit(frame, Y)
    assert probe.feature_names_in_.tolist() == frame.columns
    with pytest.raises(ValueError, match="feature names"):
        probe.predict(frame.rename({"f0": "other"}))


@pytest.mark.slow
def test_scikit_learns_dispatch_to_torch_does_no_harm():
    """In another process: scipy looks at its environment when it is imported."""
    script = """
        import numpy as np, sklearn, torch
        from twohot import LinearProbe
        X = torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
        y = (X[:, 0] > 0).long()
        expected = LinearProbe().fit(X.numpy(), y.numpy()).predict(X.numpy())
        with sklearn.config_context(array_api_dispatch=True):
            probe = LinearProbe().fit(X, y, sample_weight=torch.ones(60))
            assert (probe.predict(X) == expected).all()
            assert probe.score(X, y) > 0.9
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    subprocess.run(command, check=True, env=environment)  # noqa: S603


def test_logarithms_of_probabilities():
    probe = LinearProbe(ridge=1e-6).fit(X, Y)
    logits = probe.decision_function(X)
    np.testing.assert_allclose(probe.predict_log_proba(X), log_softmax(logits, axis=1), atol=1e-12)
    assert np.isfinite(probe.predict_log_proba(1e3 * X)).all()


def test_coefficients_that_are_assigned_are_used(tmp_path):
    probe = LinearProbe(fit_intercept=True).fit(X, Y)
    probe.coef_ = np.zeros_like(probe.coef_)
    probe.intercept_ = np.log([0.1, 0.2, 0.3, 0.2, 0.2])
    expected = np.tile([0.1, 0.2, 0.3, 0.2, 0.2], (len(X), 1))
    probe.save(tmp_path / "probe.safetensors")
    for fitted in (probe, LinearProbe.load(tmp_path / "probe.safetensors")):
        np.testing.assert_allclose(fitted.predict_proba(X), expected)
        np.testing.assert_allclose(list(fitted.staged_predict_proba(X))[-1], expected)


class Dataset:
    """What Hugging Face's Dataset looks like from here."""

    features = ("x", "label")

    def __init__(self, table):
        self.table = table

    def with_format(self, kind):
        assert kind == "arrow"
        return self

    def __getitem__(self, rows):
        return self.table[rows].to_arrow()


def test_tables_of_other_libraries_are_read():
    lists = {"f": SINGLE[:4].tolist(), "label": ["a", "b", None, "a"]}
    for schema in (pl.Array(pl.Float32, X.shape[1]), pl.List(pl.Float32)):
        frame = pl.DataFrame(lists, schema_overrides={"f": schema})
        for source in (frame, frame.lazy(), Dataset(frame)):
            table = read_table(source)
            np.testing.assert_array_equal(table.features, SINGLE[:4])
            assert table.given_labels.tolist() == lists["label"]

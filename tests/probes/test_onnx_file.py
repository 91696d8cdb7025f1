"""An ONNX file predicts on raw rows what the probe predicts."""

import numpy as np
import pytest

import problems
from twohot import AutoProbe, DiscriminantProbe, DistilledProbe, LinearProbe

runtime = pytest.importorskip("onnxruntime")
DATA = problems.synthetic()
X, Y = DATA.X, DATA.given_labels
PROBES = {
    "linear": LinearProbe(),
    "intercept": LinearProbe(fit_intercept=True),
    "not centred": LinearProbe(center=False),
    "not normalised": LinearProbe(normalize=False),
    "as they are": LinearProbe(center=False, normalize=False),
    "distilled": DistilledProbe(n_rounds=2),
    "half-whitened": LinearProbe(whiten=True),
    "discriminant": DiscriminantProbe(),
    "auto": AutoProbe(random_state=0),
}
LABELS = {
    "integers": Y,
    "text": np.array(["ant", "bee", "çat", "dog", "emu"])[Y],
    "small integers": Y.astype(np.int8),
    "floats": Y.astype(float),
    "flags": Y > 2,
}


def outputs_of(path, rows):
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(["label", "probabilities"], {"X": rows})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PROBES)
def test_outputs_equal_those_of_the_probe(name, dtype, tmp_path):
    rows = X.astype(dtype)
    probe = PROBES[name].fit(rows, Y)
    probe.to_onnx(tmp_path / "probe.onnx", dtype)
    labels, probabilities = outputs_of(tmp_path / "probe.onnx", rows)
    tolerance = {"float32": 1e-5, "float64": 1e-12}[dtype]
    np.testing.assert_allclose(probabilities, probe.predict_proba(rows), atol=tolerance)
    assert np.mean(labels == probe.predict(rows)) == 1


@pytest.mark.parametrize("kind", LABELS)
def test_labels_have_the_type_of_the_classes(kind, tmp_path):
    probe = LinearProbe().fit(X, LABELS[kind])
    probe.to_onnx(tmp_path / "probe.onnx", "float64")
    labels, _ = outputs_of(tmp_path / "probe.onnx", X)
    assert labels.tolist() == probe.predict(X).tolist()


def test_row_at_the_mean_has_uniform_probabilities(tmp_path):
    probe = LinearProbe().fit(X, Y)
    probe.to_onnx(tmp_path / "probe.onnx", "float64")
    _, probabilities = outputs_of(tmp_path / "probe.onnx", X.mean(axis=0, keepdims=True))
    np.testing.assert_allclose(probabilities, 0.2)
    with pytest.raises(ValueError, match="dtype='float16' is not a precision to compute in"):
        probe.to_onnx(tmp_path / "probe.onnx", "float16")

"""Any bytes give a probe that predicts finite numbers, or an error that names the file."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import problems
from mutations import changed_bytes, changed_json, read_or_refused
from twohot import AutoProbe, DiscriminantProbe, PartialLabelProbe, load

DATA = problems.synthetic()
X, Y = DATA.X, DATA.given_labels
PROBES = {
    "partial": PartialLabelProbe(class_weight={0: 2.0}),
    "discriminant": DiscriminantProbe(),
    "auto": AutoProbe(random_state=0),
}


@pytest.fixture(scope="module", params=PROBES)
def saved(request, tmp_path_factory):
    """A file, its content, its header and its tensors."""
    path = tmp_path_factory.mktemp("probes") / "probe.safetensors"
    PROBES[request.param].fit(X, Y).save(path)
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["twohot"])
    return path, path.read_bytes(), header, load_file(path)


def check_predictions(path):
    with read_or_refused(path):
        probe = load(path)
        outputs = probe.predict_proba(X[:3, : probe.n_features_in_])
        assert np.isfinite(outputs).all()
        assert outputs.shape == (3, len(set(probe.classes_.tolist())))


@given(data=st.data())
def test_changed_bytes_give_a_probe_or_an_error(saved, data):
    path, content, _, _ = saved
    path.write_bytes(data.draw(changed_bytes(content)))
    check_predictions(path)


@given(data=st.data())
def test_changed_header_gives_a_probe_or_an_error(saved, data):
    path, _, header, tensors = saved
    save_file(tensors, path, {"twohot": json.dumps(data.draw(changed_json(header)))})
    check_predictions(path)

"""A loaded probe equals the saved one; files that hold none are rejected."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import problems
import twohot
from mutations import changed_bytes, changed_json, read_or_refused
from twohot import (
    AutoProbe,
    DiscriminantProbe,
    DistilledProbe,
    LinearProbe,
    PartialLabelProbe,
    load,
)

DATA = problems.synthetic()
X, Y = DATA.X, DATA.given_labels


@pytest.fixture
def path(tmp_path):
    return tmp_path / "probe.safetensors"


def assert_same(again, probe, rows=X):
    """Assert that all fitted attributes and predictions are equal, to the last bit."""
    assert type(again) is type(probe)
    assert again.classes_.dtype == probe.classes_.dtype
    for name in ("classes_", "coef_", "intercept_", "n_iter_", "n_features_in_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(probe, name))
    for entry, same in zip(probe.rounds_, again.rounds_, strict=True):
        for name, value in vars(entry).items():
            np.testing.assert_array_equal(getattr(same, name), value)
    assert type(again.predict(rows)[0]) is type(probe.predict(rows)[0])
    for method in ("predict", "decision_function", "staged_predict_proba"):
        found, expected = (list(getattr(each, method)(rows)) for each in (again, probe))
        np.testing.assert_array_equal(found, expected)


START = np.random.default_rng(0).normal(size=(5, 12))
LETTERS = np.array(list("abcde"))[Y]
PROBES = [
    LinearProbe(),
    LinearProbe(loss="gce", gce_power=0.5, start="zero"),
    LinearProbe(l2=1e-3, fit_intercept=True, tol=1e-7, max_iter=77, n_jobs=2, random_state=3),
    LinearProbe(center=False),
    LinearProbe(normalize=False, dtype="float64"),
    LinearProbe(center=False, normalize=False, verbose=0),
    *(LinearProbe(class_weight=each) for each in ("balanced", {0: 2.0, 3: 0.1})),
    LinearProbe(class_weight={1: 2.0, np.int64(3): 0.5}),
    *(LinearProbe(loss="gce", start=each) for each in (START, START.tolist())),
    LinearProbe(loss="gce", start=START.astype(np.float32)),
    *(LinearProbe(dtype=each) for each in (np.float32, np.dtype("float64"))),
    DistilledProbe(n_rounds=2, ridge=[3.0, 1 / 3]),
    DistilledProbe(loss="gce", teacher_loss="gce"),
    PartialLabelProbe(n_candidates=3, loss="ce", ridge=0.1),
    *(PartialLabelProbe(ridge=each) for each in (None, (3.0, 2.0), [3, 2], np.float32(3), 7)),
    PartialLabelProbe(ridge=np.array([3.0, 2.0])),
    DiscriminantProbe(),
    DiscriminantProbe(shrinkage=0.2, n_axes=4, normalize=False),
]
CASES = [
    *((probe, Y) for probe in PROBES),
    (LinearProbe(class_weight={"a": 1.0, "b": 2.5}), LETTERS),
    (LinearProbe(class_weight={"a": 3}), LETTERS),
    (LinearProbe(class_weight={True: 2.0}), Y > 2),
    (LinearProbe(), Y.astype(np.int8)),
    (LinearProbe(), Y.astype(np.uint64) + 2**63),
    (LinearProbe(), -(10**15) * Y),
    (LinearProbe(), Y.astype(np.float64)),
    (LinearProbe(), np.array(["ant", "bee", "çà", "日本", '"quoted\\"'])[Y]),
    (LinearProbe(), LETTERS.astype(object)),
]


@pytest.mark.parametrize(("probe", "labels"), CASES, ids=str)
def test_loaded_probe_equals_the_saved_one(probe, labels, path):
    assert probe.fit(X, labels).save(path) is None
    again = load(path)
    assert_same(again, probe)
    assert again.score(X, labels) == probe.score(X, labels)
    assert again.get_params().keys() == probe.get_params().keys()
    for name, value in probe.get_params().items():
        found = again.get_params()[name]
        if name == "dtype" and value is not None:
            assert np.dtype(found) == np.dtype(value)
        elif isinstance(value, dict):
            assert found == value
            assert {type(key) for key in found} <= {int, bool, str}
        else:
            np.testing.assert_array_equal(found, value)
    assert_same(type(probe).load(str(path)), probe)
    assert_same(again.fit(X, labels), probe)


def test_names_of_features_are_saved(path):
    frame = pd.DataFrame(X, columns=[f"größe {i}" for i in range(12)])
    probe = LinearProbe().fit(frame, Y)
    probe.save(path)
    again = load(path)
    np.testing.assert_array_equal(again.feature_names_in_, probe.feature_names_in_, strict=True)
    assert_same(again, probe, frame)
    LinearProbe().fit(X, Y).save(path)
    assert not hasattr(load(path), "feature_names_in_")


def test_file_is_safetensors_with_json(path):
    PartialLabelProbe().fit(X, Y).save(path)
    tensors = load_file(path)
    np.testing.assert_array_equal(tensors["round.2.coef"], load(path).coef_)
    header = header_of(path)
    assert (header["format_version"], header["estimator"]) == (1, "PartialLabelProbe")
    assert header["parameters"]["n_candidates"] == 2
    assert header["classes"]["values"] == [0, 1, 2, 3, 4]
    assert len(header["rounds"]) == 2


# Files that cannot be read -----------------------------------------------------------------------


def header_of(path):
    with safe_open(path, framework="numpy") as file:
        return json.loads(file.metadata()["twohot"])


def write(path, tensors=None, **changes):
    """Write a probe's file again, with changes of the header, or of tensors (None removes one)."""
    header, changed = header_of(path) | changes, load_file(path) | (tensors or {})
    present = {name: tensor for name, tensor in changed.items() if tensor is not None}
    save_file(present, path, {"twohot": json.dumps(header)})


@pytest.fixture
def saved(path):
    DistilledProbe(n_rounds=2, class_weight={0: 2.0}).fit(X, Y).save(path)
    return path


def test_rejects_missing_file(tmp_path):
    for missing, problem in (("none.safetensors", "does not exist"), ("", "is not a file")):
        with pytest.raises(
            FileNotFoundError, match=f"{problem}: pass the path of a file that `save"
        ):
            load(tmp_path / missing)


def test_rejects_truncated_file(saved, tmp_path):
    content = saved.read_bytes()
    short = tmp_path / "short.safetensors"
    n_header = int.from_bytes(content[:8], "little") + 8
    lengths = {0, 1, 7, 8, 9, n_header - 1, n_header, n_header + 1, len(content) - 1}
    lengths |= set(np.linspace(0, len(content) - 1, 60).astype(int).tolist())
    for length in sorted(lengths):
        short.write_bytes(content[:length])
        with pytest.raises(ValueError, match=r"is not a safetensors file, or is truncated"):
            load(short)


def test_rejects_other_safetensors_file(path):
    for metadata in (None, {"format": "pt"}):
        save_file({"weight": np.zeros((2, 2))}, path, metadata)
        with pytest.raises(ValueError, match=r"is a safetensors file but holds no probe"):
            load(path)


def test_rejects_newer_format(saved):
    write(saved, format_version=2)
    with pytest.raises(ValueError, match=r"format version 2, .* upgrade twohot to read the file"):
        load(saved)


PARTS = (
    *("parameters", "classes", "rounds", "preparation", "estimator"),
    *("format_version", "n_features_in", "feature_names_in"),
)
TEXTS = ("", "{", "[]", "3", "null", '{"format_version": "new"}', '{"format_version": null}')
# Values that a law with random changes hardly finds.
NONSENSE = [
    ("rounds", []),
    ("rounds", [{"l2": 1}]),
    ("parameters", {"unknown": 1}),
    ("classes", {"dtype": "nonsense", "values": [0]}),
    ("classes", {"dtype": "<i8", "values": ["a"]}),
    ("classes", {"dtype": "<i8", "values": [0, 1, 2, 3, 3]}),
    ("classes", {"dtype": "<U3", "values": ["cat", "category", "dog", "emu", "fox"]}),
    ("classes", {"dtype": "<U2000000000", "values": ["a", "b", "c", "d", "e"]}),
    ("classes", {"dtype": "<f2", "values": [0.0, 1.0, 2.0, 3.0, 65505.0]}),
    ("preparation", {"normalize": True, "unknown": 1}),
    *(
        ("preparation", {"normalize": True, "mean_error": value})
        for value in (float("nan"), float("inf"), "small")
    ),
    ("preparation", {"normalize": "yes"}),
    ("format_version", float("inf")),
    ("n_features_in", 1.5),
    ("feature_names_in", ["height"]),
]


def test_rejects_damaged_headers(saved):
    header = header_of(saved)
    damaged = [{name: header[name] for name in header if name != part} for part in PARTS]
    damaged += [header | {part: value} for part, value in NONSENSE]
    for part in header["rounds"][0]:
        lacking = [{key: each[key] for key in each if key != part} for each in header["rounds"]]
        damaged.append(header | {"rounds": lacking})
    for text in (*map(json.dumps, damaged), *TEXTS, '{"a":' * 100_000):
        save_file(load_file(saved), saved, {"twohot": text})
        with pytest.raises(ValueError, match=r"holds a probe, but part of it|holds a .* and not"):
            load(saved)


SHAPES = {"mean": (12,), "round.1.coef": (5, 12), "round.2.intercept": (5,)}
WRONG_TENSORS = [
    *(({name: None}, f"is missing or wrong .*'{name}'") for name in SHAPES if name != "mean"),
    *(({name: np.zeros((*shape[:-1], 3))}, "holds a probe") for name, shape in SHAPES.items()),
    *(
        ({name: np.full(shape, value)}, f"{name} holds NaN or infinity")
        for name, shape in SHAPES.items()
        for value in (np.nan, np.inf, -np.inf)
    ),
]


@pytest.mark.parametrize(("change", "message"), WRONG_TENSORS)
def test_rejects_missing_or_wrong_tensors(saved, change, message):
    write(saved, change)
    with pytest.raises(ValueError, match=rf"probe\.safetensors .*{message}"):
        load(saved)


def test_does_not_save_probe_that_cannot_predict(path):
    probe = LinearProbe().fit(X, Y)
    probe.coef_[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"round\.1\.coef holds NaN or infinity"):
        probe.save(path)
    assert not path.exists()


def test_rejects_probe_of_another_class(saved):
    with pytest.raises(ValueError, match="holds a 'DistilledProbe' and not a PartialLabelProbe"):
        PartialLabelProbe.load(saved)
    write(saved, estimator="FutureProbe")
    with pytest.raises(ValueError, match=r"'FutureProbe'.*if this fails, upgrade twohot"):
        load(saved)


# Writing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [np.random.default_rng(0), np.random.RandomState(0)])
def test_rejects_parameter_that_cannot_be_saved(seed, saved):
    before = saved.read_bytes()
    with pytest.raises(ValueError, match=r"random_state=.* cannot be written to a file: before"):
        LinearProbe(random_state=seed).fit(X, Y).save(saved)
    assert saved.read_bytes() == before


def test_rejects_labels_that_cannot_be_saved(path):
    days = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]")[Y % 2]
    probe = LinearProbe().fit_soft(X, np.eye(2)[Y % 2], classes=np.unique(days))
    with pytest.raises(ValueError, match="classes_ holds labels of type date, which cannot be"):
        probe.save(path)
    assert not path.exists()


def test_nothing_is_unpickled():
    source = Path(twohot.__file__).parent
    # allow_pickle=False is allowed, and so is the method `eval` of a model.
    forbidden = re.compile(
        r"(?<!allow_)pickle|allow_pickle(?!=False)|joblib\.load|(?<![\w.])(eval|exec)\(|__import__"
    )
    for file in source.rglob("*.py"):
        code = re.sub(r'""".*?"""|#[^\n]*', "", file.read_text(), flags=re.DOTALL)
        assert not forbidden.search(code), file


# Changed files give a probe that predicts finite numbers, or an error that names the file ---------

TO_CHANGE = {
    "partial": PartialLabelProbe(class_weight={0: 2.0}),
    "discriminant": DiscriminantProbe(),
    "auto": AutoProbe(random_state=0),
}


@pytest.fixture(scope="module", params=TO_CHANGE)
def saved_content(request, tmp_path_factory):
    """A file, its content, its header and its tensors."""
    path = tmp_path_factory.mktemp("probes") / "probe.safetensors"
    TO_CHANGE[request.param].fit(X, Y).save(path)
    return path, path.read_bytes(), header_of(path), load_file(path)


def check_predictions(path):
    with read_or_refused(path):
        probe = load(path)
        outputs = probe.predict_proba(X[:3, : probe.n_features_in_])
        assert np.isfinite(outputs).all()
        assert outputs.shape == (3, len(set(probe.classes_.tolist())))


@given(data=st.data())
def test_changed_bytes_give_a_probe_or_an_error(saved_content, data):
    path, content, _, _ = saved_content
    path.write_bytes(data.draw(changed_bytes(content)))
    check_predictions(path)


@given(data=st.data())
def test_changed_header_gives_a_probe_or_an_error(saved_content, data):
    path, _, header, tensors = saved_content
    save_file(tensors, path, {"twohot": json.dumps(data.draw(changed_json(header)))})
    check_predictions(path)

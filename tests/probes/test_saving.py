"""Model files come back exactly, or say why they cannot be read."""

import json
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import problems
import twohot
from twohot import DiscriminantProbe, DistilledProbe, LinearProbe, PartialLabelProbe, load

DATA = problems.synthetic()
X, Y = DATA.X, DATA.given_labels


@pytest.fixture
def path(tmp_path):
    return tmp_path / "probe.safetensors"


def assert_same(again, probe, rows=X):
    """Everything that a user can see is equal, to the last bit."""
    assert type(again) is type(probe)
    assert again.classes_.dtype == probe.classes_.dtype
    np.testing.assert_array_equal(again.classes_, probe.classes_)
    for name in ("coef_", "intercept_"):
        assert getattr(again, name).dtype == np.float64
        np.testing.assert_array_equal(getattr(again, name), getattr(probe, name))
    assert again.n_iter_ == probe.n_iter_
    assert again.n_features_in_ == probe.n_features_in_
    assert len(again.rounds_) == len(probe.rounds_)
    for entry, same in zip(probe.rounds_, again.rounds_, strict=True):
        for field in fields(entry):
            np.testing.assert_array_equal(getattr(same, field.name), getattr(entry, field.name))
    np.testing.assert_array_equal(again.predict(rows), probe.predict(rows))
    np.testing.assert_array_equal(again.predict_proba(rows), probe.predict_proba(rows))
    np.testing.assert_array_equal(again.decision_function(rows), probe.decision_function(rows))
    for one, other in zip(
        again.staged_predict_proba(rows), probe.staged_predict_proba(rows), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def assert_same_parameters(again, probe):
    parameters = probe.get_params()
    assert again.get_params().keys() == parameters.keys()
    for name, value in again.get_params().items():
        assert value == parameters[name], name
        assert type(value) is type(parameters[name]), name


PROBES = [
    LinearProbe(),
    LinearProbe(loss="gce", gce_power=0.5, start="zero"),
    LinearProbe(l2=1e-3, fit_intercept=True, tol=1e-7, max_iter=77, n_jobs=2, random_state=3),
    LinearProbe(center=False),
    LinearProbe(normalize=False, dtype="float64"),
    LinearProbe(center=False, normalize=False, verbose=0),
    LinearProbe(class_weight="balanced"),
    LinearProbe(class_weight={0: 2.0, 3: 0.1}),
    DistilledProbe(n_rounds=2, ridge=[3.0, 1 / 3]),
    DistilledProbe(loss="gce", teacher_loss="gce"),
    PartialLabelProbe(),
    PartialLabelProbe(n_candidates=3, loss="ce", ridge=0.1),
    DiscriminantProbe(),
    DiscriminantProbe(shrinkage=0.2, n_axes=4, normalize=False),
]


@pytest.mark.parametrize("probe", PROBES, ids=repr)
def test_probes_come_back_exactly(probe, path):
    probe.fit(X, Y)
    assert probe.save(path) is None
    again = load(path)
    assert_same(again, probe)
    assert_same_parameters(again, probe)
    # Of its own kind too, and fitted again it is the same.
    assert_same(type(probe).load(str(path)), probe)
    assert_same(again.fit(X, Y), probe)


LABELS = {
    "int64": Y,
    "int8": Y.astype(np.int8),
    "large": Y.astype(np.uint64) + 2**63,
    "negative": -(10**15) * Y,
    "floats": Y.astype(np.float64),
    "bools": Y > 2,
    "strings": np.array(["ant", "bee", "çà", "日本", '"quoted\\"'])[Y],
    "objects": np.array(["ant", "bee", "cat", "dog", "eel"], dtype=object)[Y],
}


@pytest.mark.parametrize("kind", LABELS)
def test_classes_come_back_with_their_type(kind, path):
    probe = LinearProbe().fit(X, LABELS[kind])
    probe.save(path)
    again = load(path)
    assert_same(again, probe)
    assert type(again.predict(X)[0]) is type(probe.predict(X)[0])
    assert again.score(X, LABELS[kind]) == probe.score(X, LABELS[kind])


START = np.random.default_rng(0).normal(size=(5, 12))
LETTERS = np.array(list("abcde"))[Y]


@pytest.mark.parametrize(
    ("probe", "labels"),
    [
        (LinearProbe(class_weight={"a": 1.0, "b": 2.5}), LETTERS),
        (LinearProbe(class_weight={"a": 3}), LETTERS),
        (LinearProbe(class_weight={1: 2.0, np.int64(3): 0.5}), Y),
        (LinearProbe(class_weight={True: 2.0}), Y > 2),
        (LinearProbe(loss="gce", start=START), Y),
        (LinearProbe(loss="gce", start=START.tolist()), Y),
        (LinearProbe(loss="gce", start=START.astype(np.float32)), Y),
        (LinearProbe(dtype=np.float32), Y),
        (LinearProbe(dtype=np.dtype("float64")), Y),
        *(
            (PartialLabelProbe(ridge=ridge), Y)
            for ridge in ((3.0, 2.0), [3, 2], np.array([3.0, 2.0]), np.float32(3), 7)
        ),
    ],
    ids=str,
)
def test_parameters_of_any_type_come_back_by_value(probe, labels, path):
    probe.fit(X, labels).save(path)
    again = load(path)
    assert_same(again, probe)
    for name, value in probe.get_params().items():
        found = again.get_params()[name]
        if name == "dtype" and value is not None:
            assert np.dtype(found) == np.dtype(value)
        elif isinstance(value, dict):
            assert found == value
            assert {type(key) for key in found} <= {int, bool, str}
        else:
            np.testing.assert_array_equal(found, value)
    assert_same(again.fit(X, labels), probe)


def test_names_of_features_come_back(path):
    frame = pd.DataFrame(X, columns=[f"größe {i}" for i in range(12)])
    probe = LinearProbe().fit(frame, Y)
    probe.save(path)
    again = load(path)
    np.testing.assert_array_equal(again.feature_names_in_, probe.feature_names_in_)
    assert again.feature_names_in_.dtype == probe.feature_names_in_.dtype
    assert_same(again, probe, frame)
    LinearProbe().fit(X, Y).save(path)
    assert not hasattr(load(path), "feature_names_in_")


def test_the_file_is_plain_safetensors_with_json(path):
    PartialLabelProbe().fit(X, Y).save(path)
    tensors = load_file(path)
    np.testing.assert_array_equal(tensors["round.2.coef"], load(path).coef_)
    header = header_of(path)
    assert header["format_version"] == 1
    assert header["estimator"] == "PartialLabelProbe"
    assert header["parameters"]["n_candidates"] == 2
    assert header["classes"]["values"] == [0, 1, 2, 3, 4]
    assert len(header["rounds"]) == 2


# Files that cannot be read -----------------------------------------------------------------------


def header_of(path):
    with safe_open(path, framework="numpy") as file:
        return json.loads(file.metadata()["twohot"])


def rewrite(path, header=None, tensors=None):
    """Write a probe's file again, with another header or other tensors."""
    header = header_of(path) if header is None else header
    tensors = load_file(path) if tensors is None else tensors
    save_file(tensors, path, {"twohot": json.dumps(header)})


@pytest.fixture
def saved(path):
    DistilledProbe(n_rounds=2, class_weight={0: 2.0}).fit(X, Y).save(path)
    return path


def test_a_file_that_is_not_there(tmp_path):
    for missing in (tmp_path / "none.safetensors", tmp_path):
        with pytest.raises(FileNotFoundError, match=r"is not a file: pass the path that `save`"):
            load(missing)


def test_a_file_cut_short_anywhere(saved, tmp_path):
    content = saved.read_bytes()
    short = tmp_path / "short.safetensors"
    n_header = int.from_bytes(content[:8], "little") + 8
    lengths = {0, 1, 7, 8, 9, n_header - 1, n_header, n_header + 1, len(content) - 1}
    lengths |= set(np.linspace(0, len(content) - 1, 60).astype(int).tolist())
    for length in sorted(lengths):
        short.write_bytes(content[:length])
        with pytest.raises(ValueError, match=r"is not a safetensors file, or is truncated"):
            load(short)


def test_a_file_of_someone_else(path):
    for metadata in (None, {"format": "pt"}):
        save_file({"weight": np.zeros((2, 2))}, path, metadata)
        with pytest.raises(ValueError, match=r"is a safetensors file but holds no probe"):
            load(path)


def test_a_newer_file(saved):
    rewrite(saved, header_of(saved) | {"format_version": 2})
    with pytest.raises(ValueError, match=r"format version 2 .* upgrade twohot to read it"):
        load(saved)


PARTS = (
    *("parameters", "classes", "rounds", "preparation", "estimator"),
    *("format_version", "n_features_in", "feature_names_in"),
)
TEXTS = ("", "{", "[]", "3", "null", '{"format_version": "new"}', '{"format_version": null}')
NONSENSE = [
    ("rounds", []),
    ("rounds", 3),
    ("rounds", [{"l2": 1}]),
    ("parameters", {"unknown": 1}),
    ("parameters", []),
    ("classes", [1, 2]),
    ("classes", {"dtype": "nonsense", "values": [0]}),
    ("classes", {"dtype": "<i8", "values": ["a"]}),
    ("estimator", ["LinearProbe"]),
    ("classes", {"dtype": "<i8", "values": [0, 1, 2, 3, 3]}),
    ("classes", {"dtype": "<U3", "values": ["cat", "category", "dog", "emu", "fox"]}),
    ("classes", {"dtype": "<U2000000000", "values": ["a", "b", "c", "d", "e"]}),
    ("classes", {"dtype": "<f2", "values": [0.0, 1.0, 2.0, 3.0, 65505.0]}),
    ("preparation", {"normalize": True, "unknown": 1}),
    ("preparation", {"normalize": True, "mean_error": float("nan")}),
    ("preparation", {"normalize": True, "mean_error": float("inf")}),
    ("preparation", {"normalize": True, "mean_error": "small"}),
    ("preparation", {"normalize": "yes"}),
    ("format_version", float("inf")),
    ("n_features_in", float("inf")),
    ("n_features_in", 1.5),
    ("feature_names_in", ["height"]),
    ("notes", 3),
]


def test_headers_that_are_damaged(saved):
    header = header_of(saved)
    damaged = [{name: header[name] for name in header if name != part} for part in PARTS]
    damaged += [header | {part: value} for part, value in NONSENSE]
    for text in (*map(json.dumps, damaged), *TEXTS, '{"a":' * 100_000):
        save_file(load_file(saved), saved, {"twohot": text})
        with pytest.raises(ValueError, match=r"says it holds a probe, but part|holds a .* and not"):
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
def test_tensors_that_are_missing_or_wrong(saved, change, message):
    tensors = load_file(saved) | change
    rewrite(saved, tensors={name: each for name, each in tensors.items() if each is not None})
    with pytest.raises(ValueError, match=rf"probe\.safetensors .*{message}"):
        load(saved)


def test_a_probe_that_cannot_predict_is_not_saved(path):
    probe = LinearProbe().fit(X, Y)
    probe.coef_[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"round\.1\.coef holds NaN or infinity"):
        probe.save(path)
    assert not path.exists()


def test_a_probe_of_another_kind(saved):
    with pytest.raises(ValueError, match="holds a 'DistilledProbe' and not a PartialLabelProbe"):
        PartialLabelProbe.load(saved)
    rewrite(saved, header_of(saved) | {"estimator": "FutureProbe"})
    with pytest.raises(ValueError, match=r"'FutureProbe'.*or upgrade twohot"):
        load(saved)


# Writing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [np.random.default_rng(0), np.random.RandomState(0)])
def test_a_parameter_that_cannot_be_written(seed, saved):
    before = saved.read_bytes()
    with pytest.raises(ValueError, match=r"random_state=.* cannot be written to a file: set it to"):
        LinearProbe(random_state=seed).fit(X, Y).save(saved)
    assert saved.read_bytes() == before


def test_labels_that_cannot_be_written(path):
    days = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]")[Y % 2]
    probe = LinearProbe().fit_soft(X, np.eye(2)[Y % 2], classes=np.unique(days))
    with pytest.raises(ValueError, match="classes_ holds labels of type date, which cannot be"):
        probe.save(path)
    assert not path.exists()


def test_nothing_is_unpickled():
    source = Path(twohot.__file__).parent
    # To say allow_pickle=False is allowed, and so is a model's own method `eval`.
    forbidden = re.compile(
        r"(?<!allow_)pickle|allow_pickle(?!=False)|joblib\.load|(?<![\w.])(eval|exec)\(|__import__"
    )
    for file in source.rglob("*.py"):
        code = re.sub(r'""".*?"""|#[^\n]*', "", file.read_text(), flags=re.DOTALL)
        assert not forbidden.search(code), file

"""Fitted probes as safetensors files; the header has everything except arrays, as JSON.

    header    {"twohot": JSON of format_version, estimator, parameters, classes, rounds, …}
    tensors   "mean"; "round.1.coef", "round.1.intercept", …; "parameter.start" if it is an array

Files are read without pickle: they hold numbers, text, and the name of a known estimator.
"""

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from twohot.base import (
    ArgumentError,
    cause_of,
    check_count,
    check_precision,
    first_few,
    is_integer,
    is_real,
    load_extra,
    parse_json,
    whole_file,
)
from twohot.probes.recipe import Round
from twohot.rows import Preparation

# The validated state of a fitted probe: a loaded probe must predict as the saved one did ----------

# Numeric fields of a round.
ROUND_NUMBERS = ("l2", "value", "n_iter", "n_passes", "gradient_norm")


@dataclass(frozen=True, eq=False)
class FittedState:
    """The state of a fitted probe, with finite arrays of matching shapes and unique classes."""

    estimator: str  # name of its class
    parameters: dict[str, Any]  # as its constructor takes them
    classes: NDArray[Any]
    preparation: Preparation
    rounds: list[Round]
    n_features_in: int
    feature_names_in: list[str]  # empty if the features had no names
    notes: dict[str, Any] = field(default_factory=dict)  # JSON: further state of some estimators
    feature_origin: dict[str, str] = field(default_factory=dict)  # how its features were made

    def __post_init__(self) -> None:
        """Raise if a field is invalid for predictions."""
        n_classes, n_features = len(self.classes), self.n_features_in
        if len(set(self.classes.tolist())) < n_classes or n_classes < 2:
            raise ArgumentError("classes", "names fewer than two, or one of them twice")
        if not self.rounds:
            raise ArgumentError("rounds", "is empty")
        for number, entry in enumerate(self.rounds, start=1):
            _check_tensor(f"round.{number}.coef", entry.coef, (n_classes, n_features))
            _check_tensor(f"round.{number}.intercept", entry.intercept, (n_classes,))
            numbers = [getattr(entry, name) for name in ROUND_NUMBERS]
            if not (all(map(is_real, numbers)) and is_integer(entry.n_iter)):
                problem = f"holds {numbers} where numbers are needed"
                raise ArgumentError(f"round {number}", problem)
        mean, mean_error = self.preparation.mean, self.preparation.mean_error
        if not (isinstance(self.preparation.normalize, bool) and is_real(mean_error)):
            raise ArgumentError("preparation", "needs a flag and a number")
        if not 0 <= mean_error < math.inf:
            raise ArgumentError({"mean_error": mean_error}, "is not a norm")
        if mean is not None:
            _check_tensor("mean", mean, (n_features,))
        names = self.feature_names_in
        if len(names) not in {0, n_features} or not all(isinstance(name, str) for name in names):
            raise ArgumentError("feature_names_in", f"does not name {n_features} features")
        if not all(isinstance(text, str) for text in chain(*self.feature_origin.items())):
            raise ArgumentError("feature_origin", "holds more than texts")


def _check_tensor(name: str, tensor: NDArray[Any], shape: tuple[int, ...]) -> None:
    if tensor.shape != shape or tensor.dtype.kind != "f":
        came = f"has shape {tensor.shape} and dtype {tensor.dtype}"
        raise ArgumentError(name, f"{came}, and {shape} floats are needed")
    if not np.isfinite(tensor).all():
        raise ArgumentError(name, "holds NaN or infinity")


FORMAT_VERSION = 1
HEADER = "twohot"
# Exceptions that a damaged header makes this module raise.
DAMAGE = (
    *(ArithmeticError, AttributeError, LookupError, RecursionError),
    *(StopIteration, TypeError, ValueError),
)
# Fixed-width labels up to this many bytes are allocated without a check of their lengths. Without a
# limit, a file could request any amount of memory.
LABEL_BYTES = 2**26
ROUND_ARRAYS = ("coef", "intercept")


def write_state(path: str | os.PathLike[str], state: FittedState) -> None:
    """Write a fitted probe atomically."""
    tensors: dict[str, NDArray[Any]] = {}
    preparation = dict(vars(state.preparation))
    mean = preparation.pop("mean")
    if mean is not None:
        tensors["mean"] = mean
    rounds = []
    for number, entry in enumerate(state.rounds, start=1):
        fields = asdict(entry)
        for name in ROUND_ARRAYS:
            tensors[f"round.{number}.{name}"] = fields.pop(name)
        rounds.append(fields)
    parameters = dict(state.parameters)
    if not isinstance(parameters.get("start", ""), str):
        tensors["parameter.start"] = np.array(parameters.pop("start"), dtype=np.float64)
    header = {"format_version": FORMAT_VERSION, **vars(state)} | {
        "parameters": {name: _encode(name, value) for name, value in parameters.items()},
        "classes": _encode_labels("classes_", state.classes),
        "preparation": preparation,
        "rounds": rounds,
    }
    with whole_file(path) as file:
        file.write(save(tensors, {HEADER: json.dumps(header)}))


def read_state(path: str | os.PathLike[str]) -> FittedState:
    """Return the fitted probe in a file; raise if the file has no probe."""
    text, tensors = _read(Path(path))
    with file_named_in_errors(path):
        header = parse_json(text)
        version = check_count("format_version", header["format_version"], 1)
        if version <= FORMAT_VERSION:
            return _state(header, tensors)
    raise ValueError(
        f"{path} has format version {version} and this version of twohot reads up to "
        f"{FORMAT_VERSION}: upgrade twohot to read it."
    )


@contextmanager
def file_named_in_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert any exception about the content of a file to one that names the file."""
    try:
        yield
    except DAMAGE as error:
        raise ValueError(
            f"{path} holds a probe, but part of it is missing or wrong "
            f"({cause_of(error)}): save it again, or upgrade twohot if a newer version wrote it."
        ) from error


def _state(header: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> FittedState:
    """Return the probe of a header and its tensors; invalid ones may raise any exception."""
    parameters = {name: _decode(value) for name, value in header["parameters"].items()}
    if "parameter.start" in tensors:
        parameters["start"] = tensors["parameter.start"]
    rounds = []
    for number, fields in enumerate(header["rounds"], start=1):
        arrays = {name: tensors[f"round.{number}.{name}"] for name in ROUND_ARRAYS}
        rounds.append(Round(**(fields | arrays)))
    return FittedState(
        estimator=str(header["estimator"]),
        parameters=parameters,
        classes=_decode(header["classes"]),
        preparation=Preparation(tensors.get("mean"), **header["preparation"]),
        rounds=rounds,
        n_features_in=check_count("n_features_in", header["n_features_in"], 1),
        feature_names_in=list(header["feature_names_in"]),
        notes=dict(header.get("notes", {})),
        feature_origin=dict(header.get("feature_origin", {})),
    )


def _read(path: Path) -> tuple[str, dict[str, NDArray[Any]]]:
    """Return the header and the tensors of a file; raise if it was not written by `save`."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: pass the path that `save` wrote.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, TypeError) as error:  # TypeError: not a number type of numpy
        problem = f"{path} is not a safetensors file, or is truncated ({error})"
        raise ValueError(f"{problem}: save the probe again.") from error
    if HEADER not in metadata:
        problem = f"{path} is a safetensors file but holds no probe"
        raise ValueError(f"{problem}: pass a file that `save` wrote.")
    return metadata[HEADER], tensors


def _encode(name: str, value: Any) -> Any:
    """Return a parameter as JSON; a dict becomes a list of pairs, to keep the type of its keys."""
    if isinstance(value, dict):
        labels, weights = np.array(list(value)), [float(weight) for weight in value.values()]
        return {"labels": _encode_labels(name, labels), "weights": weights}
    if isinstance(value, np.ndarray | list | tuple):
        return [_encode(name, item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, type | np.dtype):
        return np.dtype(value).name
    if value is None or isinstance(value, bool | int | float | str):
        return value
    problem = f"{name}={value!r} cannot be written to a file"
    raise ValueError(f"{problem}: set it to a number, a string or None before saving.")


def _encode_labels(name: str, labels: NDArray[Any]) -> dict[str, Any]:
    """Return labels as JSON, with their type."""
    values = labels.tolist()
    if not all(isinstance(value, bool | int | float | str) for value in values):
        problem = f"{name} holds labels of type {type(values[0]).__name__}"
        raise ValueError(f"{problem}, which cannot be written to a file: use numbers or strings.")
    return {"dtype": labels.dtype.str, "values": values}


def _decode(value: Any) -> Any:
    """Return the value that `_encode` wrote."""
    if not isinstance(value, dict):
        return value
    if "weights" in value:
        return dict(zip(_decode(value["labels"]).tolist(), value["weights"], strict=True))
    values, dtype = list(value["values"]), np.dtype(str(value["dtype"]))
    # If the size overflows, numpy 2.0 returns a negative number.
    if not 0 <= dtype.itemsize * len(values) <= max(LABEL_BYTES, np.array(values).nbytes):
        raise ValueError(f"{len(values)} labels of type {dtype} would take too much memory")
    labels = np.array(values, dtype=dtype)
    # If the type is too narrow, a name would be truncated, or a number rounded.
    if labels.tolist() != values:
        raise ValueError(f"the labels {first_few(values)} are not of {dtype}")
    return labels


# ONNX files: the input is raw features, the outputs are labels and probabilities ------------------
# The preparation of rows is part of the graph: running it needs neither twohot nor scikit-learn.
# Operator set 18 is the first in which norms take their axes as an input. File version 8 belongs to
# it: some runtimes that support the operators reject newer file versions.

GRAPH = """
<ir_version: 8, opset_import: ["" : 18]>
probe ({number}[N, {n_features}] X) => ({label}[N] label, {number}[N, {n_classes}] probabilities) {{
    centred = Sub(X, mean)
    {normalize}
    logits = Gemm({prepared}, coef, intercept)
    probabilities = Softmax <axis = 1> (logits)
    best = ArgMax <axis = 1, keepdims = 0> (logits)
    label = Gather <axis = 0> (classes, best)
}}
"""
# A row within `mean_error` of the mean counts as the mean and becomes zero.
NORMALIZE = """
    norms = ReduceL2 <keepdims = 1> (centred, columns)
    is_apart = Greater(norms, mean_error)
    divisors = Where(is_apart, norms, one)
    scaled = Div(centred, divisors)
    unit = Where(is_apart, scaled, zero)
"""
ONNX_TYPES = {"float32": "float", "float64": "double", "object": "string"}


def write_onnx(
    path: str | os.PathLike[str],
    preparation: Preparation,
    last: Round,
    classes: NDArray[Any],
    dtype: str,
) -> None:
    """Write the graph of a probe for inputs of one precision."""
    onnx = load_extra("onnx", "onnx", "ONNX files")
    parse_model = load_extra("onnx.parser", "onnx", "").parse_model
    as_tensor = load_extra("onnx.numpy_helper", "onnx", "").from_array
    precision, n_features = check_precision(dtype), last.coef.shape[1]
    names = np.array(classes.tolist())
    names = names.astype(
        {"U": object, "i": np.int64, "u": np.int64}.get(names.dtype.kind, names.dtype)
    )
    mean = np.zeros(n_features) if preparation.mean is None else preparation.mean
    numbers = {
        "coef": last.coef.T,
        "intercept": last.intercept,
        "mean": mean,
        "mean_error": max(preparation.mean_error, np.finfo(precision).tiny),
        "zero": 0,
        "one": 1,
    }
    constants = {name: np.array(value, precision) for name, value in numbers.items()}
    constants |= {"columns": np.array([1]), "classes": names}
    graph = GRAPH.format(
        number=ONNX_TYPES[precision.name],
        label=ONNX_TYPES.get(names.dtype.name, names.dtype.name),
        n_features=n_features,
        n_classes=len(names),
        normalize=NORMALIZE if preparation.normalize else "",
        prepared="unit" if preparation.normalize else "centred",
    )
    model = parse_model(graph)
    model.graph.initializer.extend(as_tensor(each, name) for name, each in constants.items())
    onnx.checker.check_model(model)
    with whole_file(path) as file:
        file.write(model.SerializeToString())

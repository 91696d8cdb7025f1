"""Fitted probes as files: safetensors, with everything but the arrays as JSON in its header.

    header    {"twohot": JSON of format_version, estimator, parameters, classes, rounds, …}
    tensors   "mean"; "round.1.coef", "round.1.intercept", …; "parameter.start" if it is an array

Nothing is unpickled: a file holds numbers and text, and the name of a known estimator.
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

# The state of a fitted probe, validated: a loaded probe must predict as the saved one -------------

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
            _check_certificate(f"round {number}", entry)
        _check_preparation(self.preparation, n_features)
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


def _check_certificate(name: str, entry: Round) -> None:
    numbers = [getattr(entry, field_name) for field_name in ROUND_NUMBERS]
    if not (all(map(is_real, numbers)) and is_integer(entry.n_iter)):
        raise ArgumentError(name, f"holds {numbers} where numbers are needed")


def _check_preparation(preparation: Preparation, n_features: int) -> None:
    error = preparation.mean_error
    if not (isinstance(preparation.normalize, bool) and is_real(error)):
        raise ArgumentError("preparation", "needs a flag and a number")
    if not (math.isfinite(error) and error >= 0):
        raise ArgumentError({"mean_error": error}, "is not a norm")
    if preparation.mean is not None:
        _check_tensor("mean", preparation.mean, (n_features,))


FORMAT_VERSION = 1
HEADER = "twohot"
# Exceptions that a damaged header makes this module raise.
DAMAGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    StopIteration,
    TypeError,
    ValueError,
)
# Labels of a fixed-width type may take this much memory without a check of their lengths; a file
# must not be able to request any amount.
LABEL_BYTES = 2**26
ROUND_ARRAYS = ("coef", "intercept")


def write_state(path: str | os.PathLike[str], state: FittedState) -> None:
    """Write a fitted probe atomically."""
    tensors: dict[str, NDArray[Any]] = {}
    preparation = state.preparation
    if preparation.mean is not None:
        tensors["mean"] = preparation.mean
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
        "parameters": encode_parameters(parameters),
        "classes": _encode_labels("classes_", state.classes),
        "preparation": {
            "normalize": bool(preparation.normalize),
            "mean_error": preparation.mean_error,
        },
        "rounds": rounds,
    }
    with whole_file(path) as file:
        file.write(save(tensors, {HEADER: json.dumps(header)}))


def read_state(path: str | os.PathLike[str]) -> FittedState:
    """Return the fitted probe in a file; raise if it holds none."""
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
            f"{path} says it holds a probe, but part of it is missing or wrong "
            f"({cause_of(error)}): save it again, or upgrade twohot if a newer version wrote it."
        ) from error


def _state(header: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> FittedState:
    """Return the probe that a header and its tensors describe; raise anything if invalid."""
    parameters = decode_parameters(header["parameters"])
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
    except (SafetensorError, TypeError) as error:  # TypeError: number types that numpy lacks
        problem = f"{path} is not a safetensors file, or is truncated ({error})"
        raise ValueError(f"{problem}: save the probe again.") from error
    if HEADER not in metadata:
        problem = f"{path} is a safetensors file but holds no probe"
        raise ValueError(f"{problem}: pass a file that `save` wrote.")
    return metadata[HEADER], tensors


def encode_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a probe as JSON; `decode_parameters` reads them."""
    return {name: _encode(name, value) for name, value in parameters.items()}


def decode_parameters(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that `encode_parameters` wrote."""
    return {name: _decode(value) for name, value in fields.items()}


def _encode(name: str, value: Any) -> Any:
    """Return a parameter as JSON; lists of pairs keep the type of the keys of a dict."""
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
    return _decode_labels(list(value["values"]), np.dtype(str(value["dtype"])))


def _decode_labels(values: list[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return labels of a given dtype; raise if it cannot hold them exactly, or is far too wide."""
    # For a size that overflows, numpy 2.0 returns a negative number.
    if not 0 <= dtype.itemsize * len(values) <= max(LABEL_BYTES, np.array(values).nbytes):
        raise ValueError(f"{dtype} is too wide for {len(values)} labels")
    labels = np.array(values, dtype=dtype)
    # A type that is too narrow would truncate a name, or round a number.
    if labels.tolist() != values:
        raise ValueError(f"the labels {first_few(values)} are not of {dtype}")
    return labels


# ONNX files: raw features in, labels and probabilities out ----------------------------------------
#     X → X - mean → divided by its norm → · coefᵀ + intercept → softmax → probabilities, label
#
# The preparation of rows is part of the graph: running it needs neither twohot nor scikit-learn.

# The first ONNX operator set in which norms take their axes as an input.
OPERATORS = 18
# The file version of that time: some runtimes that support the operators reject newer versions.
FILE_VERSION = 8


def write_onnx(
    path: str | os.PathLike[str],
    preparation: Preparation,
    last: Round,
    classes: NDArray[Any],
    dtype: str,
) -> None:
    """Write the graph of a probe for inputs of one precision."""
    onnx = load_extra("onnx", "onnx", "ONNX files")
    helper, as_tensor = onnx.helper, load_extra("onnx.numpy_helper", "onnx", "").from_array
    precision = check_precision(dtype)
    kind = helper.np_dtype_to_tensor_dtype(precision)
    constants = {
        "coef": last.coef.T.astype(precision),
        "intercept": last.intercept.astype(precision),
        "columns": np.array([1]),
        # A row within this distance of the mean equals the mean, and becomes zero.
        "mean_error": np.array(max(preparation.mean_error, np.finfo(precision).tiny), precision),
        "zero": np.array(0, precision),
        "one": np.array(1, precision),
        "classes": _plain_classes(classes),
    }
    if preparation.mean is not None:
        constants["mean"] = preparation.mean.astype(precision)
    label = helper.np_dtype_to_tensor_dtype(constants["classes"].dtype)
    nodes = [
        helper.make_node(operator, inputs, [output], **options)
        for operator, inputs, output, options in _nodes(preparation)
    ]
    graph = helper.make_graph(
        nodes,
        "probe",
        [helper.make_tensor_value_info("X", kind, [None, last.coef.shape[1]])],
        [
            helper.make_tensor_value_info("label", label, [None]),
            helper.make_tensor_value_info("probabilities", kind, [None, len(classes)]),
        ],
        [as_tensor(array, name) for name, array in constants.items()],
    )
    operators = [helper.make_opsetid("", OPERATORS)]
    model = helper.make_model(graph, opset_imports=operators, ir_version=FILE_VERSION)
    onnx.checker.check_model(model)
    with whole_file(path) as file:
        file.write(model.SerializeToString())


def _nodes(preparation: Preparation) -> list[tuple[str, list[str], str, dict[str, int]]]:
    """Return operators with their inputs, output and options."""
    nodes: list[tuple[str, list[str], str, dict[str, int]]] = []
    rows = "X"
    if preparation.mean is not None:
        nodes.append(("Sub", [rows, "mean"], "centred", {}))
        rows = "centred"
    if preparation.normalize:
        nodes += [
            ("ReduceL2", [rows, "columns"], "norms", {"keepdims": 1}),
            ("Greater", ["norms", "mean_error"], "is_apart", {}),
            ("Where", ["is_apart", "norms", "one"], "divisors", {}),
            ("Div", [rows, "divisors"], "scaled", {}),
            ("Where", ["is_apart", "scaled", "zero"], "prepared", {}),
        ]
        rows = "prepared"
    return [
        *nodes,
        ("Gemm", [rows, "coef", "intercept"], "logits", {}),
        ("Softmax", ["logits"], "probabilities", {"axis": 1}),
        ("ArgMax", ["logits"], "best", {"axis": 1, "keepdims": 0}),
        ("Gather", ["classes", "best"], "label", {"axis": 0}),
    ]


def _plain_classes(classes: NDArray[Any]) -> NDArray[Any]:
    """Return classes in ONNX types: text as objects, whole numbers as int64."""
    array = np.array(classes.tolist())
    if array.dtype.kind == "U":
        return array.astype(object)
    return array.astype(np.int64) if array.dtype.kind in "iu" else array

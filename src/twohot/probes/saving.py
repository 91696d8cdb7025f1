"""Fitted probes as safetensors and ONNX files.

A safetensors file has a header with everything except arrays, as JSON:

    header    {"twohot": JSON of format_version, estimator, parameters, classes, rounds, …}
    tensors   "mean"; "round.1.coef", "round.1.intercept", …; "parameter.start" if it is an array

Files are read without pickle: they hold numbers, text, and the name of a known estimator.
"""

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from twohot.base import (
    ArgumentError,
    FloatArray,
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
from twohot.probes.recipe import Round, RoundsTable
from twohot.rows import Preparation, count_threads

FORMAT_VERSION = 1
HEADER = "twohot"
# Exceptions that this module can raise if a header is damaged.
DAMAGE = (
    *(ArithmeticError, AttributeError, LookupError, RecursionError),
    *(StopIteration, TypeError, ValueError),
)
# A file states the width of its labels, which can be larger than the labels need. At this width,
# all labels together may take this many bytes: a damaged file must not request too much memory.
LABEL_BYTES = 2**26
ROUND_FIELDS = tuple(each.name for each in fields(Round))
ROUND_ARRAYS = ("coef", "intercept")  # fields of a round that are tensors; the rest is JSON
ROUND_NUMBERS = ("l2", "value", "n_iter", "n_passes", "gradient_norm")

# ONNX files: the input is raw features, the outputs are labels and probabilities ------------------
# The preparation of rows is part of the graph: running the graph needs neither twohot nor
# scikit-learn. Operator set 18 is the first in which norms take their axes as an input. File
# version 8 belongs to this set: some runtimes that support the set reject newer file versions.

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


@dataclass(kw_only=True, eq=False, repr=False)
class SavedProbe(BaseEstimator):  # type: ignore[misc]
    """Base class of all estimators: the fitted attributes, and how to save and load them."""

    classes_: NDArray[Any] = field(init=False)
    coef_: FloatArray = field(init=False)
    intercept_: FloatArray = field(init=False)
    rounds_: list[Round] = field(init=False)
    preparation_: Preparation = field(init=False)
    n_features_in_: int = field(init=False)
    feature_names_in_: NDArray[Any] = field(init=False)
    n_iter_: int = field(init=False)
    # Origin of the features, as JSON of `twohot.extract.FeatureOrigin`. Set it before `save`.
    feature_origin_: dict[str, str] = field(init=False)

    def _take_rounds(
        self, rounds: list[Round], classes: NDArray[Any], preparation: Preparation
    ) -> None:
        """Set the fitted attributes."""
        self.preparation_ = preparation
        self.rounds_ = RoundsTable(rounds)
        self.classes_ = classes
        self.coef_ = rounds[-1].coef
        self.intercept_ = rounds[-1].intercept
        self.n_iter_ = sum(entry.n_iter for entry in rounds)
        self.feature_origin_ = {}

    def _last(self) -> Round:
        """Return the last round, but with `coef_` and `intercept_`, because users can set these."""
        check_is_fitted(self)
        return replace(self.rounds_[-1], coef=self.coef_, intercept=self.intercept_)

    def _notes(self) -> dict[str, Any]:
        """Return the additional state of a subclass as JSON, for `save`."""
        return {}

    def _take_notes(self, notes: dict[str, Any]) -> None:
        """Restore the state that `_notes` returned."""

    def to_onnx(self, path: str | os.PathLike[str], dtype: str = "float32") -> None:
        """Write the fitted probe as an ONNX file, including the preparation of rows.

        The input of the ONNX model is `X`, raw features in the precision `dtype`, "float32" or
        "float64". The outputs are `label` and `probabilities`, with columns in the order of
        `classes_`. This method needs the extra `onnx` of twohot. (`coef_` alone would not be
        enough, because it applies to prepared rows: centred and of unit norm.)
        """
        last, preparation = self._last(), self.preparation_
        onnx = load_extra("onnx", "onnx", "ONNX files")
        precision, n_features = check_precision(dtype), self.n_features_in_
        names = np.array(self.classes_.tolist())
        kind = {"U": object, "i": np.int64, "u": np.int64}.get(names.dtype.kind, names.dtype)
        names = names.astype(kind)
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
        model = onnx.parser.parse_model(graph)
        tensors = (onnx.numpy_helper.from_array(each, name) for name, each in constants.items())
        model.graph.initializer.extend(tensors)
        onnx.checker.check_model(model)
        with whole_file(path) as file:
            file.write(model.SerializeToString())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted probe to a file without pickles; `twohot.load` reads it."""
        last, rounds = self._last(), []
        current = [*self.rounds_[:-1], last]
        self._check_state(current)
        tensors: dict[str, NDArray[Any]] = {}
        preparation = dict(vars(self.preparation_))
        mean = preparation.pop("mean")
        if mean is not None:
            tensors["mean"] = mean
        for number, entry in enumerate(current, start=1):
            fields = asdict(entry)
            for name in ROUND_ARRAYS:
                tensors[f"round.{number}.{name}"] = fields.pop(name)
            rounds.append(fields)
        parameters = self.get_params(deep=False)
        if not isinstance(parameters.get("start", ""), str):
            tensors["parameter.start"] = np.array(parameters.pop("start"), dtype=np.float64)
        header = {
            "format_version": FORMAT_VERSION,
            "estimator": type(self).__name__,
            "parameters": {name: _encode(name, value) for name, value in parameters.items()},
            "classes": _encode_labels("classes_", self.classes_),
            "preparation": preparation,
            "rounds": rounds,
            "n_features_in": self.n_features_in_,
            "feature_names_in": self._feature_names(),
            "notes": self._notes(),
            "feature_origin": self.feature_origin_,
        }
        with whole_file(path) as file:
            file.write(save(tensors, {HEADER: json.dumps(header)}))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the fitted probe in a file that `save` wrote; it must be a probe of this class."""
        text, tensors = _read(Path(path))
        with file_named_in_errors(path):
            header = parse_json(text)
            version = check_count("format_version", header["format_version"], 1)
            name, kinds = str(header["estimator"]), probe_kinds(cls)
            if version <= FORMAT_VERSION and name in kinds:
                parameters = {key: _decode(value) for key, value in header["parameters"].items()}
                if "parameter.start" in tensors:
                    parameters["start"] = tensors["parameter.start"]
                probe: Self = kinds[name](**parameters)
                probe._restore(header, tensors)
                return probe
        if version > FORMAT_VERSION:
            raise ValueError(
                f"{path} has format version {version}, but this version of twohot reads only "
                f"versions up to {FORMAT_VERSION}: upgrade twohot to read the file."
            )
        raise ValueError(
            f"{path} holds a {name!r} and not a {cls.__name__}: read the file with twohot.load, "
            "which reads every kind of probe; if this fails, upgrade twohot."
        )

    def _restore(self, header: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
        """Set the fitted state from a file; damaged content can raise any exception."""
        parameters = self.get_params(deep=False)
        if parameters.get("dtype") is not None:
            check_precision(parameters["dtype"])
        count_threads(parameters.get("n_jobs"))
        self._take_notes(dict(header.get("notes", {})))
        rounds = []
        for number, record in enumerate(header["rounds"], start=1):
            arrays = {name: tensors[f"round.{number}.{name}"] for name in ROUND_ARRAYS}
            stored = record | arrays
            rounds.append(Round(**{name: stored[name] for name in ROUND_FIELDS}))
        preparation = Preparation(tensors.get("mean"), **header["preparation"])
        self._take_rounds(rounds, _decode(header["classes"]), preparation)
        self.feature_origin_ = dict(header.get("feature_origin", {}))
        self.n_features_in_ = check_count("n_features_in", header["n_features_in"], 1)
        if names := list(header["feature_names_in"]):
            self.feature_names_in_ = np.array(names, dtype=object)
        self._check_state(rounds)

    def _feature_names(self) -> list[Any]:
        return list(np.asarray(getattr(self, "feature_names_in_", [])).tolist())

    def _check_state(self, rounds: list[Round]) -> None:
        """Raise unless arrays are finite and of matching shapes, and classes are unique."""
        n_classes, n_features = len(self.classes_), self.n_features_in_
        if n_classes < 2:
            raise ArgumentError("classes", "has fewer than two classes")
        if len(set(self.classes_.tolist())) < n_classes:
            raise ArgumentError("classes", "has a class twice")
        for number, entry in enumerate(rounds, start=1):
            _check_tensor(f"round.{number}.coef", entry.coef, (n_classes, n_features))
            _check_tensor(f"round.{number}.intercept", entry.intercept, (n_classes,))
            numbers = [getattr(entry, name) for name in ROUND_NUMBERS]
            if not (all(map(is_real, numbers)) and is_integer(entry.n_iter)):
                problem = f"holds {numbers} where numbers are needed"
                raise ArgumentError(f"round {number}", problem)
        mean, mean_error = self.preparation_.mean, self.preparation_.mean_error
        if not (isinstance(self.preparation_.normalize, bool) and is_real(mean_error)):
            problem = "needs true or false as normalize, and a number as mean_error"
            raise ArgumentError("preparation", problem)
        if not 0 <= mean_error < math.inf:
            raise ArgumentError({"mean_error": mean_error}, "is not a finite number of at least 0")
        if mean is not None:
            _check_tensor("mean", mean, (n_features,))
        names = self._feature_names()
        if len(names) not in {0, n_features} or not all(isinstance(name, str) for name in names):
            raise ArgumentError("feature_names_in", f"is not a list of {n_features} texts")
        if not all(isinstance(text, str) for text in chain(*self.feature_origin_.items())):
            raise ArgumentError("feature_origin", "holds a value that is not text")


def _check_tensor(name: str, tensor: NDArray[Any], shape: tuple[int, ...]) -> None:
    if tensor.shape != shape or tensor.dtype.kind != "f":
        came = f"has shape {tensor.shape} and dtype {tensor.dtype}"
        raise ArgumentError(name, f"{came}, and {shape} floats are needed")
    if not np.isfinite(tensor).all():
        raise ArgumentError(name, "holds NaN or infinity")


def probe_kinds(base: type[Any]) -> dict[str, type[Any]]:
    """Return a class and all its subclasses, by name."""
    kinds = {base.__name__: base}
    for child in base.__subclasses__():
        kinds |= probe_kinds(child)
    return kinds


@contextmanager
def file_named_in_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert any exception about the content of a file to an error that names the file."""
    try:
        yield
    except DAMAGE as error:
        raise ValueError(
            f"{path} holds a probe, but part of it is missing or wrong "
            f"({cause_of(error)}): save the probe again, or upgrade twohot if a newer version "
            "wrote the file."
        ) from error


def _read(path: Path) -> tuple[str, dict[str, NDArray[Any]]]:
    """Return the header and the tensors of a file; raise if `save` did not write the file."""
    if not path.is_file():
        problem = "is not a file" if path.exists() else "does not exist"
        raise FileNotFoundError(f"{path} {problem}: pass the path of a file that `save` wrote.")
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
    """Return a parameter as JSON; a dict becomes two lists, which keeps the type of its keys."""
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
    raise ValueError(f"{problem}: before saving, set it to a number, a string or None.")


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
    # If the type is too narrow, a name is now truncated, or a number is rounded.
    if labels.tolist() != values:
        raise ValueError(f"the labels {first_few(values)} are not of {dtype}")
    return labels

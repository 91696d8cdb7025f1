"""Fitted probes as ONNX files: raw features in, labels and probabilities out.

    X → X - mean → divided by its norm → · coefᵀ + intercept → softmax → probabilities, label

The preparation of rows is part of the graph, so that whoever runs it needs neither twohot nor
scikit-learn.
"""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot._checks.arrays import check_precision
from twohot._extras import load_extra
from twohot._files import whole_file
from twohot._types import Round
from twohot.rows.preparation import Preparation

# The first version of ONNX's operators in which norms take their axes as an input.
OPERATORS = 18
# The version of the files of that time: newer ones are refused by runtimes that know all of this.
FILE_VERSION = 8


def write_onnx(
    path: str | os.PathLike[str],
    preparation: Preparation,
    last: Round,
    classes: NDArray[Any],
    dtype: str,
) -> None:
    """Write the graph of a probe, with inputs of one precision."""
    onnx = load_extra("onnx", "onnx", "ONNX files")
    helper, as_tensor = onnx.helper, load_extra("onnx.numpy_helper", "onnx", "").from_array
    precision = check_precision(dtype)
    kind = helper.np_dtype_to_tensor_dtype(precision)
    constants = {
        "coef": last.coef.T.astype(precision),
        "intercept": last.intercept.astype(precision),
        "columns": np.array([1]),
        # A row no further from the mean is at the mean, and becomes zero.
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
    """Return operators, what each takes and gives, and its options."""
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
    """Return classes as ONNX holds them: text as objects, whole numbers as int64."""
    array = np.array(classes.tolist())
    if array.dtype.kind == "U":
        return array.astype(object)
    return array.astype(np.int64) if array.dtype.kind in "iu" else array

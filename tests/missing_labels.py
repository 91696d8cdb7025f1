"""Every kind of missing label, in every container that labels come in."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa


def with_value(value):
    """Return a maker of arrays of objects in which a value stands where there is no label."""

    def make(labels):
        array = np.empty(len(labels), dtype=object)
        array[:] = [value if label is None else label for label in labels]
        return array

    return make


def masked(labels):
    absent = [label is None for label in labels]
    first = next(label for label in labels if label is not None)
    return np.ma.array([first if label is None else label for label in labels], mask=absent)


def as_float(labels):
    return np.array([np.nan if label is None else label for label in labels])


def blank(text):
    return lambda labels: np.array([text if label is None else label for label in labels])


ANY = {
    "None": with_value(None),
    "list of None": list,
    "NaN": with_value(float("nan")),
    "list of NaN": lambda labels: with_value(np.nan)(labels).tolist(),
    "NA": with_value(pd.NA),
    "NaT": with_value(np.datetime64("NaT")),
    "pandas NaT": with_value(pd.NaT),
    "masked": masked,
    "pandas objects": lambda labels: pd.Series(labels, dtype=object),
    "pandas categories": lambda labels: pd.Series(labels, dtype="category"),
    "pandas frame": lambda labels: pd.DataFrame({"label": labels}),
    "polars": pl.Series,
    "polars frame": lambda labels: pl.DataFrame({"label": labels}),
    "Arrow": pa.array,
    "Arrow in chunks": lambda labels: pa.chunked_array([labels[:7], labels[7:]]),
}
NUMBERS = {
    "floats": as_float,
    "pandas floats": lambda labels: pd.Series(as_float(labels)),
    "pandas Int64": lambda labels: pd.Series(labels, dtype="Int64"),
}
TEXTS = {
    "empty": blank(""),
    "blank": blank(" \t "),
    "empty in objects": with_value(""),
    "pandas strings": lambda labels: pd.Series(labels, dtype="string"),
}
# (are the labels numbers?, how they come)
KINDS = {f"numbers, {kind}": (True, make) for kind, make in (ANY | NUMBERS).items()}
KINDS |= {f"text, {kind}": (False, make) for kind, make in (ANY | TEXTS).items()}

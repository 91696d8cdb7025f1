"""One column of labels with two gaps, in every container and with every kind of missing value."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

CODES = np.tile([0, 1], 20)
GAPS = [3, 8]  # the rows without a label
CODES[GAPS] = -1
TEXTS = [None if code < 0 else "ab"[code] for code in CODES]
# Text in whose place integers would become floats, if gaps were filled by NaN; and sorted by value.
NUMBERS = [None if code < 0 else (2, 10)[code] for code in CODES]


def objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def filled(values, gap):
    return [gap if value is None else value for value in values]


GAPS_OF_ANY_KIND = {
    "None": None,
    "nan": float("nan"),
    "np.float32 nan": np.float32("nan"),
    "pd.NA": pd.NA,
    "pd.NaT": pd.NaT,
    "np NaT": np.datetime64("NaT", "D"),
    "masked": np.ma.masked,
    "Arrow null": pa.scalar(None, pa.string()),
}
TEXT_GAPS = {"empty": "", "spaces": "   ", "other space": "\t\n\u00a0"}
CONTAINERS_OF_OBJECTS = {
    "object array": objects,
    "column of an array": lambda values: objects(values)[:, np.newaxis],
    "list": list,
    "tuple": tuple,
    "pandas": lambda values: pd.Series(objects(values), index=np.arange(len(values))[::-1]),
    "pandas frame": lambda values: pd.DataFrame({"y": objects(values)}),
    "pandas index": lambda values: pd.Index(objects(values), dtype=object),
}
CONTAINERS_OF_TEXT = {
    **CONTAINERS_OF_OBJECTS,
    "text array": np.array,
    "bytes array": lambda values: np.array([value.encode() for value in values]),
    "strings of any length": lambda values: np.array(values, dtype=np.dtypes.StringDType()),
    "pandas string": lambda values: pd.Series(values, dtype="string"),
    "polars": pl.Series,
    "polars frame": lambda values: pl.DataFrame({"y": values}),
    "arrow": pa.array,
    "arrow table": lambda values: pa.table({"y": values}),
}
# Containers that have a missing value of their own.
CONTAINERS_WITH_NULLS = {
    "masked array": lambda values: np.ma.array(filled(values, values[0]), mask=CODES < 0),
    "pandas nullable": lambda values: pd.Series(values).convert_dtypes(),
    "pandas category": lambda values: pd.Series(objects(values)).astype("category"),
    "pandas on arrow": lambda values: pd.Series(values, dtype=pd.ArrowDtype(pa.array(values).type)),
    "polars null": pl.Series,
    "polars frame null": lambda values: pl.DataFrame({"y": values}),
    "arrow null": pa.array,
    "arrow chunks": lambda values: pa.chunked_array([values[:5], values[5:]]),
    "arrow table null": lambda values: pa.table({"y": values}),
    "list of arrow scalars": lambda values: list(pa.array(values)),
}
NULLS_OF_TEXT = {
    "pandas str": lambda values: pd.Series(values, dtype="str"),
    "polars category": lambda values: pl.Series(values, dtype=pl.Categorical),
    "polars enum": lambda values: pl.Series(values, dtype=pl.Enum(["a", "b"])),
    "arrow dictionary": lambda values: pa.array(values).dictionary_encode(),
    "strings with nan": lambda values: np.array(
        filled(values, np.nan), dtype=np.dtypes.StringDType(na_object=np.nan)
    ),
}
NULLS_OF_NUMBERS = {
    "float array": lambda values: np.array(values, dtype=float),
    "float16 array": lambda values: np.array(values, dtype=np.float16),
    "pandas float": lambda values: pd.Series(values, dtype=float),
    "pandas Float64": lambda values: pd.Series(values, dtype="Float64"),
    "polars Int8": lambda values: pl.Series(values, dtype=pl.Int8),
    "polars float": lambda values: pl.Series(values, dtype=pl.Float32),
    "arrow float": lambda values: pa.array(values, pa.float64()),
}

# name → (column, whether its labels are numbers)
COLUMNS = {
    **{
        f"{gap} in {name}": (make(filled(values, missing)), values is NUMBERS)
        for gap, missing in GAPS_OF_ANY_KIND.items()
        for name, make in CONTAINERS_OF_OBJECTS.items()
        for values in (TEXTS, NUMBERS)
        if values is TEXTS or name == "list"
    },
    **{
        f"{gap} in {name}": (make(filled(TEXTS, missing)), False)
        for gap, missing in TEXT_GAPS.items()
        for name, make in CONTAINERS_OF_TEXT.items()
        # Text of fixed width is not made of bytes beyond ASCII.
        if not (gap == "other space" and name == "bytes array")
    },
    **{
        f"{name}, text": (make(TEXTS), False)
        for name, make in {**CONTAINERS_WITH_NULLS, **NULLS_OF_TEXT}.items()
    },
    **{
        f"{name}, numbers": (make(NUMBERS), True)
        for name, make in {**CONTAINERS_WITH_NULLS, **NULLS_OF_NUMBERS}.items()
    },
}

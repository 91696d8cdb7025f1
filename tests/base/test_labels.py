"""Labels: every kind of missing value in every container, the order of classes, refusals."""

import re
from datetime import date
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twohot import (
    AutoProbe,
    LinearProbe,
    evaluate_probe,
    explain_label,
    find_label_issues,
    forecast,
)
from twohot.base.labels import (
    Labels,
    as_text,
    check_two_classes,
    code_labels,
    label_notes,
    order_key,
)
from twohot.tables import read_table

# One column with two gaps, in every container and with every kind of missing value ----------------

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

N_ROWS = len(CODES)
X = np.random.default_rng(0).normal(size=(N_ROWS, 3)) + 4 * CODES[:, np.newaxis]
REFUSED = rf"y has no label in {len(GAPS)} rows \(the first is row {GAPS[0]}\): drop rows"


def names(is_number):
    return ["2", "10"] if is_number else ["a", "b"]


@pytest.mark.parametrize(("column", "is_number"), COLUMNS.values(), ids=COLUMNS.keys())
def test_missing_labels_have_no_code(column, is_number):
    coded = code_labels(column)
    np.testing.assert_array_equal(coded.codes, CODES)
    assert coded.classes.tolist() == ([2, 10] if is_number else ["a", "b"])
    assert coded.sizes.tolist() == [(CODES == 0).sum(), (CODES == 1).sum()]


# One column in nine: all functions code labels in the same way.
FEW = {name: pair for number, (name, pair) in enumerate(COLUMNS.items()) if number % 9 == 0}


@pytest.mark.parametrize(("column", "is_number"), FEW.values(), ids=FEW.keys())
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_all_functions_code_labels_in_the_same_way(column, is_number):
    for probe in (LinearProbe(), AutoProbe()):
        with pytest.raises(ValueError, match=REFUSED):
            probe.fit(X, column)
    known = explain_label(X, TEXTS, [0, GAPS[0]], n_neighbours=N_ROWS, n_jobs=1)
    found = explain_label(X, column, [0, GAPS[0]], n_neighbours=N_ROWS, n_jobs=1)
    for one, other in zip(found, known, strict=True):
        assert [n.row for n in one.neighbours] == [n.row for n in other.neighbours]
        assert not {n.row for n in one.neighbours} & set(GAPS)
    probabilities = np.where((CODES == 0)[:, np.newaxis], [0.9, 0.1], [0.2, 0.8])
    issues = find_label_issues(None, column, probabilities=probabilities)
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(issues.label_quality)), GAPS)
    expected = forecast(X, column, probabilities=probabilities, cv=2, n_jobs=1)
    assert expected.given_sizes.tolist() == [(CODES == 0).sum(), (CODES == 1).sum()]
    for classes in (issues.classes, expected.classes):
        assert [as_text(label) for label in classes] == names(is_number)


# Values and order of labels -----------------------------------------------------------------------


def test_missing_lists_texts_that_mean_no_label():
    labels = ["NaN", "NA", "None", "a", "<NA>", "nan"]
    assert code_labels(labels).labelled.all()
    assert code_labels(labels, missing=["NA", "None"]).values.tolist() == [
        *("NaN", None, None, "a", "<NA>", "nan")
    ]
    frame = pd.DataFrame({"x": np.arange(6.0), "y": labels})
    assert read_table(frame, missing=("NaN", "nan")).classes == ("<NA>", "NA", "None", "a")
    assert code_labels([1, 99], missing="99").codes.tolist() == [0, -1]
    notes = label_notes(code_labels(["NaN", "b", "NA"]))
    assert notes[0].startswith("'NA', 'NaN' are classes here")
    coded = code_labels(["a", "NA", "b", None])
    again = code_labels(coded, missing=["NA"])
    assert (again.codes.tolist(), again.classes.tolist()) == ([0, -1, 1, -1], ["a", "b"])
    assert code_labels(coded) is coded


@given(st.lists(st.integers(-99, 99) | st.text("ab1 ", min_size=1).filter(str.strip), min_size=1))
def test_numbers_and_their_text_have_the_same_order(labels):
    classes = code_labels([str(label) for label in labels]).classes.tolist()
    assert classes == sorted({str(label) for label in labels}, key=order_key)
    numbers = [label for label in labels if isinstance(label, int)]
    if numbers:
        assert code_labels(numbers).classes.tolist() == sorted(set(numbers))


def test_numbers_precede_text_in_order_of_value():
    labels = ["b", "10", "a", "2", "-3", "+7", "1.5", "B"]
    expected = ["-3", "2", "+7", "10", "1.5", "B", "a", "b"]
    assert code_labels(labels).classes.tolist() == expected


def test_note_lists_other_spellings():
    labels = ["Billing", "billing", "billing", " bug ", "bug", "bug"]
    coded = code_labels(labels)
    assert coded.classes.tolist() == [" bug ", "Billing", "billing", "bug"]
    assert label_notes(coded) == (
        (
            "2 rows have a label that may be another spelling of a class: 'bug' (2 rows) / "
            "'␣bug␣' (1), 'billing' (2 rows) / 'Billing' (1). If these spellings mean the "
            "same class, write them alike in your data."
        ),
    )
    # A class without rows is not another spelling.
    assert label_notes(code_labels(["bug"], classes=["Bug", "bug"])) == ()


def test_numbers_and_text_are_not_changed():
    assert code_labels(np.int16([3, 5])).classes.dtype == np.int16
    assert code_labels([True, False]).classes.dtype == bool
    assert code_labels([2**40, None]).classes.tolist() == [2**40]
    assert code_labels(["a\0", "a"]).classes.tolist() == ["a", "a\0"]
    assert code_labels([1.0, 2.0]).values.dtype == float
    assert code_labels([2**63, -1]).classes.tolist() == [-1, 2**63]


def test_dates_become_text():
    days = np.array(["2020-01-02", "NaT", "2020-01-01"], dtype="datetime64[D]")
    for column in (days, days.tolist(), pl.Series(days.tolist())):
        coded = code_labels(column)
        assert coded.codes.tolist() == [1, -1, 0]
        assert coded.classes.tolist() == ["2020-01-01", "2020-01-02"]
    times = pd.Series(days.astype("datetime64[ns]"))
    for column in (times, times.to_numpy(), times.tolist()):
        assert code_labels(column).classes.tolist() == [
            "2020-01-01 00:00:00",
            "2020-01-02 00:00:00",
        ]
    labels = [date(2024, 1, 2), Decimal("1.50"), Fraction(1, 3), UUID(int=7)]
    assert code_labels([*labels, *labels]).classes.tolist() == sorted(map(str, labels))


@pytest.mark.parametrize("codes", [[0, 3], [-2, 0], [0.5, 1], [[0], [1]]])
def test_refuses_codes_that_are_no_positions(codes):
    with pytest.raises(ValueError, match="codes"):
        Labels(codes, np.array(["a", "b", "c"]))
    assert Labels([0, -1], ["a", "b"]).values.tolist() == ["a", None]


def test_probe_ignores_classes_without_rows():
    X = np.random.default_rng(0).normal(size=(40, 3))
    labels = Labels(np.arange(40) % 2, np.array(["a", "b", "c"]))
    probe = LinearProbe().fit(X, labels)
    assert probe.classes_.tolist() == ["a", "b"]
    assert 0 <= probe.score(X, labels) <= 1
    with pytest.raises(ValueError, match=r"only one class .'b'.: pass rows of at least two"):
        LinearProbe().fit(X, Labels(np.ones(40, int), np.array(["a", "b"])))


def test_among_matches_classes_by_text():
    coded = code_labels([10, None, 2])
    assert coded.among(np.array(["2", "3", "10"])).codes.tolist() == [2, -1, 0]
    with pytest.raises(ValueError, match=r"y has 1 label that is not among the 2 classes \(10\)"):
        coded.among(np.array([2, 3]))
    # A class without rows may be unknown.
    assert coded.take([2]).among(np.array([2, 3])).codes.tolist() == [0]


def test_present_drops_classes_without_rows():
    coded = Labels(np.array([3, -1, 1]), np.array(list("abcd"), dtype=object)).present()
    assert (coded.codes.tolist(), coded.classes.tolist()) == ([1, -1, 0], ["b", "d"])
    assert coded.present() is coded
    with pytest.raises(ValueError, match=r"y has only one class \('b'\)"):
        check_two_classes(coded.take([2]).present())


SEVERAL = r"y holds .* in row 1, which is not a label: pass numbers"


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (["a", 1], {}, "y mixes numbers and text: pass only numbers or"),
        ([0.5, 1], {}, "y holds 0.5, which is not a class"),
        ([["a", "b"]], {}, r"y has shape \(1, 2\): pass one label per row"),
        ("ab", {}, r"y has shape \(\): pass one label per row"),
        ([{"a"}, "b"], {}, r"y holds {'a'} in row 0, which is not a label: pass numbers or text"),
        (["a", "c"], {"classes": ["a", "b"]}, r"not among the 2 classes \('c'\)"),
        (["a"], {"classes": ["a", "a"]}, "classes contains a class twice"),
        (
            ["a"],
            {"classes": [["a", "b"]]},
            r"classes has shape \(1, 2\): pass a one-",
        ),
        (np.array([1j, 2j]), {}, "y has dtype complex128: pass numbers or text"),
        *(
            (objects(["x", cell, "z"]), {}, SEVERAL)
            for cell in ([0, 1], (0, 1), np.array([0, 1]), {"a": 1})
        ),
        *(
            (["a", cell, "b"], {}, f"y .*{re.escape(said)}.*which is not a label: pass numbers or")
            for cell, said in (
                (object(), "holds <object object at 0x"),
                (len, "holds <built-in function len>"),
                (lambda: 0, "<lambda>"),
                (1j, "holds 1j in row 1"),
                (type("Cell", (), {})(), "Cell object at 0x"),
            )
        ),
    ],
)
def test_refuses_values_that_are_no_labels(labels, options, message):
    with pytest.raises(ValueError, match=message):
        code_labels(labels, **options)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("y", lambda frame, y: evaluate_probe(LinearProbe().fit(frame, y), frame, y)),
        ("labels", lambda frame, y: read_table(frame, labels=y)),
    ],
)
def test_refuses_pandas_labels_with_another_index(name, call):
    frame = pd.DataFrame(np.eye(6), columns=list("uvwxyz"))
    labels = pd.Series(list("aabbcc")).sample(frac=1, random_state=0)
    with pytest.raises(ValueError, match=rf"{name} has another index than .*pass {name}.loc\["):
        call(frame, labels)


def test_note_lists_spellings_of_accents_and_numbers():
    accents = label_notes(code_labels(["caf\u00e9", "cafe\u0301", "tea"]))
    assert "1 row has a label that may be another spelling" in accents[0]
    assert r"'cafe\u0301' (1 row) / 'caf\xe9' (1)" in accents[0]
    numbers = label_notes(code_labels(["1", "1.0", "2", "02", "1e5"], by_name=True))
    assert "'1' (1 row) / '1.0' (1), '02' (1 row) / '2' (1)" in numbers[0]
    assert not label_notes(code_labels(["1.5 mg", "15 mg", "1", "-1"], by_name=True))


@pytest.mark.parametrize("hidden", ["\u200b", "\u2060", "\u00ad", "\ufeff"])
def test_note_shows_characters_without_width(hidden):
    (note,) = label_notes(code_labels(["cat", "cat", f"cat{hidden}", "dog"]))
    start = "1 row has a label that may be another spelling of a class: 'cat' (2 rows)"
    assert note.startswith(start)
    assert repr(f"cat{hidden}") in note

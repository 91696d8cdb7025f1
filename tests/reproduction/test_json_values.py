"""Records are written as JSON and read back; other values are rejected."""

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twohot_paper.runs import as_json, canonical, from_json


@dataclass(frozen=True)
class Inner:
    name: str
    share: float | None = None


@dataclass(frozen=True)
class Outer:
    inner: Inner
    many: list[Inner]
    by_name: dict[str, Inner]
    pair: tuple[int, str]
    row: tuple[float, ...]
    either: int | str
    other: Any
    maybe: Inner | None = None
    more: list[int] = field(default_factory=list)


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
INNER = st.builds(Inner, st.text(), st.none() | NUMBERS)
OUTER = st.builds(
    Outer,
    inner=INNER,
    many=st.lists(INNER, max_size=3),
    by_name=st.dictionaries(st.text(), INNER, max_size=3),
    pair=st.tuples(st.integers(), st.text()),
    row=st.lists(NUMBERS, max_size=3).map(tuple),
    either=st.integers() | st.text(),
    other=st.none() | st.booleans() | st.lists(st.text(), max_size=2),
    maybe=st.none() | INNER,
    more=st.lists(st.integers(), max_size=3),
)


@given(OUTER)
def test_records_survive_json(record: Outer) -> None:
    assert from_json(Outer, json.loads(json.dumps(as_json(record)))) == record


@given(st.dictionaries(st.text(), NUMBERS | st.integers(), max_size=5))
def test_canonical_text_ignores_order(value: dict[str, Any]) -> None:
    turned = dict(reversed(value.items()))
    assert canonical(turned) == canonical(value)


@given(NUMBERS, NUMBERS)
def test_canonical_text_distinguishes_values(one: float, other: float) -> None:
    assert (canonical([one]) == canonical([other])) == (one == other)


def test_writes_numpy_floats_and_rejects_numpy_integers() -> None:
    assert as_json({"share": np.float64(0.5)}) == {"share": 0.5}
    with pytest.raises(ValueError, match=r"np.int64\(3\) of type int64 is not a JSON value: use"):
        as_json([np.int64(3)])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1: "a"}, {"a"}, b"a", 1j, Inner])
def test_rejects_values_that_json_lacks(value: object) -> None:
    with pytest.raises(ValueError, match="is not a JSON value"):
        as_json({"deep": [value]})


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (
            Inner,
            {"nmae": "a"},
            "Inner does not know 'nmae' and lacks 'name': the fields of Inner are 'name",
        ),
        (Inner, {"name": 3}, "3 is not of type str"),
        (Inner, [], r"\[\] is not of type Inner"),
        (list[Inner], [{}], "Inner lacks 'name'"),
        (list[int], {"a": 1}, r"is not of type list\[int\]"),
        (int | str, 0.5, r"0.5 is not of type int \| str"),
        (float, "0.5", "'0.5' is not of type float"),
    ],
)
def test_rejects_values_of_another_type(kind: Any, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_json(kind, value)

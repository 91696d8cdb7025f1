"""Records as values of JSON, and back: what is read equals what was written.

Dataclasses become objects, tuples become lists, and the types of the fields tell the way back.
Whatever JSON does not have is refused, NaN and infinity too.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from twohot.base import ArgumentError, first_few


def as_json(value: object) -> Any:
    """Return a record, or any value that it is made of, as JSON has it.

    Examples
    --------
    >>> as_json({"rounds": (1, 2), "score": None})
    {'rounds': [1, 2], 'score': None}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: as_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(each) for each in value]
    is_number = isinstance(value, float) and math.isfinite(value)
    if value is None or isinstance(value, str | int) or is_number:
        return value
    problem = f"{value!r} of type {type(value).__name__} is no value of JSON"
    advice = "write it as a number, a text, None, or a list or dict of them."
    raise ArgumentError("", problem, advice)


def canonical(value: object) -> str:
    """Return the one text that stands for a value, whatever the order of its fields.

    Examples
    --------
    >>> canonical({"seed": 0, "ridge": 10.0}) == canonical({"ridge": 10, "seed": 0})
    True
    """
    whole = json.loads(json.dumps(as_json(value)), parse_float=_number)
    return json.dumps(whole, sort_keys=True, separators=(",", ":"))


def from_json(kind: Any, value: Any) -> Any:
    """Return the value of a type that `as_json` made this of.

    Parameters
    ----------
    kind : type
        A dataclass; str, int, float, bool, None, a choice among them (`int | None`) or Any; or
        `list[…]`, `tuple[…]` or `dict[str, …]` of any of these.
    value : object
        A value of JSON (or of TOML).

    Examples
    --------
    >>> from_json(tuple[float, ...], [1, 2.5])
    (1.0, 2.5)
    """
    origin, parts = get_origin(kind), get_args(kind)
    if is_dataclass(kind) and isinstance(value, dict):
        return _record(kind, value)
    if origin in (Union, UnionType) and NoneType in parts and len(parts) == 2:
        (other,) = (part for part in parts if part is not NoneType)
        return None if value is None else from_json(other, value)
    if origin is dict and isinstance(value, dict):
        return {key: from_json(parts[1], each) for key, each in value.items()}
    if origin in (list, tuple) and isinstance(value, list):
        each_kind = parts if origin is tuple and parts[-1] is not ... else parts[:1] * len(value)
        return origin(from_json(*pair) for pair in zip(each_kind, value, strict=True))
    if kind is float and isinstance(value, int):
        return float(value)
    if kind is Any or (origin in (None, UnionType) and isinstance(value, kind)):
        return value
    name = kind.__name__ if isinstance(kind, type) and origin is None else str(kind)
    raise ArgumentError("", f"{value!r} is no {name}")


def _record(kind: Any, value: dict[str, Any]) -> Any:
    required = {
        field.name: field.default is MISSING and field.default_factory is MISSING
        for field in fields(kind)
    }
    unknown = [name for name in value if name not in required]
    missing = [name for name, needed in required.items() if needed and name not in value]
    if unknown or missing:
        found = [("does not know", unknown), ("lacks", missing)]
        wrong = " and ".join(f"{what} {first_few(names)}" for what, names in found if names)
        advice = f"its fields are {first_few(required, len(required))}."
        raise ArgumentError("", f"{kind.__name__} {wrong}", advice)
    hints = get_type_hints(kind)
    return kind(**{name: from_json(hints[name], each) for name, each in value.items()})


def _number(text: str) -> float:
    """Read 10.0 as 10: they are equal, so they must not tell two values apart."""
    number = float(text)
    return int(number) if number.is_integer() else number

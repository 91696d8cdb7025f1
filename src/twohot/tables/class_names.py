"""Labels of a table, coded by the names of its classes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot._checks.column_cells import WHOLE_NUMBER, as_cells, as_text, holds_numbers, order_key
from twohot._checks.labels import NO_LABEL, Labels, check_classes, code_labels, missing_texts
from twohot._checks.messages import ArgumentError, first_few


def code_by_name(
    labels: Any,
    classes: Iterable[object] | None = None,
    *,
    name: str = "labels",
    missing: Collection[str] = (),
    extend: bool = False,
) -> Labels:
    """Return labels with text as classes, whatever they are; otherwise as `code_labels` does.

    Whole numbers are positions in given classes none of whose names is one, and -1 is then no
    label; so are texts of whole numbers, as a CSV file has them. With `extend`, a name that no
    class has is a class too, behind the given ones; where all labels are such, they are those of
    other rows, and refused.

    Examples
    --------
    >>> code_by_name(["b", 10, 2.0]).classes.tolist()
    ['2', '10', 'b']
    >>> code_by_name(["yak", "cat"], ["dog", "cat"], extend=True).classes.tolist()
    ['dog', 'cat', 'yak']
    >>> code_by_name(["1", "0", "-1"], ["dog", "cat"]).values.tolist()
    ['cat', 'dog', None]
    """
    if classes is None:
        return code_labels(labels, name=name, missing=missing, by_name=True)
    names = [as_text(entry) for entry in check_classes(list(classes)).tolist()]
    positions = _positions(labels, names, name, missing)
    if positions is not None:
        return positions
    if extend:
        found = code_labels(labels, name=name, missing=missing, by_name=True)
        new = [label for label in found.classes.tolist() if label not in names]
        if len(new) == found.n_classes:
            advice = "pass the labels of these rows; new classes may stand beside known ones only."
            return found.among(np.array(names, dtype=object), name=name, advice=advice)
        names += new
    return code_labels(labels, name=name, classes=names, missing=missing, by_name=True)


def code_given_and_true(
    columns: Mapping[str, Any],
    label: str,
    true_label: str | None,
    classes: Iterable[object] | None = None,
    *,
    missing: Collection[str] = (),
    extend: bool = False,
) -> tuple[Labels, Labels | None]:
    """Return the given labels, and the true ones if there is such a column, by the same classes."""
    how: dict[str, Any] = {"missing": missing, "extend": extend}
    given, *others = (
        code_by_name(columns[name], classes, name=f"column {name!r}", **how)
        for name in (label, true_label)
        if name is not None
    )
    if not others:
        return given, None
    # A class may occur among the true labels only.
    true = others[0]
    names = list(dict.fromkeys([*given.classes.tolist(), *true.classes.tolist()]))
    every = np.array(sorted(names, key=order_key) if classes is None else names, dtype=object)
    return given.among(every), true.among(every)


def name_positions(cells: NDArray[Any], classes: Iterable[object], name: str) -> NDArray[Any]:
    """Return labels by name where they are positions in classes; else as they are.

    Examples
    --------
    >>> name_positions(np.array(["1", None], dtype=object), ["dog", "cat"], "labels").tolist()
    ['cat', None]
    """
    coded = _positions(cells, [as_text(entry) for entry in classes], name, ())
    return cells if coded is None else coded.values


def _positions(labels: Any, names: list[str], name: str, missing: Collection[str]) -> Labels | None:
    """Return labels that are positions among names; None where they are names themselves."""
    if any(map(_is_whole, names)):
        return None
    are_numbers = holds_numbers(as_cells(labels, name))
    coded = code_labels(labels, name=name, missing=missing, by_name=not are_numbers)
    if not are_numbers and not (coded.n_classes and all(map(_is_whole, coded.classes.tolist()))):
        return None
    return _by_position(coded, names, name).without(missing)


def _is_whole(label: str) -> bool:
    return WHOLE_NUMBER.fullmatch(label) is not None


def _by_position(labels: Labels, names: list[str], name: str) -> Labels:
    """Return integer labels as positions among names, or say which one is none."""
    positions = labels.classes.astype(np.intp)
    outside = np.flatnonzero((positions < NO_LABEL) | (positions >= len(names)))
    if outside.size:
        row = int(np.argmax(np.isin(labels.codes, outside)))
        what = f"no position among the {len(names)} classes"
        problem = f"holds {positions[labels.codes[row]]} in row {row}, which is {what}"
        last = len(names) - 1
        advice = f"pass integers from 0 to {last}, -1 for no label, or the names of classes."
        raise ArgumentError(name, problem, advice)
    return Labels(np.append(positions, NO_LABEL)[labels.codes], np.array(names, dtype=object))


def new_classes(classes: Sequence[str], known: Sequence[str], *, grouped: bool) -> str:
    """Return which classes a label file has made, in words; a superclass it cannot give them."""
    new = [name for name in classes if name not in known]
    if new and grouped:
        none = f"{first_few(new)} {'is' if len(new) == 1 else 'are'} in none"
        problem = f"the table has superclasses, and {none}"
        advice = "leave these rows without a label, or pass features without superclasses."
        raise ArgumentError("", problem, advice)
    return f"new classes: {first_few(new)}" if new else ""


def noted_missing(missing: Collection[str]) -> dict[str, list[str]]:
    """Return what is kept of the texts that mean no label, so that nobody has to repeat them."""
    return {"missing": list(missing_texts(missing))} if missing else {}

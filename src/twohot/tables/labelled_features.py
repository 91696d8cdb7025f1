"""A feature file with its own labels, or with those of a separate file."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from twohot.base import NO_LABEL, ArgumentError, Labels, as_text, first_few, missing_texts
from twohot.tables.column_roles import ColumnChoice
from twohot.tables.columns import item_kind
from twohot.tables.feature_file import read_features
from twohot.tables.label_file import check_item_order, join_labels
from twohot.tables.table import FeatureTable, code_by_name, new_classes, noted_missing


def read_labelled_features(
    path: Path, labels: Any, choice: ColumnChoice, classes: Any, missing: Collection[str]
) -> FeatureTable:
    """Return the table of a feature file; with `labels`, these in place of its own."""
    _check_says_itself(path, choice, classes)
    table = _without_classes(read_features(path), missing)
    if labels is None:
        _check_same_names(table, choice)
        return table
    return _relabelled(table, labels, choice)


def _without_classes(table: FeatureTable, missing: Collection[str]) -> FeatureTable:
    """Return a table without the classes whose names mean that there is no label.

    What was said to mean none when the table was made still does.
    """
    texts = dict.fromkeys((*table.missing, *missing_texts(missing)))
    if not texts:
        return table
    table = replace(table, provenance={**table.provenance, **noted_missing(texts)})
    given = table.coded.without(texts)
    if given.n_classes == len(table.classes):
        return table
    true, groups = table.true_labels, table.superclass
    if true is not None:
        true = Labels(true, table.coded.classes).without(texts).codes
    if groups is not None:
        groups = groups[np.isin(table.classes, given.classes.tolist())]
    names = tuple(given.classes.tolist())
    return replace(table, labels=given.codes, classes=names, true_labels=true, superclass=groups)


def _check_says_itself(path: Path, choice: ColumnChoice, classes: Any) -> None:
    """Raise if columns of a feature file are chosen, and not those of a label file beside it."""
    beside = replace(choice, label=None, id=None, item=None, group=None)
    if beside != ColumnChoice() or classes is not None:
        problem = f"{path} is a feature file, which says itself what its columns are"
        advice = "leave {classes} and the names of columns out."
        raise ArgumentError("", problem, advice, classes=...)


def _check_same_names(table: FeatureTable, choice: ColumnChoice) -> None:
    """Raise if a column is chosen that a feature file has not got its own from."""
    for role, chosen, known in (
        ("label", choice.label, table.label_column),
        ("id", choice.id, table.ids.column),
        ("item", choice.item, table.item_column),
        ("group", choice.group, None),
    ):
        if chosen not in (None, known):
            own = f", whose {role} is {known!r}" if known else ""
            problem = f"is for a separate label file, and the source is a feature file{own}"
            advice = "pass {labels} too, or leave it out."
            raise ArgumentError({f"{role}_column": chosen}, problem, advice, labels=...)


def _relabelled(table: FeatureTable, labels: Any, choice: ColumnChoice) -> FeatureTable:
    """Return a table with the labels of a separate file in place of its own."""
    known = table.ids, table.skipped_ids, lambda: table.coded
    joined = join_labels(labels, choice, *known, own_name=table.label_column)
    if table.items is not None:
        check_item_order(joined, table.items)
    name, item = str(joined.roles.label), joined.roles.item
    # A table without labels has no classes of its own.
    classes, said = table.classes or None, f"column {name!r}"
    cells = joined.columns[name]
    coded = code_by_name(cells, classes, name=said, missing=table.missing, extend=True)
    names = tuple(coded.classes.tolist())
    grouped = table.superclass is not None
    made = new_classes(names, classes, grouped=grouped) if classes else ""
    none = f"no label: {first_few(table.missing)}" if table.missing else ""
    words = "; ".join(filter(None, [table.provenance.get("columns", ""), joined.words, made, none]))
    changed: dict[str, Any] = {"provenance": {**table.provenance, "columns": words}}
    if item is not None and (table.items is None or choice.item is not None):
        items = [as_text(cell) for cell in joined.columns[item].tolist()]
        changed |= {"items": items, "item_kind": item_kind(item, items)}
    if joined.roles.group is not None:
        changed |= {"groups": joined.columns[joined.roles.group]}
    return replace(table, labels=coded.codes, classes=names, ids=joined.ids, **changed)


def with_used_classes(table: FeatureTable) -> FeatureTable:
    """Return a table without the classes that none of its labels, given or true, names.

    Those of a source say nothing about labels of another file: an audit would offer them all.
    """
    true = table.true_labels
    named = table.labels if true is None else np.concatenate([table.labels, true])
    used = np.bincount(named[named >= 0], minlength=len(table.classes)) > 0
    if used.all() or not used.any():
        return table
    place = np.append(np.where(used, np.cumsum(used) - 1, NO_LABEL), NO_LABEL)
    true = None if true is None else place[true]
    names = tuple(np.array(table.classes, dtype=object)[used].tolist())
    groups = None if table.superclass is None else table.superclass[used]
    labels = place[table.labels]
    return replace(table, labels=labels, classes=names, true_labels=true, superclass=groups)

"""Labelled images or texts: what is extracted, before there are features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from twohot._checks.classes import check_codes
from twohot._checks.messages import ArgumentError, counted
from twohot._checks.names import check_names
from twohot._checks.numbers import check_choice
from twohot._types import IntArray
from twohot.extract.image_files import NotTaken
from twohot.tables.row_ids import RowIds
from twohot.tables.table import POSITIONS

KINDS = ("image", "text")


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledItems:
    """Images or texts and their labels, as `FeatureTable` will hold them once there are features.

    Examples
    --------
    >>> items = LabelledItems(
    ...     kind="text", items=("it works", "it broke"), labels=np.array([1, 0]),
    ...     classes=("bad", "good"), source="two reviews",
    ... )
    >>> len(items), items.item_kind
    (2, 'text')
    """

    kind: str  # "image" or "text": what a backbone must be able to take
    items: Sequence[str]  # (n_items,), the path, text or name of each
    labels: IntArray  # (n_items,), positions in classes; -1: no label
    classes: tuple[str, ...]
    source: str  # where they come from, for people
    superclass: IntArray | None = None  # (n_classes,), positions in superclass_names
    superclass_names: tuple[str, ...] = ()
    split: IntArray | None = None  # (n_items,), positions in split_names
    split_names: tuple[str, ...] = ()
    true_labels: IntArray | None = None  # (n_items,), positions in classes; None: not known
    images: NDArray[np.uint8] | None = None  # (n_items, height, width[, 3]); None: read from paths
    ids: RowIds = POSITIONS  # (n_items,), what each is called in the user's data
    missing: tuple[str, ...] = ()  # texts that were said to mean no label
    columns: str = ""  # which column of their table is what, in words
    column_names: Mapping[str, str] = field(default_factory=dict)  # see `ColumnRoles.names`
    not_taken: tuple[NotTaken, ...] = ()  # files that are no items, where items are a folder's

    def __post_init__(self) -> None:
        """Raise if there is nothing, or not one label per item, or a name that no file can hold."""
        check_choice("kind", self.kind, KINDS)
        for name in ("classes", "superclass_names", "split_names"):
            check_names(name, getattr(self, name))
        n_items = len(self.items)
        if n_items == 0:
            raise ArgumentError("items", "is empty", "pass at least one item.")
        check_codes("labels", self.labels, n_items, len(self.classes))
        if self.images is not None and len(self.images) != n_items:
            entries = counted(len(self.images), "entry", "entries")
            advice = "pass one for each, or None to read the items as paths."
            raise ArgumentError("images", f"has {entries} for {counted(n_items, 'item')}", advice)
        if self.ids is POSITIONS:
            object.__setattr__(self, "ids", RowIds.by_position(n_items))

    def __len__(self) -> int:
        return len(self.items)

    @property
    def item_kind(self) -> str:
        """What the items of a feature table are: images in memory have names but no paths."""
        return self.kind if self.images is None else ""

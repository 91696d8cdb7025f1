"""Images or texts with their labels: the input of an extraction."""

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot.base import (
    NO_LABEL,
    ArgumentError,
    IntArray,
    as_text,
    check_choice,
    check_codes,
    check_names,
    check_real,
    counted,
    first_few,
    missing_texts,
    on_other_host,
    order_key,
)
from twohot.extract.image_files import (
    IMAGE_SUFFIXES,
    NotTaken,
    class_folders,
    find_images,
    not_taken_notes,
)
from twohot.tables import (
    LABELS,
    PATH,
    POSITIONS,
    ColumnChoice,
    ColumnRoles,
    Columns,
    RowIds,
    assign_roles,
    code_given_and_true,
    code_splits,
    file_cells,
    pick,
)

KINDS = ("image", "text")


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledItems:
    """Images or texts with their labels. `extract` copies most fields to the feature file.

    Examples
    --------
    >>> items = LabelledItems(
    ...     kind="text", items=("it works", "it broke"), labels=np.array([1, 0]),
    ...     classes=("bad", "good"), source="two reviews",
    ... )
    >>> len(items), items.item_kind
    (2, 'text')
    """

    kind: str  # "image" or "text"
    items: Sequence[str]  # (n_items,), paths or texts, or names of images in memory
    labels: IntArray  # (n_items,), positions in classes; -1: no label
    classes: tuple[str, ...]
    source: str  # where the items come from, as text for messages
    superclass: IntArray | None = None  # (n_classes,), positions in superclass_names
    superclass_names: tuple[str, ...] = ()
    split: IntArray | None = None  # (n_items,), positions in split_names
    split_names: tuple[str, ...] = ()
    true_labels: IntArray | None = None  # (n_items,), positions in classes; None: unknown
    images: NDArray[np.uint8] | None = None  # (n_items, height, width[, 3]); None: not in memory
    ids: RowIds = POSITIONS  # (n_items,), ids of the items in the user's data
    missing: tuple[str, ...] = ()  # texts that mean a missing label
    columns: str = ""  # text that says what each column of the user's table is used for
    column_names: Mapping[str, str] = field(default_factory=dict)  # see `ColumnRoles.names`
    not_taken: tuple[NotTaken, ...] = ()  # files of the folder that were skipped

    def __post_init__(self) -> None:
        """Raise if there are no items, if lengths differ, or if a name cannot be stored."""
        check_choice("kind", self.kind, KINDS)
        for name in ("classes", "superclass_names", "split_names"):
            check_names(name, getattr(self, name))
        n_items = len(self.items)
        if n_items == 0:
            raise ArgumentError("items", "is empty", "pass at least one item.")
        check_codes("labels", self.labels, n_items, len(self.classes))
        check_real("images", self.images)
        if self.images is not None and len(self.images) != n_items:
            entries = counted(len(self.images), "entry", "entries")
            advice = "pass one image per item, or None to read images from paths."
            raise ArgumentError("images", f"has {entries} for {counted(n_items, 'item')}", advice)
        if self.ids is POSITIONS:
            object.__setattr__(self, "ids", RowIds.by_position(n_items))

    def __len__(self) -> int:
        return len(self.items)

    @property
    def item_kind(self) -> str:
        """The kind of items in a feature table; empty for images in memory, which have no paths."""
        return self.kind if self.images is None else ""


# Images or texts, with or without labels, from a folder or a table --------------------------------


def read_image_folder(folder: str | os.PathLike[str], *, unlabelled: bool = False) -> LabelledItems:
    """Return the images of a folder with one sub-folder per class.

    Parameters
    ----------
    folder : path
        The sub-folders are the classes. Names that are numbers come first, sorted by value; other
        names follow in alphabetical order. Images may be at any depth, and are sorted by path.
        Links to folders are not followed. A file with several links counts once per class. Files
        that are not images are skipped, and so are names that begin with a dot.
    unlabelled : bool, default False
        Read all images in the folder and its sub-folders, without labels.

    Returns
    -------
    LabelledItems
        The items are paths that begin with `folder`. Their ids are the paths below `folder`.
        `not_taken` lists the skipped files.

    Examples
    --------
    >>> for name in ("cat", "dog"):
    ...     Path("pets", name).mkdir(parents=True)
    ...     _ = Path("pets", name, "1.jpg").write_bytes(b"")
    >>> pets = read_image_folder("pets")
    >>> pets.classes, len(pets)
    (('cat', 'dog'), 2)
    >>> read_image_folder("pets", unlabelled=True).labels
    array([-1, -1])
    """
    root = Path(folder)
    if not root.is_dir():
        advice = "pass a folder of images (if they have labels, with one sub-folder per class)."
        raise NotADirectoryError(f"{root} is not a folder: {advice}")
    folders, beside = ([root], []) if unlabelled else _checked_class_folders(root)
    found = [find_images(entry) for entry in folders]
    images = [files.images for files in found]
    empty = [entry for entry, paths in zip(folders, images, strict=True) if not paths]
    if empty:
        advice = f"add images ({', '.join(sorted(IMAGE_SUFFIXES))}), or delete such folders."
        folders_found = f"{counted(len(empty), 'folder')} ({first_few(map(str, empty))})"
        raise ValueError(f"there are no images in {folders_found}: {advice}")
    classes = [] if unlabelled else sorted((entry.name for entry in folders), key=order_key)
    code = {name: number for number, name in enumerate(classes)}
    codes = [code.get(entry.name, NO_LABEL) for entry in folders]
    return LabelledItems(
        kind="image",
        items=tuple(str(path) for paths in images for path in paths),
        labels=np.repeat(codes, [len(paths) for paths in images]),
        classes=tuple(classes),
        source=str(root),
        ids=RowIds([path.relative_to(root).as_posix() for paths in images for path in paths], PATH),
        columns=f"{'' if unlabelled else 'label: sub-folder; '}id: path below {root.name}",
        not_taken=(*beside, *(entry for files in found for entry in files.not_taken)),
    )


def read_item_table(
    path: str | os.PathLike[str],
    *,
    path_column: str | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    id_column: str | None = None,
    missing: Collection[str] = (),
    unlabelled: bool = False,
) -> LabelledItems:
    r"""Return the images or texts listed in a CSV or Parquet file, with their labels.

    Parameters
    ----------
    path : path
        A Parquet file, or a CSV file in UTF-8 with the column names in the first line.
        Columns named "true_label" and "split" are also read.
    path_column, text_column : str, optional
        The column of image paths (relative to the folder of the file), or the column of texts. By
        default, this is the column "path" or the column "text".
    label_column : str, optional
        The column of class names. By default, this is the column "label", "labels", "y", "target"
        or "class". An empty cell means that the item has no label.
    id_column : str, optional
        The column of ids, as for `read_table`. By default, this is the column "id", or a column
        whose name ends with "id" and whose values all differ. Without such a column, the ids are
        the positions of the rows, from 0.
    missing : collection of str
        Texts that mean a missing label, for instance "NA".
    unlabelled : bool, default False
        Read the items without labels, even if there is a column of labels.

    Returns
    -------
    LabelledItems
        The items. The classes are the labels that occur: numbers sorted by value, then other texts
        in alphabetical order.

    Examples
    --------
    >>> _ = Path("reviews.csv").write_text("text,label\nIt works.,good\nIt broke.,bad\n")
    >>> read_item_table("reviews.csv").classes
    ('bad', 'good')
    """
    file_path = Path(path)
    columns = file_cells(file_path)
    kind, column = _item_column(file_path, columns, path_column, text_column)
    items = [as_text(cell) for cell in columns[column].tolist()]
    if not items:
        raise ValueError(f"{file_path} has no rows: add one row per item.")
    if unlabelled and label_column is not None:
        both = {"label_column": label_column, "unlabelled": True}
        raise ArgumentError(both, "contradict each other", "remove one of them.")
    choice = ColumnChoice(label=label_column, item=column, id=id_column)
    usual = () if unlabelled else LABELS
    roles = assign_roles(columns, choice, with_features=False, labels=usual)
    labels: dict[str, Any] = {"labels": np.full(len(items), NO_LABEL), "classes": ()}
    if not unlabelled:
        labels = _labels(file_path, columns, roles, missing)
    split_codes, split_names = code_splits(columns[roles.split]) if roles.split else (None, ())
    return LabelledItems(
        kind=kind,
        items=_checked_paths(file_path, items) if kind == "image" else items,
        **labels,
        source=str(file_path),
        split=split_codes,
        split_names=split_names,
        ids=POSITIONS if roles.id is None else RowIds.of_column(roles.id, columns[roles.id]),
        missing=missing_texts(missing),
        columns=roles.in_words(),
        column_names=roles.names,
    )


def _checked_class_folders(root: Path) -> tuple[list[Path], list[NotTaken]]:
    """Return the class folders and the skipped files; raise if an image is directly in `root`."""
    folders, files = class_folders(root)
    if files.images:
        place = "next to its class folders" if folders else "but no class folders"
        names = first_few(map(str, files.images))
        problem = f"{root} contains {counted(len(files.images), 'image')} ({names}) {place}"
        move = "or move each image into a sub-folder with the name of its class."
        advice = f"pass {{unlabelled}} to use all images but no labels, {move}"
        raise ArgumentError("", problem, advice, unlabelled=True)
    if not folders:
        problem = f"{root} has no sub-folder: create one per class, and put its images into it."
        raise ValueError(" ".join([problem, *not_taken_notes(files.not_taken)]))
    return folders, files.not_taken


def _labels(
    path: Path, columns: Columns, roles: ColumnRoles, missing: Collection[str]
) -> dict[str, Any]:
    """Return three fields of `LabelledItems`: given labels, true labels, classes."""
    if roles.label is None:
        usual = ", ".join(map(repr, LABELS))
        named = f"no column of labels with one of the names {usual}"
        problem = f"{path} has {named} (its columns are {first_few(columns)})"
        advice = "name the label column by {label_column}, or pass {unlabelled} to use no labels."
        raise ArgumentError("", problem, advice, label_column=..., unlabelled=True)
    given, true = code_given_and_true(columns, roles.label, roles.true_label, missing=missing)
    labels = {"labels": given.codes, "classes": tuple(given.classes.tolist())}
    return labels if true is None else {**labels, "true_labels": true.codes}


def _item_column(
    path: Path, columns: Columns, path_column: str | None, text_column: str | None
) -> tuple[str, str]:
    """Return the kind of items (images or texts), and the name of their column."""
    if path_column is not None and text_column is not None:
        both = {"path_column": path_column, "text_column": text_column}
        advice = "items are either images or texts, so pass only one of these arguments."
        raise ArgumentError(both, "are both given", advice)
    # If the user named a column of one kind, do not look for the other kind.
    paths = pick("path_column", path_column, () if text_column else ("path",), columns)
    texts = pick("text_column", text_column, () if path_column else ("text",), columns)
    if paths is not None and texts is None:
        return "image", paths
    if texts is not None and paths is None:
        return "text", texts
    found = "no column 'path' of images and no column 'text'"
    if paths is not None:
        found = f"both a column {paths!r} and a column {texts!r}"
    problem = f"{path} has {found} (its columns are {first_few(columns)})"
    advice = "name the column of image paths by {path_column}, or that of texts by {text_column}."
    raise ArgumentError("", problem, advice, path_column=..., text_column=...)


def _checked_paths(path: Path, cells: Sequence[str]) -> list[str]:
    """Return the paths of images, with the folder of the list `path` in front.

    Raise unless each path is that of a file and is listed once.
    """
    empty = [row for row, cell in enumerate(cells) if not cell]
    if empty:
        first = f"row {first_few(empty)}, where the first row is 0"
        problem = f"{path} has no image path in {counted(len(empty), 'row')} ({first})"
        raise ValueError(f"{problem}: add the paths, or remove such rows.")
    far = [cell for cell in cells if on_other_host(cell, path.parent)]
    if far:
        images = f"{counted(len(far), 'image')} on another machine ({first_few(far)})"
        advice = "copy the images to this machine, or move the list to the other machine."
        raise ValueError(f"{path} lists {images}: {advice}")
    image_paths = [os.path.normpath(path.parent / cell) for cell in cells]
    twice, n_times = Counter(image_paths).most_common(1)[0]
    if n_times > 1:
        raise ValueError(f"{path} lists {twice} {n_times} times: keep one row per image.")
    missing = [entry for entry in image_paths if not Path(entry).is_file()]
    if missing:
        lost = f"{counted(len(missing), 'missing file')} ({first_few(missing)})"
        advice = f"correct the paths, which are relative to {path.parent.resolve()}."
        raise FileNotFoundError(f"{path} lists {lost}: {advice}")
    return image_paths

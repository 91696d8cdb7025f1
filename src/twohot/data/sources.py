"""Labelled items from a folder with a sub-folder per class, or from a CSV file."""

import csv
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from twohot.data.labelled import LabelledItems
from twohot.data.table import NO_LABEL

# What torchvision's ImageFolder takes for an image, and GIF.
IMAGE_SUFFIXES = frozenset(
    {".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"}
)
# How many of many wrong things a message names.
N_SHOWN = 3


def read_image_folder(folder: str | os.PathLike[str]) -> LabelledItems:
    """Return the images of a folder that has a sub-folder for each class.

    Parameters
    ----------
    folder : path
        Its sub-folders are the classes, in alphabetical order; images may lie in them at any depth.
        Other files, and folders whose names begin with a dot, are passed over.

    Returns
    -------
    LabelledItems
        The items are paths that begin with `folder`.

    Examples
    --------
    >>> for name in ("cat", "dog"):
    ...     Path("pets", name).mkdir(parents=True)
    ...     _ = Path("pets", name, "1.jpg").write_bytes(b"")
    >>> pets = read_image_folder("pets")
    >>> pets.classes, len(pets)
    (('cat', 'dog'), 2)
    """
    root = Path(folder)
    if not root.is_dir():
        raise NotADirectoryError(f"{root} is not a folder: pass one with a sub-folder per class.")
    entries = sorted(root.iterdir())
    loose = [entry for entry in entries if entry.is_file() and _is_image(entry)]
    if loose:
        raise ValueError(
            f"{root} holds {len(loose)} images that are in no class folder ({_some(loose)}): move "
            "each into a sub-folder named after its class, or list paths and labels in a CSV file."
        )
    class_folders = [entry for entry in entries if entry.is_dir() and _is_visible(entry)]
    if not class_folders:
        raise ValueError(f"{root} has no sub-folder: make one for each class, with its images.")
    images = [list(_images_below(entry)) for entry in class_folders]
    empty = [entry for entry, found in zip(class_folders, images, strict=True) if not found]
    if empty:
        raise ValueError(
            f"{len(empty)} class folders of {root} hold no image ({_some(empty)}): add images "
            f"({', '.join(sorted(IMAGE_SUFFIXES))}), or remove the folder."
        )
    return LabelledItems(
        kind="image",
        items=tuple(str(path) for found in images for path in found),
        labels=np.repeat(np.arange(len(images)), [len(found) for found in images]),
        classes=tuple(entry.name for entry in class_folders),
        source=str(root),
    )


def read_item_csv(
    path: str | os.PathLike[str],
    *,
    path_column: str | None = None,
    text_column: str | None = None,
    label_column: str = "label",
) -> LabelledItems:
    r"""Return the images or texts that a CSV file lists, with their labels.

    Parameters
    ----------
    path : path
        A CSV file in UTF-8 with the names of its columns in the first line.
    path_column, text_column : str, optional
        The column of image paths, seen from the folder of the CSV file, or the column of texts.
        Without either, the column named "path" or "text".
    label_column : str
        The column of class names. An empty cell means that the item has no label.

    Returns
    -------
    LabelledItems
        The classes are the labels found, sorted.

    Examples
    --------
    >>> _ = Path("reviews.csv").write_text("text,label\nIt works.,good\nIt broke.,bad\n")
    >>> read_item_csv("reviews.csv").classes
    ('bad', 'good')
    """
    file_path = Path(path)
    header, rows = _csv_rows(file_path)
    column, kind = _item_column(file_path, header, path_column, text_column)
    label_place = _place(file_path, header, label_column, "label_column")
    cells = [row[header.index(column)] for row in rows]
    names = [row[label_place] for row in rows]
    if kind == "image":
        cells = [os.path.normpath(file_path.parent / cell) for cell in cells]
        _check_paths(file_path, cells)
    classes = tuple(sorted(set(names) - {""}))
    position = {name: place for place, name in enumerate(classes)} | {"": NO_LABEL}
    return LabelledItems(
        kind=kind,
        items=tuple(cells),
        labels=np.array([position[name] for name in names]),
        classes=classes,
        source=str(file_path),
    )


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in IMAGE_SUFFIXES and _is_visible(path)


def _is_visible(path: Path) -> bool:
    """Return whether a user made it: what systems leave behind begins with a dot."""
    return not path.name.startswith(".")


def _images_below(folder: Path) -> Iterator[Path]:
    """Yield the images of a folder at any depth, in an order that depends on the names alone."""
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and _is_visible(entry):
            yield from _images_below(entry)
        elif _is_image(entry):
            yield entry


def _some(things: Sequence[object]) -> str:
    """Return the first few of many."""
    shown = ", ".join(str(thing) for thing in things[:N_SHOWN])
    return shown + (", …" if len(things) > N_SHOWN else "")


def _csv_rows(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns and the rows, each with a cell for every column."""
    # A byte-order mark, as spreadsheets write it, is no part of the first name.
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        try:
            header = next(reader, [])
            rows = [row for row in reader if row]
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(
                f"{path} is not a CSV file in UTF-8 ({error}): save it as one."
            ) from None
    if not rows:
        raise ValueError(f"{path} has no rows: pass a CSV file with a header and a row per item.")
    if len(set(header)) < len(header):
        raise ValueError(f"{path} names a column twice in {header}: give each its own name.")
    uneven = [row for row in rows if len(row) != len(header)]
    if uneven:
        raise ValueError(
            f"{path} has {len(header)} columns but a row with {len(uneven[0])} cells "
            f"({uneven[0]}): quote cells that hold a comma."
        )
    return header, rows


def _place(path: Path, header: list[str], column: str, argument: str) -> int:
    """Return where a column stands, or say which columns there are."""
    if column in header:
        return header.index(column)
    near = get_close_matches(column, header, n=1)
    meant = f" (did you mean {near[0]!r}?)" if near else ""
    raise ValueError(
        f"{argument}={column!r} is not a column of {path}{meant}: pass one of {', '.join(header)}."
    )


def _item_column(
    path: Path, header: list[str], path_column: str | None, text_column: str | None
) -> tuple[str, str]:
    """Return the column of the items, and what they are."""
    if path_column is not None and text_column is not None:
        raise ValueError(
            f"path_column={path_column!r} and text_column={text_column!r} are both given: items "
            "are images or texts, so pass one of them."
        )
    if path_column is None and text_column is None:
        found = [name for name in ("path", "text") if name in header]
        if len(found) != 1:
            raise ValueError(
                f"{path} has the columns {', '.join(header)}: say which one holds the items, by "
                "path_column for images or text_column for texts."
            )
        return found[0], "image" if found[0] == "path" else "text"
    column = path_column if path_column is not None else str(text_column)
    _place(path, header, column, "text_column" if path_column is None else "path_column")
    return column, "text" if path_column is None else "image"


def _check_paths(path: Path, image_paths: Sequence[str]) -> None:
    """Raise if a path is listed twice or leads to no file."""
    if len(set(image_paths)) < len(image_paths):
        twice = Counter(image_paths).most_common(1)[0][0]
        raise ValueError(
            f"{path} lists {twice} twice: keep one row for each image, with one label."
        )
    missing = [entry for entry in image_paths if not Path(entry).is_file()]
    if missing:
        raise FileNotFoundError(
            f"{path} lists {len(missing)} files that are not there ({_some(missing)}): paths are "
            f"seen from {path.parent.resolve()}, the folder of the CSV file."
        )

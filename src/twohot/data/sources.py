"""Labelled items from a folder with a sub-folder per class, or from a CSV file."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from twohot.data.columns import LABELS, SPLITS, TRUE_LABELS, Columns, encode_splits, pick
from twohot.data.csv_files import csv_columns
from twohot.data.labelled import LabelledItems
from twohot.data.labels import encode_labels

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
    label_column: str | None = None,
) -> LabelledItems:
    r"""Return the images or texts that a CSV file lists, with their labels.

    Parameters
    ----------
    path : path
        A CSV file in UTF-8 with the names of its columns in the first line. Columns named
        "true_label" and "split" are taken in too.
    path_column, text_column : str, optional
        The column of image paths, seen from the folder of the CSV file, or the column of texts;
        by default the one named "path" or "text".
    label_column : str, optional
        The column of class names, by default "label" or another usual name. An empty cell means
        that the item has no label.

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
    columns = csv_columns(file_path)
    kind, column = _item_column(file_path, columns, path_column, text_column)
    label = pick("label_column", label_column, LABELS, columns)
    if label is None:
        raise ValueError(
            f"{file_path} has the columns {', '.join(columns)}: say by label_column which one "
            "holds the labels."
        )
    true_label = pick("true_label_column", None, TRUE_LABELS, columns)
    split = pick("split_column", None, SPLITS, columns)
    true = columns[true_label] if true_label else np.array([], dtype=object)
    # A class may occur among the true labels only.
    classes = encode_labels([*columns[label], *true])[1]
    split_codes, split_names = encode_splits(columns[split]) if split else (None, ())
    items = columns[column].tolist()
    return LabelledItems(
        kind=kind,
        items=_checked_paths(file_path, items) if kind == "image" else items,
        labels=encode_labels(columns[label], classes)[0],
        classes=classes,
        source=str(file_path),
        split=split_codes,
        split_names=split_names,
        true_labels=encode_labels(true, classes, name="true_label")[0] if true_label else None,
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


def _item_column(
    path: Path, columns: Columns, path_column: str | None, text_column: str | None
) -> tuple[str, str]:
    """Return what the items are, and their column."""
    if path_column is not None and text_column is not None:
        raise ValueError(
            f"path_column={path_column!r} and text_column={text_column!r} are both given: items "
            "are images or texts, so pass one of them."
        )
    # The usual name of one kind is not looked for once the other kind was chosen.
    paths = pick("path_column", path_column, () if text_column else ("path",), columns)
    texts = pick("text_column", text_column, () if path_column else ("text",), columns)
    if paths is not None and texts is None:
        return "image", paths
    if texts is not None and paths is None:
        return "text", texts
    raise ValueError(
        f"{path} has the columns {', '.join(columns)}: say which one holds the items, by "
        "path_column for images or text_column for texts."
    )


def _checked_paths(path: Path, cells: Sequence[str]) -> list[str]:
    """Return the paths of a CSV file as seen from here; each must be a file, and another one."""
    image_paths = [os.path.normpath(path.parent / cell) for cell in cells]
    twice, n_times = Counter(image_paths).most_common(1)[0]
    if n_times > 1:
        raise ValueError(
            f"{path} lists {twice} {n_times} times: keep one row for each image, with one label."
        )
    missing = [entry for entry in image_paths if not Path(entry).is_file()]
    if missing:
        raise FileNotFoundError(
            f"{path} lists {len(missing)} files that are not there ({_some(missing)}): paths are "
            f"seen from {path.parent.resolve()}, the folder of the CSV file."
        )
    return image_paths

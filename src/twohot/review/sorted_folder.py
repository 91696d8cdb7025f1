"""A folder of images sorted by their corrected classes.

An image keeps its path below the folder of its class: if the corrected class of `cat/a/1.jpg` is
dog, the new path is `dog/a/1.jpg`. The new images are hard links, which take no space, and which
stay if the source folder is deleted. If the disk cannot link images, they are copied.
"""

import os
import shutil
import tempfile
import unicodedata
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from twohot.base import (
    KEPT,
    NAME_BYTES,
    NO_LABEL,
    ArgumentError,
    counted,
    first_few,
    on_other_host,
)
from twohot.review.decisions import Applied
from twohot.review.records import ReviewRows
from twohot.tables import PATH

# Names that Windows reserves for devices, with any extension.
PORTS = (f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))
DEVICES = {"con", "prn", "aux", "nul", *PORTS}


@dataclass(frozen=True)
class SortedFolder:
    """Summary of a written folder: numbers of images, unusual folder names, files left out."""

    n_images: int
    n_copied: int  # number of images that were copied instead of linked
    unusual: tuple[str, ...]  # classes whose names are not valid folder names on Windows
    left_out: tuple[str, ...]  # source files that have no label, were not audited, or were excluded


def write_sorted_folder(
    source: Path, target: Path, rows: ReviewRows, applied: Applied
) -> SortedFolder:
    """Write a folder with one sub-folder of images per class.

    `source` is the folder of the audited images. `target` is a folder that does not exist or is
    empty. Images without a label (excluded ones, for example) are left out.

    Examples
    --------
    >>> from twohot import find_label_issues
    >>> from twohot.review.decisions import Decision, apply_decisions
    >>> from twohot.audit.report import review_rows
    >>> from twohot.tables import FeatureTable, RowIds
    >>> images = ["cat/cat.jpg", "cat/tom.jpg", "dog/dog.jpg"]
    >>> for image in images:
    ...     Path("pets", image).parent.mkdir(parents=True, exist_ok=True)
    ...     _ = Path("pets", image).write_bytes(b"")
    >>> table = FeatureTable(
    ...     features=np.eye(3), labels=np.array([0, 0, 1]), classes=("cat", "dog"),
    ...     ids=RowIds(images, "path"),
    ... )
    >>> issues = find_label_issues(None, table.coded, probabilities=np.eye(2)[[1, 0, 1]])
    >>> rows = review_rows(table, issues)
    >>> accepted = Decision(rows.report_id(), "cat/cat.jpg", "accept", "")
    >>> applied = apply_decisions(rows, [accepted])
    >>> write_sorted_folder(Path("pets"), Path("clean"), rows, applied).n_images
    3
    >>> sorted(path.as_posix() for path in Path("clean").rglob("*.jpg"))
    ['clean/cat/tom.jpg', 'clean/dog/cat.jpg', 'clean/dog/dog.jpg']
    """
    names = _checked_names(source, target, rows)
    labels = applied.labels
    moved = labels != rows.given_labels
    classes = [applied.classes[code] for code in np.unique(labels[labels >= 0])]
    _check_folder_names(classes)
    # A normalised path, which is unique on any file system → the target path and the image.
    places: dict[str, tuple[PurePosixPath, str]] = {}
    # Images that stay in their class come first: if two images have one path, the moved one is
    # renamed.
    for row in np.argsort(moved, kind="stable").tolist():
        if labels[row] != NO_LABEL:
            before, after = rows.label_name(rows.given_labels[row]), applied.classes[labels[row]]
            within = _within_class(names[row], before, rows.spellings)
            place = _free_place(places, after, within, before)
            places[_told_apart(place)] = place, names[row]
    # Write under another name and rename, so that the folder is complete or does not exist.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name[:KEPT]}.") as folder:
        n_copied = 0
        whole = Path(folder) / "whole"
        whole.mkdir()
        for place, name in places.values():
            (whole / place).parent.mkdir(parents=True, exist_ok=True)
            n_copied += _put(source / name, whole / place)
        whole.replace(target)
    taken = [name for _, name in places.values()]
    unusual = tuple(name for name in classes if _fails_on_windows(name))
    files = (path.relative_to(source) for path in source.rglob("*") if path.is_file())
    visible = {path.as_posix() for path in files if not path.name.startswith(".")}
    return SortedFolder(len(taken), n_copied, unusual, tuple(sorted(visible.difference(taken))))


def _checked_names(source: Path, target: Path, rows: ReviewRows) -> list[str]:
    """Return the paths of the images relative to their folder; raise if they cannot be sorted."""
    if rows.ids.kind != PATH:
        problem = f"is a folder, and the ids of the audit are {rows.ids.in_words()}"
        raise ArgumentError({"to": source}, problem, "pass the file that the labels came from.")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        problem = "already exists, and is not an empty folder"
        raise ArgumentError({"output": target}, problem, "choose another name.")
    if target.resolve().is_relative_to(source.resolve()):
        problem = f"is inside {source}, the folder that is read"
        raise ArgumentError({"output": target}, problem, f"choose a folder outside of {source}.")
    names = list(rows.ids)
    outside = [
        name
        for name in names
        for path in [PurePosixPath(name)]
        if path.is_absolute() or ".." in path.parts or on_other_host(name, source)
    ]
    if outside:
        problem = f"the audit has images outside of the audited folder ({first_few(outside)})"
        raise ArgumentError("", problem, "extract the features again, and repeat the audit.")
    missing = [name for name in names if not (source / name).is_file()]
    if missing:
        few = f"{counted(len(missing), 'image')} of the audit ({first_few(missing)})"
        raise ArgumentError({"to": source}, f"lacks {few}", "pass the folder that was audited.")
    return names


def _check_folder_names(classes: Iterable[str]) -> None:
    """Raise if a class name cannot be a folder name, or if two classes would share a folder."""
    taken: dict[str, str] = {}
    for name in classes:
        problem = ""
        if len(os.fsencode(name)) > NAME_BYTES or name in {".", ".."} or {*"/\\\0"} & {*name}:
            problem = "cannot be the name of a folder"
        elif name.startswith("."):
            problem = "begins with a dot, and such folders are not read"
        if problem:
            raise ArgumentError("", f"the class {name!r} {problem}", "rename the class.")
        other = taken.setdefault(_told_apart(name), name)
        if other != name:
            alike = "differ only in capitals or in how accents are stored"
            problem = f"the classes {other!r} and {name!r} {alike}"
            advice = "rename one of them, because many disks use one folder for both names."
            raise ArgumentError("", problem, advice)


def _fails_on_windows(name: str) -> bool:
    """Return whether Windows refuses or changes the name of a folder.

    Examples
    --------
    >>> [_fails_on_windows(name) for name in ("con", "aux.txt", "x.", "what?", "cat")]
    [True, True, True, True, False]
    """
    if name[-1] in ". " or any(mark in '<>:"|?*' or ord(mark) < 32 for mark in name):
        return True
    return name.split(".", maxsplit=1)[0].rstrip().casefold() in DEVICES


def _told_apart(path: PurePosixPath | str) -> str:
    """Return the same text for all paths that some file system does not distinguish."""
    return unicodedata.normalize("NFC", str(path)).casefold()


def _within_class(name: str, given: str, spellings: Mapping[str, str]) -> PurePosixPath:
    """Return the path of an image below its class folder, or the whole path if it is elsewhere."""
    folder, *within = PurePosixPath(name).parts
    is_class = within and spellings.get(folder, folder) == given
    return PurePosixPath(*within) if is_class else PurePosixPath(name)


def _free_place(
    taken: Container[str], folder: str, within: PurePosixPath, before: str
) -> PurePosixPath:
    """Return an unused path for an image, because images of two classes may have the same name.

    A new name has the earlier class `before`, or a number.
    """
    place, number = PurePosixPath(folder) / within, 1
    while _told_apart(place) in taken:
        mark = before if number == 1 and "/" not in before else number
        place = PurePosixPath(folder) / within.with_stem(f"{within.stem} ({mark})")
        number += 1
    return place


def _put(source: Path, target: Path) -> bool:
    """Link an image, or copy it; return whether it was copied."""
    real = source.resolve()  # the target of a symbolic link
    try:
        os.link(real, target)
    except FileExistsError:  # copying would overwrite another image through its link
        raise
    except OSError:  # the target is on another disk, or the disk has no hard links
        with real.open("rb") as image, target.open("xb") as made:
            shutil.copyfileobj(image, made)
        shutil.copystat(real, target)
        return True
    return False

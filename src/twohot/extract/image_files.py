"""Find the images in a folder, and say why other files are skipped.

Links to folders are not followed, because a link may lead back to a parent folder, or to another
class. A link to an image file is an image; several links to one file count once. Pipes and
devices are never opened, because reading from them may never end.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from twohot.base import counted, first_few

# Endings of image files: those of torchvision's ImageFolder, ".gif", and ".jfif" (JPEG).
IMAGE_SUFFIXES = frozenset(
    {".bmp", ".gif", ".jfif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"}
)


@dataclass(frozen=True)
class NotTaken:
    """A file or folder that is skipped, and the reason."""

    path: str
    reason: str  # a phrase, such as "link to a folder"


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """The images in a folder, and the skipped files."""

    images: list[Path] = field(default_factory=list)  # sorted by name
    not_taken: list[NotTaken] = field(default_factory=list)


def find_images(folder: Path) -> ImageFiles:
    """Return the images in a folder, at any depth, and the skipped files."""
    files = ImageFiles()
    seen: set[str] = set()
    for path, reason, _ in _entries(folder, is_deep=True):
        real_path = os.path.realpath(path)
        if reason or real_path in seen:
            files.not_taken.append(NotTaken(str(path), reason or "same file as another image"))
        else:
            seen.add(real_path)
            files.images.append(path)
    return files


def class_folders(root: Path) -> tuple[list[Path], ImageFiles]:
    """Return the class folders in `root`, and the files that are directly in `root`."""
    folders: list[Path] = []
    files = ImageFiles()
    for path, reason, is_folder in _entries(root):
        if reason:
            files.not_taken.append(NotTaken(str(path), reason))
        else:
            (folders if is_folder else files.images).append(path)
    return folders, files


def not_taken_notes(not_taken: Iterable[NotTaken]) -> list[str]:
    """Return one sentence per reason, with the number of skipped files and the first names.

    Examples
    --------
    >>> texts = [NotTaken(f"{number}.txt", "file ending not supported") for number in range(7)]
    >>> for note in not_taken_notes([*texts, NotTaken("up", "link to a folder")]):
    ...     print(note)
    7 files were skipped (file ending not supported): '0.txt', '1.txt', '2.txt', '3.txt', '4.txt'...
    1 file was skipped (link to a folder): 'up'.
    """
    by_reason: dict[str, list[str]] = defaultdict(list)
    for entry in not_taken:
        by_reason[entry.reason].append(entry.path)
    return [
        f"{counted(len(paths), 'file was', 'files were')} skipped ({reason}): {first_few(paths)}."
        for reason, paths in by_reason.items()
    ]


def _entries(folder: Path, *, is_deep: bool = False) -> Iterator[tuple[Path, str, bool]]:
    """Yield each entry of a folder as (path, reason, is_folder).

    `reason` says why the entry is skipped; otherwise, it is empty. If `is_deep`, yield the entries
    of each sub-folder in place of the sub-folder.
    """
    with os.scandir(folder) as listed:
        entries = sorted(listed, key=lambda entry: entry.name)
    for entry in entries:
        path, reason = folder / entry.name, _why_not(entry)
        is_folder = not reason and entry.is_dir()
        if is_folder and is_deep:
            yield from _entries(path, is_deep=True)
        else:
            yield path, reason, is_folder


def _why_not(entry: "os.DirEntry[str]") -> str:
    """Return why an entry of a folder is skipped; empty for an image or a folder to search."""
    # The names of hidden files begin with a dot.
    if entry.name.startswith("."):
        return "name begins with a dot"
    try:
        is_folder, is_file = entry.is_dir(), entry.is_file()
    except OSError as error:  # a link that leads to itself
        return str(error.strerror)
    if is_folder:
        return "link to a folder" if entry.is_symlink() else ""
    if Path(entry.name).suffix.lower() not in IMAGE_SUFFIXES:
        return "file ending not supported"
    if is_file:
        return ""
    return "pipe or device" if Path(entry.path).exists() else "link to a missing file"

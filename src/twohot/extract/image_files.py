"""Find the images in a folder, and say why each other file is not used.

Links to folders are not followed: such a link may point to its own parent, or into another class. A
link to a regular image file is an image, and several links to one file count once. Pipes and
devices are never opened, because reading them may never end.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from twohot.base import counted, first_few

# The endings that torchvision's ImageFolder accepts, another ending of JPEG files, and GIF.
IMAGE_SUFFIXES = frozenset(
    {".bmp", ".gif", ".jfif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"}
)


@dataclass(frozen=True)
class NotTaken:
    """A file or folder that is skipped, because it is not an image."""

    path: str
    reason: str  # why it is skipped, a phrase that fits one file or many


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """The images found in a folder, and the files that are not images."""

    images: list[Path] = field(default_factory=list)  # sorted by name
    not_taken: list[NotTaken] = field(default_factory=list)


def find_images(folder: Path) -> ImageFiles:
    """Return the images in a folder, at any depth, and the files that are skipped."""
    found = ImageFiles()
    seen: set[str] = set()
    for path, reason in _entries_below(folder):
        real_path = os.path.realpath(path)
        if reason or real_path in seen:
            found.not_taken.append(NotTaken(str(path), reason or "same file as another"))
        else:
            seen.add(real_path)
            found.images.append(path)
    return found


def class_folders(root: Path) -> tuple[list[Path], ImageFiles]:
    """Return the class folders in `root`, and the files that are directly in `root`."""
    folders, beside = [], ImageFiles()
    for entry in _listed(root):
        path, reason = root / entry.name, _why_not(entry)
        if not reason and entry.is_dir():
            folders.append(path)
        elif reason:
            beside.not_taken.append(NotTaken(str(path), reason))
        else:
            beside.images.append(path)
    return folders, beside


def not_taken_notes(not_taken: Iterable[NotTaken]) -> list[str]:
    """Return one sentence per reason, with the number of skipped files and the first names.

    Examples
    --------
    >>> not_taken_notes([NotTaken("a/notes.txt", "no ending of an image")])
    ["1 file not taken (no ending of an image): 'a/notes.txt'."]
    """
    by_reason: dict[str, list[str]] = defaultdict(list)
    for entry in not_taken:
        by_reason[entry.reason].append(entry.path)
    return [
        f"{counted(len(paths), 'file')} not taken ({reason}): {first_few(paths)}."
        for reason, paths in by_reason.items()
    ]


def _entries_below(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield every file, with the reason why it is not an image; "" for an image."""
    for entry in _listed(folder):
        path, reason = folder / entry.name, _why_not(entry)
        if not reason and entry.is_dir():
            yield from _entries_below(path)
        else:
            yield path, reason


def _why_not(entry: "os.DirEntry[str]") -> str:
    """Return the reason to skip a folder entry; empty for an image or a folder to search."""
    # Names with a dot at the start are files of the operating system.
    if entry.name.startswith("."):
        return "name begins with a dot"
    try:
        is_folder, is_file = entry.is_dir(), entry.is_file()
    except OSError as error:  # a link that leads to itself
        return str(error.strerror)
    if is_folder:
        return "link to a folder" if entry.is_symlink() else ""
    if Path(entry.name).suffix.lower() not in IMAGE_SUFFIXES:
        return "not an image file name"
    if is_file:
        return ""
    return "not a regular file" if Path(entry.path).exists() else "link to nothing"


def _listed(folder: Path) -> "list[os.DirEntry[str]]":
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)

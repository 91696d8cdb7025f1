"""Thumbnails for a report, as data URIs."""

import base64
import io
import os
import warnings
from pathlib import Path
from urllib.parse import quote

from twohot.base import load_extra, on_other_host

# Longest side (in pixels) of pictures that are stored without loss: compression would blur them.
LOSSLESS_SIDE = 64
# Quality of WebP, from 0 to 100: the lowest quality at which text in pictures is easy to read.
QUALITY = 75


def thumbnail(path: str | os.PathLike[str], size: int) -> str | None:
    """Return a picture of at most `size` x `size` pixels as a data URI; None if it is unreadable.

    Raises
    ------
    ImportError
        If pillow is not installed.

    Examples
    --------
    >>> from PIL import Image
    >>> Image.new("RGB", (400, 300), "navy").save("sea.png")
    >>> thumbnail("sea.png", 160)[:22]
    'data:image/webp;base64'
    >>> thumbnail("no_such_picture.png", 160) is None
    True
    """
    pillow = load_extra("PIL.Image", "vision", "thumbnails")
    operations = load_extra("PIL.ImageOps", "vision", "thumbnails")
    buffer = io.BytesIO()
    try:
        with warnings.catch_warnings():
            # Ignore invalid metadata, and skip pictures that would decompress to gigabytes.
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", pillow.DecompressionBombWarning)
            with pillow.open(path) as picture:
                picture.draft("RGB", (size, size))  # a JPEG is decoded at a fraction of its size
                # Rotate by the EXIF orientation.
                upright = operations.exif_transpose(picture)
                small = upright.convert("RGBA" if upright.has_transparency_data else "RGB")
            small.thumbnail((size, size))
            small.save(buffer, "WEBP", quality=QUALITY, lossless=max(small.size) <= LOSSLESS_SIDE)
    except Exception:  # noqa: BLE001 (decoders raise all kinds of errors on broken files)
        return None
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode()


def link(item: str, image_root: Path, folder: Path) -> str:
    """Return the URL of a picture relative to a folder; empty if the picture has no such URL.

    Characters that have a meaning in URLs are escaped.

    Examples
    --------
    >>> link("cats/a b#1.png", Path("/data"), Path("/data/audit"))
    '../cats/a%20b%231.png'
    >>> link("javascript:alert(1)", Path("/data"), Path("/data"))
    'javascript%3Aalert%281%29'
    """
    if on_other_host(item, image_root):
        return ""
    path = (image_root / item).absolute()
    try:
        relative = Path(os.path.relpath(path, folder.absolute()))
        return quote(relative.as_posix().encode("utf-8", "surrogateescape"))
    except ValueError:  # the path is on another drive, or invalid
        return ""

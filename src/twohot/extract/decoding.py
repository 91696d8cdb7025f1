"""One item at a time: its content as bytes, and the decoded item."""

import io
import re
from pathlib import Path
from typing import Any

from twohot._extras import load_extra
from twohot.extract.items import LabelledItems

# A small file may claim any number of pixels, and every thread holds a decoded image, of three
# bytes a pixel and more on its way to RGB. As many as Pillow decodes without a warning.
MOST_PIXELS = 89_478_485
# Where in memory an object stood is in some messages, and differs from run to run.
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def content_of(items: LabelledItems, row: int) -> bytes:
    """Return what an item consists of: two items with the same bytes have the same features."""
    if items.images is not None:
        image = items.images[row]
        return b"".join([str(image.shape).encode(), image.tobytes()])
    if items.kind == "text":
        return items.items[row].encode(errors="surrogateescape")
    return Path(items.items[row]).read_bytes()


def decoded(items: LabelledItems, row: int, content: bytes) -> Any:
    """Return an item as backbones take it: an RGB image, an array in memory, or a text."""
    if items.images is not None:
        return items.images[row]
    if items.kind == "image":
        return open_image(content)
    if not items.items[row].strip():
        raise ValueError("the text is empty")
    return items.items[row]


def open_image(content: bytes) -> Any:
    """Return the first frame of an image file as RGB, as torchvision's ImageFolder does.

    A rotation noted in EXIF is not applied, transparency is dropped, and CMYK, palettes and grey
    levels become RGB by Pillow's rules: what a model of torchvision was trained on.
    """
    image_module = load_extra("PIL.Image", "vision", "images")
    with image_module.open(io.BytesIO(content)) as image:
        if image.width * image.height > MOST_PIXELS:
            size = f"{image.width} × {image.height} pixels"
            raise ValueError(f"has {size}, and at most {MOST_PIXELS} in all are decoded")
        return image.convert("RGB")


def decoder_of(items: LabelledItems) -> str:
    """Return what decodes the items, with its version: another one may give other pixels."""
    if items.kind == "text" or items.images is not None:
        return "none"
    return f"pillow {load_extra('PIL', 'vision', 'images').__version__}"


def reason_of(error: Exception) -> str:
    """Return why an item could not be read, the same words on every run."""
    if type(error).__name__ == "UnidentifiedImageError":
        return "is not an image in a format that Pillow reads"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return ADDRESS.sub("", str(error)) or type(error).__name__

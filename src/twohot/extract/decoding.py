"""One item at a time: its content as bytes, and the decoded item."""

import hashlib
import io
import json
import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from twohot.base import load_extra, name_beside
from twohot.extract.backbones import Backbone
from twohot.extract.items import LabelledItems
from twohot.rows import ordered_map

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


# What an extraction is given, and the digest of its content ---------------------------------------


@dataclass(frozen=True)
class ExtractionProgress:
    """How far an extraction is."""

    n_done: int  # items that were gone through
    n_items: int  # all items
    n_extracted: int  # features that this run has made: what is known already takes no time


Progress: TypeAlias = Callable[[ExtractionProgress], None]


@dataclass(frozen=True, eq=False)
class ExtractionPlan:
    """What an extraction is given."""

    items: LabelledItems
    backbone: Backbone
    output: Path
    dtype: str
    batch_size: int
    n_workers: int
    strict: bool
    progress: Progress | None

    @property
    def recipe(self) -> dict[str, Any]:
        """All that the features of one item depend on, but for its content."""
        return {
            "backbone": self.backbone.name,
            **self.backbone.description,
            "decoder": decoder_of(self.items),
            "dtype": self.dtype,
        }

    @property
    def workspace(self) -> Path:
        """The folder of unfinished work: it is removed once the output is there."""
        return name_beside(self.output, ".parts")

    def report(self, n_done: int, n_extracted: int = 0) -> None:
        """Call back with the number of items that are done, and of features that were made."""
        if self.progress is not None:
            self.progress(ExtractionProgress(n_done, len(self.items), n_extracted))

    def content_digest(self, keys: Sequence[bytes]) -> str:
        """Return a digest of the input: the recipe, and all about each item."""
        items = self.items
        described = (
            self.recipe,
            *(items.classes, items.superclass_names, items.split_names, items.item_kind),
            *(
                None if values is None else values.tolist()
                for values in (items.labels, items.superclass, items.split, items.true_labels)
            ),
            *(list(items.items), [key.hex() for key in keys]),
            *(list(items.ids), items.ids.kind, items.ids.column),
            *items.missing,
        )
        return hashlib.sha256(json.dumps(described).encode()).hexdigest()


# Items read, hashed and prepared by threads, ahead of the model and in order ----------------------


@dataclass(frozen=True, eq=False)
class Loaded:
    """One item on its way to the model."""

    row: int  # its place among the items
    key: bytes  # of its content; empty if that could not be read
    prepared: Any = None  # what a batch is made of; None if it is known or could not be read
    problem: str = ""  # why it could not be read


def prefetch(
    plan: ExtractionPlan, known: Container[bytes] | None, n_ahead: int
) -> Iterator[Loaded]:
    """Yield every item in order; at most `n_ahead` of them wait.

    Items whose key is known are not decoded, and none is where `known` is None.
    """
    items = plan.items

    def load(row: int) -> Loaded:
        key = b""
        try:
            content = content_of(items, row)
            key = hashlib.sha256(content).digest()
            if known is None or key in known:
                return Loaded(row, key)
            return Loaded(row, key, plan.backbone.prepare(decoded(items, row, content)))
        except Exception as error:  # noqa: BLE001 (a broken file makes Pillow raise almost anything)
            return Loaded(row, key, problem=reason_of(error))

    return ordered_map(load, len(items), plan.n_workers, n_ahead)

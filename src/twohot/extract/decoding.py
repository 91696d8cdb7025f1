"""The settings of an extraction, and threads that prepare its items before the model needs them."""

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

# Maximum number of pixels of an image: above this number, Pillow warns. Even a small file can claim
# billions of pixels, and decoding takes at least three bytes per pixel in each thread.
MOST_PIXELS = 89_478_485
# Some error messages contain memory addresses, which differ from run to run.
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def content_of(items: LabelledItems, row: int) -> bytes:
    """Return the content of an item as bytes; items with equal bytes have equal features."""
    if items.images is not None:
        image = items.images[row]
        return b"".join([str(image.shape).encode(), image.tobytes()])
    if items.kind == "text":
        return items.items[row].encode(errors="surrogateescape")
    return Path(items.items[row]).read_bytes()


def decoded(items: LabelledItems, row: int, content: bytes) -> Any:
    """Return an item as input for a backbone: an RGB image, an array, or a text."""
    if items.images is not None:
        return items.images[row]
    if items.kind == "image":
        return open_image(content)
    if not items.items[row].strip():
        raise ValueError("the text is empty")
    return items.items[row]


def open_image(content: bytes) -> Any:
    """Return the first frame of an image file as RGB, as torchvision's ImageFolder does.

    Pillow converts CMYK, palettes and grey levels to RGB. Transparency and EXIF rotation are
    ignored. The images for the training of torchvision's models were read in the same way.
    """
    image_module = load_extra("PIL.Image", "vision", "images")
    with image_module.open(io.BytesIO(content)) as image:
        if image.width * image.height > MOST_PIXELS:
            size = f"{image.width} × {image.height} pixels"
            raise ValueError(f"the image has {size}, more than the maximum of {MOST_PIXELS} pixels")
        return image.convert("RGB")


def reason_of(error: Exception) -> str:
    """Return why an item could not be read, in words that are the same in every run."""
    if type(error).__name__ == "UnidentifiedImageError":
        return "not an image in a format that Pillow can read"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return ADDRESS.sub("", str(error)) or type(error).__name__


# Settings of an extraction, and the digest of its input -------------------------------------------


@dataclass(frozen=True)
class ExtractionProgress:
    """Counts of items in a running extraction; the argument of the progress callback."""

    n_done: int  # number of finished items
    n_items: int  # number of all items
    n_extracted: int  # number of items that the model processed in this run


Progress: TypeAlias = Callable[[ExtractionProgress], None]


@dataclass(frozen=True, eq=False)
class ExtractionPlan:
    """The items, backbone and settings of an extraction."""

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
        """All settings that determine the features of an item with a given content."""
        decoder = "none"
        if self.items.item_kind == "image":  # another version of Pillow may give other pixels
            decoder = f"pillow {load_extra('PIL', 'vision', 'images').__version__}"
        return {
            "backbone": self.backbone.name,
            **self.backbone.description,
            "decoder": decoder,
            "dtype": self.dtype,
        }

    @property
    def workspace(self) -> Path:
        """The folder of finished batches. It is removed after the output is written."""
        return name_beside(self.output, ".parts")

    def report(self, n_done: int, n_extracted: int = 0) -> None:
        """Call the progress callback, if there is one."""
        if self.progress is not None:
            self.progress(ExtractionProgress(n_done, len(self.items), n_extracted))

    def content_digest(self, keys: Sequence[bytes]) -> str:
        """Return a digest of the settings, the metadata of the items, and their content `keys`."""
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


# Threads read, hash and prepare items in order, before the model needs them -----------------------


@dataclass(frozen=True, eq=False)
class Loaded:
    """The result of reading an item, and of preparing it for the model if necessary."""

    row: int  # position among the items
    key: bytes  # digest of the content; empty if the content could not be read
    prepared: Any = None  # entry of a batch; None if not prepared (features stored, or unreadable)
    problem: str = ""  # why the item could not be read; empty if it was read


def prefetch(
    plan: ExtractionPlan, known: Container[bytes] | None, n_ahead: int
) -> Iterator[Loaded]:
    """Read, hash and prepare items in threads; yield them in order, at most `n_ahead` in advance.

    `known` has the keys (content digests) of items whose features are already stored. Such items
    are read but not prepared. If `known` is None, no item is prepared.
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
        except Exception as error:  # noqa: BLE001 (for a broken file, Pillow may raise any error)
            return Loaded(row, key, problem=reason_of(error))

    return ordered_map(load, len(items), plan.n_workers, n_ahead)

"""A backbone: a frozen model that turns images or texts into features."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from twohot._checks.messages import ArgumentError
from twohot._types import FloatArray


@dataclass(frozen=True, eq=False)
class Backbone:
    """A frozen model in two steps, so that the first can run ahead of the second."""

    name: str
    kind: str  # what it takes: "image" or "text"
    prepare: Callable[[Any], Any]  # one RGB image, array or text → one entry of a batch; any thread
    embed: Callable[[Sequence[Any]], FloatArray]  # a batch of such → features (n_items, n_features)
    description: Mapping[str, str]  # weights, transform, versions: the same give the same features


def _flattened(images: Sequence[FloatArray]) -> FloatArray:
    """Return images as rows, which must have one size."""
    sizes = sorted({image.shape for image in images})
    if len(sizes) > 1:
        problem = f"needs images of one size, and these have {sizes[0]} and {sizes[1]}"
        advice = "resize them, or pass another backbone."
        raise ArgumentError({"backbone": "pixels"}, problem, advice)
    return np.stack(images).reshape(len(images), -1)


_AS_FLOATS = partial(np.asarray, dtype=np.float32)
PIXELS = Backbone("pixels", "image", _AS_FLOATS, _flattened, {"transform": "none"})

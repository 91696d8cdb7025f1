"""A model that nobody knows is refused by one question, not after minutes of trying."""

import huggingface_hub
import pytest

from twohot.extract import backbones as text_models
from twohot.extract import load_backbone
from twohot.extract.backbones import load_with_torchvision


@pytest.fixture
def asked(monkeypatch):
    """A hub that has one model, and remembers what it was asked for."""
    questions = []

    def model_info(_, place, **__):
        questions.append(place)
        if place == "there/model":
            return "info"
        response = type("Response", (), {"headers": {}, "request": None, "status_code": 404})()
        raise huggingface_hub.errors.RepositoryNotFoundError("404", response=response)

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", model_info)
    # What comes after the question is seconds of imports.
    monkeypatch.setattr(text_models, "load_with_torchvision", lambda *_: pytest.fail("loaded"))
    return questions


@pytest.mark.parametrize(
    ("name", "questions"),
    [
        ("nosuch", ["sentence-transformers/nosuch", "nosuch"]),
        ("nosuch/model", ["nosuch/model"]),
        ("no such model!", []),
        ("../nosuch", []),
    ],
)
def test_an_unknown_model_is_refused_before_anything_is_loaded(asked, name, questions):
    with pytest.raises(ValueError, match=r"backbone='.*' is not known, neither as a folder nor"):
        load_backbone(name, "text")
    assert asked == questions


def test_a_model_of_the_hub_is_loaded(asked):
    with pytest.raises(pytest.fail.Exception, match="loaded"):
        load_backbone("there/model", "text")
    assert asked == ["there/model"]


@pytest.mark.usefixtures("asked")
def test_a_hub_that_cannot_be_asked(monkeypatch):
    def fail(*_, **__):
        raise ConnectionError("no route to host")

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", fail)
    with pytest.raises(OSError, match=r"'nosuch' is no folder .* \(no route to host\): connect"):
        load_backbone("nosuch", "text")


def test_a_model_that_was_fetched_before_needs_no_hub(asked, monkeypatch):
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda *_: "config.json")
    with pytest.raises(pytest.fail.Exception, match="loaded"):
        load_backbone("my/model", "text")
    assert asked == []


def test_a_hub_without_an_answer_is_not_waited_for_by_timm(monkeypatch):
    asked = []
    timm = load_with_torchvision("timm", "vision", "tests")
    monkeypatch.setattr(timm, "create_model", lambda *_, **__: pytest.fail("loaded"))

    def fail(_, place, **__):
        asked.append(place)
        raise ConnectionError("no route to host")

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", fail)
    with pytest.raises(
        OSError, match=r"\(no route to host\): connect, or take 'efficientnet_lite0'"
    ):
        load_backbone("timm/test_resnet")
    assert asked == ["timm/test_resnet.r160_in1k"]

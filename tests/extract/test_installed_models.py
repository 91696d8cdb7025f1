"""A name that no installed package knows is refused before anything is imported."""

import sys

import pytest

from twohot.extract import backbones as image_models
from twohot.extract import backbones as installed_models
from twohot.extract import load_backbone
from twohot.extract.backbones import (
    PACKAGES,
    load_torchvision,
    load_with_torchvision,
    registered_models,
    surely_unknown,
)


@pytest.fixture
def not_imported(monkeypatch):
    """Look like a process that has imported neither package, and may not."""

    def refuse(*_):
        raise AssertionError("imported")

    monkeypatch.setattr(image_models, "load_torchvision", refuse)
    for package in PACKAGES:
        monkeypatch.delitem(sys.modules, package, raising=False)


@pytest.mark.usefixtures("not_imported")
def test_an_unknown_name_is_refused_without_an_import():
    with pytest.raises(
        ValueError, match=r"backbone='resnet43' is not known: did you mean .*resnet34"
    ):
        load_backbone("resnet43")
    with pytest.raises(AssertionError, match="imported"):
        load_backbone("resnet50")


def test_no_name_that_a_package_knows_is_refused(monkeypatch):
    models = load_torchvision("tests").models
    timm = load_with_torchvision("timm", "vision", "tests")
    known = {*models.list_models(module=models), *timm.list_models()}
    words = {
        word
        for source in installed_models._sources()
        for word in installed_models.WORD.findall(source)
    }
    with_deprecated = timm.models._registry._model_entrypoints.keys()
    assert known | set(with_deprecated) <= words
    assert set(timm.list_models()) <= set(registered_models())
    # Models may have been added by now: the packages themselves are asked.
    assert not surely_unknown("resnet43")
    for package in PACKAGES:
        monkeypatch.delitem(sys.modules, package)
    assert surely_unknown("resnet43")
    assert not surely_unknown("timm/resnet50.a1_in1k")

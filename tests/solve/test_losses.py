"""A loss is one object: registered, it can be fitted, searched with, named, saved and loaded."""

from dataclasses import dataclass

import numpy as np
import pytest

import problems
from twohot import AutoProbe, DistilledProbe, LinearProbe, PartialLabelProbe, load
from twohot.judge import library
from twohot.probes.linear import probe_for
from twohot.probes.recipe import Recipe
from twohot.solve.losses import (
    LOSSES,
    CrossEntropy,
    GeneralizedCrossEntropy,
    LossParameters,
    loss_from_json,
    make_loss,
)

DATA = problems.synthetic()
X, Y = DATA.X, DATA.given_labels


@dataclass(frozen=True)
class Bounded(GeneralizedCrossEntropy):
    """Generalised cross-entropy under another name, its parameter included."""

    name = "bounded"
    is_usual = False


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setitem(LOSSES, "bounded", Bounded)


def test_every_probe_fits_a_registered_loss():
    for power in (0.3, 0.7):
        np.testing.assert_array_equal(
            LinearProbe(loss="bounded", gce_power=power).fit(X, Y).coef_,
            LinearProbe(loss="gce", gce_power=power).fit(X, Y).coef_,
        )
    distilled = DistilledProbe(loss="bounded").fit(X, Y)
    assert [entry.loss for entry in distilled.rounds_] == ["ce", "ce", "bounded"]
    partial = PartialLabelProbe(loss="bounded").fit(X, Y)
    np.testing.assert_array_equal(partial.coef_, PartialLabelProbe().fit(X, Y).coef_)


def test_auto_probe_tries_names_and_saves_a_registered_loss(monkeypatch, tmp_path):
    monkeypatch.setattr(library, "GeneralizedCrossEntropy", Bounded)
    probe = AutoProbe(cv=2).fit(X, Y)
    names = [entry.name for entry in probe.choice_.tried]
    assert "robust (ridge 10, bounded)" in names
    assert len(set(names)) == len(names)
    assert probe.choice_.figure() is not None
    probe.save(tmp_path / "probe.safetensors")
    assert load(tmp_path / "probe.safetensors").choice_ == probe.choice_


@pytest.mark.parametrize("loss", [CrossEntropy(), GeneralizedCrossEntropy(0.4), Bounded(0.2)])
def test_loss_is_restored_from_json_and_from_a_probe(loss):
    assert loss_from_json(loss.to_json()) == loss
    for recipe in (Recipe(loss, ridge=3.0), Recipe(loss, l2=1e-3, whiten=True)):
        assert probe_for(recipe)._recipe(5) == recipe


def test_refuses_unknown_loss():
    with pytest.raises(ValueError, match=r"loss='hinge' is not known: pass one of 'ce', 'gce'"):
        make_loss("loss", "hinge", LossParameters())
    with pytest.raises(ValueError, match=r"gce_power=2 is not allowed: pass a number from 0.001"):
        make_loss("loss", "gce", LossParameters(gce_power=2))


@dataclass(frozen=True)
class Tempered(CrossEntropy):
    """Cross-entropy with a parameter that the probes of this package do not have."""

    loss_temperature: float = 2.0

    name = "tempered"
    is_usual = False


@dataclass(kw_only=True, eq=False, repr=False)
class TemperedProbe(LinearProbe):
    loss: str = "tempered"
    loss_temperature: float = 3.0


def test_loss_gets_its_parameters_from_the_probe(monkeypatch):
    monkeypatch.setitem(LOSSES, "tempered", Tempered)
    probe = TemperedProbe(loss_temperature=4.0)
    assert probe._recipe(5).loss == Tempered(4.0)
    np.testing.assert_array_equal(probe.fit(X, Y).coef_, LinearProbe().fit(X, Y).coef_)
    message = "loss='tempered' needs 'loss_temperature', which LinearProbe does not have: add"
    with pytest.raises(ValueError, match=message):
        LinearProbe(loss="tempered").fit(X, Y)

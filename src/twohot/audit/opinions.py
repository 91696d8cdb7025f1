"""What is said of each row by classifiers that have not seen its label.

Two of them, each in log-probabilities of every class up to a constant per row:

    outputs   of a probe, for instance out of fold; they may be too sure, or not sure enough
    density   of a generative model of the classes, as sure as it is by nature; it knows where
              classes overlap from the rows themselves, and not from what labels disagree on

A user's own probe or probabilities are taken for both. Where features are few, what the nearest
rows say (audit.nearest_votes) is part of the former, and stands by itself.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from twohot._checks.labels import Labels
from twohot._notebooks import Callback
from twohot._types import FloatArray, IntArray, Matrix
from twohot.audit.class_probabilities import probe_blocks
from twohot.audit.doubt import ESTABLISHED, FEWEST_KNOWN, Trust, is_established
from twohot.audit.even_noise import REFUTED
from twohot.audit.nearest_votes import (
    MOST_ROWS,
    Votes,
    agreement,
    has_votes,
    votes_on,
    votes_on_some,
)
from twohot.audit.noise_fit import best_temperature, fit_noise_model
from twohot.audit.noise_model import NoiseModel
from twohot.audit.partly_labelled import labelled_rows, take_rows
from twohot.rows.rows import Rows
from twohot.rows.stores import open_rows
from twohot.rows.threads import one_blas_thread
from twohot.select.agreement import errors_ahead
from twohot.select.auto_probe import AutoProbe
from twohot.select.search import Search
from twohot.select.unseen import unseen_density, unseen_logits

MOST_TEMPERATURE = 100.0
LEAST_DOUBTED = 1e-3  # share of a given opinion that is of all classes alike

# Standard errors by which a probe predicts more labels than the discriminant: from the first on it
# counts for more, and from the second on for this share of their mean. Average precision at shares
# of .5, .75 and 1: BANKING77 with noise at the boundary 90.9, 91.9, 92.1, CIFAR-100 with .1
# symmetric noise 93.8, 94.7, 93.9; on StanfordCars, where the discriminant predicts more, 94.3,
# 93.6, 92.7.
BETTER_ERRORS, BETTER_SHARE = (1.0, 3.0), 0.75

# Standard errors by which the nearest rows predict more labels than a probe, from which on they are
# ahead: so that no straight lines separate the classes. So many behind they have no say.
AHEAD_ERRORS = 2.0
# Power of the skill, agreement beyond chance, that a probe and the nearest rows count by: with the
# fourth one that has a fifth less counts for less than half as much, and a probe that has learnt
# nothing for nothing. With a square, circles of which a fifth of the labels were wrong had an F1 of
# .73 instead of .98, and letters of which a tenth were .93 instead of .95.
SKILL_POWER, LEAST_SKILL = 4, 0.01


@dataclass(frozen=True, eq=False)
class Vote:
    """What the rows nearest to each say, and how much that counts."""

    said: FloatArray  # (n_rows, n_classes), log-probabilities in float32
    votes: Votes
    scales: tuple[float, float]  # of the votes and of a probe in their mean; see `mean_opinion`


@dataclass(frozen=True, eq=False)
class Opinions:
    """Log-probabilities (n_rows, n_classes) up to a constant per row, in float32."""

    outputs: FloatArray
    density: FloatArray
    trust: Trust = field(default_factory=Trust)
    vote: Vote | None = None  # of the rows nearest to each, if they have a say


def given_opinions(blocks: Iterator[FloatArray]) -> Opinions:
    """Return probabilities that come in blocks as both opinions.

    None of them is taken to be certain: of ten neighbours none may have a label that is right, and
    no temperature would mend a zero.
    """
    said = np.concatenate([np.log(_uncertain(block)).astype(np.float32) for block in blocks])
    return Opinions(said, said)


def _uncertain(probabilities: FloatArray) -> FloatArray:
    """Return probabilities with a little of all classes in them."""
    return np.asarray((1 - LEAST_DOUBTED) * probabilities + LEAST_DOUBTED / probabilities.shape[1])


def unseen_opinions(
    probe: AutoProbe,
    X: Matrix,
    labels: Labels,
    callback: Callback | None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Opinions:
    """Fit a probe on the rows that have a label; return opinions of fits without each row's label.

    What is finished of the probe is kept in the checkpoint. Rows without a label get the probe's
    own opinion, and that of the rows nearest to them: there is no label to have been seen.
    """
    labelled = labels.labelled
    X_known, known = labelled_rows(X, labels), labels.take(labelled)
    selection = probe.search_and_fit(X_known, known, None, callback, checkpoint=checkpoint)
    found = searched_opinions(selection.search, known, probe.random_state)
    if labelled.all():
        return found
    others = np.flatnonzero(~labelled)
    X_others = take_rows(X, others)
    own = given_opinions(probe_blocks(probe, X_others, len(others))).outputs
    own /= np.float32(probe.temperature_)  # as sure as the labels say it should be

    def with_others(known_rows: FloatArray, of_others: FloatArray) -> FloatArray:
        whole = np.empty((len(labels.codes), labels.n_classes), np.float32)
        whole[labelled], whole[others] = known_rows, of_others
        return whole

    outputs, vote = own, found.vote
    if vote is not None:
        near = vote.votes.on_others(open_rows(X_others))
        outputs = mean_opinion(near, own, vote.scales)
        vote = replace(vote, said=with_others(vote.said, near))
    return Opinions(
        with_others(found.outputs, outputs), with_others(found.density, own), found.trust, vote
    )


def searched_opinions(search: Search, labels: Labels, random_state: Any) -> Opinions:
    """Return what is said of the labelled rows that were searched, by fits without each."""
    with one_blas_thread():
        outputs = unseen_logits(search, search.best(), random_state)
        density = unseen_density(search)
    scales = opinion_scales(outputs, density, labels.codes)
    outputs = mean_opinion(outputs, density, scales)
    rows = search.coordinates.rows
    if not has_votes(rows, search.n_features) or rows.n_samples > MOST_ROWS:
        trust = trust_in(rows, labels.codes, outputs, search.n_features)
        return Opinions(outputs, density, trust)
    return with_nearest(outputs, density, votes_on(rows, labels.codes, labels.n_classes))


def with_nearest(outputs: FloatArray, density: FloatArray, votes: Votes) -> Opinions:
    """Return opinions of which that of the nearest rows is one, as far as it predicts labels.

    Their mean judges, unless the outputs or the density alone explain the labels better: a probe of
    few features may be as sure of rows where classes overlap as of any, and what it disagrees with
    would look like noise. (Votes alone always explain them without noise: it is in the votes.)
    """
    codes = votes.codes
    agrees, near = agreement(outputs, codes), votes.log_probabilities(votes.shares)
    errors = errors_ahead(votes.agrees, agrees)
    share = _share_of(votes, agrees, errors)
    near_scale, scale = label_temperature(near, codes), label_temperature(outputs, codes)
    choices = [(outputs, (np.inf, scale)), (density, (np.inf, scale))]
    if share > 0:
        scales = near_scale / share, scale / (1 - share)
        choices = [(mean_opinion(near, outputs, scales), scales), *choices]
    models = [fit_noise_model(each, codes) for each, _ in choices]
    judge = _judge_among(models)
    said, scales = choices[judge]
    trust = Trust(fewest_labels=FEWEST_KNOWN, may_be_none=_may_be_none(models, models[judge]))
    if share == 0:
        return Opinions(said, density, trust)
    trust = replace(
        trust,
        is_curved=errors > AHEAD_ERRORS,
        overlap_explained=votes.explained(agreement(density, codes)),
    )
    return Opinions(said, density, trust, Vote(near, votes, scales))


def _judge_among(models: list[NoiseModel]) -> int:
    """Return which model explains the labels best; the first, if that is not refuted."""
    found = [model.log_likelihood for model in models]
    best = int(np.argmax(found))
    return best if found[best] > found[0] + REFUTED else 0


def _may_be_none(models: list[NoiseModel], judge: NoiseModel) -> bool:
    """Return whether noise is found, though labels without any are about as likely.

    That may be by another opinion than the one that judges.
    """
    if judge.noise_rate <= ESTABLISHED:
        return False
    others = [each for each in models if each.log_likelihood > judge.log_likelihood - REFUTED]
    return not all(is_established(each.noise_rate, each.noise_rate_interval) for each in others)


def _share_of(votes: Votes, agrees: FloatArray, errors: float) -> float:
    """Return how much the votes count beside a probe that agrees with some labels."""
    if not votes.tell_anything:
        return 0.0
    skills = [_skill(each, votes.codes) ** SKILL_POWER for each in (votes.agrees, agrees)]
    return skills[0] / sum(skills) * float(np.interp(errors, (-AHEAD_ERRORS, 0), (0, 1)))


def _skill(agrees: FloatArray, codes: IntArray) -> float:
    """Return what is predicted beyond what the most frequent label alone would be right about."""
    chance = float(np.bincount(codes).max()) / len(codes)
    return max(LEAST_SKILL, float(agrees.mean() - chance) / (1 - chance))


def trust_in(rows: Rows, codes: IntArray, outputs: FloatArray, n_features: int) -> Trust:
    """Return how far fits on labels can be trusted, by what they say of rows without each.

    Where the nearest rows predict more labels, they may explain what a probe disagrees with.
    """
    trust = Trust(fewest_labels=FEWEST_KNOWN)
    if not has_votes(rows, n_features):
        return trust
    asked, votes = votes_on_some(rows, codes, outputs.shape[1])
    agrees = agreement(outputs[asked], codes[asked])
    if errors_ahead(votes.agrees, agrees) <= AHEAD_ERRORS or not votes.tell_anything:
        return trust
    return replace(trust, is_curved=True, explained=votes.explained(agrees))


def rule_out(said: FloatArray, classes: IntArray, codes: IntArray) -> None:
    """Let no row be of some classes but those that are labelled so, in place.

    A class that hardly occurs is often a misspelling of another: what looks like the one looks like
    the other, and a few labels would make many right ones look wrong.
    """
    for label in classes.tolist():
        said[codes != label, label] = -np.inf


def opinion_scales(logits: FloatArray, density: FloatArray, codes: IntArray) -> tuple[float, float]:
    """Return what each of two opinions is divided by in their mean: temperature over share.

    Both count alike, unless the probe predicts clearly more of the labels.
    """
    errors = errors_ahead(agreement(logits, codes), agreement(density, codes))
    share = float(np.interp(errors, BETTER_ERRORS, (0.5, BETTER_SHARE)))
    return label_temperature(logits, codes) / share, label_temperature(density, codes) / (1 - share)


def mean_opinion(
    logits: FloatArray, density: FloatArray, scales: tuple[float, float]
) -> FloatArray:
    """Return the mean of two opinions, each divided by its scale."""
    total = np.zeros_like(logits)
    for said, scale in zip((logits, density), scales, strict=True):
        total += said / np.float32(scale)
    return total


def label_temperature(said: FloatArray, codes: IntArray) -> float:
    """Return the temperature at which an opinion is as sure as the labels say it should be."""
    # One that says nothing keeps its order of the classes, and counts for little.
    return min(best_temperature(said, codes), MOST_TEMPERATURE)

"""The label model without its parts: what each of them is worth.

    python -m benchmarks.audit.ablation --features DIR

DIR holds real features as npz files. A Markdown table is printed. Each cell has the accuracy of the
held-out prediction on the true labels of the training rows, the F1 of the flags, and how far the
fraction wrong is off. All variants of a setting share one library: only the named part differs.
"""

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.audit.data import Task, draw_task
from benchmarks.audit.plan import Setting
from benchmarks.pages import table
from twohot import AutoProbe
from twohot.base import FloatArray, code_labels
from twohot.judge import distillation
from twohot.judge.anchors import confusions, shrink
from twohot.judge.distillation import Anchored, AnchorNoise, Stage, distil, fit_weights
from twohot.judge.library import COARSE_TOL, Library, Member, held_out_logits
from twohot.judge.sample import Sample
from twohot.judge.verdict import reach_verdict
from twohot.noise import symmetric
from twohot.probes.recipe import Recipe
from twohot.probes.rounds import SOFT, StoredTargets, fit_round
from twohot.solve.solver import Solver

# The cheap sets, one of them with many classes and few rows of each.
SHAPES = {
    "davidson": "3000",
    "labelme": "all",
    "satellite": "3000",
    "digits": "all",
    "banking77/3": "all",
    "generated": "all",
    "caltech101": "few",
}
WITH_VOTES = ("davidson", "labelme")
# EM starts from the rate that `fit_uniform_noise` starts from, and ends where Q is known as well as
# counts of some thousand rows say, or after as many steps as change no percentage.
EM_RATE, EM_CHANGE, EM_STEPS = 0.1, 1e-3, 30


@dataclass(frozen=True)
class Score:
    """What a variant reached on one setting, in percent."""

    accuracy: float  # of the held-out prediction of the training rows' true labels
    f1: float  # of the flags
    share_error: float  # estimated minus true fraction wrong


def settings() -> list[Setting]:
    """Return the settings, each drawn once."""
    noises = (("symmetric", 0.6), ("pair", 0.4), ("people", 0.0))
    return [
        Setting(name, *noise, shape)
        for name, shape in SHAPES.items()
        for noise in noises
        if noise[0] != "people" or name in WITH_VOTES
    ]


# Variants -----------------------------------------------------------------------------------------


def without_rounds(sample: Sample, library: Library) -> Anchored:
    return distil(sample, library, n_rounds=0)


def without_anchors(sample: Sample, library: Library) -> Anchored:
    """Q by EM: expected counts of all rows take the place of the counts of anchor rows."""
    with patch.object(distillation, "_stage", stage_by_em):
        return distil(sample, library)


def stage_by_em(
    sample: Sample, members: Sequence, sure: FloatArray, targets: FloatArray | None = None
) -> Stage:
    logits = [each.logits for each in members]
    scales = np.array([1 / each.temperature for each in members])
    noise, alike = symmetric(sample.n_classes, EM_RATE), confusions(sure)
    for _ in range(EM_STEPS):
        before, model = noise, fit_weights(sample, logits, noise, scales)
        posterior = model.posterior(logits, sample.codes)
        counts = np.zeros_like(noise)
        np.add.at(counts.T, sample.codes, posterior)
        noise = shrink(counts, alike)
        if abs(noise - before).max() < EM_CHANGE:
            break
    read = AnchorNoise(sample, logits, scales, model)
    return Stage(members, model, posterior, read, targets)


def in_sample(sample: Sample, library: Library) -> Anchored:
    """Soft members are fitted to all rows and predict these same rows."""
    with patch.object(distillation, "fit_posterior", fit_in_sample):
        return distil(sample, library)


def fit_in_sample(
    sample: Sample, library: Library, recipes: list[Recipe], targets: FloatArray, starts: dict
) -> list[Member]:
    rows, found = sample.searched, []
    rows.rows.attach(SOFT, targets.astype(np.float32))
    settings = replace(library.settings, tol=COARSE_TOL, min_iter=1)
    for recipe in map(distillation.with_cross_entropy, recipes):
        solver = Solver(recipe.coordinates(rows), settings)
        last = starts[recipe][0] if recipe in starts else None
        end = fit_round(solver, StoredTargets(SOFT), recipe, last)[0].evaluation
        found.append(Member(recipe, held_out_logits(rows, recipe, end), ends=(end,)))
    return found


def one_member(sample: Sample, library: Library) -> Anchored:
    """The robust probe on rows as they are, at its likeliest penalty."""
    robust = [
        each
        for each in library.tried.values()
        if isinstance(each.recipe, Recipe) and each.recipe.loss.is_robust and not each.recipe.whiten
    ]
    best = max(robust, key=lambda each: each.likelihood)
    return distil(sample, replace(library, tried={best.recipe: best}))


VARIANTS: dict[str, Callable[[Sample, Library], Anchored]] = {
    "full": distil,
    "no rounds": without_rounds,
    "no anchors": without_anchors,
    "in-sample": in_sample,
    "one member": one_member,
}


# The table ----------------------------------------------------------------------------------------


def measure(task: Task) -> dict[str, Score]:
    """Return the score of each variant; they share folds and library."""
    probe = AutoProbe(n_jobs=1)
    found = probe.fit_coded(task.X, code_labels(task.given)).anchored
    return {
        name: score(vary(found.sample, found.library), task, probe.classes_)
        for name, vary in VARIANTS.items()
    }


def score(found: Anchored, task: Task, classes: np.ndarray) -> Score:
    verdict = reach_verdict(found, np.searchsorted(classes, task.given))
    accuracy = np.mean(classes[verdict.first] == task.truth)
    error = verdict.share - task.wrong.mean()
    return Score(100 * float(accuracy), 100 * (task.f1(verdict.flag()) or 0), 100 * float(error))


def render(scores: dict[Setting, dict[str, Score]]) -> str:
    """Return the table; its last rows are means, of the fraction wrong those of absolute errors."""

    def cell(each: Score) -> str:
        return f"{each.accuracy:.1f} / {each.f1:.0f} / {each.share_error:+.0f}"

    def mean(found: Iterable[Score]) -> str:
        accuracy, f1, error = np.mean(
            [[each.accuracy, each.f1, abs(each.share_error)] for each in found], axis=0
        )
        return f"{accuracy:.1f} / {f1:.1f} / {error:.1f}"

    rows = [[str(setting), *map(cell, found.values())] for setting, found in scores.items()]
    for noise in dict.fromkeys(setting.noise for setting in scores):
        of = [found for setting, found in scores.items() if setting.noise == noise]
        rows.append([f"mean, {noise}", *(mean(each[name] for each in of) for name in VARIANTS)])
    return table(["setting", *VARIANTS], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--features", type=Path, required=True, help="folder with real features")
    folder = parser.parse_args().features
    print(render({each: measure(draw_task(each, 0, folder)) for each in settings()}))


if __name__ == "__main__":
    main()

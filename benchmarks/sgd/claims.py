"""What depends on how the models are trained: the cost of the two-hot student, and the last epoch.

The costs are those of the models alone: the choice of SGD's rate serves both ways alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.sgd.comparison import (
    MODELS,
    ROUND_PATH,
    TWO_HOT_PATH,
    TrainerPair,
    cost_of,
    trainer_pairs,
)
from twohot.base import counted
from twohot_paper.accuracy_claims import (
    CONVERGED_ONLY,
    NEARLY_ALL,
    ONE_FILE,
    SETTINGS_RULE,
    JudgedSetting,
    Setting,
    TriedSettings,
    judge_settings,
    settings_of,
)
from twohot_paper.claim import NOT_IN_PAPER, Answer, Claim, ClaimVerdict, not_testable
from twohot_paper.data_set import DataSet
from twohot_paper.exhibit import Results
from twohot_paper.grid import unconverged
from twohot_paper.probe_run import FittedModel
from twohot_paper.table import Cell, Mean, Table, mean_of

# A reduction of cost that may be called significant: to a half.
SIGNIFICANT_SHARE = 0.5

FEWEST_PAIRS = 2  # settings that a verdict takes: SGD takes long

# Points of test accuracy within which SGD is where the optimum is: ten images of a thousand.
NEAR = 1.0

SGD, EXACT = "SGD", "exact solver"
CONDITIONS = {
    SGD: "models are trained by SGD, every one for the same number of epochs",
    EXACT: "models are solved exactly",
}


@dataclass(frozen=True)
class CostShare:
    """Cost of teacher and two-hot student, as a fraction of teacher and four students."""

    trainer: str
    data: str
    noise_rate: float
    of_cpu: float
    of_passes: float


def cost_shares(results: Results, data: Sequence[DataSet]) -> list[CostShare]:
    """Return the fractions of every finished run: superclass noise, the base penalty."""
    by_sgd = [
        _share(SGD, pair.data, pair.run.noise_rate, pair.sgd.models)
        for pair in trainer_pairs(results, data)
    ]
    tried = settings_of(results, data, ("superclass",), recoverable=False)
    exactly = [
        _share(EXACT, setting.data, setting.noise_rate, models)
        for setting, draws in tried.draws.items()
        for models in draws.values()
    ]
    return by_sgd + exactly


def judge_cost(results: Results, data: Sequence[DataSet]) -> ClaimVerdict:
    """Judge whether the two-hot student halves the cost, with either trainer."""
    shares = cost_shares(results, data)
    by_trainer = {name: [each for each in shares if each.trainer == name] for name in CONDITIONS}
    if not all(by_trainer.values()):
        return not_testable("It takes finished runs of both trainers.")
    held = {name: _n_held(runs) for name, runs in by_trainer.items()}
    true = [name for name, runs in by_trainer.items() if held[name] >= NEARLY_ALL * len(runs)]
    evidence = " ".join(
        f"{name}: {held[name]} of {len(runs)} runs; on average the two-hot student takes"
        f" {_mean([each.of_cpu for each in runs]):.2f} of the CPU seconds and"
        f" {_mean([each.of_passes for each in runs]):.2f} of the passes."
        for name, runs in by_trainer.items()
    )
    answers = (Answer.REFUTED, Answer.CONDITIONAL, Answer.CONFIRMED)
    return ClaimVerdict(
        answers[len(true)],
        evidence,
        CONDITIONS[true[0]] if len(true) == 1 else "",
        _share_table(shares),
        basis=counted(len(shares), "run"),
    )


def judge_last_epoch(results: Results, data: Sequence[DataSet]) -> ClaimVerdict:
    """Judge whether SGD's last epoch has the accuracy of the exact optimum, for all six models."""
    both = [pair for pair in trainer_pairs(results, data) if pair.exact is not None]
    pairs = [pair for pair in both if pair.exact and not unconverged(pair.exact.models)]
    judged = []
    for pair in pairs:
        ahead = _last_less_exact(pair)
        largest = max(ahead.values(), key=abs)
        setting = _setting(pair)
        judged.append(JudgedSetting(setting, Mean(largest, 0.0, 1), abs(largest) <= NEAR))
    why = "because a model did not converge"
    stuck = TriedSettings(left_out={_setting(each): why for each in both if each not in pairs})
    verdict = judge_settings(
        judged,
        "SGD's last epoch less the exact optimum, points: the model where they differ most",
        fewest=FEWEST_PAIRS,
        left_out=stuck.left_out_words(),
    )
    if not pairs:
        return verdict
    picked = _mean([_picked_less_last(pair, name) for pair in pairs for name in MODELS])
    gap = _mean([value for pair in pairs for value in _last_less_exact(pair).values()])
    norms = [pair.sgd.models[name].gradient_norm or 0.0 for pair in pairs for name in MODELS]
    evidence = (
        f"{verdict.evidence} On average over models the last epoch is {gap:+.1f} points from the"
        f" exact optimum, and the best epoch on the test set is {picked:+.1f} points from the last."
        f" SGD's relative gradients end at {min(norms):.1g} to {max(norms):.1g}; the exact"
        f" solver's at {pairs[0].run.exact.tol:g}."
    )
    return replace(verdict, evidence=evidence, table=_difference_table(pairs))


def _setting(pair: TrainerPair) -> Setting:
    return Setting(pair.data, pair.run.corruption, pair.run.noise_rate)


def _share(
    trainer: str, data: str, noise_rate: float, models: Mapping[str, FittedModel]
) -> CostShare:
    two_hot, rounds = cost_of(models, TWO_HOT_PATH), cost_of(models, ROUND_PATH)
    return CostShare(
        trainer,
        data,
        noise_rate,
        two_hot.cpu_seconds / rounds.cpu_seconds,
        two_hot.n_passes / rounds.n_passes,
    )


def _n_held(shares: Sequence[CostShare]) -> int:
    return sum(max(each.of_cpu, each.of_passes) <= SIGNIFICANT_SHARE for each in shares)


def _share_table(shares: Sequence[CostShare]) -> Table:
    title = "Teacher and two-hot student against teacher and four students: percent of the cost"
    groups = dict.fromkeys((each.trainer, each.data, each.noise_rate) for each in shares)
    rows: list[tuple[Cell, ...]] = []
    for group in groups:
        runs = [each for each in shares if (each.trainer, each.data, each.noise_rate) == group]
        of_cpu = mean_of([each.of_cpu for each in runs], 100)
        rows.append((*group, of_cpu, mean_of([each.of_passes for each in runs], 100)))
    return Table(title, ("trainer", "data set", "η", "CPU", "passes"), tuple(rows))


def _difference_table(pairs: Sequence[TrainerPair]) -> Table:
    title = "SGD's last epoch less the exact optimum, points of test accuracy"
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (pair.data, pair.run.noise_rate, *(round(each, 1) for each in ahead.values()))
        for pair in pairs
        for ahead in [_last_less_exact(pair)]
    )
    return Table(title, ("data set", "η", *MODELS), rows)


def _last_less_exact(pair: TrainerPair) -> dict[str, float]:
    exact = pair.exact.models if pair.exact else {}
    return {
        name: 100 * (pair.sgd.models[name].test_accuracy - exact[name].test_accuracy)
        for name in MODELS
    }


def _picked_less_last(pair: TrainerPair, name: str) -> float:
    return 100 * (pair.sgd.paper_way[name].test_accuracy - pair.sgd.models[name].test_accuracy)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


CLAIMS = (
    Claim(
        id="cost-of-two-hot",
        brief="at most half of the CPU and passes, by SGD and exactly",
        title="The two-hot student is much cheaper than rounds",
        text="This approach replicates the benefits of multi-round distillation in a single round,"
        " […] while significantly reducing computational cost.",
        place="Abstract, Section 1",
        rule="A run supports it if teacher and two-hot student together take at most"
        f" {SIGNIFICANT_SHARE:.0%} of the CPU seconds and of the passes over the rows that teacher"
        f" and four students take, by the same trainer. Confirmed if at least {NEARLY_ALL:.0%} of"
        " the runs do with SGD and with the exact solver; confirmed only with the one trainer with"
        " which they do; else not confirmed. SGD takes the same number of epochs for each model,"
        f" the exact solver as many passes as it needs. {ONE_FILE} {CONVERGED_ONLY}",
        exhibits=("trainers",),
        order=70,
        advice="Compare costs with your own trainer: if every round starts from the one before,"
        " rounds are cheap; the two-hot student's loss is not convex and takes more passes.",
        check=judge_cost,
    ),
    Claim(
        id="sgd-last-epoch",
        brief="all models within 1 point of the optimum",
        title="SGD ends where the theory begins: at the optimum",
        text="(The theory is about the minimiser. The paper's numbers are those of the epoch of SGD"
        " that is best on the test set.)",
        place=NOT_IN_PAPER,
        rule="A setting supports it if test accuracies of all six models after SGD's last epoch,"
        f" its rate chosen on noisy labels, are within {NEAR:g} point of the exact optimum of the"
        " same objective (of the two-hot student: of a stationary point). A verdict takes at least"
        f" {FEWEST_PAIRS} settings.",
        shared_rule=SETTINGS_RULE,
        exhibits=("trainers",),
        order=71,
        advice="Look at the objective too: if epochs end before the optimum, the number of epochs"
        " and the rate act as penalties. Never pick the epoch on the test set.",
        check=judge_last_epoch,
    ),
)

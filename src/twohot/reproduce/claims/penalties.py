"""Claims about the size of the penalty on real features."""

from collections.abc import Mapping, Sequence

from twohot.reproduce.claim import Claim, Verdict, register_claim
from twohot.reproduce.data_set import DataSet
from twohot.reproduce.exact_trainer import STUDENTS, TEACHER
from twohot.reproduce.judged_settings import RULE, Trial, grouped, judge_settings
from twohot.reproduce.maker import Results
from twohot.reproduce.probe_run import ProbeResult
from twohot.reproduce.table import Mean, mean_of

VANISHED = 1.0  # points of test accuracy below which a gain is none to speak of


def best_gain(seeds: Mapping[int, ProbeResult]) -> Mean | None:
    """Return by how many points the best round is ahead of the teacher."""
    gains = [
        max(seed.models[name].test_accuracy for name in STUDENTS)
        - seed.models[TEACHER].test_accuracy
        for seed in seeds.values()
    ]
    return mean_of(gains, factor=100)


def judge_small_penalty(results: Results, data: Sequence[DataSet]) -> Verdict:
    """Judge whether rounds gain more at the small penalty than at the big one."""
    small, big = (
        dict(grouped(results, data, corruptions=("superclass",), strength=strength))
        for strength in ("small", "big")
    )
    trials = []
    for place in small:
        gains = [best_gain(runs[place]) for runs in (small, big) if place in runs]
        if len(gains) == 2 and gains[0] is not None and gains[1] is not None:
            spread = (gains[0].std ** 2 + gains[1].std ** 2) ** 0.5
            lead = Mean(gains[0].mean - gains[1].mean, spread, gains[0].n)
            trials.append(Trial(place, lead, lead.mean > 0))
    advice = "Choose the penalty before the number of rounds: a larger one leaves less to repair."
    return judge_settings(trials, "Gain of the best round, small over big penalty, points", advice)


def judge_big_penalty(results: Results, data: Sequence[DataSet]) -> Verdict:
    """Judge whether the gain of rounds is gone at the big penalty."""
    trials = []
    for place, seeds in grouped(results, data, corruptions=("superclass",), strength="big"):
        gain = best_gain(seeds)
        if gain is not None:
            trials.append(Trial(place, gain, abs(gain.mean) < VANISHED))
    return judge_settings(trials, "Gain of the best round at the big penalty, points")


register_claim(
    Claim(
        id="small-penalty",
        title="Rounds gain more at a small penalty",
        text="When the q/p ratio is too small or too large, it becomes hard to demonstrate the"
        " effect of distillation.",
        place="Appendix D.2 and G.1",
        rule="A setting (superclass noise) supports it if the best round gains more over its"
        f" teacher at the small penalty than at the big one. {RULE}",
        exhibits=("fig:superclass_small", "fig:superclass_big"),
        order=40,
        judge=judge_small_penalty,
    )
)
register_claim(
    Claim(
        id="big-penalty",
        title="The gain of rounds vanishes at a big penalty",
        text="For these λ values, we observe that there is a consistent accuracy gain as the"
        " distillation round increases. (The opposite is what theory says of large penalties.)",
        place="Appendix D.2 and G.1",
        rule="A setting (superclass noise) supports it if the best round is less than"
        f" {VANISHED:g} point from its teacher at the big penalty. {RULE}",
        exhibits=("fig:superclass_big",),
        order=41,
        judge=judge_big_penalty,
    )
)

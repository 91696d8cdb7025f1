"""Claims about the size of the penalty on real features."""

from collections.abc import Sequence

from twohot.reproduce.claim import Claim, ClaimVerdict, register_claim
from twohot.reproduce.claims.accuracy import RISES, rises
from twohot.reproduce.data_set import DataSet
from twohot.reproduce.exact_trainer import N_ROUNDS, STUDENTS, TEACHER, TWO_HOT
from twohot.reproduce.judged_settings import (
    CLEARLY_AHEAD,
    Judged,
    ahead,
    leads_of_best,
    settings_claim,
)
from twohot.reproduce.maker import Results
from twohot.reproduce.probe_grid import Models
from twohot.reproduce.setting_verdict import RECOVERABLE_ONLY, RULE, JudgedSetting, judge_settings
from twohot.reproduce.table import mean_of
from twohot.reproduce.tried_settings import TriedSettings, settings_of

VANISHED = 1.0  # points of test accuracy below which a gain is none to speak of

best_gain = ahead(STUDENTS, [TEACHER])


def judge_small_penalty(results: Results, data: Sequence[DataSet]) -> ClaimVerdict:
    """Judge whether rounds gain more at the small penalty than at the big one."""
    small, big = (
        settings_of(results, data, ("superclass",), strength=strength)
        for strength in ("small", "big")
    )
    judged = []
    for setting, at_small in small.draws.items():
        at_big = big.draws.get(setting, {})
        both = [seed for seed in at_small if seed in at_big]
        gains = [
            leads_of_best([draws[seed] for seed in both], STUDENTS, [TEACHER])
            for draws in (at_small, at_big)
        ]
        lead = mean_of([one - other for one, other in zip(*gains, strict=True)], factor=100)
        if lead is not None:
            judged.append(JudgedSetting(setting, lead, lead.mean > 0))
    advice = "Choose the penalty before the number of rounds: a larger one leaves less to repair."
    title = "Gain of the best round, small over big penalty, points"
    left_out = TriedSettings(left_out=small.left_out | big.left_out).left_out_words()
    return judge_settings(judged, title, advice, left_out=left_out)


def vanishes(draws: list[Models]) -> Judged | None:
    """State that no round is clearly above the teacher."""
    judged = best_gain(draws)
    return None if judged is None or judged[0] is None else (judged[0], judged[0].mean < VANISHED)


register_claim(
    Claim(
        id="small-penalty",
        title="Rounds gain more at a small penalty",
        text="(When the q/p ratio is too small or too large, it becomes hard to demonstrate the"
        " effect of distillation. Which way, the paper does not say.)",
        place="after Appendix E.2",
        rule="A setting (superclass noise) supports it if the best round gains more over its"
        " teacher at the small penalty than at the big one, by any margin, on the draws of"
        " labels that both have."
        f" {RULE} {RECOVERABLE_ONLY}",
        exhibits=("fig:superclass_small", "fig:superclass_big"),
        order=40,
        judge=judge_small_penalty,
    )
)
register_claim(
    settings_claim(
        claim={
            "id": "big-penalty",
            "title": "The gain of rounds vanishes at a big penalty",
            "text": "(At a large penalty the teacher averages labels itself, says the theory.)",
            "place": "after Appendix E.2",
            "rule": "A setting (superclass noise) supports it if the best round is less than"
            f" {VANISHED:g} point above its teacher at the big penalty.",
            "exhibits": ("fig:superclass_big",),
            "order": 41,
        },
        strength="big",
        corruptions=("superclass",),
        statement=vanishes,
        value="Gain of the best round at the big penalty, points",
    )
)

for _order, _strength in enumerate(("small", "big")):
    _exhibits = tuple(f"fig:{kind}_{_strength}" for kind in ("superclass", "sym", "asym"))
    register_claim(
        settings_claim(
            claim={
                "id": f"rounds-at-{_strength}-penalty",
                "title": f"Rounds gain at the {_strength} penalty",
                "text": "For these λ values, we observe that there is a consistent accuracy gain as"
                " the distillation round t increases.",
                "place": "Appendix L.1",
                "rule": RISES,
                "exhibits": _exhibits,
                "order": 42 + _order,
            },
            strength=_strength,
            needed=("superclass",),
            statement=rises,
            value="Last round over the teacher, points of test accuracy",
        )
    )
    register_claim(
        settings_claim(
            claim={
                "id": f"two-hot-at-{_strength}-penalty",
                "title": f"The two-hot student beats every round at the {_strength} penalty",
                "text": "Also, we observe that our PLL student model outperforms the multi-round SD"
                " models.",
                "place": "Appendix L.1",
                "rule": f"A setting supports it if the two-hot student is {CLEARLY_AHEAD} the best"
                f" of rounds 2 to {N_ROUNDS} on test rows.",
                "exhibits": _exhibits,
                "order": 44 + _order,
            },
            strength=_strength,
            needed=("superclass",),
            statement=ahead([TWO_HOT], STUDENTS),
            value="Two-hot student over the best round, points of test accuracy",
        )
    )

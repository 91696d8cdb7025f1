"""Claims about test and training accuracy on real features."""

from operator import attrgetter

from twohot.reproduce.claim import register_claim
from twohot.reproduce.exact_trainer import N_ROUNDS, ROUNDS, STUDENTS, TEACHER, TWO_HOT
from twohot.reproduce.judged_settings import CLEARLY_AHEAD, MARGIN, Judged, ahead, settings_claim
from twohot.reproduce.probe_grid import NOISE_RATES, Models

BASE = ("fig:superclass_base", "fig:sym_base", "fig:asym_base")
HIGH_NOISE = 0.6  # the rate from which on the paper sees the two-hot student ahead


RISES = (
    f"A setting supports it if round {N_ROUNDS} is {CLEARLY_AHEAD} the teacher on test rows, and no"
    f" round is {MARGIN:g} points or more behind the one before."
)


def rises(draws: list[Models]) -> Judged | None:
    """State that the last student is above the teacher, and no round falls clearly."""
    judged = ahead(ROUNDS[-1:], [TEACHER])(draws)
    steps = [ahead([new], [old])(draws) for old, new in zip(ROUNDS[:-1], STUDENTS, strict=True)]
    means = [step[0].mean for step in steps if step is not None and step[0] is not None]
    return None if judged is None else (judged[0], judged[1] and min(means) > -MARGIN)


register_claim(
    settings_claim(
        claim={
            "id": "rounds-raise-accuracy",
            "brief": "round 5 more than 0.5 points above the teacher, no round 0.5 below the last",
            "title": "Test accuracy rises with the round",
            "text": (
                "Across all datasets, we observe that test accuracy progressively "
                "increases with the number of distillation rounds."
            ),
            "place": "Section 6, Figure 4",
            "rule": RISES,
            "exhibits": ("fig:real_gain",),
            "order": 10,
        },
        corruptions=("superclass",),
        statement=rises,
        value=f"Round {N_ROUNDS} over the teacher, points of test accuracy",
        advice=(
            "Rounds are worth their cost where the penalty is small and labels are "
            "noisy. Compare them with a plain probe at a larger penalty first."
        ),
    )
)
register_claim(
    settings_claim(
        claim={
            "id": "rounds-raise-accuracy-everywhere",
            "brief": "the same",
            "title": "Test accuracy rises with the round, whatever the noise",
            "text": "Overall, we observe that there is a gain as the distillation step t increases"
            " in multi-round distillation.",
            "place": "Appendix F",
            "rule": RISES,
            "exhibits": BASE,
            "order": 11,
        },
        statement=rises,
        value=f"Round {N_ROUNDS} over the teacher, points of test accuracy",
    )
)
register_claim(
    settings_claim(
        claim={
            "id": "two-hot-at-high-noise",
            "brief": "two-hot more than 0.5 points above the best of rounds 2–5",
            "title": f"The two-hot student beats every round at η ≥ {HIGH_NOISE:g}",
            "text": (
                "Notably, the PLL student model outperforms other multi-round "
                "distillation models at higher corruption rates (η ≥ 0.6)."
            ),
            "place": "Section 6, Figure 4",
            "rule": (
                f"A setting of noise rate {HIGH_NOISE} or more supports it if the two-hot "
                f"student is {CLEARLY_AHEAD} the best of rounds 2 to {N_ROUNDS} on test rows."
            ),
            "exhibits": ("fig:real_gain",),
            "order": 20,
        },
        corruptions=("superclass",),
        statement=ahead([TWO_HOT], STUDENTS),
        rates=[rate for rate in NOISE_RATES if rate >= HIGH_NOISE],
        value="Two-hot student over the best round, points of test accuracy",
        advice=(
            "At high noise take the two-hot student rather than more rounds; "
            "AutoProbe tries both, and a robust loss on the given labels."
        ),
    )
)
register_claim(
    settings_claim(
        claim={
            "id": "two-hot-everywhere",
            "brief": "the same, at any rate",
            "title": "The two-hot student beats every round",
            "text": (
                "We confirm that the PLL student model outperforms other multi-round "
                "distillation models."
            ),
            "place": "Appendix F",
            "rule": (
                f"A setting supports it if the two-hot student is {CLEARLY_AHEAD} the best of "
                f"rounds 2 to {N_ROUNDS} on test rows."
            ),
            "exhibits": BASE,
            "order": 21,
        },
        statement=ahead([TWO_HOT], STUDENTS),
        value="Two-hot student over the best round, points of test accuracy",
        advice=(
            "Do not use the two-hot student on labels that are mostly right: half of "
            "every target is a second guess."
        ),
    )
)
register_claim(
    settings_claim(
        claim={
            "id": "two-hot-training",
            "brief": "two-hot right on as many training rows as the best round",
            "title": "The two-hot student corrects more training labels than any round",
            "text": (
                "The PLL student model not only replicates the effect of multi-round "
                "distillation in a single round but also achieves better performance in "
                "scenarios with high label-noise rates."
            ),
            "place": "Remark 1 after Theorem 5.1",
            "rule": (
                "A setting supports it if the two-hot student predicts at least as many "
                f"training rows as their true label as the best of rounds 1 to {N_ROUNDS} does."
            ),
            "exhibits": ("fig:training_gain",),
            "order": 22,
        },
        statement=ahead([TWO_HOT], ROUNDS, score=attrgetter("train_accuracy"), margin=-1e-9),
        corruptions=["superclass"],
        value="Two-hot student over the best round, points of training accuracy",
        advice="",
    )
)

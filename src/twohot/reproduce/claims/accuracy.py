"""Claims about test and training accuracy on real features."""

from collections.abc import Sequence

from twohot.reproduce.claim import register_claim
from twohot.reproduce.exact_trainer import N_ROUNDS, ROUNDS, STUDENTS, TEACHER, TWO_HOT
from twohot.reproduce.judged_settings import MARGIN, Judged, ahead, difference, settings_claim
from twohot.reproduce.probe_run import FittedModel, ProbeResult

LAST = ROUNDS[-1]
BASE = ("fig:superclass_base", "fig:sym_base", "fig:asym_base")


def rises(seeds: Sequence[ProbeResult]) -> Judged | None:
    """Is the last student above the teacher, and no round clearly below the one before it."""
    gain = difference(seeds, LAST, TEACHER)
    steps = [difference(seeds, *pair) for pair in zip(ROUNDS[1:], ROUNDS[:-1], strict=True)]
    if gain is None:
        return None
    return gain, gain.mean > MARGIN and all(step is None or step.mean > -MARGIN for step in steps)


def training_score(model: FittedModel) -> float:
    """Return the share of training rows predicted as their true label."""
    return model.train_accuracy


register_claim(
    settings_claim(
        id="rounds-raise-accuracy",
        title="Test accuracy rises with the round",
        text="Across all datasets, we observe that test accuracy progressively increases with the"
        " number of distillation rounds.",
        place="Section 6, Figure 4 and Appendix F",
        rule=f"A setting supports it if round {N_ROUNDS} is more than {MARGIN} points above the"
        f" teacher and no round is more than {MARGIN} points below the one before.",
        exhibits=BASE,
        order=10,
        statement=rises,
        value=f"Round {N_ROUNDS} over the teacher, points of test accuracy",
        advice="Rounds are worth their cost where the penalty is small and labels are noisy."
        " Compare them with a plain probe at a larger penalty first.",
    )
)
register_claim(
    settings_claim(
        id="two-hot-at-high-noise",
        title="The two-hot student beats every round at η ≥ 0.6",
        text="Notably, the PLL student model outperforms other multi-round distillation models at"
        " higher corruption rates (η ≥ 0.6).",
        place="Section 6, Figure 4",
        rule="A setting of noise rate .6 or more supports it if the two-hot student's test accuracy"
        f" is above that of the best of rounds 2 to {N_ROUNDS}.",
        exhibits=BASE,
        order=20,
        statement=ahead(TWO_HOT, STUDENTS),
        rates=lambda rate: rate >= 0.6,
        value="Two-hot student over the best round, points of test accuracy",
        advice="At high noise take the two-hot student rather than more rounds; AutoProbe tries"
        " both, and a robust loss on the given labels.",
    )
)
register_claim(
    settings_claim(
        id="two-hot-everywhere",
        title="The two-hot student beats every round",
        text="We confirm that the PLL student model outperforms other multi-round distillation"
        " models.",
        place="Appendix F",
        rule="A setting supports it if the two-hot student's test accuracy is above that of the"
        f" best of rounds 2 to {N_ROUNDS}.",
        exhibits=BASE,
        order=21,
        statement=ahead(TWO_HOT, STUDENTS),
        value="Two-hot student over the best round, points of test accuracy",
        advice="Do not use the two-hot student on labels that are mostly right: half of every"
        " target is a second guess.",
    )
)
register_claim(
    settings_claim(
        id="two-hot-training",
        title="The two-hot student corrects more training labels than any round",
        text="The PLL student model not only replicates the effect of multi-round distillation in a"
        " single round but also achieves better performance in scenarios with high label-noise"
        " rates.",
        place="Remark 1, Theorem 5.1",
        rule="A setting supports it if the two-hot student predicts at least as many training rows"
        " as their true label as the best round does.",
        exhibits=BASE,
        order=22,
        statement=ahead(TWO_HOT, ROUNDS, training_score, margin=-1e-9),
        value="Two-hot student over the best round, points of training accuracy",
    )
)

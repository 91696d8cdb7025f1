"""What the paper does not tell apart: the loss, the penalty of the teacher, the start, the rows."""

from collections.abc import Sequence

from twohot.reproduce.claim import Claim, Verdict, register_claim
from twohot.reproduce.data_set import DataSet
from twohot.reproduce.exact_trainer import ROUNDS, STUDENTS, TEACHER, TWO_HOT
from twohot.reproduce.judged_settings import (
    MARGIN,
    RULE,
    Judged,
    Trial,
    ahead,
    grouped,
    joined,
    judge_settings,
    settings_claim,
)
from twohot.reproduce.maker import Results
from twohot.reproduce.probe_run import ProbeResult
from twohot.reproduce.table import mean_of

ROBUST, BY_CROSS_ENTROPY, FROM_ZERO = "robust", "two-hot by cross-entropy", "two-hot from zero"
NOT_IN_PAPER = "not in the paper"


def judge_tuned_teacher(results: Results, data: Sequence[DataSet]) -> Verdict:
    """Judge whether a student is ahead of a teacher whose penalty is chosen on noisy labels."""
    own, tuned = (
        dict(grouped(results, data, corruptions=("superclass",), family=family))
        for family in ("paper", "tuned teacher")
    )
    trials = []
    for place in own.keys() & tuned.keys():
        leads = [
            max(own[place][seed].models[name].test_accuracy for name in (*STUDENTS, TWO_HOT))
            - tuned[place][seed].models[TEACHER].test_accuracy
            for seed in own[place].keys() & tuned[place].keys()
        ]
        lead = mean_of(leads, factor=100)
        if lead is not None:
            trials.append(Trial(place, lead, lead.mean > MARGIN))
    trials.sort(key=lambda trial: (trial.place.data, trial.place.noise_rate))
    title = "Best student over the teacher at its own best penalty, points of test accuracy"
    advice = "Tune the penalty of a plain probe first: it is the rival that students must beat."
    return judge_settings(trials, title, advice)


def judge_prepared(results: Results, data: Sequence[DataSet]) -> Verdict:
    """Judge whether the last round still gains on centred features of unit norm."""
    trials = []
    for place, seeds in grouped(results, data, corruptions=("superclass",), prepared=True):
        judged = ahead(ROUNDS[-1], [TEACHER], margin=MARGIN)(joined(seeds))
        if judged is not None:
            trials.append(Trial(place, *judged))
    title = "Last round over the teacher on prepared features, points of test accuracy"
    return judge_settings(trials, title)


def start_matters(seeds: Sequence[ProbeResult]) -> Judged | None:
    """State that the student started from the teacher is as good as one started from zero."""
    judged = ahead(TWO_HOT, [FROM_ZERO])(seeds)
    return None if judged is None or judged[0] is None else (judged[0], judged[0].mean > -MARGIN)


register_claim(
    settings_claim(
        id="two-hot-by-cross-entropy",
        title="Cross-entropy makes the two-hot student unstable",
        text="We observe that using CE loss with the PLL student model often leads to instability"
        " during training.",
        place="Appendix D.3",
        rule="A setting (superclass noise) supports it if the two-hot student by cross-entropy,"
        " solved exactly, has a lower test accuracy than the one by generalised cross-entropy."
        " (Exactly solved there is no instability of training: what is left is the loss itself.)",
        exhibits=("ablation:losses",),
        order=60,
        families=("paper", "losses"),
        corruptions=("superclass",),
        statement=ahead(TWO_HOT, [BY_CROSS_ENTROPY]),
        value="Two-hot by generalised cross-entropy over cross-entropy, points",
        advice="`PartialLabelProbe` uses generalised cross-entropy by default: leave it so.",
    )
)
register_claim(
    settings_claim(
        id="labels-or-loss",
        title="It is the partial labels that gain, not the robust loss",
        text="(The paper changes loss and labels at once, and credits the labels.)",
        place=NOT_IN_PAPER,
        rule="A setting (superclass noise) supports it if the two-hot student is more than"
        f" {MARGIN} points ahead of the same loss on the given labels.",
        exhibits=("ablation:losses",),
        order=61,
        families=("paper", "losses"),
        corruptions=("superclass",),
        statement=ahead(TWO_HOT, [ROBUST], margin=MARGIN),
        value="Two-hot student over the robust loss on given labels, points of test accuracy",
        advice='`LinearProbe(loss="gce")` takes one fit and no teacher: try it before partial'
        " labels.",
    )
)
register_claim(
    settings_claim(
        id="start",
        title="Starting the student at the teacher does no harm",
        text="(The authors' code starts the PLL student from the teacher's weights.)",
        place=NOT_IN_PAPER,
        rule="A setting (superclass noise) supports it if the two-hot student started from the"
        f" teacher is no more than {MARGIN} points behind the one started from zero.",
        exhibits=("ablation:losses",),
        order=62,
        families=("paper", "losses"),
        corruptions=("superclass",),
        statement=start_matters,
        value="Started from the teacher over started from zero, points of test accuracy",
    )
)
register_claim(
    Claim(
        id="tuned-teacher",
        title="Students beat a teacher with a well chosen penalty",
        text="(The paper compares students with the teacher at the same penalty.)",
        place=NOT_IN_PAPER,
        rule="A setting (superclass noise) supports it if the best of rounds and two-hot student"
        f" is more than {MARGIN} points ahead of a teacher whose penalty was chosen by agreement"
        f" with held-out noisy labels. {RULE}",
        exhibits=("ablation:teacher",),
        order=63,
        judge=judge_tuned_teacher,
    )
)
register_claim(
    Claim(
        id="prepared-features",
        title="Rounds gain on centred features of unit norm too",
        text="(The theory is about features of unit norm; the experiments use raw ones.)",
        place=NOT_IN_PAPER,
        rule=f"A setting (superclass noise) supports it if round {len(ROUNDS)} is more than"
        f" {MARGIN} points above the teacher at the equivalent penalty. {RULE}",
        exhibits=("ablation:features",),
        order=64,
        judge=judge_prepared,
    )
)

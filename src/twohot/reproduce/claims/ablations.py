"""What the paper does not tell apart: the loss, the penalty of the teacher, the start, the rows."""

from twohot.reproduce.claim import NOT_IN_PAPER, register_claim
from twohot.reproduce.exact_trainer import STUDENTS, TEACHER, TWO_HOT
from twohot.reproduce.judged_settings import (
    CLEARLY_AHEAD,
    MARGIN,
    NOT_CLEARLY_BEHIND,
    ahead,
    settings_claim,
)
from twohot.reproduce.probe_grid import TUNED_TEACHER

ROBUST, BY_CROSS_ENTROPY, FROM_ZERO = "robust", "two-hot by cross-entropy", "two-hot from zero"

register_claim(
    settings_claim(
        claim={
            "id": "two-hot-by-cross-entropy",
            "brief": "GCE more than 0.5 points above cross-entropy",
            "title": ("By cross-entropy the two-hot student is worse"),
            "text": (
                "We observe that using CE loss with the PLL student model often leads to"
                " instability during training."
            ),
            "place": "Appendix E.3",
            "rule": (
                "A setting (superclass noise) supports it if the two-hot student by generalised"
                f" cross-entropy is {CLEARLY_AHEAD} the one by cross-entropy, solved exactly, on"
                " test rows."
                " (Exactly solved there is no instability of training, only the loss itself.)"
            ),
            "exhibits": ("ablation:losses",),
            "order": 60,
        },
        families=("paper", "losses"),
        corruptions=("superclass",),
        statement=ahead([TWO_HOT], [BY_CROSS_ENTROPY]),
        value="Two-hot by generalised cross-entropy over cross-entropy, points",
        advice="`PartialLabelProbe` uses generalised cross-entropy by default: leave it so.",
    )
)
register_claim(
    settings_claim(
        claim={
            "id": "labels-or-loss",
            "brief": "two-hot more than 0.5 points above GCE on given labels",
            "title": ("It is the partial labels that gain, not the robust loss"),
            "text": ("(The paper changes loss and labels at once, and credits the labels.)"),
            "place": NOT_IN_PAPER,
            "rule": (
                "A setting (superclass noise) supports it if the two-hot student is"
                f" {CLEARLY_AHEAD} the same loss on the given labels, on test rows."
            ),
            "exhibits": ("ablation:losses",),
            "order": 61,
        },
        families=("paper", "losses"),
        corruptions=("superclass",),
        statement=ahead([TWO_HOT], [ROBUST]),
        value="Two-hot student over the robust loss on given labels, points of test accuracy",
        advice='`LinearProbe(loss="gce")` takes one fit and no teacher: try it before partial'
        " labels.",
    )
)
register_claim(
    settings_claim(
        claim={
            "id": "start",
            "brief": "start at the teacher less than 0.5 points behind zero",
            "title": ("Starting the student at the teacher does no harm"),
            "text": ("(The authors' code starts the PLL student from the teacher's weights.)"),
            "place": NOT_IN_PAPER,
            "rule": (
                "A setting (superclass noise) supports it if the two-hot student started from the"
                f" teacher is {NOT_CLEARLY_BEHIND} the one started from zero, on test rows."
            ),
            "exhibits": ("ablation:losses",),
            "order": 62,
        },
        families=("paper", "losses"),
        corruptions=("superclass",),
        statement=ahead([TWO_HOT], [FROM_ZERO], margin=-MARGIN),
        value="Started from the teacher over started from zero, points of test accuracy",
    )
)
register_claim(
    settings_claim(
        claim={
            "id": "tuned-teacher",
            "brief": "best student more than 0.5 points above a teacher tuned on noisy labels",
            "title": "Students beat a teacher with a well chosen penalty",
            "text": "(The paper compares students with the teacher at the same penalty.)",
            "place": NOT_IN_PAPER,
            "rule": "A setting (superclass noise) supports it if the best of rounds and two-hot"
            f" student is {CLEARLY_AHEAD} a teacher whose penalty was chosen by agreement with"
            " held-out noisy labels, on test rows.",
            "exhibits": ("ablation:teacher",),
            "order": 63,
        },
        families=("paper", TUNED_TEACHER),
        corruptions=("superclass",),
        statement=ahead((*STUDENTS, TWO_HOT), [TUNED_TEACHER]),
        value="Best student over the teacher at its own best penalty, points of test accuracy",
        advice="Tune the penalty of a plain probe first: it is the rival that students must beat.",
    )
)
register_claim(
    settings_claim(
        claim={
            "id": "prepared-features",
            "brief": "round 5 more than 0.5 points above the teacher",
            "title": "Rounds gain on centred features of unit norm too",
            "text": "(The theory is about features of unit norm; the experiments use raw ones.)",
            "place": NOT_IN_PAPER,
            "rule": "A setting (superclass noise) supports it if the last round is"
            f" {CLEARLY_AHEAD} the teacher at the equivalent penalty, on test rows.",
            "exhibits": ("ablation:features",),
            "order": 64,
        },
        prepared=True,
        corruptions=("superclass",),
        statement=ahead(STUDENTS[-1:], [TEACHER]),
        value="Last round over the teacher on prepared features, points of test accuracy",
    )
)

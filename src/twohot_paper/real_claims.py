"""What the paper does not tell apart: the loss, the penalty of the teacher, the start, the rows."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from twohot.base import counted
from twohot_paper.accuracy_claims import HIGH_NOISE
from twohot_paper.claim import (
    NOT_IN_PAPER,
    Answer,
    Claim,
    ClaimVerdict,
    not_testable,
    register_claim,
)
from twohot_paper.data_set import DataSet
from twohot_paper.exact_trainer import ROUNDS, STUDENTS, TEACHER, TWO_HOT
from twohot_paper.grid import NOISE_RATES, TUNED_TEACHER, Models, titles
from twohot_paper.maker import Results
from twohot_paper.settings_claims import (
    CLEARLY_AHEAD,
    MARGIN,
    NOT_CLEARLY_BEHIND,
    ONE_FILE,
    Judged,
    Statement,
    ahead,
    one_file_each,
    settings_claim,
)
from twohot_paper.structure import StructureRun
from twohot_paper.table import Table, mean_of

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


# Claims about how the classes of real features correlate, and about a larger backbone -------------


# A gap of the means counts as clear if it is at least this share of the spread of the pairs.
CLEAR = 1.0

# Share of the whole gain that the first two students must bring, and the gain to speak of.
NEARLY_ALL_GAIN = 0.9
SOME_GAIN = 1.0  # points


def judge_three_kinds(results: Results, data: Sequence[DataSet]) -> ClaimVerdict:
    """Judge whether the three kinds of pairs have clearly different mean correlations."""
    names = titles(data)
    files = one_file_each(results, data)
    found = {each.key: results.get(StructureRun(each.key)) for each in files}
    rows, ordered, clear = [], [], []
    for key, result in found.items():
        if result is None or any(kind.mean is None for kind in result.kinds):
            continue
        own, group, other = result.kinds
        gaps = [(own.mean - group.mean) / group.std, (group.mean - other.mean) / other.std]
        means = [round(kind.mean, 3) for kind in result.kinds]
        rows.append((names[key], result.n_superclasses, *means, *(round(gap, 2) for gap in gaps)))
        ordered.append(min(gaps) > 0)
        clear.append([gap >= CLEAR for gap in gaps])
    if not rows:
        return not_testable("No feature file with at least two superclasses was measured.")
    columns = ("data set", "superclasses", "same class", "same superclass", "elsewhere")
    table = Table(
        "Mean correlation of two training rows, and gaps in standard deviations of single pairs",
        (*columns, "class gap", "superclass gap"),
        tuple(rows),
    )
    evidence = (
        f"The means are ordered on {sum(ordered)} of {len(rows)} data sets. The gap between classes"
        f" is at least {CLEAR:g} standard deviation on {sum(gap[0] for gap in clear)}, that between"
        f" superclasses on {sum(gap[1] for gap in clear)}."
    )
    advice = "`twohot describe` shows this for your features, before anything is trained."
    basis = f"{sum(ordered)} of {counted(len(rows), 'data set')}"
    shown = partial(ClaimVerdict, table=table, advice=advice, basis=basis)
    if all(ordered):
        return shown(Answer.CONFIRMED, evidence)
    held = [row[0] for row, holds in zip(rows, ordered, strict=True) if holds]
    if held:
        return shown(Answer.CONDITIONAL, evidence, f"the data set is {' or '.join(map(str, held))}")
    return shown(Answer.REFUTED, evidence)


def early_gain(draws: list[Models]) -> Judged | None:
    """State that two students bring nearly all of the gain of four."""
    gains = [
        [draw[name].test_accuracy - draw[TEACHER].test_accuracy for name in STUDENTS]
        for draw in draws
        if draw.keys() >= set(ROUNDS)
    ]
    early = mean_of([each[1] for each in gains], factor=100)
    late = mean_of([each[-1] for each in gains], factor=100)
    if early is None or late is None or late.mean < SOME_GAIN:
        return None
    share = mean_of([100 * early.mean / late.mean])
    return share, early.mean >= NEARLY_ALL_GAIN * late.mean


def _of_transformers(claim: Claim) -> Claim:
    """Return a claim that is judged by the files of ViT features alone."""

    def judge(results: Results, data: Sequence[DataSet]) -> ClaimVerdict:
        transformers = _of_backbone(data, "vit")
        if not transformers:
            return not_testable("None of the feature files has ViT in its name.")
        return claim.judge(results, transformers)

    return replace(claim, judge=judge)


def _of_backbone(data: Sequence[DataSet], name: str) -> list[DataSet]:
    return [each for each in data if re.search(f"(^|[^a-z]){name}", each.name.lower())]


def judge_larger_backbone(results: Results, data: Sequence[DataSet]) -> ClaimVerdict:
    """Judge whether ViT-B features of CIFAR-100 correlate more inside classes than ResNet34's."""
    cifar = [each for each in data if each.paper_name == "CIFAR-100"]
    found = {}
    for backbone in ("vit", "resnet34"):
        measured = [results.get(StructureRun(each.key)) for each in _of_backbone(cifar, backbone)]
        means = [each.same_class.mean for each in measured if each is not None]
        if not means or means[0] is None:
            return not_testable(
                f"There is no measured file of CIFAR-100 with {backbone} in its name."
            )
        found[backbone] = means[0]
    evidence = f"{found['vit']:.2f} with ViT, {found['resnet34']:.2f} with ResNet34."
    larger = found["vit"] > found["resnet34"]
    return ClaimVerdict(Answer.CONFIRMED if larger else Answer.REFUTED, evidence)


EARLY_GAIN = settings_claim(
    claim={
        "id": "early-gain",
        "brief": "round 3 has 90 % of the gain",
        "title": "With ViT-B nearly all gain comes in the first two steps",
        "text": "Nearly all performance improvements are observed in the first and second"
        " distillation steps when using ViT-B, although additional distillation steps still bring"
        " slight gains in high noise rate regimes.",
        "place": "Appendix H.2",
        "rule": "Of feature files with ViT in their name: a setting in which the last round gains"
        f" at least {SOME_GAIN:g} point supports it if round 3 has at least {NEARLY_ALL_GAIN:.0%}"
        " of that gain.",
        "exhibits": ("fig:exp_vit",),
        "order": 70,
    },
    statement=early_gain,
    value="Share of the last round's gain that round 3 has, %",
)

TRANSFORMER_TWO_HOT = settings_claim(
    claim={
        "id": "two-hot-with-vit",
        "brief": "two-hot less than 0.5 points behind the best round",
        "title": "With ViT-B the two-hot student has the gain of the rounds at high noise",
        "text": "The PLL student model also effectively achieves the gains of multi-round"
        " self-distillation in a single round in high label-noise regimes for the ViT-B backbone.",
        "place": "Appendix H.2",
        "rule": f"Of feature files with ViT in their name: a setting of noise rate {HIGH_NOISE:g}"
        f" or more supports it if the two-hot student is {NOT_CLEARLY_BEHIND} the best round on"
        " test rows.",
        "exhibits": ("fig:exp_vit",),
        "order": 72,
    },
    statement=ahead([TWO_HOT], STUDENTS, margin=-MARGIN),
    rates=[rate for rate in NOISE_RATES if rate >= HIGH_NOISE],
    value="Two-hot student over the best round, points of test accuracy",
)

register_claim(
    Claim(
        id="larger-backbone",
        brief="mean same-class correlation larger with ViT",
        title="ViT-B features correlate more inside classes than ResNet34's",
        text="When calculating feature correlations on the CIFAR-100 dataset using the pretrained"
        " ViT-B model, we observe that the average intra-class feature correlation increases to"
        " 0.35, compared to 0.25 with ResNet34.",
        place="Appendix H.2",
        rule="Of files of CIFAR-100: confirmed if the mean correlation inside classes is larger in"
        " the first with vit in its name than in the first with resnet34; else not confirmed.",
        exhibits=("tab:cf_class_stat",),
        order=73,
        judge=judge_larger_backbone,
    )
)
register_claim(
    Claim(
        id="three-kinds-of-pairs",
        brief="three means ordered on every data set",
        title="Three kinds of pairs have different correlations",
        text="We find that there exists a gap in the mean feature correlations between the three"
        " cases.",
        place="Appendix D.2, Table 2",
        rule="Confirmed if the three means are ordered, by any gap, on every data set; confirmed"
        " only when the data set is one of those where they are; else not confirmed. How far"
        f" single pairs tell the kinds apart stands beside it, in standard deviations. Superclasses"
        f" are cut at .9 of the largest merge distance, as in the authors' code. {ONE_FILE}",
        exhibits=("tab:cf_class_stat",),
        order=5,
        judge=judge_three_kinds,
    )
)
register_claim(_of_transformers(EARLY_GAIN))
register_claim(_of_transformers(TRANSFORMER_TWO_HOT))


# Claims about the outputs on training rows of real features ---------------------------------------


BASE = ("fig:superclass_base", "fig:sym_base", "fig:asym_base")

LAST = ROUNDS[-1]

# Share of the noisy rows whose true label is among the teacher's two that counts as all of them.
ALL_ROWS = 0.99


def truth_in_two(draws: list[Models]) -> Judged | None:
    """State that the teacher's two largest outputs hold the true label of mislabelled rows."""
    shares = [found["2"] for draw in draws if (found := draw[TEACHER].truth_in_top) is not None]
    share = mean_of(shares, factor=100)
    return None if share is None else (share, share.mean >= 100 * ALL_ROWS)


def truth_in_more(draws: list[Models]) -> Judged | None:
    """State that every larger set of the teacher's labels holds the truth more often."""
    found = [each for draw in draws if (each := draw[TEACHER].truth_in_top) is not None]
    if not found:
        return None
    means = [np.mean([shares[size] for shares in found]) for size in found[0]]
    gain = mean_of([100 * float(means[-1] - means[0])])
    return gain, bool((np.diff(means) > 0).all())


def crosses(draws: list[Models]) -> Judged | None:
    """State that mislabelled rows have more output at the given label first, and less at last."""
    pairs = [
        (draw[name].noisy_true, draw[name].noisy_given)
        for draw in draws
        for name in (TEACHER, LAST)
    ]
    leads = [true.mean - given.mean for true, given in pairs if true and given]
    first, last = mean_of(leads[::2], factor=100), mean_of(leads[1::2], factor=100)
    return None if first is None or last is None else (last, first.mean < 0 < last.mean)


def moves(field: str, part: str, direction: int) -> Statement:
    """Return the statement that a mean or spread of outputs rises (1) or falls (-1) every round.

    The number shown is its change from the teacher to the last student, in hundredths.
    """

    def statement(draws: list[Models]) -> Judged | None:
        spreads = [[getattr(draw[name], field) for name in ROUNDS] for draw in draws]
        values = np.array(
            [[getattr(each, part) for each in row] for row in spreads if None not in row]
        )
        if not len(values):
            return None
        change = mean_of((values[:, -1] - values[:, 0]).tolist(), factor=100)
        return change, bool((direction * np.diff(values.mean(axis=0)) > 0).all())

    return statement


# What moves with the round: field of FittedModel, part of it, direction, order, title, words.
MOVES = (
    ("clean_true", "mean", -1, 50, "Confidence in clean labels falls on real features",
     "the softmax output (or confidence) for the true label decreases in clean samples"),
    ("noisy_true", "mean", 1, 51, "Output at the truth of mislabelled rows rises on real features",
     "while increasing in noisy samples due to the label-averaging effect"),
    ("clean_true", "std", -1, 53, "Outputs of clean rows draw together on real features",
     "The shaded region shrinks with t due to label clustering."),
    ("noisy_true", "std", -1, 54, "Outputs of mislabelled rows draw together on real features",
     "The shaded region shrinks with t due to label clustering."),
)  # fmt: skip

for _field, _part, _direction, _order, _title, _text in MOVES:
    _way = "rises" if _direction > 0 else "falls"
    _what = {"mean": "mean", "std": "standard deviation over rows"}[_part]
    register_claim(
        settings_claim(
            claim={
                "id": f"{_field.replace('_', '-')}-{_part}",
                "brief": f"{_what} {_way} every round",
                "title": (_title),
                "text": (_text),
                "place": "Section 5, Figure 3b",
                "rule": (
                    f"A setting supports it if the {_what} of this output {_way} in every round."
                ),
                "exhibits": BASE,
                "order": _order,
            },
            recoverable=False,
            statement=moves(_field, _part, _direction),
            value=f"Change of the {_what} from teacher to last student, hundredths of an output",
        )
    )

register_claim(
    settings_claim(
        claim={
            "id": "crossing",
            "brief": "truth below given label for the teacher, above in round 5",
            "title": "The true label of mislabelled rows overtakes the given one on real features",
            "text": "For noisy samples, the true label starts lower than the given label but"
            " surpasses it after a few rounds.",
            "place": "Figure 3b",
            "rule": "A setting supports it if the mean output of mislabelled rows is larger at the"
            " given than at the true label for the teacher, and smaller in the last round.",
            "exhibits": BASE,
            "order": 52,
        },
        recoverable=False,
        statement=crosses,
        value="Mean output at the true less that at the given label, last round, hundredths",
    )
)
register_claim(
    settings_claim(
        claim={
            "id": "truth-in-top-two",
            "brief": "true for 99 % of mislabelled rows",
            "title": ("The true label is among the teacher's top two on real features"),
            "text": (
                "Under mild conditions on the label corruption rates, the teacher's softmax output"
                " at the true label […] consistently ranks at least second-highest--even for"
                " label-noisy samples."
            ),
            "place": "Section 5",
            "rule": (
                "A setting supports it if the true label of at least"
                f" {ALL_ROWS:.0%} of the mislabelled training rows is among the teacher's two"
                " largest outputs."
            ),
            "exhibits": BASE,
            "order": 55,
        },
        recoverable=False,
        statement=truth_in_two,
        value="Mislabelled rows whose true label is among the teacher's two, %",
        advice="Do not rely on it: real classes overlap, and the second guess is often a third"
        " class. `truth_in_top` of a run tells for your data.",
    )
)
register_claim(
    settings_claim(
        claim={
            "id": "larger-candidate-sets",
            "brief": "share with the truth rises with each k",
            "title": "Larger candidate sets contain the truth more often",
            "text": "In the PLL student model, using a larger set of partial labels increases the"
            " likelihood of including the true label.",
            "place": "Section 6, Ablation Study of Top-k Targets",
            "rule": "A setting supports it if the share of mislabelled training rows whose true"
            " label is among the teacher's k largest outputs rises from each of k = 1, 2, 3, 5 and"
            " 10 to the next.",
            "exhibits": BASE,
            "order": 56,
        },
        recoverable=False,
        statement=truth_in_more,
        value="Mislabelled rows with the truth in the largest set, less those in the smallest, %",
    )
)

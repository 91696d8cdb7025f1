"""Claims about how the classes of real features correlate, and about a larger backbone."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from twohot._checks.messages import counted
from twohot.reproduce.claim import Answer, Claim, ClaimVerdict, not_testable, register_claim
from twohot.reproduce.claims.accuracy import HIGH_NOISE
from twohot.reproduce.data_set import DataSet
from twohot.reproduce.exact_trainer import ROUNDS, STUDENTS, TEACHER, TWO_HOT
from twohot.reproduce.judged_settings import (
    MARGIN,
    NOT_CLEARLY_BEHIND,
    Judged,
    ahead,
    settings_claim,
)
from twohot.reproduce.maker import Results
from twohot.reproduce.probe_grid import NOISE_RATES, Models, titles
from twohot.reproduce.setting_verdict import ONE_FILE
from twohot.reproduce.structure_run import StructureRun
from twohot.reproduce.table import Table, mean_of
from twohot.reproduce.tried_settings import one_file_each

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

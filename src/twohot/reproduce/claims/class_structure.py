"""Claims about how the classes of real features correlate, and about a larger backbone."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from twohot._checks.messages import counted
from twohot.reproduce.claim import Answer, Claim, ClaimVerdict, not_testable, register_claim
from twohot.reproduce.data_set import DataSet
from twohot.reproduce.exact_trainer import ROUNDS, STUDENTS, TEACHER
from twohot.reproduce.judged_settings import Judged, settings_claim
from twohot.reproduce.maker import Results
from twohot.reproduce.probe_grid import Models, titles
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


def _judge_backbone(results: Results, data: Sequence[DataSet]) -> ClaimVerdict:
    transformers = [each for each in data if re.search("(^|[^a-z])vit", each.name.lower())]
    if not transformers:
        return not_testable("None of the feature files has ViT in its name.")
    return EARLY_GAIN.judge(results, transformers)


EARLY_GAIN = settings_claim(
    claim={
        "id": "early-gain",
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

register_claim(
    Claim(
        id="three-kinds-of-pairs",
        title="Three kinds of pairs have different correlations",
        text="There exists a gap in the mean feature correlations between the three cases: same"
        " class; same superclass; other.",
        place="Appendix D.2, Table 2",
        rule="Confirmed if the three means are ordered, by any gap, on every data set; confirmed"
        " only when the data set is one of those where they are; else not confirmed. How far"
        f" single pairs tell the kinds apart stands beside it, in standard deviations. {ONE_FILE}",
        exhibits=("tab:cf_class_stat",),
        order=5,
        judge=judge_three_kinds,
    )
)
register_claim(replace(EARLY_GAIN, judge=_judge_backbone))

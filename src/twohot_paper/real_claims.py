"""Rules of claims about real features, except claims about accuracy in single settings.

`AccuracyRule` is the rule of those claims.
"""

from collections.abc import Sequence

from twohot.base import counted
from twohot_paper.accuracy_claims import one_file_each, settings_of
from twohot_paper.claim import ClaimVerdict, by_parts, not_testable, rule, verdict_if
from twohot_paper.data_set import DataSet, of_backbone
from twohot_paper.exhibit import Results
from twohot_paper.grid import titles
from twohot_paper.probe_run import TEACHER, TWO_HOT
from twohot_paper.structure import StructureRun
from twohot_paper.table import Table, mean_of

# The evidence counts the datasets on which the difference of two mean correlations is at least this
# multiple of the standard deviation over pairs of rows.
CLEAR = 1.0

NUMBERS = ("top-1", TWO_HOT, "top-3", "top-5", "top-10")  # numbers of candidates


@rule("two-candidates-best")
def judge_best_everywhere(results: Results, data: Sequence[DataSet]) -> ClaimVerdict:
    """Judge whether two candidates have the highest mean gain on every dataset."""
    gains: dict[str, dict[str, list[float]]] = {}
    settings = settings_of(results, data, ("superclass",), families=("paper", "candidates"))
    for setting, draws in settings.draws.items():
        for draw in draws.values():
            tried = [name for name in NUMBERS if name in draw]
            if TEACHER in draw and TWO_HOT in tried and len(tried) > 1:
                for name in tried:
                    gain = draw[name].test_accuracy - draw[TEACHER].test_accuracy
                    gains.setdefault(setting.data, {}).setdefault(name, []).append(gain)
    if not gains:
        why = "No run with other numbers of candidates is finished."
        return not_testable(why + settings.left_out_words())
    rows, winners = [], []
    for name, of_data in sorted(gains.items()):
        means = {
            student: mean
            for student, values in of_data.items()
            if (mean := mean_of(values, factor=100)) is not None
        }
        best = max(means, key=lambda student: means[student].mean)
        rows.append((name, *map(means.get, NUMBERS), best))
        winners += [name] if best == TWO_HOT else []
    title = "Gain over the teacher, mean over noise rates and seeds, points"
    table = Table(title, ("dataset", *NUMBERS, "best"), tuple(rows))
    evidence = f"Two candidates are best on {len(winners)} of {len(rows)} datasets."
    evidence += settings.left_out_words()
    condition = f"the dataset is {' or '.join(winners)}"
    basis = f"{len(winners)} of {counted(len(rows), 'dataset')}"
    return by_parts(winners, len(rows), evidence, condition, table=table, basis=basis)


@rule("three-kinds-of-pairs")
def judge_three_kinds(results: Results, data: Sequence[DataSet]) -> ClaimVerdict:
    """Judge whether the mean correlations of the three kinds of pairs of rows are ordered.

    Rows of the same class should correlate most, and rows of two superclasses least. Between them
    are rows of two classes in the same superclass.
    """
    names = titles(data)
    found = {each.key: results.get(StructureRun(each.key)) for each in one_file_each(results, data)}
    rows, ordered, clear = [], [], []
    for key, result in found.items():
        if result is None or any(kind.mean is None for kind in result.kinds):
            continue
        own, group, other = result.kinds
        gaps = [(own.mean - group.mean) / group.std, (group.mean - other.mean) / other.std]
        means = [round(kind.mean, 3) for kind in result.kinds]
        rows.append((names[key], result.n_superclasses, *means, *(round(gap, 2) for gap in gaps)))
        ordered += [names[key]] if min(gaps) > 0 else []
        clear.append([gap >= CLEAR for gap in gaps])
    if not rows:
        return not_testable("No feature file with at least two superclasses was measured.")
    columns = ("dataset", "superclasses", "same class", "same superclass", "elsewhere")
    table = Table(
        "Mean correlation of two training rows, and gaps in standard deviations of single pairs",
        (*columns, "class gap", "superclass gap"),
        tuple(rows),
    )
    evidence = (
        f"The means are ordered on {len(ordered)} of {len(rows)} datasets. The gap between classes"
        f" is at least {CLEAR:g} standard deviation on {sum(gap[0] for gap in clear)}, that between"
        f" superclasses on {sum(gap[1] for gap in clear)}."
    )
    condition = f"the dataset is {' or '.join(ordered)}"
    basis = f"{len(ordered)} of {counted(len(rows), 'dataset')}"
    return by_parts(ordered, len(rows), evidence, condition, table=table, basis=basis)


@rule("larger-backbone")
def judge_larger_backbone(results: Results, data: Sequence[DataSet]) -> ClaimVerdict:
    """Judge whether CIFAR-100 classes correlate more in ViT-B than in ResNet34 features."""
    cifar = [each for each in data if each.paper_name == "CIFAR-100"]
    found = {}
    for backbone in ("vit", "resnet34"):
        measured = [results.get(StructureRun(each.key)) for each in of_backbone(cifar, backbone)]
        means = [each.same_class.mean for each in measured if each is not None]
        if not means or means[0] is None:
            lacks = f"No feature file of CIFAR-100 with {backbone} in its name was measured."
            return not_testable(lacks)
        found[backbone] = means[0]
    vit, resnet = found.values()
    return verdict_if("", f"{vit:.2f} with ViT, {resnet:.2f} with ResNet34.", holds=vit > resnet)

"""The page, from the records alone."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean, median

from benchmarks.audit.cost import N_REPEATS, C, CostRecord
from benchmarks.audit.coverage import DATA_SETS, coverage
from benchmarks.audit.discriminant import LDA
from benchmarks.audit.families import AUTO_PROBE, BEST_OF_GRID, ONE_OF_GRID, OURS
from benchmarks.audit.logistic import ARGMAX_RULE, CLEANED, DEFAULT_RULE, PLAIN, TUNED
from benchmarks.audit.neighbours import VOTE
from benchmarks.audit.reliability import reliability_part
from benchmarks.audit.runs import AuditRecord, Setting
from benchmarks.audit.summary import Comparison, Difference, Mean
from benchmarks.audit.targets import named, targets
from benchmarks.pages import table, target_table

NONE = "–"
# By method: the families of its runs, and how the names of the stages it needs begin.
STAGES = {
    PLAIN: (("logistic",), ("folds", "refit")),
    CLEANED: (("logistic",), ("folds", f"{CLEANED}, refit")),
    TUNED: (("logistic",), (TUNED,)),
    LDA: (("lda",), ("fit",)),
    DEFAULT_RULE: (("logistic",), ("folds", DEFAULT_RULE)),
    VOTE: (("neighbours",), ("neighbours", "choice", "predict")),
    OURS: ((AUTO_PROBE,), ("fit",)),
}
FLAGGING = (DEFAULT_RULE, ARGMAX_RULE, VOTE, OURS)
LOSSES = (
    "Every setting in which it is below, however little: test accuracy against the best rival, F1 "
    "against either rule of cleanlab, average precision against cleanlab's label quality."
)
OPENING = Path(__file__).parent / "opening.md"


def render(
    records: Sequence[AuditRecord], costs: Sequence[CostRecord] = (), picture: str = ""
) -> str:
    """Return the whole page; `picture` is where the reliability diagram is."""
    comparison = Comparison(records)
    noisy = [setting for setting in comparison.settings if setting.rate]
    parts = [
        "# Comparison of audits",
        OPENING.read_text(encoding="utf-8").strip(),
        coverage(comparison),
        "## Asked and measured",
        target_table(targets(comparison, list(costs)), nothing=NONE),
        "## Won and lost",
        "Settings in which the mean of AutoProbe is above / below that of each other method.",
        _won_and_lost(comparison),
        LOSSES,
        _losses(comparison),
        "## Test accuracy, %",
        *_per_data_set(comparison, comparison.settings, _accuracy_head(), _accuracy_row),
        "## Detection of wrong labels",
        "F1 of the flagged rows, then average precision (AP) of the ranking, both × 100.",
        *_per_data_set(comparison, noisy, _detection_head(), _detection_row),
        *_false_alarms(comparison),
        *reliability_part(records, picture),
        "## CPU seconds of a run",
        "The choice from noisy labels included, the folds for each method that needs them.",
        _cpu(comparison),
        *_costs(costs),
        _versions(records),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def percent(mean: Mean | None, sign: str = "") -> str:
    if mean is None:
        return NONE
    value = f"{100 * mean.value:{sign}.1f}"
    return value if mean.error is None else f"{value} ± {100 * mean.error:.1f}"


def _data_sets(comparison: Comparison) -> list[str]:
    present = {setting.data for setting in comparison.settings}
    return [name for name in DATA_SETS if name in present]


def _won_and_lost(comparison: Comparison) -> str:
    fields = {"test accuracy": "accuracy", "F1": "f1", "average precision": "average_precision"}
    rows = []
    for method in (PLAIN, CLEANED, TUNED, LDA, DEFAULT_RULE, ARGMAX_RULE, VOTE):
        cells = []
        for field in fields.values():
            found = (comparison.difference(s, OURS, (method,), field) for s in comparison.settings)
            values = [each.mean.value for each in found if each is not None]
            won, lost = (sum(sign * value > 0 for value in values) for sign in (1, -1))
            cells.append(f"{won} / {lost}" if values else NONE)
        rows.append([method, *cells])
    return table(["against", *fields], rows)


def _losses(comparison: Comparison) -> str:
    def against(rule: str, field: str) -> Callable[[Setting], Difference | None]:
        return lambda setting: comparison.difference(setting, OURS, (rule,), field)

    asked = (
        ("test accuracy", comparison.accuracy_difference),
        ("F1", against(DEFAULT_RULE, "f1")),
        ("F1", against(ARGMAX_RULE, "f1")),
        ("average precision", against(DEFAULT_RULE, "average_precision")),
    )
    rows = []
    for what, difference in asked:
        found = map(difference, comparison.settings)
        rows += [
            [what, named(each.setting), percent(each.mean, "+"), f"{each.mean.n}", each.rival]
            for each in found
            if each is not None and each.mean.value < 0
        ]
    return table(["what", "setting", "difference × 100", "seeds", "against"], rows)


def _per_data_set(
    comparison: Comparison,
    settings: Sequence[Setting],
    head: list[str],
    row: Callable[[Comparison, Setting], list[str]],
) -> Iterable[str]:
    for name in _data_sets(comparison):
        rows = [row(comparison, setting) for setting in settings if setting.data == name]
        if rows:
            yield f"### {name}"
            yield table(head, rows)


def _accuracy_head() -> list[str]:
    return [
        "noise", "seeds", "C", "own C", PLAIN, CLEANED, TUNED, LDA, VOTE, OURS,
        "best of its grid", "one of its grid", "ours − best rival", "rival",
    ]  # fmt: skip


def _accuracy_row(comparison: Comparison, setting: Setting) -> list[str]:
    methods = (PLAIN, CLEANED, TUNED, LDA, VOTE, OURS, BEST_OF_GRID, ONE_OF_GRID)
    means = [comparison.mean(setting, method, "accuracy") for method in methods]
    difference = comparison.accuracy_difference(setting)
    return [
        _label(comparison, setting),
        _n_seeds(comparison, setting),
        *(_chosen(comparison, setting, key) for key in ("C", "tuned_C")),
        *(percent(mean) for mean in means),
        percent(difference.mean, sign="+") if difference else NONE,
        difference.rival if difference else NONE,
    ]


def _chosen(comparison: Comparison, setting: Setting, key: str) -> str:
    found = comparison.chosen(setting, "logistic", key)
    return ", ".join(f"{each:g}" for each in found) or NONE


def _label(comparison: Comparison, setting: Setting) -> str:
    """Return the name of a noise, and how much of the data nobody can learn from it."""
    draws = [r.result.outvoted for r in comparison.records if r.run.setting == setting]
    lost = fmean(draws)
    return str(setting) if lost < 0.005 else f"{setting} ({lost:.0%} outvoted)"


def _n_seeds(comparison: Comparison, setting: Setting) -> str:
    rivals, ours = (len(comparison.by_seed(setting, m, "accuracy")) for m in (PLAIN, OURS))
    return f"{rivals}" if rivals == ours else f"{rivals}, ours {ours}"


def _detection_head() -> list[str]:
    return [
        "noise", *(f"F1 {method}" for method in FLAGGING),
        "AP cleanlab", f"AP {VOTE}", f"AP {OURS}",
    ]  # fmt: skip


def _detection_row(comparison: Comparison, setting: Setting) -> list[str]:
    f1 = [comparison.mean(setting, method, "f1") for method in FLAGGING]
    ap = [
        comparison.mean(setting, method, "average_precision")
        for method in (DEFAULT_RULE, VOTE, OURS)
    ]
    return [_label(comparison, setting), *(percent(mean) for mean in (*f1, *ap))]


def _false_alarms(comparison: Comparison) -> list[str]:
    """Return what is flagged where no label is wrong, if there is such a setting."""
    clean = [setting for setting in comparison.settings if not setting.rate]
    rows = [
        [
            named(setting),
            *(percent(comparison.mean(setting, method, "flagged")) for method in FLAGGING),
        ]
        for setting in clean
    ]
    if not rows:
        return []
    return [
        "### No wrong label",
        "Share of the labels that are flagged although none is wrong, %.",
        table(["setting", *FLAGGING], rows),
    ]


def _cpu(comparison: Comparison) -> str:
    rows = []
    for name in _data_sets(comparison):
        settings = [setting for setting in comparison.settings if setting.data == name]
        seconds = {
            method: [m.value for s in settings if (m := comparison.cpu(s, families, stages))]
            for method, (families, stages) in STAGES.items()
        }
        middle = {method: median(found) for method, found in seconds.items() if found}
        cells = [f"{middle[method]:.1f}" if method in middle else NONE for method in STAGES]
        both = OURS in middle and PLAIN in middle
        rows.append([name, *cells, f"{middle[PLAIN] / middle[OURS]:.2f}" if both else NONE])
    return table(["median over settings", *STAGES, f"{PLAIN} / {OURS}"], rows)


def _costs(costs: Sequence[CostRecord]) -> list[str]:
    if not costs:
        return []
    ways = list(dict.fromkeys(way for cost in costs for way in cost.result.seconds))
    rows = [
        [
            cost.run.setting.data,
            str(cost.run.setting),
            *(f"{median(cost.result.seconds[way]):.2g}" for way in ways),
        ]
        for cost in costs
    ]
    return [
        "## CPU of finding label issues",
        f"Seconds, taken in turn, median of {N_REPEATS}. cleanlab is given C = {C:g}.",
        table(["data", "noise", *ways], rows),
    ]


def _versions(records: Sequence[AuditRecord]) -> str:
    found = {f"{name} {number}" for record in records for name, number in record.versions.items()}
    return f"Versions: {', '.join(sorted(found))}."

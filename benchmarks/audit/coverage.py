"""Which data sets there are, and how much of the plan is done."""

from benchmarks.audit.families import AUTO_PROBE, OURS
from benchmarks.audit.generated import GAUSSIANS, LENGTHS, TEST_ROWS, overlap_name
from benchmarks.audit.neighbours import VOTE
from benchmarks.audit.plan import plan, settings
from benchmarks.audit.summary import Comparison
from benchmarks.pages import table

# In the order of the page: what their rows are.
DATA_SETS = {
    "digits": "scikit-learn's, 1,257 × 64, 10 classes, 540 test rows",
    "BANKING77": "all-MiniLM-L6-v2, 10,003 × 384, 77 classes, 3,080 test rows",
    "Flowers-102": "ImageNet ResNet50, 6,149 × 2048, 102 classes, 1,020 test rows; train and test "
    "swapped as in the paper",
    "Caltech-101": "the same backbone, 6,941 × 2048, 101 classes, 1,736 test rows",
    "StanfordCars": "its features in 768 directions, 8,137 × 768, 196 classes, 8,033 test rows",
    "CIFAR-100, 100 a class": "ImageNet ResNet50, 10,000 × 2048, 100 classes, 5,000 test rows",
    "CIFAR-100": "the same features in 512 directions, 50,000 × 512, 100 classes, 10,000 test rows",
    **{
        overlap_name(length): f"generated, class means of length {length:g} in random directions, "
        "noise .7 along every axis, 2,000 × 20, 4 classes, 20,000 test rows"
        for length in LENGTHS
    },
    GAUSSIANS: "generated, three in the plane, 400, 200 and 200 rows, "
    f"{TEST_ROWS} times as many test rows",
}
FAMILY_NAMES = {
    "logistic": "LogisticRegression and cleanlab",
    "lda": "LDA",
    "neighbours": VOTE,
    AUTO_PROBE: OURS,
    "grid": "its grid on test data",
}
COUNTED = "Runs that there are, of those planned (a run is one noise and one seed):"


def coverage(comparison: Comparison) -> str:
    """Return the data sets, the runs there are of those planned, and the settings without any."""
    failed = sum(
        record.result.outcome.chosen.get("not_converged", 0) for record in comparison.records
    )
    lines = [f"* {name}: {what}" for name, what in DATA_SETS.items()]
    lines.append(f"* fits of LogisticRegression that did not converge: {failed}")
    parts = [
        "\n".join(lines),
        COUNTED,
        _counts(comparison),
    ]
    missing = _settings_without_runs(comparison)
    if missing:
        parts += ["Settings that no method has been run on yet:", "\n".join(missing)]
    return "\n\n".join(parts)


def _counts(comparison: Comparison) -> str:
    done = {record.run for record in comparison.records}
    rows = []
    for name in DATA_SETS:
        plans = (plan([name], [family]) for family in FAMILY_NAMES)
        cells = [
            f"{len(done.intersection(runs))} of {len(runs)}" if runs else "–" for runs in plans
        ]
        rows.append([name, *cells])
    return table(["data", *FAMILY_NAMES.values()], rows)


def _settings_without_runs(comparison: Comparison) -> list[str]:
    done = set(comparison.settings)
    lines = []
    for name in DATA_SETS:
        every = list(settings(name))
        waiting = [str(setting) for setting in every if setting not in done]
        if waiting:
            what = "all" if len(waiting) == len(every) else "; ".join(waiting)
            lines.append(f"* {name}: {what}")
    return lines

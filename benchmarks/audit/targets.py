"""What is asked of AutoProbe and find_label_issues, and what the records say to it."""

from collections.abc import Iterator
from statistics import fmean

from benchmarks.audit.calibration import Promise, covered, promises
from benchmarks.audit.cost import AUTO, CHOICE, CLEANLAB, GIVEN, CostRecord
from benchmarks.audit.families import BEST_OF_GRID, ONE_OF_GRID, OURS
from benchmarks.audit.generated import GENERATED
from benchmarks.audit.logistic import ARGMAX_RULE, DEFAULT_RULE
from benchmarks.audit.plan import HUMAN_RATE
from benchmarks.audit.runs import Setting
from benchmarks.audit.summary import Comparison, Difference
from benchmarks.pages import NOT_MEASURED, Target

SLACK = 0.003  # of test accuracy that may be lost in a setting
MUCH_NOISE, GAIN = 0.6, 0.03  # noise from which more than no loss is asked, and how much
DETECTION_NOISE = 0.1  # from which every setting must be won
LEAST_NOISE = 0.1  # from which a precision must be promised
GRID_SLACK = 0.01
BANKING = {0.1: 0.923, 0.3: 0.914, 0.6: 0.895, 0.8: 0.850}  # symmetric noise: accuracy
HUMAN = 0.66
TIMES_LESS = 4.0  # CPU of cleanlab over ours with a given probe
CHOICE_TIMES_LESS = 3.0  # the same over that of the choice alone


def targets(comparison: Comparison, costs: list[CostRecord]) -> list[Target]:
    """Return all that is asked for, met or not."""
    return [
        *_accuracy(comparison),
        *_absolute(comparison),
        *_grid(comparison),
        *_detection(comparison),
        *_calibration(comparison),
        *_costs(costs),
    ]


def accuracy_differences(comparison: Comparison) -> list[Difference]:
    """Return AutoProbe less the best of its rivals, of all settings that have both."""
    found = (comparison.accuracy_difference(setting) for setting in comparison.settings)
    return [each for each in found if each is not None]


def named(setting: Setting) -> str:
    return f"{setting.data}, {setting}"


def _accuracy(comparison: Comparison) -> Iterator[Target]:
    differences = accuracy_differences(comparison)
    lost = [each for each in differences if not each.is_within(SLACK)]
    above = sum(each.mean.value > 0 for each in differences)
    yield _judged(
        "test accuracy against the best of LogisticRegression, CleanLearning and (where run) LDA, "
        "every setting",
        "never below by more than 0.3 points or two standard errors",
        f"above in {above} of {len(differences)}, below by more in {_listed(lost)}",
        met=not lost if differences else None,
    )
    for what, asked, chosen in (
        ("the same, mean over settings", 0.0, differences),
        (
            f"the same, noise ≥ {MUCH_NOISE:g}",
            GAIN,
            [each for each in differences if each.setting.rate >= MUCH_NOISE],
        ),
    ):
        mean = fmean(each.mean.value for each in chosen) if chosen else None
        yield _judged(
            what,
            f"≥ {100 * asked:g} points",
            "" if mean is None else f"{100 * mean:+.1f} points",
            met=None if mean is None else mean >= asked,
        )


def _absolute(comparison: Comparison) -> Iterator[Target]:
    asked = {Setting("BANKING77", "symmetric", rate): least for rate, least in BANKING.items()}
    asked[Setting("CIFAR-100", "human", HUMAN_RATE)] = HUMAN
    for setting, least in asked.items():
        mean = comparison.mean(setting, OURS, "accuracy")
        yield _judged(
            f"test accuracy, {named(setting)}",
            f"≥ {100 * least:.1f}",
            "" if mean is None else f"{100 * mean.value:.2f} (seeds: {mean.n})",
            met=None if mean is None else mean.value >= least,
        )


def _grid(comparison: Comparison) -> Iterator[Target]:
    for method, which in (
        (BEST_OF_GRID, "the best model of its own grid on test data"),
        (ONE_OF_GRID, "the one model of its grid that is best on test data over all seeds"),
    ):
        found = (comparison.difference(s, OURS, (method,), "accuracy") for s in comparison.settings)
        differences = [each for each in found if each is not None]
        lost = [each for each in differences if each.mean.value < -GRID_SLACK]
        yield _judged(
            f"test accuracy against {which}, every setting",
            "within 1 point",
            f"below by more in {_listed(lost)} of {len(differences)}",
            met=not lost if differences else None,
        )


def _detection(comparison: Comparison) -> Iterator[Target]:
    noisy = [setting for setting in comparison.settings if setting.rate >= DETECTION_NOISE]
    for rule in (DEFAULT_RULE, ARGMAX_RULE):
        found = (comparison.difference(setting, OURS, (rule,), "f1") for setting in noisy)
        differences = [each for each in found if each is not None]
        lost = [each for each in differences if each.mean.value < 0]
        yield _judged(
            f"detection F1 against {rule}, every setting with noise ≥ {DETECTION_NOISE:g}",
            "≥ theirs",
            f"≥ in {len(differences) - len(lost)} of {len(differences)}, below in {_listed(lost)}",
            met=not lost if differences else None,
        )
    found = (
        comparison.difference(setting, OURS, (DEFAULT_RULE,), "average_precision")
        for setting in noisy
    )
    differences = [each for each in found if each is not None]
    lost = [each for each in differences if each.mean.value < 0]
    yield _judged(
        "average precision against cleanlab's label quality, the same settings",
        "≥ theirs",
        f"≥ in {len(differences) - len(lost)} of {len(differences)}, below in {_listed(lost)}",
        met=not lost if differences else None,
    )


def _calibration(comparison: Comparison) -> Iterator[Target]:
    asked = promises(comparison.records)
    made = [each for each in asked if each.n_flagged]
    broken = dict.fromkeys(named(each.setting) for each in made if not each.is_kept)
    yield _judged(
        "a precision asked for (.5 … .95)",
        "missed by no more than .05 and two standard errors",
        f"kept {sum(each.is_kept for each in made)} of {len(made)} times"
        + (f"; not in {'; '.join(broken)}" if broken else ""),
        met=not broken if made else None,
    )
    plain = [each for each in asked if each.setting.rate >= LEAST_NOISE and _has_no_overlap(each)]
    silent = _silent_shares(plain)
    share = sum(silent.values()) / max(len(silent), 1)
    yield _judged(
        f"no precision promised, noise ≥ {LEAST_NOISE:g} and no overlap",
        "at most one in ten, every setting counted alike",
        f"{share:.1%} of {len(silent)} settings: "
        + "; ".join(f"{named(setting)} {part:.0%}" for setting, part in silent.items() if part),
        met=share <= 0.1 if plain else None,
    )
    inside = covered(comparison.records)
    outside = dict.fromkeys(named(record.run.setting) for record, is_in in inside if not is_in)
    yield _judged(
        "the true share of wrong labels is in the interval",
        "human labels; said of all",
        f"in {sum(is_in for _, is_in in inside)} of {len(inside)} runs"
        + (f"; not in {'; '.join(outside)}" if outside else ""),
        met=not any(r.run.setting.kind == "human" for r, is_in in inside if not is_in)
        if any(r.run.setting.kind == "human" for r, _ in inside)
        else None,
    )


def _silent_shares(asked: list[Promise]) -> dict[Setting, float]:
    """Return the share of the precisions asked for that were not promised, by setting."""
    by_setting: dict[Setting, list[bool]] = {}
    for each in asked:
        by_setting.setdefault(each.setting, []).append(not each.n_flagged)
    return {setting: sum(silent) / len(silent) for setting, silent in by_setting.items()}


def _has_no_overlap(promise: Promise) -> bool:
    return promise.setting.data not in GENERATED


def _costs(costs: list[CostRecord]) -> Iterator[Target]:
    for way, what, least in (
        (GIVEN, "find_label_issues, with a given probe", TIMES_LESS),
        (AUTO, "find_label_issues, with the whole choice", 1.0),
        (CHOICE, "AutoProbe().fit", CHOICE_TIMES_LESS),
    ):
        ratios = {
            each.run.setting.data: each.result.ratio(CLEANLAB, way)
            for each in costs
            if way in each.result.seconds
        }
        yield _judged(
            f"CPU of cleanlab and 5 folds at one C over that of {what}",
            f"≥ {least:g}",
            "; ".join(f"{data} {ratio:.2f}" for data, ratio in ratios.items()),
            met=min(ratios.values()) >= least if ratios else None,
        )


def _listed(differences: list[Difference]) -> str:
    """Return how many there are, and which."""
    names = "; ".join(
        f"{named(each.setting)}: {100 * each.mean.value:+.1f}" for each in differences
    )
    return f"{len(differences)} ({names})" if differences else "none"


def _judged(what: str, asked: str, measured: str, *, met: bool | None) -> Target:
    return Target(what, asked, NOT_MEASURED if met is None else measured, met)

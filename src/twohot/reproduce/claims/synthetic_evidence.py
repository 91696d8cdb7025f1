"""What the claims about the synthetic experiment have in common: its runs, by matrix and noise."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from twohot._checks.messages import counted
from twohot.reproduce.claim import Answer, ClaimVerdict, not_testable
from twohot.reproduce.data_set import DataSet
from twohot.reproduce.exhibit import choose_exhibits
from twohot.reproduce.maker import Maker, Results
from twohot.reproduce.makers.synthetic_accuracy import SyntheticAccuracy, SyntheticGrid
from twohot.reproduce.synthetic_run import SyntheticResult, SyntheticRun
from twohot.reproduce.synthetic_setting import MATRIX_NAMES
from twohot.reproduce.table import Table

M = TypeVar("M", bound=Maker)

HALF = 0.5  # the noise rate of the figures that have one
RULE = "spread"  # for ties; the kindest to the two-hot student

# Results of one draw of a matrix, by noise rate, lowest first.
Draw = dict[float, SyntheticResult]


def maker_of(exhibit_id: str, kind: type[M]) -> M:
    """Return the maker of a figure, as its file sets it."""
    (exhibit,) = choose_exhibits([exhibit_id])
    maker = exhibit.build()
    if not isinstance(maker, kind):
        raise TypeError(f"{exhibit_id} is made by {type(maker).__name__}, not {kind.__name__}")
    return maker


def accuracy_grid() -> SyntheticGrid:
    """Return the runs of the figure of accuracies."""
    return maker_of("fig:acc_gain", SyntheticAccuracy).grid


def all_runs(_data: Sequence[DataSet]) -> list[SyntheticRun]:
    """Return the whole grid."""
    return accuracy_grid().runs()


def runs_at_half(_data: Sequence[DataSet]) -> list[SyntheticRun]:
    """Return the runs with half of the labels wrong."""
    return [run for run in accuracy_grid().runs() if run.noise_rate == HALF]


def of_finished(
    runs: Callable[[Sequence[DataSet]], list[Any]], judge: Callable[[Results], ClaimVerdict]
) -> Callable[[Results, Sequence[DataSet]], ClaimVerdict]:
    """Return a judge that asks for all runs, converged, before it judges."""

    def judge_if_finished(results: Results, data: Sequence[DataSet]) -> ClaimVerdict:
        needed = runs(data)
        missing = sum(run not in results for run in needed)
        if missing:
            return not_testable(f"{missing} of {len(needed)} runs are missing.")
        stuck = sum(getattr(results[run], "converged", True) is False for run in needed)
        if stuck:
            return not_testable(f"{stuck} of {len(needed)} runs did not converge.")
        return replace(judge(results), basis=counted(len(needed), "run"))

    return judge_if_finished


def draws(results: Results, *, at: float | None = None) -> dict[str, list[Draw]]:
    """Return the results by kind of matrix, one entry per draw."""
    found: dict[str, dict[int, Draw]] = {kind: {} for kind in MATRIX_NAMES}
    for run in all_runs(()):
        if at is None or run.noise_rate == at:
            of_draw = found[run.matrix.kind].setdefault(run.matrix.seed, {})
            of_draw[run.noise_rate] = results[run]
    return {kind: list(by_seed.values()) for kind, by_seed in found.items()}


def highest_without_exception(rates: Mapping[float, bool]) -> float | None:
    """Return the highest rate up to which all hold; None if the lowest does not."""
    highest = None
    for rate in sorted(rates):
        if not rates[rate]:
            break
        highest = rate
    return highest


def lowest_without_exception(rates: Mapping[float, bool]) -> float | None:
    """Return the lowest rate from which all hold; None if the highest does not."""
    return None if not rates else _negated(highest_without_exception({-r: rates[r] for r in rates}))


def _negated(rate: float | None) -> float | None:
    return None if rate is None else 0.0 - rate


def by_parts(
    kept: Sequence[str], n_parts: int, evidence: str, advice: str, table: Table | None = None
) -> ClaimVerdict:
    """Return the verdict on a claim of several parts: confirmed for all, for some, or for none."""
    if len(kept) == n_parts:
        return ClaimVerdict(Answer.CONFIRMED, evidence, table=table, advice=advice)
    if not kept:
        return ClaimVerdict(Answer.REFUTED, evidence, table=table, advice=advice)
    return ClaimVerdict(Answer.CONDITIONAL, evidence, f"for {' and '.join(kept)}", table, advice)

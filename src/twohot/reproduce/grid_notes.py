"""What a reader must know of a grid: which models did not converge, and what is not finished."""

from collections.abc import Iterable, Mapping, Sequence

from twohot.reproduce.data_set import DataSet
from twohot.reproduce.grid_cells import LOST_MARK, model_labels
from twohot.reproduce.maker import Results
from twohot.reproduce.probe_grid import ProbeGrid, titles, unconverged
from twohot.reproduce.probe_run import MOST_LOST, FittedModel, ProbeResult, ProbeRun

NO_CHOICE = "The test set chooses nothing; the paper reports the best test accuracy over epochs."

NOT_FREQUENT = "There the true label is not the most frequent one of its class."


def grid_notes(grid: ProbeGrid, results: Results, data: Sequence[DataSet]) -> tuple[str, ...]:
    """Return how far the models of a grid are solved, which are not, and what is not finished."""
    found = {run: results[run] for run in grid.runs(data) if run in results}
    if not found:
        return grid.notes(results, data)
    solved = f"Models solved to convergence: {convergence(found.values())}. {NO_CHOICE}"
    marks = _unconverged_notes(grid, found, data) + _beyond_notes(grid, results, data)
    return (solved, *marks, *grid.notes(results, data))


def convergence(results: Iterable[ProbeResult]) -> str:
    """Return how many of the models of some runs reached their tolerance, "11 of 12" for instance.

    There cross-entropy is at its optimum, and generalised cross-entropy at a stationary point.

    Examples
    --------
    >>> convergence([])
    '0 of 0'
    """
    models: list[FittedModel] = [each for found in results for each in found.models.values()]
    return f"{sum(bool(each.converged) for each in models)} of {len(models)}"


def _beyond_notes(grid: ProbeGrid, results: Results, data: Sequence[DataSet]) -> list[str]:
    names = titles(data)
    notes = []
    for each in grid.begun(results, data):
        where = f"{names[each.key]}, {grid.corruption} noise at η ="
        rates = [f"{rate:g}" for rate in grid.noise_rates if grid.is_lost(each, rate)]
        if rates:
            lost = f"Beyond recovery ({LOST_MARK}), and left out of claims about accuracy"
            notes.append(f"{lost}: {where} {', '.join(rates)}. {NOT_FREQUENT}")
        shares = {rate: grid.lost_share(each, rate) for rate in grid.noise_rates}
        parts = [f"{rate:g} ({s:.0%} of rows)" for rate, s in shares.items() if 0 < s <= MOST_LOST]
        if parts:
            notes.append(f"In part beyond recovery: {where} {', '.join(parts)}. {NOT_FREQUENT}")
    return notes


def _unconverged_notes(
    grid: ProbeGrid, found: Mapping[ProbeRun, ProbeResult], data: Sequence[DataSet]
) -> list[str]:
    names = titles(data)
    notes = []
    for run, result in found.items():
        if stuck := unconverged(result.models):
            models = ", ".join(model_labels(stuck).values())
            where = f"{names[run.data]}, {grid.corruption} noise, η = {run.noise_rate:g}"
            notes.append(f"Not converged: {where}, seed {run.seed}: {models}.")
    return notes

"""`twohot forecast`: will it help here, and with what."""

import math
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from twohot._checks.labels import label_notes
from twohot._checks.messages import counted
from twohot.cli._outputs import check_new, write_json, write_report
from twohot.cli._table_options import TableOptions
from twohot.cli._terminal import choosing, say, table_with
from twohot.figures.forecast import forecast_figure
from twohot.forecast.forecast import Forecast
from twohot.forecast.forecast import forecast as make_forecast
from twohot.forecast.record import candidate_rows, class_rows, forecast_record
from twohot.tables import FeatureTable

# Classes that are shown, the ones with the smallest margin.
WEAKEST_CLASSES = 5


def forecast(
    *,
    options: TableOptions,
    ridge: Annotated[float, typer.Option(help="Penalty at which the theory is asked.")] = 10.0,
    rounds: Annotated[int, typer.Option(min=2, help="Rounds that the theory is asked about.")] = 3,
    folds: Annotated[
        int | None,
        typer.Option(
            min=2, help="Hold out every row once, in this many parts; else about 2,000 rows."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the rows held out.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
    json: Annotated[Path | None, typer.Option(help="File for all that was found, as JSON.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for forecast.json and forecast.png."),
    ] = None,
) -> None:
    """Say whether a plain probe will do, which student will help, or that nothing will."""
    if json is not None:
        # Like the files of --output, it is replaced; what was read never is.
        check_new(json, options.inputs, force=True, name="json")
    whole = options.read()
    table = whole.take(options.rows_of(whole))
    with choosing(quiet=quiet) as callback:
        found = make_forecast(
            table.features,
            table.coded,
            superclass=_superclass(table),
            ridge=ridge,
            n_rounds=rounds,
            cv=folds,
            random_state=seed,
            callback=callback,
        )
    # What is odd about the labels was said when they were read.
    noted = {f"- {note}" for note in label_notes(table.coded)}
    _print_forecast(options.source, found, noted)
    for path in _write(found, json, output):
        say(f"Wrote {path}")


def _superclass(table: FeatureTable) -> NDArray[np.intp] | None:
    """Return the superclasses of the classes that have rows, numbered without a hole."""
    if table.superclass is None:
        return None
    found = table.superclass[table.coded.sizes > 0]
    return np.asarray(np.unique(found, return_inverse=True)[1])


def _print_forecast(source: Path, found: Forecast, noted: set[str]) -> None:
    """Print estimates, candidates, the weakest classes, and advice but for what was noted."""
    rows = counted(int(found.given_sizes.sum()), "row")
    say(f"{source.name}: {rows} with a label, {counted(len(found.classes), 'class', 'classes')}")
    for table in (_estimates(found), _candidates(found), _weakest(found)):
        Console().print(table)
    summary, *reasons = str(found).splitlines()
    say(summary, "bold")
    for line in reasons:
        if line not in noted:
            say(line)


def _estimates(found: Forecast) -> Table:
    """Return what was estimated of the data set as a whole."""
    correlation, theory = found.correlation, found.theory
    table = Table("what", "estimate", title="Estimated from the noisy labels")
    right = ", ".join(f"{guarantee.accuracy:.0%}" for guarantee in theory.guarantees)
    entries = {
        "labels that are wrong": f"{found.noise.rate:.1%}",
        "correlation, same class": _number(correlation.same_class),
        "correlation, same superclass": _number(correlation.same_superclass),
        "correlation, elsewhere": _number(correlation.elsewhere),
        "eigengap": _number(theory.eigengap),
        f"separation q/p at ridge {theory.ridge:g}": _number(theory.separation),
        "theory: training labels right, by round": right,
        "theory: rounds until all are": _number(theory.rounds_needed.overall),
    }
    for name, value in entries.items():
        table.add_row(name, value)
    return table


def _candidates(found: Forecast) -> Table:
    """Return the candidates side by side; the chosen one stands out."""
    rows = counted(len(found.comparison.given), "row")
    table = table_with(
        "candidate",
        "agreement",
        "points over plain",
        names=("candidate",),
        title=f"{rows} held out: agreement, accuracy gained",
    )
    for row in candidate_rows(found):
        table.add_row(
            row["candidate"],
            f"{row['agreement']:.1%}",
            _points(row["gain"], row["gain_error"]),
            style="bold" if row["chosen"] else "",
        )
    return table


def _weakest(found: Forecast) -> Table:
    """Return the classes that the theory is least sure of."""
    headings = ("class", "rows", "labels right", "margin, round 1", "margin, last round")
    table = Table(*headings, title="Weakest classes")
    for row in class_rows(found)[:WEAKEST_CLASSES]:
        margins = row["margin_by_round"]
        table.add_row(
            escape(str(row["class"])),
            str(row["rows"]),
            f"{row['labels_right']:.0%}",
            _number(margins[0]),
            _number(margins[-1]),
        )
    return table


def _number(value: float) -> str:
    """Return a number with three digits that count; a dash for none, and infinity in words."""
    if np.isnan(value):
        return "–"
    return "never" if np.isinf(value) else f"{value:.3g}"


def _write(found: Forecast, json: Path | None, output: Path | None) -> list[Path]:
    """Write the files asked for, and return their paths."""
    record = forecast_record(found)
    written = []
    if output is not None:
        figure = forecast_figure(candidate_rows(found), class_rows(found), found.theory.ridge)
        written = write_report(output / "forecast.json", record, {"forecast.png": figure})
    if json is not None:
        write_json(json, record)
        written.append(json)
    return written


def _points(gain: float, error: float) -> str:
    return "–" if math.isnan(gain) else f"{100 * gain:+.1f} ± {100 * error:.1f}"

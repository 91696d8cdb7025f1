"""`twohot forecast`: will it help here, and with what."""

import json as json_format
import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from twohot._files import whole_file
from twohot.cli._progress import choosing
from twohot.cli._tables import (
    ClassesOption,
    FeatureColumnOption,
    LabelColumnOption,
    LabelsOption,
    SplitOption,
    TableArgument,
    check_new,
    read_source,
    rows_of_split,
)
from twohot.figures.file import write_figure
from twohot.figures.forecast import forecast_figure
from twohot.forecast.forecast import Forecast
from twohot.forecast.forecast import forecast as make_forecast
from twohot.forecast.record import candidate_rows, class_rows, forecast_record
from twohot.tables import FeatureTable

# Classes that are shown, the ones with the smallest margin.
WEAKEST_CLASSES = 5


def forecast(
    source: TableArgument,
    *,
    labels: LabelsOption = None,
    label_column: LabelColumnOption = None,
    feature_column: FeatureColumnOption = None,
    classes: ClassesOption = None,
    split: SplitOption = None,
    ridge: Annotated[float, typer.Option(help="Penalty at which the theory is asked.")] = 10.0,
    rounds: Annotated[int, typer.Option(min=2, help="Rounds that the theory is asked about.")] = 3,
    folds: Annotated[
        int | None,
        typer.Option(
            min=2, help="Hold out every row once, in so many parts; else about 2,000 rows."
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
        check_new(json, (source, labels, classes), force=True, option="--json")
    table = read_source(
        source,
        labels=labels,
        label_column=label_column,
        feature_column=feature_column,
        classes=classes,
    )
    table = table.take(rows_of_split(table, split))
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
    _print_forecast(Console(), source, found)
    for path in _write(found, json, output):
        Console().print(f"Wrote {path}", markup=False, highlight=False, soft_wrap=True)


def _superclass(table: FeatureTable) -> NDArray[np.intp] | None:
    """Return the superclasses of the classes that rows have."""
    if table.superclass is None:
        return None
    present = np.flatnonzero(table.coded.sizes)
    return np.asarray(np.unique(table.superclass[present], return_inverse=True)[1])


def _print_forecast(console: Console, source: Path, found: Forecast) -> None:
    """Print the estimates, the candidates, the weakest classes and the advice."""
    rows, classes = found.given_sizes.sum(), len(found.classes)
    _say(console, f"{source.name}: {rows} rows with a label, {classes} classes")
    console.print(_estimates(found))
    console.print(_candidates(found))
    console.print(_weakest(found))
    summary, *reasons = str(found).splitlines()
    _say(console, summary, style="bold")
    for line in reasons:
        _say(console, line)


def _say(console: Console, text: str, style: str = "") -> None:
    # Names come from a user's data: they are printed as they are.
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


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
    table = Table(title=f"{len(found.comparison.given)} rows held out: agreement, accuracy gained")
    for heading in ("candidate", "agreement", "points over plain"):
        table.add_column(heading, justify="left" if heading == "candidate" else "right")
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
    record: dict[str, Any] = forecast_record(found)
    text = json_format.dumps(record, indent=1, ensure_ascii=False, allow_nan=False).encode()
    paths = [] if json is None else [json]
    if output is not None:
        # Before the folder is made: it may lack an extra.
        figure = forecast_figure(candidate_rows(found), class_rows(found), found.theory.ridge)
        output.mkdir(parents=True, exist_ok=True)
        paths.append(output / "forecast.json")
        write_figure(output / "forecast.png", figure)
    for path in paths:
        with whole_file(path) as file:
            file.write(text)
    return [*paths, *([] if output is None else [output / "forecast.png"])]


def _points(gain: float, error: float) -> str:
    return "–" if math.isnan(gain) else f"{100 * gain:+.1f} ± {100 * error:.1f}"

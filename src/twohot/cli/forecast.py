"""`twohot forecast`: will it help here, and with what."""

from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from typer import Option

from twohot._checks.labels import label_notes
from twohot._checks.messages import counted
from twohot._checks.outputs import check_output, check_writable
from twohot._files import write_json
from twohot.audit.partly_labelled import naming_cells
from twohot.cli._outputs import write_report
from twohot.cli._table_options import Folds, GroupedTableOptions
from twohot.cli._terminal import choosing, print_table, say
from twohot.figures.forecast import forecast_figure
from twohot.forecast.advice import Action
from twohot.forecast.as_json import candidate_rows, class_rows, forecast_record
from twohot.forecast.forecast import Forecast
from twohot.forecast.forecast import forecast as make_forecast
from twohot.forecast.noise_estimate import NoiseEstimate
from twohot.tables import FeatureTable

# Classes that are shown, the ones with the smallest margin.
WEAKEST_CLASSES = 5
PICTURE = "forecast.png"


def forecast(
    *,
    options: GroupedTableOptions,
    ridge: Annotated[float, Option(help="Penalty at which the theory is asked.")] = 10.0,
    rounds: Annotated[int, Option(min=2, help="Rounds that the theory is asked about.")] = 3,
    folds: Folds = None,
    seed: Annotated[int, Option(min=0, help="Seed of the rows held out.")] = 0,
    quiet: Annotated[bool, Option("--quiet", help="No progress bar.")] = False,
    json: Annotated[Path | None, Option(help="File for all that was found, as JSON.")] = None,
    output: Annotated[
        Path | None,
        Option("--output", "-o", help="Folder for forecast.json and forecast.png."),
    ] = None,
) -> None:
    """Say whether a plain probe will do, which student will help, or that nothing will."""
    if output is not None:
        check_writable(output, {"output": output})
    if json is not None:
        # Like the files of --output, it is replaced; what was read never is.
        picture = None if output is None else output / PICTURE
        outputs = {"output": picture}
        check_output(json, options.inputs, force=True, name="json", outputs=outputs)
    whole = options.read()
    table = whole.take(options.rows_of(whole))
    groups = options.groups_of(table)
    with naming_cells(table), choosing(quiet=quiet) as callback:
        found = make_forecast(
            table.features,
            table.coded,
            superclass=_superclass(table),
            ridge=ridge,
            n_rounds=rounds,
            cv=folds,
            groups=groups,
            random_state=seed,
            callback=callback,
        )
    # What is odd about the labels was said when they were read.
    noted = {f"- {note}" for note in label_notes(table.coded)}
    _print_forecast(options.source, options.as_words(), found, noted)
    for path in _write(found, table, json, output):
        say(f"Wrote {path}")


def _superclass(table: FeatureTable) -> NDArray[np.intp] | None:
    """Return the superclasses of the classes that have rows, numbered without a hole."""
    if table.superclass is None:
        return None
    found = table.superclass[table.coded.sizes > 0]
    return np.asarray(np.unique(found, return_inverse=True)[1])


def _print_forecast(source: Path, named: str, found: Forecast, noted: set[str]) -> None:
    """Print estimates, candidates, the weakest classes, and advice but for what was noted.

    `named` is the table as a command line has it.
    """
    rows = counted(int(found.given_sizes.sum()), "row")
    say(f"{source.name}: {rows} with a label, {counted(len(found.classes), 'class', 'classes')}")
    _print_estimates(found)
    _print_candidates(found)
    _print_weakest(found)
    summary, *reasons = str(found).splitlines()
    say(summary, "bold")
    for line in reasons:
        if line not in noted:
            say(line)
    if found.advice.code:
        method = " --method plain" if found.advice.action is Action.PLAIN else ""
        say(f"To fit it: twohot fit{method}, with the table, --folds and --seed of this forecast.")
    if found.advice.audit:
        say(f"To find the wrong labels: twohot audit {named} -o audit/")


def _print_estimates(found: Forecast) -> None:
    """Print what was estimated of the data set as a whole."""
    correlation, theory = found.correlation, found.theory
    right = ", ".join(f"{guarantee.accuracy:.0%}" for guarantee in theory.guarantees)
    entries = {
        "labels that are wrong": _share_wrong(found.noise),
        "correlation, same class": _number(correlation.same_class),
        "correlation, same superclass": _number(correlation.same_superclass),
        "correlation, elsewhere": _number(correlation.elsewhere),
        "eigengap": _number(theory.eigengap),
        f"separation q/p at ridge {theory.ridge:g}": _number(theory.separation),
        "theory: training labels right, by round": right,
        "theory: rounds until all are": _number(theory.rounds_needed.overall),
    }
    headings, title = ("what", "estimate"), "Estimated from the noisy labels"
    print_table(headings, entries.items(), names=headings, title=title)


def _print_candidates(found: Forecast) -> None:
    """Print the classifiers side by side; those of the label model stand out."""
    candidates = candidate_rows(found)
    rows = [
        (row["candidate"], f"{row['agreement']:.1%} ±{row['agreement_error']:.1%}")
        for row in candidates
    ]
    print_table(
        ("classifier", "held-out labels predicted"),
        rows,
        names=("classifier",),
        title=f"{counted(found.comparison.choice.n_rows, 'row')} in folds",
        bold=[number for number, row in enumerate(candidates) if row["chosen"]],
    )


def _print_weakest(found: Forecast) -> None:
    """Print the classes that the theory is least sure of."""
    headings = ("class", "rows", "labels right", "margin, round 1", "margin, last round")
    rows = [
        (row["class"], row["rows"], f"{row['labels_right']:.0%}", _number(first), _number(last))
        for row in class_rows(found)[:WEAKEST_CLASSES]
        for first, *_, last in [row["margin_by_round"]]
    ]
    print_table(headings, rows, names=headings, title="Weakest classes")


def _share_wrong(noise: NoiseEstimate) -> str:
    low, high = noise.interval
    return f"{noise.rate:.1%}" + ("" if noise.given else f" ({low:.0%} to {high:.0%})")


def _number(value: float) -> str:
    """Return a number with three digits that count; a dash for none, and infinity in words."""
    if np.isnan(value):
        return "–"
    return "never" if np.isinf(value) else f"{value:.3g}"


def _write(
    found: Forecast, table: FeatureTable, json: Path | None, output: Path | None
) -> list[Path]:
    """Write the files asked for, and return their paths."""
    record = {**forecast_record(found), "columns": table.columns_in_words}
    written = []
    if output is not None:
        figure = forecast_figure(candidate_rows(found), class_rows(found), found.theory.ridge)
        written = write_report(output / "forecast.json", record, {PICTURE: figure})
    if json is not None:
        write_json(json, record)
        written.append(json)
    return written

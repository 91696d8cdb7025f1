"""`twohot forecast`: will it help here, and with what."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from typer import Option

from twohot.base import check_output, check_writable, counted, write_json
from twohot.describe import Action, Forecast, forecast_figure
from twohot.describe import forecast as make_forecast
from twohot.judge import HEADINGS, naming_cells
from twohot.tables import FeatureTable
from twohot_command.sources import Folds, GroupedTableOptions
from twohot_command.terminal import choosing, print_table, say, write_report

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
    verbose: Annotated[
        bool, Option("--verbose", "-v", help="Print the evidence, its limits and all tables.")
    ] = False,
    quiet: Annotated[bool, Option("--quiet", help="No progress bar.")] = False,
    json: Annotated[Path | None, Option(help="File for all that was found, as JSON.")] = None,
    output: Annotated[
        Path | None,
        Option("--output", "-o", help="Folder for forecast.json and forecast.png."),
    ] = None,
) -> None:
    """Say which probe to fit and how many labels are wrong, or that nothing will help."""
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
    _print_advice(options, found, folds, seed)
    if verbose:
        _print_details(found)
    else:
        say("Add --verbose for the evidence, its limits and the tables.")
    for path in _write(found, table, json, output):
        say(f"Wrote {path}")


def _superclass(table: FeatureTable) -> NDArray[np.intp] | None:
    """Return the superclasses of the classes that have rows, numbered without a hole."""
    if table.superclass is None:
        return None
    found = table.superclass[table.coded.sizes > 0]
    return np.asarray(np.unique(found, return_inverse=True)[1])


def _print_advice(
    options: GroupedTableOptions, found: Forecast, folds: int | None, seed: int
) -> None:
    """Print the advice: what to fit, how many labels are wrong, and the next command."""
    advice, named = found.advice, options.as_words()
    rows = counted(int(found.given_sizes.sum()), "row")
    classes = counted(len(found.classes), "class", "classes")
    say(f"{options.source.name}: {rows} with a label, {classes}")
    say(f"Advice: {advice.summary}", "bold")
    say(f"Labels: {advice.wrong_labels}")
    if advice.action is Action.NOTHING:
        say(f"Next:   twohot describe {replace(options, group_column=None).as_words()}")
    else:
        plain = " --method plain" if advice.action is Action.PLAIN else ""
        held_out = (f" --folds {folds}" if folds else "") + (f" --seed {seed}" if seed else "")
        say(f"Next:   twohot fit {named}{plain}{held_out} -o probe.safetensors")
    some_wrong = found.comparison.choice.learnt and found.noise.rate * found.given_sizes.sum() >= 1
    # An audit has no groups.
    if some_wrong and options.group_column is None:
        say(f"Also:   twohot audit {named} -o audit/   (lists the labels to check)")


def _print_details(found: Forecast) -> None:
    """Print the evidence and its limits, estimates, candidates and the weakest classes."""
    for sentence in (*found.advice.evidence, *found.advice.cautions):
        say(f"- {sentence}")
    correlation, noise, theory = found.correlation, found.noise, found.theory
    right = ", ".join(f"{guarantee.accuracy:.0%}" for guarantee in theory.guarantees)
    entries = {
        "correlation, same class": _number(correlation.same_class),
        "correlation, same superclass": _number(correlation.same_superclass),
        "correlation, elsewhere": _number(correlation.elsewhere),
        "eigengap": _number(theory.eigengap),
        f"separation q/p at ridge {theory.ridge:g}": _number(theory.separation),
        "theory: training labels right, by round": right,
        "theory: rounds until all are": _number(theory.rounds_needed.overall),
    }
    about = ("what", "estimate")
    print_table(about, entries.items(), names=about, title="Estimated from the given labels")
    choice = found.comparison.choice
    chosen = [number for number, entry in enumerate(choice.tried) if entry.chosen]
    title = f"{counted(choice.n_rows, 'row')} in {counted(choice.n_folds, 'fold')}"
    cells = [(mark.strip(), *rest) for mark, *rest in choice.cells()]
    print_table(HEADINGS, cells, names=HEADINGS[:2], title=title, bold=chosen)
    first, last = theory.guarantees[0].margins, theory.guarantees[-1].margins
    rows = [
        (
            found.classes[k],
            found.given_sizes[k],
            f"{noise.corruption[k, k]:.0%}",
            _number(first[k]),
            _number(last[k]),
        )
        for k in np.argsort(last, kind="stable")[:WEAKEST_CLASSES]
    ]
    headings = ("class", "rows", "labels right", "margin, round 1", "margin, last round")
    print_table(headings, rows, names=headings, title="Weakest classes in theory")


def _number(value: float) -> str:
    """Return a number with three digits that count; a dash for none, and infinity in words."""
    if np.isnan(value):
        return "–"
    return "never" if np.isinf(value) else f"{value:.3g}"


def _write(
    found: Forecast, table: FeatureTable, json: Path | None, output: Path | None
) -> list[Path]:
    """Write the files asked for, and return their paths."""
    record = {**found.to_json(), "columns": table.columns_in_words}
    written = []
    if output is not None:
        pictures = {PICTURE: forecast_figure(found)}
        written = write_report(output / "forecast.json", record, pictures)
    if json is not None:
        write_json(json, record)
        written.append(json)
    return written

"""`twohot forecast`: which probe to fit, and whether a probe will help."""

from typing import Annotated

import numpy as np
from typer import Option

from twohot.base import counted
from twohot.describe import Action, Forecast, forecast_figure
from twohot.describe import forecast as make_forecast
from twohot.judge import naming_cells
from twohot_command.sources import Folds, GroupedTableOptions, TableOptions
from twohot_command.terminal import (
    Quiet,
    ReportFolder,
    Verbose,
    check_report,
    choosing,
    number,
    print_choice,
    print_table,
    say,
    say_more,
    say_next,
    write_report,
)

# Number of classes that are printed: those with the smallest margin.
WEAKEST_CLASSES = 5

EXAMPLES = ("twohot forecast tickets.features",)


def forecast(
    *,
    output: ReportFolder = None,
    options: GroupedTableOptions,
    ridge: Annotated[float, Option(help="Ridge penalty in the predictions of the theory.")] = 10.0,
    rounds: Annotated[
        int, Option(min=2, help="Number of rounds in the predictions of the theory.")
    ] = 3,
    folds: Folds = None,
    seed: Annotated[int, Option(min=0, help="Random seed of the folds.")] = 0,
    verbose: Verbose = False,
    quiet: Quiet = False,
) -> None:
    """Forecast whether a probe will help, which one, and how many labels are wrong."""
    check_report(output)
    whole = options.read()
    table = whole.take(options.rows_of(whole))
    groups = options.groups_of(table)
    superclass = None
    if table.superclass is not None:  # renumber the superclasses of classes that have rows
        _, superclass = np.unique(table.superclass[table.coded.sizes > 0], return_inverse=True)
    with naming_cells(table), choosing(quiet=quiet) as callback:
        found = make_forecast(
            table.features,
            table.coded,
            superclass=superclass,
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
        say_more("the evidence, the limits of the evidence and the tables")
    record = {**found.to_json(), "columns": table.columns_in_words}
    write_report(output, "forecast.json", record, lambda: {"forecast.png": forecast_figure(found)})


def _print_advice(
    options: GroupedTableOptions, found: Forecast, folds: int | None, seed: int
) -> None:
    """Print the advice: what to fit, how many labels are wrong, and the next command."""
    advice = found.advice
    rows = counted(int(found.given_sizes.sum()), "row")
    classes = counted(len(found.classes), "class", "classes")
    say(f"{options.source.name}: {rows} with a label, {classes}")
    say(f"Advice: {advice.summary}", "bold")
    say(f"Labels: {advice.wrong_labels}")
    if advice.action is Action.NOTHING:
        say_next("describe", *options.words(TableOptions), first="Next:   ")
    else:
        how: list[object] = ["--method", "plain"] if advice.action is Action.PLAIN else []
        how += ["--folds", folds] if folds else []
        how += ["--seed", seed] if seed else []
        words = (*options.words(), *how, "-o", "probe.safetensors")
        say_next("fit", *words, first="Next:   ")
    if advice.audit:
        say_next("audit", *options.words(), "-o", "audit/", first="Also:   ")


def _print_details(found: Forecast) -> None:
    """Print the evidence, the estimates, the candidates, and classes with the smallest margins."""
    for sentence in (*found.advice.evidence, *found.advice.cautions):
        say(f"- {sentence}")
    correlation, noise, theory = found.correlation, found.noise, found.theory
    rounds = theory.rounds_needed.overall
    right = ", ".join(f"{guarantee.accuracy:.0%}" for guarantee in theory.guarantees)
    entries = {
        "correlation, same class": number(correlation.same_class),
        "correlation, same superclass": number(correlation.same_superclass),
        "correlation, elsewhere": number(correlation.elsewhere),
        "eigengap": number(theory.eigengap),
        f"separation q/p at ridge {theory.ridge:g}": number(theory.separation),
        "theory: training labels right, by round": right,
        "theory: rounds until all are right": "never" if np.isinf(rounds) else number(rounds),
    }
    about = ("quantity", "estimate")
    print_table(about, entries.items(), names=about, title="Estimated from the given labels")
    print_choice(found.comparison.choice)
    first, last = theory.guarantees[0].margins, theory.guarantees[-1].margins
    rows = [
        (
            found.classes[k],
            found.given_sizes[k],
            f"{noise.corruption[k, k]:.0%}",
            number(first[k]),
            number(last[k]),
        )
        for k in np.argsort(last, kind="stable")[:WEAKEST_CLASSES]
    ]
    headings = ("class", "rows", "right labels", "margin, round 1", "margin, last round")
    title = "Classes with the smallest margins, by the theory"
    print_table(headings, rows, names=headings, title=title)

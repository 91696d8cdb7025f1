"""`twohot evaluate`: the accuracy of a probe on trusted labels."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from typer import Argument

from twohot.base import counted, first_few
from twohot.describe import ProbeEvaluation, confusion_figure, evaluate_probe
from twohot.judge import naming_cells
from twohot.probes import load
from twohot_command.extract import features_for
from twohot_command.sources import TrustedRowsOptions
from twohot_command.terminal import (
    Quiet,
    ReportFolder,
    Verbose,
    check_report,
    number,
    print_table,
    say,
    say_more,
    write_report,
)

SHOWN_CLASSES = 6  # number of classes that are printed, those with the lowest recall
SHOWN_CONFUSIONS = 4  # number of confusions that are printed

EXAMPLES = ("twohot evaluate probe.safetensors trusted_tickets.csv",)


def evaluate(
    probe: Annotated[Path, Argument(help="A probe file, from `twohot fit` or `probe.save`.")],
    *,
    output: ReportFolder = None,
    options: TrustedRowsOptions,
    verbose: Verbose = False,
    quiet: Quiet = False,
) -> None:
    """Measure the accuracy of a probe on labels that are known to be right."""
    check_report(output)
    fitted = load(probe)
    with features_for(fitted, probe, options, quiet=quiet) as whole:
        table = whole.take(options.rows_of(whole))
        with naming_cells(table):
            found = evaluate_probe(fitted, table.features, table.coded)
    _print_evaluation(found, verbose=verbose)

    def draw() -> dict[str, Any]:
        names = [record["class"] for record in found.class_records()]
        return {"confusion.png": confusion_figure(found.confusion, names, found.accuracy)}

    write_report(output, "evaluation.json", found.to_json(), draw)


def _print_evaluation(found: ProbeEvaluation, *, verbose: bool) -> None:
    """Print the accuracy, the classes with the lowest recall, and the confusions."""
    low, high = found.interval
    rows = counted(found.n_rows, "row")
    interval = f"95% confidence interval {low:.1%} to {high:.1%}"
    say(f"Accuracy {found.accuracy:.1%} ({interval}), on {rows}")
    say(f"Mean recall of the classes {found.mean_recall:.1%}")
    if found.unknown:
        others = counted(sum(found.unknown.values()), "row")
        classes = counted(len(found.unknown), "class", "classes")
        names = first_few(found.unknown)
        say(f"Not counted: {others} of {classes} that the probe does not know ({names})")
    records = found.class_records()
    # Classes without a row have no recall, and come last.
    weakest = np.argsort(found.recall, kind="stable")[: None if verbose else SHOWN_CLASSES]
    shares = ("recall", "precision", "f1")
    cells = [
        (record["class"], record["rows"], *(number(record[name], ".1%") for name in shares))
        for record in (records[k] for k in weakest)
    ]
    few = f" (the {len(weakest)} of {len(records)} with the lowest recall)"
    more = few if len(weakest) < len(records) else ""
    print_table(("class", "rows", *shares), cells, names=("class",), title=f"Classes{more}")
    confusions = found.confusions()
    frequent = confusions if verbose else confusions[:SHOWN_CONFUSIONS]
    if frequent:
        pair, title = ("class", "predicted"), "Most frequent confusions"
        print_table((*pair, "rows"), frequent, names=pair, title=title)
    if len(weakest) < len(records) or len(frequent) < len(confusions):
        say_more("all classes and confusions")

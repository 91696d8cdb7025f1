"""`twohot evaluate`: how often a probe is right on trusted labels."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from typer import Argument, Option

from twohot.base import (
    METADATA,
    check_output,
    counted,
    first_few,
    load_extra,
    write_figure,
    write_json,
)
from twohot.describe import ProbeEvaluation, confusion_figure, evaluate_probe
from twohot.judge import naming_cells
from twohot.probes import load
from twohot_command.items import features_for
from twohot_command.sources import TrustedRowsOptions
from twohot_command.terminal import print_table, say

# Classes that are printed, the ones that are found least often, and the most frequent confusions.
SHOWN_CLASSES = 40
SHOWN_CONFUSIONS = 10


def evaluate(
    probe: Annotated[Path, Argument(help="A probe, as `twohot fit` or `save` wrote it.")],
    *,
    options: TrustedRowsOptions,
    figure: Annotated[Path | None, Option(help="Picture of the confusion, .png or .svg.")] = None,
    json: Annotated[Path | None, Option(help="File for all that was found, as JSON.")] = None,
    quiet: Annotated[bool, Option("--quiet", help="No progress bar.")] = False,
    force: Annotated[bool, Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """Compare what a probe predicts with labels that are known to be right."""
    inputs = (probe, *options.inputs)
    if json is not None:
        check_output(json, inputs, force=force, name="json")
    if figure is not None:
        about: dict[str, Any] = {"suffixes": tuple(METADATA), "outputs": {"json": json}}
        check_output(figure, inputs, force=force, name="figure", **about)
        load_extra("matplotlib.figure", "plot", "figures")
    fitted = load(probe)
    with features_for(fitted, probe, options, quiet=quiet) as whole:
        table = whole.take(options.rows_of(whole))
        with naming_cells(table):
            found = evaluate_probe(fitted, table.features, table.coded)
    _print_evaluation(found)
    if json is not None:
        write_json(json, found.to_json())
        say(f"Wrote {json}")
    if figure is not None:
        names = [record["class"] for record in found.class_records()]
        write_figure(figure, confusion_figure(found.confusion, names, found.accuracy))
        say(f"Wrote {figure}")


def _print_evaluation(found: ProbeEvaluation) -> None:
    """Print the accuracy, the classes from the weakest on, and what is taken for what."""
    low, high = found.interval
    rows = counted(found.n_rows, "row")
    say(f"Accuracy {found.accuracy:.1%} ({low:.1%} to {high:.1%}), on {rows}")
    say(f"Mean over classes {found.mean_recall:.1%}")
    if found.unknown:
        others = counted(sum(found.unknown.values()), "row")
        classes = counted(len(found.unknown), "class", "classes")
        few = first_few(found.unknown)
        say(f"Not counted: {others} of {classes} that the probe does not know ({few})")
    records = found.class_records()
    # Classes without a row have no recall, and stand last.
    weakest = np.argsort(found.recall, kind="stable")[:SHOWN_CLASSES]
    shares = ("recall", "precision", "f1")
    cells = [
        (records[k]["class"], records[k]["rows"], *(_share(records[k][name]) for name in shares))
        for k in weakest
    ]
    more = f" (the {len(weakest)} weakest of {len(records)})" if len(weakest) < len(records) else ""
    print_table(("class", "rows", *shares), cells, names=("class",), title=f"Classes{more}")
    confusions = found.confusions()[:SHOWN_CONFUSIONS]
    if confusions:
        names, title = ("class", "predicted"), "Most frequent confusions"
        print_table((*names, "rows"), confusions, names=names, title=title)


def _share(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.1%}"

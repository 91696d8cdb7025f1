"""`twohot describe`: what a table of features holds, as tables and pictures."""

from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from typer import Option

from twohot.base import check_writable
from twohot.describe import (
    ClassStructure,
    correlation_map_figure,
    dendrogram_figure,
    describe_table,
    map_order,
)
from twohot_command.printed import print_overview, print_structure
from twohot_command.sources import TableOptions
from twohot_command.terminal import say, write_report


def describe(
    *,
    superclasses: Annotated[
        int | None, Option(min=1, help="Cluster the classes into this many superclasses.")
    ] = None,
    cut: Annotated[
        float | None,
        Option(help="Cluster with this cut, a share of the largest distance (paper: 0.8)."),
    ] = None,
    output: Annotated[
        Path | None,
        Option("--output", "-o", help="Folder for the pictures and description.json."),
    ] = None,
    options: TableOptions,
) -> None:
    """Describe classes, their correlations and superclasses, by the given labels."""
    if output is not None:
        check_writable(output, {"output": output})
    table = options.read()
    with Console(stderr=True).status("Reading features …"):
        found = describe_table(table, split=options.split, n_superclasses=superclasses, cut=cut)
    written: list[Path] = []
    if output is not None:
        figures = {} if found.structure is None else _figures(found.structure)
        written = write_report(output / "description.json", found.to_json(), figures)
    print_overview(options.source, found)
    if found.structure is not None:
        print_structure(found.structure)
    for path in written:
        say(f"Wrote {path}")


def _figures(structure: ClassStructure) -> dict[str, Any]:
    """Return the pictures by the name of their file."""
    order = map_order(structure.clustering, structure.superclass)
    means, classes = structure.correlation.means, structure.classes
    return {
        "map.png": correlation_map_figure(means, structure.superclass, order, classes),
        "dendrogram.png": dendrogram_figure(structure.clustering, classes),
    }

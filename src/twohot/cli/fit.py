"""`twohot fit`: a probe chosen and fitted, written to a file."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

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
from twohot.figures.file import check_figure, write_figure
from twohot.select.auto_probe import AutoProbe


def fit(
    source: TableArgument,
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File for the probe, .safetensors.")
    ],
    labels: LabelsOption = None,
    label_column: LabelColumnOption = None,
    feature_column: FeatureColumnOption = None,
    classes: ClassesOption = None,
    split: SplitOption = None,
    figure: Annotated[
        Path | None, typer.Option(help="Picture of what was tried, .png or .svg.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the rows left out.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Choose penalty, rounds and student from the noisy labels, and fit the probe."""
    for path, option in ((output, "--output"), (figure, "--figure")):
        if path is not None:
            check_new(path, (source, labels, classes), force=force, option=option)
    if figure is not None:
        check_figure(figure, "--figure")
    table = read_source(
        source,
        labels=labels,
        label_column=label_column,
        feature_column=feature_column,
        classes=classes,
    )
    rows = rows_of_split(table, split)
    rows = rows[table.labels[rows] >= 0]
    if not rows.size:
        raise ValueError(f"{source} has no row with a label: a probe needs some to learn from.")
    chosen = table.take(rows)
    probe = AutoProbe(random_state=seed)
    with choosing(quiet=quiet) as report:
        names = np.array(table.classes)[chosen.labels]
        probe.fit(chosen.features, names, callback=report)
    probe.save(output)
    console = Console(highlight=False, soft_wrap=True)
    console.print(str(probe.choice_), markup=False)
    console.print(
        f"Fitted on {len(rows):,} rows of {len(probe.classes_)} classes: {output}", markup=False
    )
    if figure is not None:
        write_figure(figure, probe.choice_.figure())
        console.print(f"What was tried: {figure}", markup=False)

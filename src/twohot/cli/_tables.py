"""What the commands share that read a table: its options, and where the result may go."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, TypeAlias

import numpy as np
import typer
from numpy.typing import NDArray

from twohot.distill.fitted import FittedProbe
from twohot.tables import FeatureTable, read_table

TableArgument: TypeAlias = Annotated[
    Path, typer.Argument(help="Features: .features, .npz, .npy, .parquet or .csv.")
]
LabelsOption: TypeAlias = Annotated[
    Path | None, typer.Option("--labels", help="Labels that stand apart: .csv or .npy.")
]
LabelColumnOption: TypeAlias = Annotated[
    str | None, typer.Option("--label-column", help="Column or array that holds the labels.")
]
FeatureColumnOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--feature-column", help="Column that holds features; repeat it for more."),
]
ClassesOption: TypeAlias = Annotated[
    Path | None, typer.Option("--classes", help="Text file that names one class a line.")
]
SplitOption: TypeAlias = Annotated[
    str | None, typer.Option("--split", help="Split to use, or all; train if there is one.")
]


def rows_of_split(table: FeatureTable, split: str | None) -> NDArray[np.intp]:
    """Return the rows of a split, by default of the one called train, if there is one."""
    return table.rows_of_split(split)


def read_source(
    source: Path,
    *,
    labels: Path | None = None,
    label_column: str | None = None,
    feature_column: list[str] | None = None,
    classes: Path | None = None,
    labelled: bool = True,
) -> FeatureTable:
    """Return the table that the options describe, with a label somewhere if it has to have any."""
    # One column may hold lists; several are numbers; none given, they are looked for.
    columns = feature_column or None
    table = read_table(
        source,
        labels=labels,
        label_column=label_column,
        feature_column=columns[0] if columns is not None and len(columns) == 1 else columns,
        classes=classes,
        labelled=labelled,
    )
    if labelled and not np.any(table.labels >= 0):
        raise ValueError(
            f"{source} has no label in any of its {table.n_rows} rows, and this command needs "
            "some: pass one per row by --labels, or let a probe tell them by `twohot predict`."
        )
    return table


def check_width(table: FeatureTable, source: Path, fitted: FittedProbe, probe: Path) -> None:
    """Raise if a probe was fitted on other features than those of a table."""
    n_features = table.features.shape[1]
    if n_features != fitted.n_features_in_:
        raise ValueError(
            f"{source} has {n_features} features, but {probe} is expecting "
            f"{fitted.n_features_in_}: extract both with the same backbone."
        )


def check_output(
    output: Path, inputs: Iterable[Path | None], *, force: bool, option: str = "--output"
) -> None:
    """Raise if a feature file may not be written where an option says."""
    if output.suffix != ".features":
        raise ValueError(f"{option}={output} is no feature file: let its name end in .features.")
    check_new(output, inputs, force=force, option=option)


def check_new(
    output: Path, inputs: Iterable[Path | None], *, force: bool, option: str = "--output"
) -> None:
    """Raise if a file may not be written where an option says."""
    for given in inputs:
        if given is not None and given.resolve() == output.resolve():
            raise ValueError(f"{option}={output} is the input itself: choose another name.")
    if not output.parent.is_dir():
        raise FileNotFoundError(f"{option}={output} is in a folder that is not there: make it.")
    if output.is_dir():
        raise IsADirectoryError(f"{option}={output} is a folder: pass the name of a file.")
    if output.exists() and not force:
        raise FileExistsError(f"{option}={output} is there already: pass --force to replace it.")

"""`twohot corrupt`: wrong labels on purpose, with the right ones kept apart."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from twohot.cli._tables import (
    ClassesOption,
    FeatureColumnOption,
    LabelColumnOption,
    LabelsOption,
    TableArgument,
    check_output,
    read_source,
)
from twohot.noise.noisy_tables import corrupt_table, corruption_for, read_matrix
from twohot.tables.feature_file import write_features
from twohot.tables.table import FeatureTable


class Kind(StrEnum):
    """Kinds of noise."""

    symmetric = "symmetric"
    asymmetric = "asymmetric"
    pair_flip = "pair_flip"
    superclass = "superclass"
    matrix = "matrix"


def corrupt(
    source: TableArgument,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="Feature file to write.")],
    kind: Annotated[Kind, typer.Option(help="How labels are confused.")] = Kind.symmetric,
    rate: Annotated[
        float | None, typer.Option(min=0, max=1, help="Share of the labels made wrong.")
    ] = None,
    matrix: Annotated[
        Path | None, typer.Option(help="With --kind matrix: .csv (classes in line 1) or .npy.")
    ] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Exact counts, not draws.")] = False,
    split: Annotated[
        str | None, typer.Option(help="Split to corrupt, or all; train if there are splits.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the noise.")] = 0,
    labels: LabelsOption = None,
    label_column: LabelColumnOption = None,
    feature_column: FeatureColumnOption = None,
    classes: ClassesOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the output.")] = False,
) -> None:
    """Make labels wrong on purpose; the right ones are kept apart in the file."""
    check_output(output, (source, labels, matrix, classes), force=force)
    table = read_source(
        source,
        labels=labels,
        label_column=label_column,
        feature_column=feature_column,
        classes=classes,
    )
    corruption = _corruption(table, kind, rate, matrix)
    noisy = corrupt_table(
        table, corruption, seed=seed, exact=exact, split=split, kind=kind.value, rate=rate
    )
    write_features(output, noisy)
    console = Console()
    console.print(_summary(noisy.provenance["corruption"]))
    n_kept = noisy.n_rows - noisy.provenance["corruption"]["n_rows"]
    if n_kept:
        console.print(f"The other {n_kept} rows keep their labels.", highlight=False)
    console.print(f"Wrote {output}", markup=False, highlight=False, soft_wrap=True)


def _corruption(table: FeatureTable, kind: Kind, rate: float | None, matrix: Path | None) -> Any:
    """Return the matrix asked for; it comes from a rate or from a file, never from both."""
    if kind is Kind.matrix:
        if matrix is None or rate is not None:
            raise ValueError("--kind matrix takes a --matrix and no --rate: the matrix sets it.")
        return read_matrix(matrix, table.classes)
    if rate is None or matrix is not None:
        raise ValueError(f"--kind {kind.value} takes a --rate and no --matrix.")
    return corruption_for(table, kind.value, rate)


def _summary(record: dict[str, Any]) -> Table:
    """Return what was asked for beside what came of it."""
    table = Table()
    for heading in ("split", "kind", "rows", "labels changed", "rate asked", "rate realised"):
        table.add_column(heading, justify="left" if heading in {"split", "kind"} else "right")
    table.add_row(
        record["split"],
        record["kind"],
        str(record["n_rows"]),
        str(record["n_changed"]),
        f"{record['rate']:.2%}",
        f"{record['n_changed'] / record['n_rows']:.2%}",
    )
    return table

"""`twohot corrupt`: make labels wrong on purpose, and keep the right ones."""

from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from typer import Option

from twohot.base import check_output, counted
from twohot.judge import naming_cells, out_of_fold_probabilities
from twohot.noise import (
    corrupt_table,
    corrupt_table_at_boundary,
    corrupted_rows,
    corruption_for,
    read_matrix,
)
from twohot.probes import LinearProbe
from twohot.tables import FeatureTable, write_features
from twohot_command.sources import TableOptions
from twohot_command.terminal import Force, print_table, say, say_next

Kind: TypeAlias = Literal[
    "symmetric", "asymmetric", "pair_flip", "superclass", "boundary", "matrix"
]
# Ridge of the probe that finds rows near a class boundary. The probe is fitted to right labels, so
# it needs a much smaller penalty than the default.
BOUNDARY_RIDGE = 4.0


EXAMPLES = {
    "corrupt": (
        "twohot corrupt tickets.features --kind symmetric --rate 0.3 --seed 0 -o noisy.features",
    ),
}


def corrupt(
    *,
    output: Annotated[Path, Option("--output", "-o", help="Feature file to write.")],
    options: TableOptions,
    kind: Annotated[Kind, Option(help="Kind of noise.")] = "symmetric",
    rate: Annotated[float | None, Option(min=0, max=1, help="Share of labels made wrong.")] = None,
    matrix: Annotated[
        Path | None, Option(help="With --kind matrix: .csv (classes in line 1) or .npy.")
    ] = None,
    exact: Annotated[
        bool, Option("--exact", help="Make exactly this share wrong, not only on average.")
    ] = False,
    seed: Annotated[int, Option(min=0, help="Seed of the noise.")] = 0,
    force: Force = False,
) -> None:
    """Make labels wrong on purpose, for experiments; the file keeps the right ones."""
    inputs = (*options.inputs, matrix)
    check_output(output, inputs, force=force, suffixes=[".features"])
    table = options.read()
    if kind == "boundary":
        noisy = _at_boundary(table, rate, matrix, seed, options.split, exact=exact)
    else:
        corruption = _corruption(table, kind, rate, matrix)
        noisy = corrupt_table(
            table, corruption, seed=seed, exact=exact, split=options.split, kind=kind, rate=rate
        )
    write_features(output, noisy)
    record = noisy.provenance["corruption"]
    n_rows, n_changed = record["n_rows"], record["n_changed"]
    headings = ("split", "kind", "rows", "labels changed", "rate asked", "rate realised")
    rates = (f"{record['rate']:.2%}", f"{n_changed / n_rows:.2%}")
    row = (record["split"], record["kind"], n_rows, n_changed, *rates)
    print_table(headings, [row], names=("split", "kind"))
    n_kept = noisy.n_rows - n_rows
    if n_kept:
        keep = "keeps its label" if n_kept == 1 else "keep their labels"
        say(f"{counted(n_kept, 'other row')} {keep}.")
    say(f"Wrote {output}")
    say_next(
        "audit", output, *(["--split", options.split] if options.split else []), "-o", "audit/"
    )


def _corruption(table: FeatureTable, kind: Kind, rate: float | None, matrix: Path | None) -> Any:
    """Return the corruption matrix from a rate or from a file."""
    if kind == "matrix":
        if matrix is None or rate is not None:
            raise ValueError("--kind matrix takes a --matrix and no --rate: the matrix sets it.")
        return read_matrix(matrix, table.classes)
    if rate is None or matrix is not None:
        raise ValueError(f"--kind {kind} takes a --rate and no --matrix.")
    return corruption_for(table, kind, rate)


def _at_boundary(
    table: FeatureTable,
    rate: float | None,
    matrix: Path | None,
    seed: int,
    split: str | None,
    *,
    exact: bool,
) -> FeatureTable:
    """Return the table with noise at class boundaries, which a fitted probe estimates."""
    if rate is None or matrix is not None or exact:
        raise ValueError("--kind boundary needs --rate, and does not accept --matrix or --exact.")
    rows, _ = corrupted_rows(table, split)
    chosen = table.take(rows)
    labels = chosen.coded
    probabilities = np.zeros((len(rows), labels.n_classes))
    with naming_cells(chosen):
        probabilities[:, labels.sizes > 0] = out_of_fold_probabilities(
            LinearProbe(ridge=BOUNDARY_RIDGE), chosen.features, labels.present(), random_state=seed
        )
    return corrupt_table_at_boundary(table, probabilities, rate, seed=seed, split=split)

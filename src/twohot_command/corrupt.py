"""`twohot corrupt`: make labels wrong on purpose, and store the wrong and the right labels."""

from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from typer import Option

from twohot.base import FloatArray, check_output, counted
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
from twohot_command.sources import TableOptions, option_words
from twohot_command.terminal import Force, print_table, say, say_next

Kind: TypeAlias = Literal[
    "symmetric", "asymmetric", "pair_flip", "superclass", "boundary", "matrix"
]
# Ridge of the probe that finds rows near a class boundary. The probe is fitted to right labels, so
# it needs a much smaller penalty than the default.
BOUNDARY_RIDGE = 4.0

EXAMPLES = (
    "twohot corrupt tickets.features --kind symmetric --rate 0.3 --seed 0 -o noisy.features",
)


def corrupt(
    *,
    output: Annotated[Path, Option("--output", "-o", help="Feature file to write.")],
    options: TableOptions,
    kind: Annotated[
        Kind, Option(help="Kind of noise. It determines which wrong labels a row can get.")
    ] = "symmetric",
    rate: Annotated[
        float | None, Option(min=0, max=1, help="Fraction of the labels that become wrong.")
    ] = None,
    matrix: Annotated[
        Path | None,
        Option(
            help="With --kind matrix: file of the corruption matrix (rows: true classes, columns: "
            "given classes), .npy, or .csv with the class names in line 1."
        ),
    ] = None,
    exact: Annotated[
        bool,
        Option("--exact", help="Make exactly the fraction --rate wrong; by default on average."),
    ] = False,
    seed: Annotated[int, Option(min=0, help="Random seed of the wrong labels.")] = 0,
    force: Force = False,
) -> None:
    """Make labels wrong on purpose, for experiments; the file also has the right labels."""
    inputs = (*options.inputs, matrix)
    check_output(output, inputs, force=force, suffixes=[".features"])
    if kind == "matrix":
        if matrix is None or rate is not None:
            raise ValueError("--kind matrix needs --matrix, and does not accept --rate.")
    elif rate is None or matrix is not None or (kind == "boundary" and exact):
        others = "--matrix or --exact" if kind == "boundary" else "--matrix"
        raise ValueError(f"--kind {kind} needs --rate, and does not accept {others}.")
    table = options.read()
    asked: Any = rate  # None only if a matrix is given
    how: dict[str, Any] = {"seed": seed, "split": options.split}
    if kind == "boundary":
        probabilities = _probabilities(table, options.split, seed)
        noisy = corrupt_table_at_boundary(table, probabilities, asked, **how)
    else:
        if matrix is None:
            corruption = corruption_for(table, kind, asked)
        else:
            corruption = read_matrix(matrix, table.classes)
        noisy = corrupt_table(table, corruption, exact=exact, kind=kind, rate=rate, **how)
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
    say_next("audit", output, *option_words({"split": options.split}), "-o", "audit/")


def _probabilities(table: FeatureTable, split: str | None, seed: int) -> FloatArray:
    """Return cross-validated probabilities of the rows to corrupt, by a probe."""
    rows, _ = corrupted_rows(table, split)
    chosen = table.take(rows)
    labels = chosen.coded
    probabilities = np.zeros((len(rows), labels.n_classes))
    with naming_cells(chosen):
        probabilities[:, labels.sizes > 0] = out_of_fold_probabilities(
            LinearProbe(ridge=BOUNDARY_RIDGE), chosen.features, labels.present(), random_state=seed
        )
    return probabilities

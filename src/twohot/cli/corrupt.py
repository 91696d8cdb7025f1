"""`twohot corrupt`: wrong labels on purpose, with the right ones kept apart."""

from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from typer import Option

from twohot._checks.messages import counted
from twohot._checks.outputs import check_output
from twohot.cli._table_options import TableOptions
from twohot.cli._terminal import print_table, say
from twohot.noise.corrupt_table import corrupt_table, corruption_for, read_matrix
from twohot.tables.feature_file import write_features
from twohot.tables.table import FeatureTable

Kind: TypeAlias = Literal["symmetric", "asymmetric", "pair_flip", "superclass", "matrix"]


def corrupt(
    *,
    output: Annotated[Path, Option("--output", "-o", help="Feature file to write.")],
    kind: Annotated[Kind, Option(help="How labels are confused.")] = "symmetric",
    rate: Annotated[float | None, Option(min=0, max=1, help="Share of labels made wrong.")] = None,
    matrix: Annotated[
        Path | None, Option(help="With --kind matrix: .csv (classes in line 1) or .npy.")
    ] = None,
    exact: Annotated[bool, Option("--exact", help="Exact counts, not draws.")] = False,
    seed: Annotated[int, Option(min=0, help="Seed of the noise.")] = 0,
    options: TableOptions,
    force: Annotated[bool, Option("--force", help="Replace the output.")] = False,
) -> None:
    """Make labels wrong on purpose; the right ones are kept apart in the file."""
    inputs = (*options.inputs, matrix)
    check_output(output, inputs, force=force, suffixes=[".features"])
    table = options.read()
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


def _corruption(table: FeatureTable, kind: Kind, rate: float | None, matrix: Path | None) -> Any:
    """Return the matrix asked for; it comes from a rate or from a file, never from both."""
    if kind == "matrix":
        if matrix is None or rate is not None:
            raise ValueError("--kind matrix takes a --matrix and no --rate: the matrix sets it.")
        return read_matrix(matrix, table.classes)
    if rate is None or matrix is not None:
        raise ValueError(f"--kind {kind} takes a --rate and no --matrix.")
    return corruption_for(table, kind, rate)

"""The command line: parse, call, print. One module per command; `_…` is what several share."""

from typing import Annotated, Any

import typer
from typer import Option

import twohot
from twohot.cli._errors import friendly
from twohot.cli._table_options import with_table_options
from twohot.cli.apply import apply
from twohot.cli.audit import audit
from twohot.cli.corrupt import corrupt
from twohot.cli.demo import demo
from twohot.cli.describe import describe
from twohot.cli.extract import extract
from twohot.cli.fit import fit
from twohot.cli.forecast import forecast
from twohot.cli.predict import predict
from twohot.cli.reproduce import reproduce

app = typer.Typer(no_args_is_help=True, add_completion=False)

for command in (extract, describe, corrupt, forecast, fit, predict, audit, apply, demo, reproduce):
    app.command()(friendly(with_table_options(command)))


def _show_version(wanted: Any) -> None:
    if wanted:
        typer.echo(f"twohot {twohot.__version__}")
        raise typer.Exit


@app.callback()
def main(
    *,
    version: Annotated[
        bool,
        Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Train accurate classifiers on frozen embeddings from labels you cannot trust."""

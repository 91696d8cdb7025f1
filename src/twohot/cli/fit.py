"""`twohot fit`: a probe chosen and fitted, written to a file."""

from pathlib import Path
from typing import Annotated

from typer import Option

from twohot._checks.messages import counted
from twohot._checks.outputs import check_output
from twohot._extras import load_extra
from twohot.audit.partly_labelled import naming_rows
from twohot.cli._table_options import TableOptions
from twohot.cli._terminal import choosing, say
from twohot.extract.feature_origin import FeatureOrigin
from twohot.figures.file import METADATA, write_figure
from twohot.select.auto_probe import AutoProbe


def fit(
    *,
    output: Annotated[Path, Option("--output", "-o", help="File for the probe, .safetensors.")],
    options: TableOptions,
    figure: Annotated[Path | None, Option(help="Picture of what was tried, .png or .svg.")] = None,
    seed: Annotated[int, Option(min=0, help="Seed of the rows held out.")] = 0,
    quiet: Annotated[bool, Option("--quiet", help="No progress bar.")] = False,
    force: Annotated[bool, Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Choose penalty, rounds and student from the noisy labels, and fit the probe."""
    check_output(output, options.inputs, force=force)
    if figure is not None:
        kinds = tuple(METADATA)
        check_output(figure, options.inputs, force=force, name="figure", suffixes=kinds)
        load_extra("matplotlib.figure", "plot", "figures")
    whole = options.read()
    rows = options.rows_of(whole)
    table = whole.take(rows[whole.coded.labelled[rows]])
    probe = AutoProbe(random_state=seed)
    with naming_rows(table.features, table.ids), choosing(quiet=quiet) as callback:
        probe.fit(table.features, table.coded.present(), callback=callback)
    origin = FeatureOrigin.of_table(whole)
    if origin is not None:
        probe.feature_origin_ = origin.to_json()
    probe.save(output)
    say(str(probe.choice_))
    classes = counted(len(probe.classes_), "class", "classes")
    say(f"Fitted on {counted(table.n_rows, 'row')} of {classes}: {output}")
    if figure is not None:
        write_figure(figure, probe.choice_.figure())
        say(f"What was tried: {figure}")

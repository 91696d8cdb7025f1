"""`twohot fit`: choose and fit a probe, and write it to a file."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from typer import Option

from twohot.base import (
    METADATA,
    ArgumentError,
    Matrix,
    check_output,
    counted,
    load_extra,
    name_beside,
    write_figure,
)
from twohot.describe import fit_plain
from twohot.extract import FeatureOrigin
from twohot.judge import AutoProbe, Choice, naming_cells
from twohot.probes import FittedProbe
from twohot.tables import FeatureTable, as_dask
from twohot_command.parts import Scheduler, connected, fit_with_checkpoint, workers_of
from twohot_command.sources import (
    TEST,
    FeatureOptions,
    Folds,
    GroupedTableOptions,
    TableOptions,
)
from twohot_command.terminal import (
    Quiet,
    Verbose,
    choosing,
    print_choice,
    say,
    say_more,
    say_next,
)


def fit(
    *,
    output: Annotated[Path, Option("--output", "-o", help="File for the probe, .safetensors.")],
    options: GroupedTableOptions,
    method: Annotated[
        Literal["auto", "plain"],
        Option(
            help="auto: the label model; plain: a plain probe, if `twohot forecast` advises it."
        ),
    ] = "auto",
    figure: Annotated[Path | None, Option(help="Figure of the candidates, .png or .svg.")] = None,
    folds: Folds = None,
    seed: Annotated[int, Option(min=0, help="Random seed of the folds.")] = 0,
    scheduler: Scheduler = None,
    verbose: Verbose = False,
    quiet: Quiet = False,
    force: Annotated[bool, Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Choose a method with the noisy labels, and fit a probe."""
    check_output(output, options.inputs, force=force)
    if figure is not None:
        kinds = tuple(METADATA)
        outputs = {"output": output}
        about: dict[str, Any] = {"name": "figure", "suffixes": kinds, "outputs": outputs}
        check_output(figure, options.inputs, force=force, **about)
        load_extra("matplotlib.figure", "plot", "figures")
    checkpoint = name_beside(output, ".checkpoint")
    whole = options.read()
    rows = options.rows_of(whole)
    table = whole.take(rows[whole.coded.labelled[rows]])
    groups, held_out = options.groups_of(table), {"cv": folds, "random_state": seed}
    if scheduler is not None and method != "auto":
        problem = "does not use workers"
        raise ArgumentError({"method": method}, problem, "leave {scheduler} out.", scheduler=...)
    with connected(scheduler) as client:
        if method == "plain":
            probe, choice = _fit_plain(table, groups, held_out, quiet=quiet)
        else:
            features = table.features
            if client is not None:
                features = as_dask(features, n_workers=len(workers_of(client)))
            choose = partial(_choose, table, features, groups, held_out, quiet=quiet)
            probe, choice = fit_with_checkpoint(choose, checkpoint)
    origin = FeatureOrigin.of_table(whole)
    if origin is not None:
        probe.feature_origin_ = origin.to_json()
    if table.feature_columns:
        probe.feature_names_in_ = np.array(table.feature_columns, dtype=object)
    probe.save(output)
    checkpoint.unlink(missing_ok=True)
    if verbose:
        print_choice(choice)
    is_plain = method == "plain"
    _print_expected(choice, probe, is_plain=is_plain)
    classes = counted(len(probe.classes_), "class", "classes")
    say(f"Fitted on {counted(table.n_rows, 'row')} of {classes}: {output}")
    if figure is not None:
        write_figure(figure, choice.figure())
        say(f"Candidates: {figure}")
    elif not verbose:
        say_more("all candidates")
    _say_next(output, options, has_test=TEST in whole.split_names)


def _print_expected(choice: Choice, probe: FittedProbe, *, is_plain: bool) -> None:
    """Print the expected accuracy on given labels, and the method."""
    if not choice.learnt:
        say(choice.nothing_learnt())
        return
    code = " ".join(str(probe).split())
    tried = {entry.estimator: entry for entry in choice.tried}
    judged: Any = tried[code] if is_plain else choice
    low, high = choice.interval
    share = f"{judged.agreement:.1%} ± {judged.agreement_error:.1%}"
    wrong = f"{choice.noise_rate:.1%} of them are wrong ({low:.1%} to {high:.1%})"
    say(f"Predicts {share} of the held-out given labels; about {wrong}.")
    say(f"Method: {f'plain, {code}' if is_plain else choice.name}")


def _say_next(probe: Path, options: GroupedTableOptions, *, has_test: bool) -> None:
    """Print the next command."""
    if has_test:
        say_next("evaluate", probe, *options.words(TableOptions, without=["split"]))
        return
    # Columns of a label file do not name features.
    without = [] if options.labels is None else ["label_column", "id_column"]
    words = options.words(FeatureOptions, without=without)
    say_next("predict", probe, *words, "-o", "predictions.csv")


def _choose(
    table: FeatureTable,
    features: Matrix,
    groups: NDArray[Any] | None,
    held_out: Mapping[str, Any],
    checkpoint: Path,
    *,
    quiet: bool,
) -> tuple[FittedProbe, Choice]:
    """Return the chosen probe, fitted on features in memory or in chunks, and the choice."""
    auto = AutoProbe(**held_out)
    how: dict[str, Any] = {"groups": groups, "checkpoint": checkpoint}
    with naming_cells(table), choosing(quiet=quiet) as callback:
        auto.fit(features, table.coded.present(), callback=callback, **how)
    return auto, auto.choice_


def _fit_plain(
    table: FeatureTable, groups: NDArray[Any] | None, held_out: Mapping[str, Any], *, quiet: bool
) -> tuple[FittedProbe, Choice]:
    """Return the fitted plain probe and the choice."""
    with naming_cells(table), choosing(quiet=quiet) as callback:
        labels = table.coded.present()
        return fit_plain(table.features, labels, groups=groups, callback=callback, **held_out)

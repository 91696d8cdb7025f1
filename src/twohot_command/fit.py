"""`twohot fit`: choose and fit a probe, and write it to a file."""

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from typer import Option

from twohot.base import (
    METADATA,
    ArgumentError,
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
from twohot.tables import as_dask
from twohot_command.parts import Scheduler, connected, fit_with_checkpoint, workers_of
from twohot_command.sources import TEST, FeatureOptions, Folds, GroupedTableOptions, TableOptions
from twohot_command.terminal import (
    Force,
    Quiet,
    Verbose,
    choosing,
    print_choice,
    say,
    say_more,
    say_next,
)

EXAMPLES = (
    "twohot fit tickets.features -o probe.safetensors",
    "twohot fit tickets.features --labels tickets_clean.csv -o probe_of_clean.safetensors",
)


def fit(
    *,
    output: Annotated[
        Path, Option("--output", "-o", help="File to write the fitted probe to, .safetensors.")
    ],
    options: GroupedTableOptions,
    method: Annotated[
        Literal["auto", "plain"],
        Option(
            help="auto: AutoProbe, which models the wrong labels; plain: the best of several "
            "probes without such a model."
        ),
    ] = "auto",
    figure: Annotated[
        Path | None,
        Option(help="File for a figure that compares all candidates, .png or .svg."),
    ] = None,
    folds: Folds = None,
    seed: Annotated[int, Option(min=0, help="Random seed of the folds.")] = 0,
    scheduler: Scheduler = None,
    verbose: Verbose = False,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Choose a method from the noisy labels alone, and fit a probe."""
    check_output(output, options.inputs, force=force)
    if figure is not None:
        about: dict[str, Any] = {"suffixes": tuple(METADATA), "outputs": {"output": output}}
        check_output(figure, options.inputs, force=force, name="figure", **about)
        load_extra("matplotlib.figure", "plot", "figures")
    checkpoint = name_beside(output, ".checkpoint")
    whole = options.read()
    rows = options.rows_of(whole)
    table = whole.take(rows[whole.coded.labelled[rows]])
    groups, labels, is_plain = options.groups_of(table), table.coded.present(), method == "plain"
    held_out: dict[str, Any] = {"cv": folds, "random_state": seed}
    if scheduler is not None and is_plain:
        problem = "does not use the workers of a scheduler"
        raise ArgumentError({"method": method}, problem, "leave {scheduler} out.", scheduler=...)
    with connected(scheduler) as client:
        features = table.features
        if client is not None:
            features = as_dask(features, n_workers=len(workers_of(client)))

        def choose(path: Path) -> tuple[FittedProbe, Choice]:
            with naming_cells(table), choosing(quiet=quiet) as callback:
                how: dict[str, Any] = {"groups": groups, "callback": callback}
                if is_plain:
                    return fit_plain(features, labels, **how, **held_out)
                auto = AutoProbe(**held_out).fit(features, labels, checkpoint=path, **how)
                return auto, auto.choice_

        probe, choice = choose(checkpoint) if is_plain else fit_with_checkpoint(choose, checkpoint)
    origin = FeatureOrigin.of_table(whole)
    if origin is not None:
        probe.feature_origin_ = origin.to_json()
    if table.feature_columns:
        probe.feature_names_in_ = np.array(table.feature_columns, dtype=object)
    probe.save(output)
    checkpoint.unlink(missing_ok=True)
    _print_expected(choice, probe, is_plain=is_plain, verbose=verbose)
    classes = counted(len(probe.classes_), "class", "classes")
    say(f"Fitted on {counted(table.n_rows, 'row')} of {classes}: {output}")
    if figure is not None:
        write_figure(figure, choice.figure())
        say(f"Figure of the candidates: {figure}")
    elif not verbose:
        say_more("all candidates")
    _say_next(output, options, has_test=TEST in whole.split_names)


def _say_next(probe: Path, options: GroupedTableOptions, *, has_test: bool) -> None:
    """Print a command that uses the probe."""
    if has_test:
        say_next("evaluate", probe, *options.words(TableOptions, without=["split"]))
    else:  # these options name columns of the label file, which `twohot predict` does not read
        without = [] if options.labels is None else ["label_column", "id_column"]
        words = options.words(FeatureOptions, without=without)
        say_next("predict", probe, *words, "-o", "predictions.csv")


def _print_expected(choice: Choice, probe: FittedProbe, *, is_plain: bool, verbose: bool) -> None:
    """Print the agreement with held-out labels, the method and, if verbose, all candidates."""
    if verbose:
        print_choice(choice)
    if not choice.learnt:
        say(choice.nothing_learnt())
        return
    code = " ".join(str(probe).split())
    tried = {entry.estimator: entry for entry in choice.tried}
    judged: Any = tried[code] if is_plain else choice
    low, high = choice.interval
    agreement = f"{judged.agreement:.1%} ± {judged.agreement_error:.1%} (standard error)"
    say(f"The probe predicts {agreement} of the held-out given labels.")
    plausible = f"plausible range {low:.1%} to {high:.1%}"
    say(f"About {choice.noise_rate:.1%} of the given labels are wrong ({plausible}).")
    say(f"Method: {f'plain, {code}' if is_plain else choice.name}")

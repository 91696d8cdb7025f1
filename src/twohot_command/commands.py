"""The list of commands. The module of a command is imported when the command runs.

To keep `twohot --help` fast, this module imports only the parser, typer.
"""

from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperCommand, TyperGroup

from twohot_command import fit_address_space, interruptible

# The commands by purpose, in the order of the help. The command `fit` is the function `fit` of
# `twohot_command.fit`, and its text here repeats the first line of the docstring of that function.
PANELS = {
    "Make features": {
        "extract": "Compute features of images or texts; an interrupted command continues if you "
        "run it again.",
    },
    "Understand": {
        "describe": "Describe classes, their correlations and superclasses.",
        "forecast": "Forecast whether a probe will help, which one, and how many labels are wrong.",
    },
    "Clean": {
        "audit": "Find wrong labels, suggest corrections, and write a report for the review.",
        "apply": "Write the decisions of a review into a copy of your data.",
        "certify": "List wrong labels with a guarantee, based on your verdicts on a few rows.",
        "review": "Review until few labels are still wrong; the page shows an upper bound on how "
        "many are.",
        "verify": "Verify a certificate: compute it again from the audit, and report differences.",
    },
    "Train": {
        "fit": "Choose a method from the noisy labels alone, and fit a probe.",
        "predict": "Predict labels of images, texts or features, with their probabilities.",
        "evaluate": "Measure the accuracy of a probe on labels that are known to be right.",
    },
    "Research": {
        "demo": "Train on scikit-learn's digits with noisy labels, and find the wrong labels.",
        "corrupt": "Make labels wrong on purpose, for experiments; the file also has the right "
        "labels.",
        "reproduce": "Reproduce the paper: run experiments, draw the figures and judge the claims.",
    },
}
# Commands that need an extra, with its name. Their entry points are in the group `twohot.commands`.
OF_EXTRAS = {"reproduce": "paper"}
COMMANDS = {name: line for panel in PANELS.values() for name, line in panel.items()}


class _Plain:
    """A mixin for commands: their help shows no Python types."""

    def get_params(self, ctx: Any) -> Any:
        """Return the arguments and options, without Python types."""
        entries = super().get_params(ctx)  # type: ignore[misc]
        for entry in entries:
            if getattr(entry, "is_flag", False):  # a flag has no value
                entry.metavar = ""
            elif entry.param_type_name == "argument":  # its help text describes it
                entry.display_type_rich = lambda **_: ""
        return entries


class PlainCommand(_Plain, TyperCommand):
    """A command whose help shows no Python types."""


class PlainGroup(_Plain, TyperGroup):
    """A group of commands whose help shows no Python types."""


app = typer.Typer(no_args_is_help=True, add_completion=False, cls=PlainGroup)


class DeferredCommand(TyperCommand):
    """A command in the help of `twohot`; the module of the command is imported when it runs."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Import the command and parse its arguments."""
        with interruptible():  # otherwise the parser would only print "Aborted!"
            fit_address_space()
            from twohot_command.app import parser_of  # noqa: PLC0415 (see above)

            parser = parser_of(str(self.name))
        return parser.make_context(*args, **kwargs)


for panel, commands in PANELS.items():
    for name, line in commands.items():
        # `make_context` returns the context of another command, so this function is never called.
        app.command(name, cls=DeferredCommand, help=line, rich_help_panel=panel)(lambda: None)


def _show_version(wanted: Any) -> None:
    if wanted:
        with interruptible():
            fit_address_space()
            import twohot  # noqa: PLC0415 (see above)

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

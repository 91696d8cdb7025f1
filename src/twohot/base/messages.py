"""Error messages: the argument with its value, what is wrong, and what to do.

An error stores its arguments separately from its text. Python shows `label_column='y'`, and the
command line shows the same error with `--label-column='y'`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import PurePath
from typing import Any

# Maximum number of names that a sentence lists.
FEW = 5


class ArgumentError(ValueError):
    """Error about an invalid argument.

    Parameters
    ----------
    arguments : str or dict
        A dict from names to values, or one name without a value, or empty text. The message starts
        with the arguments.
    problem : str
        What is wrong: the rest of the sentence. The problem may quote text of the user.
    advice : str
        What to do. `{name}` is replaced by the argument `name` with its value in `mentions`. Other
        braces stay unchanged.
    **mentions
        Values of the arguments that the advice names; `...` means any value.

    Examples
    --------
    >>> print(ArgumentError({"seed": -1}, "is negative", "pass an integer of at least 0."))
    seed=-1 is negative: pass an integer of at least 0.
    >>> print(ArgumentError("", "'y' and 'label' are both there", "pass {label}.", label=...))
    'y' and 'label' are both there: pass label=….
    """

    def __init__(
        self,
        arguments: str | Mapping[str, object],
        problem: str,
        advice: str = "",
        **mentions: object,
    ) -> None:
        super().__init__(arguments, problem, advice)
        self.arguments = arguments
        self.problem = problem
        self.advice = advice
        self.mentions = mentions

    def __str__(self) -> str:
        return self.worded(in_python)

    def __reduce__(self) -> tuple[Any, ...]:
        # By default, pickling would lose the mentions.
        kind: Callable[..., ArgumentError] = type(self)
        return partial(kind, **self.mentions), (self.arguments, self.problem, self.advice)

    def worded(self, write: Callable[[str, object], str]) -> str:
        """Return the message; `write(name, value)` formats each argument."""
        if isinstance(self.arguments, str):
            opening = write(self.arguments, ...).removesuffix("=…") if self.arguments else ""
        else:
            opening = " and ".join(write(name, value) for name, value in self.arguments.items())
        written = {f"{{{name}}}": write(name, value) for name, value in self.mentions.items()}
        # All names are replaced in one pass, so that inserted text is not replaced again.
        advice = re.sub(r"\{\w+\}", lambda found: written.get(found[0], found[0]), self.advice)
        sentence = f"{opening} {self.problem}" if opening else self.problem
        return f"{sentence}: {advice}" if advice else sentence


class FileThereError(ArgumentError, FileExistsError):
    """Error about an output file that already exists and may not be replaced."""


def cause_of(error: BaseException) -> str:
    """Return the message of an error, preceded by its type unless it is an error of twohot.

    Examples
    --------
    >>> cause_of(KeyError("mean")), cause_of(ArgumentError("mean", "holds NaN"))
    ("KeyError('mean')", 'mean holds NaN')
    """
    return str(error) if isinstance(error, ArgumentError) else repr(error)


def in_python(name: str, value: object) -> str:
    """Return an argument and its value in Python syntax."""
    return f"{name}={shown(value)}"


def shown(value: object) -> str:
    """Return a value as messages show it: paths without quotes, and `…` instead of `...`.

    Examples
    --------
    >>> shown("a.csv"), shown(PurePath("a.csv")), shown(...)
    ("'a.csv'", 'a.csv', '…')
    """
    if value is ...:
        return "…"
    return str(value) if isinstance(value, PurePath) else repr(value)


def counted(count: int, noun: str, plural: str = "", form: str = "d") -> str:
    """Return a number and a noun, in the plural unless the number is one.

    Examples
    --------
    >>> counted(1, "label"), counted(0, "label"), counted(2, "class", "classes")
    ('1 label', '0 labels', '2 classes')
    >>> counted(1797, "label", form=",")
    '1,797 labels'
    """
    return f"{count:{form}} {noun if count == 1 else plural or noun + 's'}"


def first_few(names: Iterable[Any], most: int = FEW, write: Callable[[Any], str] = repr) -> str:
    """Return text with the first names and the number of other names; `write` formats a name.

    Examples
    --------
    >>> first_few(["cat", "dog", "fox"], most=2)
    "'cat', 'dog' and 1 more"
    """
    listed = list(names)
    more = len(listed) - most
    shown = ", ".join(write(name) for name in listed[:most])
    return f"{shown} and {more} more" if more > 0 else shown

"""Names of classes, superclasses and splits: what files, figures and reports can hold."""

from collections import Counter
from collections.abc import Sequence

from twohot._checks.messages import ArgumentError


def check_names(name: str, names: Sequence[str]) -> None:
    r"""Raise unless names are strings that differ, and text that UTF-8 can hold.

    Examples
    --------
    >>> check_names("classes", ("cat", "caf\udce9"))
    Traceback (most recent call last):
    twohot._checks.messages.ArgumentError: classes holds 'caf\udce9', which is no UTF-8: rename it.
    """
    if isinstance(names, str) or not all(isinstance(entry, str) for entry in names):
        raise ArgumentError({name: names}, "is not allowed", "pass a tuple of strings.")
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise ArgumentError(name, f"holds {twice!r} twice", "pass each name once.")
    for entry in names:
        try:
            entry.encode()
        except UnicodeEncodeError as error:
            problem = f"holds {entry!r}, which is no UTF-8"
            raise ArgumentError(name, problem, "rename it.") from error

"""Packages that are needed for some work only, imported where that work is done."""

from importlib import import_module
from typing import Any

# Packages that are not installed under the name of their module.
PACKAGES = {"PIL": "pillow"}


def load_extra(module: str, extra: str, purpose: str) -> Any:
    """Return a module of an extra, or say how to install it.

    Examples
    --------
    >>> load_extra("no_such_module", "plot", "figures")
    Traceback (most recent call last):
    ImportError: figures need no_such_module: pip install "twohot[plot]"
    """
    package = module.split(".", maxsplit=1)[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        # A module that the package itself misses is another matter.
        if (error.name or "").split(".", maxsplit=1)[0] != package:
            raise
        name = PACKAGES.get(package, package)
        raise ImportError(f'{purpose} need {name}: pip install "twohot[{extra}]"') from error

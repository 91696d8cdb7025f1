"""Packages that are needed for some work only, imported where that work is done."""

import os
from importlib import import_module
from typing import Any

import jinja2

# Packages that are not installed under the name of their module.
PACKAGES = {"PIL": "pillow", "umap": "umap-learn"}


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


# Templates of HTML pages, under one rule: text is escaped, and a name that is missing raises ------


def page_templates(package: str) -> jinja2.Environment:
    """Return the templates of a package, which are in its folder `templates`."""
    return jinja2.Environment(
        autoescape=True,
        loader=jinja2.PackageLoader(package),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


# How much memory this process may use -------------------------------------------------------------

# Bytes that any machine has: to ask how many there are takes a second.
SURELY_HELD = 2**29
# Of the address space and of the heap, by the names of the module `resource`.
LIMITS = ("RLIMIT_AS", "RLIMIT_DATA")


def memory_limit() -> int:
    """Return the bytes that this process may hold: of the machine, its container and its limits.

    Examples
    --------
    >>> memory_limit() > 2**20
    True
    """
    try:
        limit = int(import_module("distributed.system").MEMORY_LIMIT)  # of a container, too
    except ImportError:
        pages = getattr(os, "sysconf", lambda _: 2**31)  # not on every system
        limit = pages("SC_PAGE_SIZE") * pages("SC_PHYS_PAGES")
    return min(limit, *_own_limits(limit))


def _own_limits(most: int) -> list[int]:
    """Return the limits that were set for this process alone, the largest number where none is."""
    try:
        resource = import_module("resource")
    except ImportError:  # not on every system
        return [most]
    soft = (resource.getrlimit(getattr(resource, name))[0] for name in LIMITS)
    return [most if each == resource.RLIM_INFINITY else each for each in soft]

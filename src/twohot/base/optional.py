"""Optional packages, imported where they are used."""

import os
from importlib import import_module
from typing import Any

import jinja2

# Packages whose name for installation differs from the module's.
PACKAGES = {"PIL": "pillow", "umap": "umap-learn"}


def load_extra(module: str, extra: str, purpose: str) -> Any:
    """Return a module of an extra, or raise an error that says how to install it.

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
        # A module that is missing inside the package itself is a different error.
        if (error.name or "").split(".", maxsplit=1)[0] != package:
            raise
        name = PACKAGES.get(package, package)
        raise ImportError(f'{purpose} need {name}: pip install "twohot[{extra}]"') from error


# Templates of HTML pages: text is escaped, and an undefined name raises an error ------------------


def page_templates(package: str) -> jinja2.Environment:
    """Return the templates in the folder `templates` of a package."""
    return jinja2.Environment(
        autoescape=True,
        loader=jinja2.PackageLoader(package),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


# Memory that this process may use -----------------------------------------------------------------

# Bytes that any machine has: reading the actual number takes a second.
SURELY_HELD = 2**29
# Limits of the address space and of the heap, by their names in the module `resource`.
LIMITS = ("RLIMIT_AS", "RLIMIT_DATA")


def memory_limit() -> int:
    """Return the bytes this process may use: the minimum of machine, container and limits.

    Examples
    --------
    >>> memory_limit() > 2**20
    True
    """
    try:
        limit = int(import_module("distributed.system").MEMORY_LIMIT)  # also in a container
    except ImportError:
        pages = getattr(os, "sysconf", lambda _: 2**31)  # not on every system
        limit = pages("SC_PAGE_SIZE") * pages("SC_PHYS_PAGES")
    return min(limit, *_own_limits(limit))


def _own_limits(most: int) -> list[int]:
    """Return the limits set for this process, the largest number where there is none."""
    try:
        resource = import_module("resource")
    except ImportError:  # not on every system
        return [most]
    soft = (resource.getrlimit(getattr(resource, name))[0] for name in LIMITS)
    return [most if each == resource.RLIM_INFINITY else each for each in soft]

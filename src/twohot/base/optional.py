"""Optional packages, page templates, and the memory that this process may use."""

import os
from importlib import import_module
from typing import Any

import jinja2

# Modules whose package has another name on PyPI.
PACKAGES = {"PIL": "pillow", "umap": "umap-learn"}


def load_extra(module: str, extra: str, purpose: str) -> Any:
    """Import an optional module, or raise an error that says which extra to install.

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
        # If the package itself needs a missing module, the extra would not help.
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

# Memory in bytes that every machine has. For smaller amounts, the limit is not read.
SURELY_HELD = 2**29
# Names of the limits of the address space and of the heap in the module `resource`.
LIMITS = ("RLIMIT_AS", "RLIMIT_DATA")


def memory_limit() -> int:
    """Return how many bytes of memory this process may use on this machine or in its container.

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
    try:
        resource = import_module("resource")
    except ImportError:  # not on every system
        return limit
    soft = (resource.getrlimit(getattr(resource, name))[0] for name in LIMITS)
    return min([limit, *(int(space) for space in soft if space != resource.RLIM_INFINITY)])

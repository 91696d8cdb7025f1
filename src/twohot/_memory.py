"""How much memory this process may use."""

import os
from importlib import import_module

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

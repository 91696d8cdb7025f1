"""A fit that fails leaves the estimator as it was."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

Fit = TypeVar("Fit", bound=Callable[..., Any])


def whole_or_not_at_all(fit: Fit) -> Fit:
    """Return a method that fits; where it fails, the probe is as it was before."""

    @wraps(fit)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast(Fit, wrapped)

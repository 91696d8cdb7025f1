"""What a public entry point may do with any input: answer, or refuse it by the name of an argument.

Examples are the same on every run, and none is kept in a folder.
"""

import re
import warnings
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings

# What a message may call by its name: arguments, and what is in a file.
NAMES = re.compile(
    r"(?<!\w)(X|y|labels|classes|source|column|table|sample_weight|random_state|corruption|exact|cv"
    r"|probabilities|t\.csv|t\.parquet)(?!\w)"
)


def examples(number: int) -> settings:
    return settings(
        max_examples=number,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],  # of a machine that does something else, too
    )


def answer_of(call: Callable[[], Any]) -> tuple[Any, str]:
    """Return an answer, or the words by which it was refused; fail if they name nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(), ""
        except ValueError as error:
            problem = str(error)
    assert NAMES.search(problem), problem
    return None, problem

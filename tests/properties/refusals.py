"""What a public entry point may do with any input: answer, or refuse it by the name of an argument.

Examples are the same on every run, and none is kept in a folder. 2,000 of them run with all tests,
100,000 by `make test-slow`.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings

# What a message may call by its name: arguments, and what is in a file.
NAMES = re.compile(
    r"(?<!\w)(X|y|labels|classes|source|column|table|sample_weight|random_state|corruption|exact|cv"
    r"|probabilities|noise_rate|groups|same_class|features|seed|decay|t\.csv|t\.parquet)(?!\w)"
)


def fuzzed(
    check: Any, few: int, many: int, *findings: Any, calls: Iterable[str] = (), **strategies: Any
) -> Iterator[Any]:
    """Yield two tests by a check, for each of some calls: few examples and findings, and many."""
    for number in (few, many):
        test = _examples(number)(given(**strategies)(check))
        for found in findings if number == few else ():
            test = example(**dict.fromkeys(strategies, found))(test)
        test = pytest.mark.parametrize("call", calls)(test) if calls else test
        yield test if number == few else pytest.mark.slow(test)


def _examples(number: int) -> settings:
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

"""A public entry point answers any input, or refuses it by the name of an argument.

Examples are the same in every run and are not stored. All tests run 2,000 of them, and
`make test-slow` runs 100,000.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings

# Names that a message may mention: arguments, and parts of a file.
NAMES = re.compile(
    r"(?<!\w)(X|y|labels|classes|source|column|table|sample_weight|random_state|corruption|exact|cv"
    r"|probabilities|noise_rate|groups|same_class|features|seed|decay|t\.csv|t\.parquet)(?!\w)"
)


def fuzzed(
    check: Any, few: int, many: int, *findings: Any, calls: Iterable[str] = (), **strategies: Any
) -> Iterator[Any]:
    """Yield a test of few examples and the findings, and a slow test of many examples."""
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
        suppress_health_check=[HealthCheck.too_slow],  # the machine may be busy
    )


def answer_of(call: Callable[[], Any]) -> tuple[Any, str]:
    """Return an answer, or the message of its refusal, which must name an argument."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(), ""
        except ValueError as error:
            problem = str(error)
    assert NAMES.search(problem), problem
    return None, problem

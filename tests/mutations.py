"""Files as somebody else might have written them: changed bytes, and changed JSON in a header."""

import json
import tracemalloc
from contextlib import contextmanager

import pytest
from hypothesis import strategies as st

# Memory that reading a small file may take, whatever the file says.
MEMORY = 2**26


@st.composite
def changed_bytes(draw, content: bytes) -> bytes:
    """Return bytes with a few runs of them replaced, added or removed; or any bytes."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=200))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        stop = draw(st.integers(start, min(len(content), start + 20)))
        content = content[:start] + draw(st.binary(max_size=20)) + content[stop:]
    return content


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["<U1000000000", "|O", "<f8", 10**30, -1, [[]], [{}], {"a": None}]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@st.composite
def changed_json(draw, value: object) -> object:
    """Return JSON with some part of it replaced by any JSON, or left out."""
    if isinstance(value, dict | list) and value and draw(st.integers(0, 4)):
        keys = sorted(value) if isinstance(value, dict) else list(range(len(value)))
        key = draw(st.sampled_from(keys))
        other = json.loads(json.dumps(value))
        if draw(st.integers(0, 4)):
            other[key] = draw(changed_json(value[key]))
        else:
            del other[key]
        return other
    return draw(JSON_VALUES)


@contextmanager
def read_or_refused(path):
    """Fail unless the block ends well or names the file, within bounded memory."""
    tracemalloc.start()
    try:
        yield
    except (ValueError, OSError) as error:
        if path.name not in str(error):
            pytest.fail(f"{type(error).__name__} does not name {path.name}: {error}")
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < MEMORY, f"{peak} bytes"

"""An error keeps its arguments separate from its text, whatever the text of the user."""

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twohot.base.messages import ArgumentError, FileThereError, first_few

BRACES = ["{label_column}", "{labels}", "{", "}", "{0}", "{{labels}}", "label_column='c'"]
texts = st.one_of(st.text(), st.sampled_from(BRACES))


def in_brackets(name, value):
    return f"<{name}|{value}>"


@given(texts, texts, texts)
def test_text_of_a_user_is_never_parsed(chosen, other, mentioned):
    error = ArgumentError(
        {"label_column": chosen},
        f"is none of {other}",
        "pass {label_column}, or {labels}, not { or {x}",
        label_column=mentioned,
        labels=...,
    )
    assert str(error) == (
        f"label_column={chosen!r} is none of {other}: pass label_column={mentioned!r}, or "
        "labels=…, not { or {x}"
    )
    assert error.worded(in_brackets) == (
        f"<label_column|{chosen}> is none of {other}: pass <label_column|{mentioned}>, or "
        "<labels|Ellipsis>, not { or {x}"
    )


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ArgumentError({"l2": 1.0, "k": 2}, "clash", "pass 1."), "l2=1.0 and k=2 clash: pass 1."),
        (ArgumentError("labels", "has one class", "add rows."), "labels has one class: add rows."),
        (ArgumentError("", "no column"), "no column"),
        (ArgumentError("column 'a=b'", "is empty"), "column 'a=b' is empty"),
        (ArgumentError("column 'a=…'", "is empty"), "column 'a=…' is empty"),
        (ArgumentError({"output": Path("a b.csv")}, "is there"), "output=a b.csv is there"),
    ],
)  # fmt: skip
def test_message_names_the_arguments(error, message):
    assert str(error) == message


@pytest.mark.parametrize("kind", [ArgumentError, FileThereError])
def test_pickle_keeps_the_whole_error(kind):
    error = kind({"output": Path("a")}, "is there", "pass {force}.", force=True)
    assert error.__reduce__()[0] is not type(error)  # libraries that keep tracebacks need this
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 (our own bytes)
    assert type(again) is kind
    assert str(again) == str(error) == "output=a is there: pass force=True."
    assert again.worded(in_brackets) == "<output|a> is there: pass <force|True>."


def test_error_for_an_existing_file_is_also_an_error_of_the_system():
    with pytest.raises(FileExistsError, match="is there"):
        raise FileThereError({"output": "a"}, "is there")


def test_first_few_names_all_of_a_few():
    assert first_few(["a"]) == "'a'"
    assert first_few(range(5)) == "0, 1, 2, 3, 4"

"""An error keeps its arguments apart from its words, whatever a user's text looks like."""

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twohot.base.messages import ArgumentError, FileThereError, counted, first_few

BRACES = ["{label_column}", "{labels}", "{", "}", "{0}", "{{labels}}", "label_column='c'"]
texts = st.one_of(st.text(), st.sampled_from(BRACES))


def in_brackets(name, value):
    return f"<{name}|{value}>"


@given(texts, texts, texts)
def test_text_of_a_user_is_never_rewritten(chosen, other, mentioned):
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
def test_what_the_message_opens_with(error, message):
    assert str(error) == message


@pytest.mark.parametrize("kind", [ArgumentError, FileThereError])
def test_an_error_comes_back_whole_from_another_process(kind):
    error = kind({"output": Path("a")}, "is there", "pass {force}.", force=True)
    assert error.__reduce__()[0] is not type(error)  # as libraries that keep tracebacks need it
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 (our own bytes)
    assert type(again) is kind
    assert str(again) == str(error) == "output=a is there: pass force=True."
    assert again.worded(in_brackets) == "<output|a> is there: pass <force|True>."


def test_a_file_that_is_there_is_also_the_error_of_the_system():
    with pytest.raises(FileExistsError, match="is there"):
        raise FileThereError({"output": "a"}, "is there")


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 classes"), (1, "1 class"), (2, "2 classes"), (1200, "1200 classes")]
)
def test_plurals(count, said):
    assert counted(count, "class", "classes") == said


def test_the_first_few_of_many_names():
    assert first_few(["a"]) == "'a'"
    assert first_few(range(5)) == "0, 1, 2, 3, 4"
    assert first_few(range(7)) == "0, 1, 2, 3, 4 and 2 more"

"""What the reference is made of: the options of every command, the comments of every field."""

import re
from dataclasses import dataclass, fields
from pathlib import Path

import pytest
from command_reference import command_sections
from field_comments import add_fields, field_comments
from returned_by import add_makers

from twohot import AutoProbe, LabelIssues
from twohot.judge import HEADINGS
from twohot.noise import Corrupted
from twohot_command.app import parser_of
from twohot_command.commands import COMMANDS

ROOT = Path(__file__).parents[2]


def test_every_option_of_every_command_has_a_line():
    sections = dict(zip(COMMANDS, command_sections(), strict=True))
    for name, section in sections.items():
        assert section.startswith(f"## twohot {name}\n")
        listed = [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")]
        for parameter in parser_of(name).params:
            assert any(parameter.opts[0] in names for names in listed), (name, parameter.opts)


@dataclass(frozen=True)
class Measured:
    """Something."""

    # In metres,
    # above the sea.
    height: float
    width: float = 0.0  # of the door
    depth: float = 0.0


def test_a_field_is_described_by_the_comments_above_and_beside_it():
    assert field_comments(Measured) == {
        "height": "In metres, above the sea.",
        "width": "of the door",
        "depth": "",
    }


def test_fields_become_a_section():
    lines = ["Something."]
    add_fields(None, "class", "Measured", Measured, None, lines)
    assert lines[1:] == [
        "",
        "Attributes",
        "----------",
        "height",
        "    In metres, above the sea.",
        "width",
        "    of the door",
        "depth",
    ]


@pytest.mark.parametrize("heading", ["Attributes", "Parameters"])
def test_a_docstring_with_a_section_is_unchanged(heading):
    lines = ["Something.", "", heading, "-" * len(heading)]
    before = list(lines)
    add_fields(None, "class", "Measured", Measured, None, lines)
    assert lines == before


def test_a_record_of_the_package_has_all_its_fields():
    assert list(field_comments(Corrupted)) == [entry.name for entry in fields(Corrupted)]
    assert all(field_comments(Corrupted).values())


def test_the_page_of_a_record_links_to_its_function():
    lines = ["Every row."]
    add_makers(None, "class", "twohot.LabelIssues", LabelIssues, None, lines)
    assert lines == ["Every row.", "", "See Also", "--------", "twohot.find_label_issues"]


def test_a_class_with_an_example_has_no_further_link():
    lines = (AutoProbe.__doc__ or "").splitlines()
    before = list(lines)
    add_makers(None, "class", "twohot.AutoProbe", AutoProbe, None, lines)
    assert lines == before


GLOSSARY = ROOT / "docs/reference/glossary.md"


def test_the_headings_of_a_fit_are_in_the_glossary():
    words = re.findall(r"^\| ([^|]+) \|", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    assert not [heading for heading in HEADINGS if heading and heading not in words]


def test_links_of_the_glossary_lead_to_sections():
    for place in re.findall(r"\[page\]\(([^)]+)\)", GLOSSARY.read_text(encoding="utf-8")):
        path, _, anchor = place.partition("#")
        text = (GLOSSARY.parent / (path or GLOSSARY.name)).read_text(encoding="utf-8")
        headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        assert not anchor or anchor in [each.lower().replace(" ", "-") for each in headings], place

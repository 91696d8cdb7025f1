"""The check of the built site finds what it is for, and passes over what is right."""

import pytest
from check_site import missing_names, missing_pages, problems, public_modules

from twohot_command.commands import COMMANDS


@pytest.fixture
def site(tmp_path):
    (tmp_path / "reference").mkdir()
    (tmp_path / "logo.png").write_bytes(b"")
    return tmp_path


def write(site, body, name="index.html"):
    (site / name).write_text(f"<html><body>{body}</body></html>", encoding="utf-8")


@pytest.mark.parametrize(
    "body",
    [
        '<img src="logo.png"><img src="data:image/png;base64,AAAA">',
        '<a href="#here">x</a><p id="here">',
        '<a href="https://example.org/anywhere#at-all">x</a>',
        '<link rel="canonical" href="https://example.org/index.html">',
        '<a href="index.html?q=1#%C3%B6ffnen">x</a><p id="öffnen">',
    ],
)
def test_accepts_a_correct_page(site, body):
    write(site, body)
    assert list(problems(site)) == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('<script src="https://cdn.example.org/a.js"></script>', "fetches https://cdn"),
        ('<link rel="stylesheet" href="//example.org/a.css">', "fetches //example.org/a.css"),
        ('<img src="gone.png">', "leads to gone.png"),
        ('<a href="gone.html">x</a>', "leads to gone.html"),
        ('<a href="#gone">x</a>', "leads to #gone"),
        ('<a href="index.html#gone">x</a>', "leads to index.html#gone"),
    ],
)
def test_reports_a_problem_of_a_page(site, body, said):
    write(site, body)
    (found,) = problems(site)
    assert found.startswith(f"index.html {said}")


def test_reports_a_style_sheet_that_fetches_fonts(site):
    (site / "site.css").write_text('@font-face { src: url("https://fonts.example.org/a.woff") }')
    assert list(problems(site)) == ["site.css fetches https://fonts.example.org/a.woff"]


def test_reports_links_to_missing_pages(site):
    write(site, "")
    link = "- [Home](https://twohot.readthedocs.io/en/stable/{}.html): It opens the site.\n"
    (site / "llms.txt").write_text(link.format("index") + link.format("gone"), encoding="utf-8")
    assert list(missing_pages(site)) == ["llms.txt leads to gone.html, which is not there"]
    (site / "llms.txt").write_text("# twohot\n", encoding="utf-8")
    assert list(missing_pages(site)) == ["llms.txt has no links"]


def test_reports_public_names_and_commands_without_a_place(site):
    ids = [f"twohot-{name}" for name in COMMANDS]
    for module in public_modules("twohot"):
        ids += [f"{module}.{name}" for name in __import__(module, fromlist=["x"]).__all__]
    ids.remove("twohot.theory.judge")
    ids.remove("twohot-fit")
    write(site, "".join(f'<p id="{name}">' for name in ids), "reference/all.html")
    assert list(missing_names(site, "twohot")) == [
        "twohot.theory.judge has no page",
        "twohot fit has no section",
    ]

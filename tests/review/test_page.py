"""The report as a file: its data, and its safety against hostile text."""

import base64
import io
import json
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from page_script import data_of
from PIL import Image

from audits import HOSTILE, audit_rows
from pictures import noise, write_picture
from twohot.review.page import embedded_json, write_review
from twohot.review.records import ChoiceCurve, Curve, Method, ReviewSummary
from twohot.review.thumbnails import link, thumbnail


class Elements(HTMLParser):
    """The elements of a page, with their attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[list] = []
        self.inside = False
        self.feed(text)

    def handle_starttag(self, tag, attributes) -> None:
        self.found.append([tag, dict(attributes), ""])
        self.inside = True

    def handle_endtag(self, _) -> None:
        self.inside = False

    def handle_data(self, data) -> None:
        if self.inside:
            self.found[-1][2] += data

    def of(self, tag: str) -> list[list]:
        return [entry for entry in self.found if entry[0] == tag]


def page_of(tmp_path, rows, summary=None, **options):
    write_review(tmp_path / "report.html", rows, summary or ReviewSummary(), **options)
    return Elements((tmp_path / "report.html").read_text(encoding="utf-8"))


@given(st.dictionaries(st.text(), st.lists(st.text() | st.integers())))
def test_embedded_json_has_no_character_of_html(data) -> None:
    text = embedded_json(data)
    assert json.loads(text) == data
    assert not set("<>&\u2028\u2029") & set(text)


def test_page_loads_nothing_and_runs_no_attribute(tmp_path) -> None:
    page = page_of(
        tmp_path,
        audit_rows(12),
        ReviewSummary(
            title=HOSTILE[0],
            messages=HOSTILE,
            details={text: text for text in HOSTILE},
            methods=tuple(Method(text, 0.5, 0.1, chosen=True) for text in HOSTILE),
            choice=ChoiceCurve(HOSTILE[1], (Curve(HOSTILE[0], ((1, 0.5), (2, 0.6))),)),
        ),
    )
    tags = {tag for tag, *_ in page.found}
    assert not tags & {"img", "iframe", "object", "embed", "base"}
    for tag, attributes, _ in page.found:
        assert not any(name.startswith("on") or name == "style" for name in attributes), tag
        for name in ("src", "href"):
            assert attributes.get(name, "data:,") == "data:,"
    assert page.of("title")[0][2] == HOSTILE[0]


def test_columns_are_those_of_the_flagged_rows(tmp_path) -> None:
    rows = audit_rows(12, items=tuple(HOSTILE[:12]), item_kind="text")
    page, data, order = page_of(tmp_path, rows), data_of(tmp_path, rows), rows.flagged
    file = f"decisions-{rows.report_id()}.csv"
    assert data["nextStep"].startswith(f"twohot apply {file} --audit <folder of this report> --to")
    assert {data["nextStep"]} == {text for _, _, text in page.of("code") if "decisions" in text}
    assert data["report"] == rows.report_id()
    assert data["row"] == order.tolist()
    for name in ("given", "suggested", "second"):
        assert data[name] == getattr(rows, f"{name}_labels")[order].tolist()
    assert data["undecided"] == rows.is_undecided[order].tolist()
    assert data["items"] == [rows.items[i] for i in order]
    np.testing.assert_allclose(
        np.array(data["wrong"]) / 1000, 1 - rows.label_quality[order], atol=6e-4
    )
    assert data["neighbours"] is None


def test_page_depends_on_its_rows_alone_and_a_row_takes_few_bytes(tmp_path) -> None:
    long = audit_rows(12, items=("x" * 100_000,) * 12, item_kind="text")
    assert len(data_of(tmp_path, long)["items"][0]) == 2001
    pages = []
    for n_rows in (2_000, 2_000, 22_000):
        write_review(tmp_path / "page.html", audit_rows(n_rows), ReviewSummary())
        pages.append((tmp_path / "page.html").read_bytes())
    assert pages[0] == pages[1]
    assert (len(pages[2]) - len(pages[1])) / 10_000 < 32  # per flagged row without an item


def test_embeds_pictures_up_to_the_limit(tmp_path) -> None:
    items = tuple(f"pictures/{i}.png" for i in range(12))
    for seed, item in enumerate(items):
        write_picture(tmp_path / item, seed)
    rows = audit_rows(12, items=items, item_kind="image")
    data = data_of(tmp_path, rows, image_root=tmp_path, embed_limit=4)
    assert len(data["thumbnails"]) == 4
    assert all(uri.startswith("data:image/webp;base64,") for uri in data["thumbnails"])
    assert data["links"] == [items[i] for i in rows.flagged]


def test_links_pictures_without_pillow(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    rows = audit_rows(4, items=("a.png",) * 4, item_kind="image")
    data = data_of(tmp_path, rows, image_root=tmp_path)
    assert (data["thumbnails"], data["links"]) == ([], ["a.png"] * 2)
    texts = " ".join(text for *_, text in page_of(tmp_path, rows).found)
    assert 'thumbnails need pillow: pip install "twohot[vision]"' in texts


@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA", "1", "P", "CMYK", "I;16"])
def test_all_kinds_of_pictures_become_small(tmp_path, mode) -> None:
    for size in ((8, 8), (500, 10), (90, 90)):
        Image.new(mode, size, 1).save(tmp_path / "p.tif")
        assert max(decoded(thumbnail(tmp_path / "p.tif", 64)).size) == min(64, max(size))


def decoded(uri):
    with Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))) as picture:
        picture.load()
        return picture


def test_small_pictures_keep_every_pixel(tmp_path) -> None:
    picture = decoded(thumbnail(write_picture(tmp_path / "p.png", 0, (8, 8)), 192))
    np.testing.assert_array_equal(np.asarray(picture), noise(0, (8, 8)))


def test_files_that_are_no_pictures_have_no_thumbnail(tmp_path) -> None:
    (tmp_path / "half.png").write_bytes(b"\x89PNG\r\n\x1a\n half")
    Image.new("1", (10_000, 10_000)).save(tmp_path / "bomb.png")
    for item in ("half.png", "bomb.png", "missing.png", "", "a\0b", "x" * 5000):
        assert thumbnail(tmp_path / item, 64) is None


@pytest.mark.parametrize(
    ("item", "address"),
    [
        ("a.png", "../a.png"),
        ("sub/ä ?#%.png", "../sub/%C3%A4%20%3F%23%25.png"),
        ("/elsewhere/b.png", "../../elsewhere/b.png"),
        ("javascript:alert(1)", "../javascript%3Aalert%281%29"),
        ("https://example.invalid/x.png", "../https%3A/example.invalid/x.png"),
        ('"><script>', "../%22%3E%3Cscript%3E"),
        ("half \udc80", "../half%20%80"),
        ("half \ud83d", ""),
        ("a\0b", "../a%00b"),
    ],
)
def test_links_are_escaped_paths(item, address) -> None:
    assert link(item, Path("/data"), Path("/data/audit")) == address


@pytest.mark.parametrize(
    ("options", "summary", "message"),
    [
        ({"embed_limit": -1}, {}, "embed_limit=-1 is not allowed"),
        ({}, {"corruption": np.eye(3)}, r"corruption has shape \(3, 3\): pass shape \(4, 4\)"),
        ({}, {"correlation": np.ones(4)}, r"correlation has shape \(4,\)"),
        ({}, {"class_order": np.array([0, 0, 1, 2])}, "class_order is not an order of all classes"),
    ],
)
def test_rejects_options_and_writes_nothing(tmp_path, options, summary, message) -> None:
    with pytest.raises(ValueError, match=message):
        write_review(tmp_path / "r.html", audit_rows(12), ReviewSummary(**summary), **options)
    assert list(tmp_path.iterdir()) == []

"""The list of pages for language models: what stands in it, and in which order."""

from docutils.core import publish_doctree
from llms_txt import Listed, below, first_sentence, llms_text


def test_lists_a_page_with_its_first_sentence() -> None:
    page = Listed("guide/clean", "Clean", "After this page you can clean.")
    assert llms_text("twohot", "It finds wrong labels.", {"Guide": [page]}, "https://x.org/") == (
        "# twohot\n\n> It finds wrong labels.\n\n## Guide\n\n"
        "- [Clean](https://x.org/guide/clean.html): After this page you can clean.\n"
    )


def test_pages_below_a_page_follow_it() -> None:
    children = {"a": ["b", "d"], "b": ["c"]}
    assert list(below("a", children)) == ["a", "b", "c", "d"]


def test_the_first_sentence_is_no_heading_and_no_list() -> None:
    page = "Title\n=====\n\n* A point.\n\nYou can do this\nnow. And that.\n"
    assert first_sentence(publish_doctree(page)) == ""  # docutils has no section for a sole title
    longer = f"Site\n####\n\n{page}\n\nOther\n=====\n\nText.\n"
    assert first_sentence(publish_doctree(longer)) == "You can do this now."

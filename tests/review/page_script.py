"""Run the scripts of a page in node, without a browser."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from twohot.review.page import joined_script, write_review
from twohot.review.records import ReviewRows, ReviewSummary

# Modules that need no elements of a page.
WITHOUT_ELEMENTS = ("state", "decision_file", "storage", "filters")
STAND_INS = """
"use strict";
const task = JSON.parse(require("fs").readFileSync(0, "utf8"));
const { page, stored, kept, room, code, argument } = task;
globalThis.document = { getElementById: () => ({ textContent: page }) };
const texts = new Map(stored);
globalThis.localStorage = {
  getItem: (key) => texts.get(key) ?? null,
  setItem(key, text) { if (!room) throw new Error("full"); texts.set(key, text); },
};
const answer = require("vm").runInThisContext(`${code}`)(argument, kept);
process.stdout.write(JSON.stringify({ answer, stored: [...texts] }));
"""


@dataclass
class Storage:
    """What a browser stores."""

    texts: list[list[str]] = field(default_factory=list)  # [key, text] of localStorage
    kept: list[list[str]] = field(default_factory=list)  # likewise of the second copy
    has_room: bool = True


def json_of(path: Path) -> str:
    """Return the embedded data of a page as JSON."""
    found = re.search(r'id="report-data"[^>]*>(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    return found.group(1)


def data_of(folder: Path, rows: ReviewRows, summary: ReviewSummary | None = None, **options) -> Any:
    """Write a page, and return its embedded data."""
    write_review(folder / "report.html", rows, summary or ReviewSummary(), **options)
    return json.loads(json_of(folder / "report.html"))


def run_node(content: Any, *arguments: str) -> Any:
    """Return the JSON that node prints; it reads the content as JSON."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: the scripts of the report are not tested in it")
    done = subprocess.run(  # noqa: S603 (of this folder's own scripts)
        [node, *arguments], input=json.dumps(content), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run_page(
    path: Path,
    code: str,
    argument: Any = None,
    storage: Storage | None = None,
    modules: Sequence[str] = WITHOUT_ELEMENTS,
) -> Any:
    """Return the result of a function body in JavaScript, whose variable is `argument`."""
    storage = storage or Storage()
    task = {
        "page": json_of(path),
        "stored": storage.texts,
        "kept": storage.kept,
        "room": storage.has_room,
        "code": f"(argument, kept) => {{ {joined_script(modules)}\n{code} }}",
        "argument": argument,
    }
    found = run_node(task, "-e", STAND_INS)
    storage.texts = found["stored"]
    return found.get("answer")  # none: nothing is returned

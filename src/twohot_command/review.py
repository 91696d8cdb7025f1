"""`twohot review`: a page that bounds the remaining wrong labels, and when to stop."""

import webbrowser
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from twohot.audit import read_audit_folder, read_summary, write_review_page
from twohot_command.gate import share_of
from twohot_command.sources import image_root, places_of_audit
from twohot_command.terminal import say, say_next


def review(
    audit: Annotated[Path, Argument(help="Folder of the audit.")],
    *,
    until: Annotated[
        str, Option(metavar="<share>", help="Share of the labels that may stay wrong: 1% or 0.01.")
    ],
    twice: Annotated[
        str,
        Option(
            metavar="<share>",
            help="Show this share of the rows and every repair twice, to correct the bound for "
            "reviewer errors.",
        ),
    ] = "0%",
    images: Annotated[Path | None, Option(help="Folder that image paths are relative to.")] = None,
    seed: Annotated[int, Option(min=0, help="Seed of the random rows.")] = 0,
    no_open: Annotated[bool, Option("--no-open", help="Do not open the page.")] = False,
) -> None:
    """Review until at most a share of the labels is wrong, in a page that shows the bound."""
    rows = read_audit_folder(audit)
    noise_rate = read_summary(audit / "summary.json")["noise_rate"]
    page = write_review_page(
        audit,
        rows,
        until=share_of("until", until),
        seed=seed,
        twice=share_of("twice", twice),
        n_wrong=None if noise_rate is None else noise_rate * (rows.n_rows - rows.n_unlabelled),
        image_root=image_root(audit, rows, places_of_audit(audit), images),
    )
    say(f"Review until at most {until} of the labels are wrong: {page}")
    say("Save certificate.json and the decisions there, then run")
    say_next("verify", "certificate.json", audit, first="  ")
    if not no_open:
        webbrowser.open(page.resolve().as_uri())

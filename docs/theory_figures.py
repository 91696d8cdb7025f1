"""Make the figures of docs/theory.md: python docs/theory_figures.py.

They are those of `twohot reproduce synthetic`, measured here anew.
"""

from pathlib import Path

from twohot_paper.exhibit import RUN_KINDS, choose_exhibits

PAGE = Path(__file__).parent / "theory.md"
FOLDER = PAGE.parent / "figures"
DPI = 80  # readable on a page, and each below 150 kB


def main() -> None:
    """Measure all runs and save the figures that the page shows."""
    page = PAGE.read_text(encoding="utf-8")
    results: dict[object, object] = {}
    for exhibit in choose_exhibits(["synthetic"]):
        maker = exhibit.build()
        for run in maker.runs([]):
            if run not in results:
                results[run] = RUN_KINDS[type(run)].measure(run, {})
        for name, figure in maker.make(results, []).figures.items():
            path = FOLDER / f"theory_{name}.png"
            if path.name in page:
                figure.savefig(path, dpi=DPI, metadata={"Software": None})


if __name__ == "__main__":
    main()

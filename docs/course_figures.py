"""Draw the figures of docs/explanation/self_distillation.md: python docs/course_figures.py."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from twohot.noise import symmetric
from twohot.theory import (
    CorrelationModel,
    outputs_by_round,
    partial_label_condition,
    partial_label_outputs,
    shrinkage_factors,
    type_outputs,
)

FOLDER = Path(__file__).parent / "figures"
DPI = 80  # readable on a page, and each below 50 kB
SIZE = (6.0, 3.2)
L2 = 3.125e-4
MODEL = CorrelationModel.case_3(n_classes=4, same_class=0.4, same_superclass=0.1, n_per_class=100)


def averaging(axes: Any) -> None:
    """Draw what rounds keep of a direction."""
    eigenvalues = np.logspace(-2, 3, 200)
    for n_rounds in (1, 2, 4, 8):
        kept = shrinkage_factors(eigenvalues, ridge=0.5, n_rounds=n_rounds)
        axes.semilogx(eigenvalues, kept, label=f"t = {n_rounds}")
        axes.plot([0.6, 30.6], shrinkage_factors([0.6, 30.6], ridge=0.5, n_rounds=n_rounds), "k.")
    axes.set(xlabel="eigenvalue of the Gram matrix", ylabel="factor kept")


def margins(axes: Any) -> None:
    """Draw the margins of clean and mislabelled samples."""
    found = [
        each.margins()[0, :2]
        for each in outputs_by_round(MODEL, symmetric(4, 0.5), l2=L2, n_rounds=10)
    ]
    for name, values in zip(
        ("given the true label", "mislabelled"), np.transpose(found), strict=True
    ):
        axes.plot(range(1, 11), values, "o-", label=name)
    axes.axhline(0, color="gray", linewidth=0.8)
    axes.set(xlabel="round", ylabel="output at the truth less the next")


def stop(axes: Any) -> None:
    """Draw accuracies of very many rounds."""
    uneven = CorrelationModel.from_correlation(
        [[0.45, 0.12, -0.03], [0.12, 0.30, -0.02], [-0.03, -0.02, 0.38]],
        class_sizes=[400, 150, 250],
    )
    corruption = [[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.1, 0.1, 0.8]]
    cases = {
        "equal classes": (MODEL, symmetric(4, 0.5), L2),
        "unequal classes": (uneven, corruption, 0.65 / (3 * 800)),
    }
    for name, (model, noise, l2) in cases.items():
        found = outputs_by_round(model, noise, l2=l2, n_rounds=150)
        axes.semilogx(range(1, 151), [each.accuracy() for each in found], label=name)
    axes.set(xlabel="round", ylabel="training accuracy")


def two_hot(axes: Any) -> None:
    """Draw the outputs for one mislabelled sample."""
    skewed = np.array([np.roll([0.4, 0.3, 0.2, 0.1], k) for k in range(4)])
    shown = {
        "teacher": type_outputs(MODEL, skewed, l2=L2, n_rounds=1),
        "round 3": type_outputs(MODEL, skewed, l2=L2, n_rounds=3),
        "two-hot student": partial_label_outputs(MODEL, skewed, l2=L2),
    }
    for place, (name, predicted) in enumerate(shown.items()):
        axes.bar(np.arange(4) + 0.27 * (place - 1), predicted.outputs[0, 1], 0.25, label=name)
    axes.set_xticks(range(4), ["0 (truth)", "1 (given)", "2", "3"])
    axes.set(xlabel="label", ylabel="output")


def breaks(axes: Any) -> None:
    """Draw the slack of the two-hot student against the correlation between classes."""
    noise = [[0.40, 0.21, 0.20, 0.19], [0.20, 0.50, 0.16, 0.14],
             [0.20, 0.14, 0.50, 0.16], [0.20, 0.15, 0.14, 0.51]]  # fmt: skip
    levels = np.linspace(0.0, 0.39, 60)
    found = np.array(
        [
            partial_label_condition(
                CorrelationModel.case_3(
                    n_classes=4, same_class=0.4, same_superclass=level, n_per_class=100
                ),
                noise,
                l2=0.01,
            ).class_slack
            for level in levels
        ]
    )
    for k, slack in enumerate(found.T):
        axes.plot(levels, slack, label=f"class {k}")
    axes.axhline(0, color="gray", linewidth=0.8)
    axes.set(xlabel="correlation d between classes (c = 0.4)", ylabel="slack")


def main() -> None:
    """Draw all figures."""
    for draw in (averaging, margins, stop, two_hot, breaks):
        figure, axes = plt.subplots(figsize=SIZE, layout="constrained")
        draw(axes)
        axes.legend(frameon=False)
        figure.savefig(FOLDER / f"course_{draw.__name__}.png", dpi=DPI, metadata={"Software": None})
        plt.close(figure)


if __name__ == "__main__":
    main()

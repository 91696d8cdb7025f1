"""Make the figures of docs/theory.md: python docs/theory_figures.py."""

from pathlib import Path

import numpy as np

from twohot.experiment import synthetic_studies as studies
from twohot.figures import theory as figures

FOLDER = Path(__file__).parent / "figures"


def main() -> None:
    """Compute the six studies and save a figure of each."""
    setting = studies.SyntheticSetting()
    outputs = studies.output_study(setting)
    accuracy = studies.accuracy_study(setting, noise_rates=np.arange(0, 0.91, 0.05).tolist())
    drawn = {
        "eigenvalues": figures.eigenvalue_figure(studies.eigenvalue_study(setting)),
        "output_plane": figures.output_plane_figure(outputs),
        "accuracy": figures.accuracy_figure(accuracy),
        "label_outputs": figures.label_output_figure(outputs),
        "softmax_error": figures.softmax_error_figure(studies.softmax_error_study(setting)),
        "separation": figures.separation_figure(studies.separation_study()),
    }
    FOLDER.mkdir(exist_ok=True)
    for name, figure in drawn.items():
        figure.savefig(FOLDER / f"theory_{name}.png", dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    main()

"""Throughput of extract() over that of decoding, transform and model alone.

    python -m benchmarks.extraction

Alone means a loop that reads, decodes and transforms a batch in as many threads, puts it through
the model, and does nothing else: no key, no part, no feature file. Both run in turn, so that
whatever else the machine does falls on both. Measured by the clock and in processor time, once
with the model, and once with none, where all that is added shows most.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from twohot.extract import Backbone, LabelledItems, extract, load_backbone, read_image_folder
from twohot.extract.decoding import open_image

# A photo as the web has it.
HEIGHT, WIDTH, QUALITY = 375, 500, 90
# Pixels from one random colour to the next, smooth in between: some detail, but no noise.
DETAIL = 12


def write_photos(folder: Path, n_images: int) -> None:
    """Write JPEGs that are about as hard to decode as photos."""
    rng = np.random.default_rng(0)
    (folder / "class").mkdir(parents=True)
    for number in range(n_images):
        small = rng.integers(0, 256, (HEIGHT // DETAIL, WIDTH // DETAIL, 3), dtype=np.uint8)
        photo = Image.fromarray(small).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)
        photo.save(folder / "class" / f"{number:05d}.jpg", quality=QUALITY)


def run_alone(items: LabelledItems, backbone: Backbone, batch_size: int, n_workers: int) -> None:
    def prepared(path: str) -> object:
        return backbone.prepare(open_image(Path(path).read_bytes()))

    with ThreadPoolExecutor(n_workers) as pool:
        for start in range(0, len(items), batch_size):
            batch = list(pool.map(prepared, items.items[start : start + batch_size]))
            backbone.embed(batch)


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds that passed, and those that processors worked."""
    wall, work = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - work


def without_model(backbone: Backbone) -> Backbone:
    """Return a backbone that reads and transforms as before, and whose model costs nothing."""

    def embed(images: Sequence[Any]) -> Any:
        return np.array([[np.asarray(image)[0, 0, 0]] for image in images], dtype=np.float32)

    return replace(backbone, embed=embed)


def measure(items: LabelledItems, backbone: Backbone, options: argparse.Namespace) -> str:
    """Return rates and their ratio, each the median over pairs of runs."""
    size, n_workers = options.batch_size, options.workers
    pairs = []
    for _ in range(options.repeats):
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "photos.features"
            alone = timed(lambda: run_alone(items, backbone, size, n_workers))
            ours = timed(
                lambda output=output: extract(
                    items, backbone, output, batch_size=size, n_workers=n_workers
                )
            )
        pairs.append((alone, ours))
    cells = []
    for place, clock in enumerate(("clock", "processor")):
        rates = np.array([[len(items) / run[place] for run in pair] for pair in pairs])
        alone_rate, our_rate = np.median(rates, axis=0)
        ratio = np.median(rates[:, 1] / rates[:, 0])
        cells.append(f"{clock}: {alone_rate:.1f} alone, {our_rate:.1f} ours, ratio {ratio:.3f}")
    return "; ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backbone", default="efficientnet_lite0")
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    backbone = load_backbone(options.backbone)
    with tempfile.TemporaryDirectory() as folder:
        write_photos(Path(folder) / "photos", options.images)
        items = read_image_folder(Path(folder) / "photos")
        run_alone(items, backbone, options.batch_size, options.workers)  # warms up
        print("images per second")
        print(f"  {backbone.name}: {measure(items, backbone, options)}")
        print(f"  no model: {measure(items, without_model(backbone), options)}")


if __name__ == "__main__":
    main()

"""Throughput of extract() over that of decoding, transform and model alone.

Alone means a loop that reads, decodes and transforms a batch in as many threads, puts it through
the model, and does nothing else: no key, no part, no feature file. Both run in turn, so that
whatever else the machine does falls on both; the ratio is that of the medians.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image

from twohot.data import Backbone, LabelledItems, extract, load_backbone, read_image_folder
from twohot.data.reading import open_image

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
        times: dict[str, list[tuple[float, float]]] = {"alone": [], "extract": []}
        run_alone(items, backbone, options.batch_size, options.workers)  # warms up
        for repeat in range(options.repeats):
            output = Path(folder) / f"{repeat}.features"
            times["alone"].append(
                timed(lambda: run_alone(items, backbone, options.batch_size, options.workers))
            )
            times["extract"].append(
                timed(
                    lambda output=output: extract(
                        items,
                        backbone,
                        output,
                        batch_size=options.batch_size,
                        n_workers=options.workers,
                    )
                )
            )
    for place, unit in enumerate(("images a second", "images a second of processor time")):
        rate = {
            name: options.images / statistics.median(pair[place] for pair in pairs)
            for name, pairs in times.items()
        }
        print(
            f"{unit}: alone {rate['alone']:.1f}, extract {rate['extract']:.1f}, "
            f"ratio {rate['extract'] / rate['alone']:.3f}"
        )


if __name__ == "__main__":
    main()

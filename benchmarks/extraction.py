"""Throughput of extract() over that of decoding, transform and model alone.

    python -m benchmarks.extraction

Alone means a loop that reads, decodes and transforms a batch in as many threads, puts it through
the model, and does nothing else: no key, no part, no feature file. Its batch is the best of several
for it, whatever the batch of extract() is. All run in turn, so that whatever else the machine does
falls on all. Measured by the clock, in processor time and that part of it which the kernel took,
and in page faults; once with the model, and once with none, where all that is added shows most.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
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


def cost(run: Callable[[], object]) -> NDArray[np.float64]:
    """Return the seconds that passed, that processors worked, the kernel's part, and faults."""
    before = spent()
    run()
    return spent() - before


def spent() -> NDArray[np.float64]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    work = used.ru_utime + used.ru_stime
    return np.array([time.perf_counter(), work, used.ru_stime, used.ru_minflt])


def without_model(backbone: Backbone) -> Backbone:
    """Return a backbone that reads and transforms as before, and whose model costs nothing."""

    def embed(images: Sequence[Any]) -> Any:
        return np.array([[np.asarray(image)[0, 0, 0]] for image in images], dtype=np.float32)

    return replace(backbone, embed=embed)


def measure(items: LabelledItems, backbone: Backbone, options: argparse.Namespace) -> None:
    """Print what an image costs, each the median over rounds, and the ratio of throughputs."""
    n_workers, rounds = options.workers, []
    for _ in range(options.repeats):
        found = {
            f"alone, {size} at a time": cost(
                lambda s=size: run_alone(items, backbone, s, n_workers)
            )
            for size in options.batch_sizes
        }
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "photos.features"
            found["extract"] = cost(
                lambda o=output: extract(items, backbone, o, n_workers=n_workers)
            )
        rounds.append(found)
    costs = {name: np.median([found[name] for found in rounds], axis=0) for name in rounds[0]}
    for name, (*seconds, faults) in costs.items():
        wall, work, kernel = (f"{1000 * each / len(items):.1f} ms" for each in seconds)
        in_all = f"{wall}, {work} of a processor, {kernel} of it in the kernel"
        print(f"  {name:>22}: {in_all}, {faults / len(items):.0f} page faults")
    ours = costs.pop("extract")
    for place, clock in enumerate(("by the clock", "in processor time")):
        best = min(loop[place] for loop in costs.values())
        print(f"  throughput over that of the best loop, {clock}: {best / ours[place]:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backbone", default="efficientnet_lite0")
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[1, 4, 64])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    backbone = load_backbone(options.backbone)
    with tempfile.TemporaryDirectory() as folder:
        write_photos(Path(folder) / "photos", options.images)
        items = read_image_folder(Path(folder) / "photos")
        run_alone(items, backbone, options.batch_sizes[0], options.workers)  # warms up
        print(f"{backbone.name}, costs of an image")
        measure(items, backbone, options)
        print("no model")
        measure(items, without_model(backbone), options)


if __name__ == "__main__":
    main()

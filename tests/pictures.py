"""Small images of known content, in folders and files."""

import io
from pathlib import Path

import numpy as np
from PIL import Image


def noise(seed: int, size: tuple[int, int] = (24, 20)) -> np.ndarray:
    """Return an RGB image that no other seed has."""
    return np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8)


def encoded(pixels: np.ndarray, file_format: str = "PNG", **options: object) -> bytes:
    """Return an image file; PNG keeps every pixel."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, file_format, **options)
    return buffer.getvalue()


def write_picture(path: Path, seed: int, size: tuple[int, int] = (24, 20)) -> Path:
    """Write an image file, with the folder it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file_format = "JPEG" if path.suffix == ".jpg" else "PNG"
    path.write_bytes(encoded(noise(seed, size), file_format))
    return path


def write_photos(folder: Path, n_per_class: int = 4, classes: tuple[str, ...] = ("cat", "dog")):
    """Write a folder of images with a sub-folder per class; image i of all has seed i."""
    names = [(name, number) for name in classes for number in range(n_per_class)]
    for seed, (name, number) in enumerate(names):
        write_picture(folder / name / f"{number:03d}.png", seed)
    return folder

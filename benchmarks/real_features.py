"""Real features, which are not part of the project: a folder of npz files holds them."""

from pathlib import Path

FILES = {
    "BANKING77": "banking77_minilm.npz",
    "Flowers-102": "flowers102_resnet50.npz",
    "Caltech-101": "caltech101_resnet50.npz",
    "StanfordCars": "stanfordcars_resnet50_svd768.npz",
    "CIFAR-100, 100 a class": "cifar100_resnet50_100pc.npz",
    "CIFAR-100": "cifar100_resnet50_svd512_full.npz",
}


def real_file(folder: Path, name: str) -> Path:
    """Return the file of a data set, with X_train, y_train, X_test and y_test."""
    path = folder / FILES[name]
    if not path.is_file():
        raise FileNotFoundError(f"--features {folder} has no {path.name}: the folder must hold it.")
    return path

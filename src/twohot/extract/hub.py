"""Whether a model is known, asked once: loading one that is not would go on for minutes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from twohot._checks.messages import ArgumentError
from twohot._extras import load_extra

# Seconds that the hub has to answer.
PATIENCE = 10.0
# Files of which a model that was fetched before has at least one.
OWN_FILES = ("config.json", "model.safetensors", "pytorch_model.bin")
# The owner of the models that sentence-transformers knows by their name alone.
USUAL_OWNER = "sentence-transformers"


def check_text_model(name: str) -> None:
    """Raise unless a name is a folder, a model that was fetched before, or one of the hub's."""
    if Path(name).is_dir():
        return
    places = [name] if "/" in name else [f"{USUAL_OWNER}/{name}", name]
    check_on_hub(name, places, "minilm")


def check_on_hub(name: str, places: Sequence[str], offline: str) -> None:
    """Raise unless a model is at one of these places of the hub, or was fetched from there."""
    hub = load_extra("huggingface_hub", "text", "backbones")
    try:
        known = any(_is_cached(hub, place) or _is_on_hub(hub, place) for place in places)
    except hub.errors.HFValidationError:  # no name of the hub's could look so
        known = False
    except Exception as error:
        raise OSError(
            f"the backbone {name!r} is no folder and was not fetched before, and the hub cannot be "
            f"asked for it ({error}): connect, or take {offline!r}, whose weights are here."
        ) from error
    if not known:
        problem = "is not known, neither as a folder nor to the hub"
        raise ArgumentError({"backbone": name}, problem, f"check the name, or take {offline!r}.")


def _is_cached(hub: Any, place: str) -> bool:
    return any(isinstance(hub.try_to_load_from_cache(place, file), str) for file in OWN_FILES)


def _is_on_hub(hub: Any, place: str) -> bool:
    try:
        hub.HfApi().model_info(place, timeout=PATIENCE)
    except hub.errors.RepositoryNotFoundError:
        return False
    return True

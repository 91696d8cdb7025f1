"""Whether a model is known, asked once: loading one that is not would go on for minutes."""

from pathlib import Path
from typing import Any

from twohot._checks.messages import ArgumentError
from twohot._extras import load_extra

# Seconds that the hub has to answer.
PATIENCE = 10.0
# The owner of the models that sentence-transformers knows by their name alone.
USUAL_OWNER = "sentence-transformers"


def check_text_model(name: str) -> None:
    """Raise unless a name is a folder, a model that was fetched before, or one of the hub's."""
    if Path(name).is_dir():
        return
    hub = load_extra("huggingface_hub", "text", "text backbones")
    places = [name] if "/" in name else [f"{USUAL_OWNER}/{name}", name]
    try:
        known = any(_is_cached(hub, place) or _is_on_hub(hub, place) for place in places)
    except hub.errors.HFValidationError:  # no name of the hub's could look so
        known = False
    except Exception as error:
        raise OSError(
            f"the backbone {name!r} is no folder and was not fetched before, and the hub cannot be "
            f"asked for it ({error}): connect, or take 'minilm', whose weights are here."
        ) from error
    if not known:
        problem = "is not known, neither as a folder nor to the hub"
        raise ArgumentError({"backbone": name}, problem, "check the name, or take 'minilm'.")


def _is_cached(hub: Any, place: str) -> bool:
    return isinstance(hub.try_to_load_from_cache(place, "config.json"), str)


def _is_on_hub(hub: Any, place: str) -> bool:
    try:
        hub.HfApi().model_info(place, timeout=PATIENCE)
    except hub.errors.RepositoryNotFoundError:
        return False
    return True

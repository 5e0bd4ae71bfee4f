"""Model, word vectors and idf weights by the settings."""

import os
from typing import Any
from typing import NoReturn

from vlgauge.checkpoints.files import SourcesMissingError
from vlgauge.checkpoints.preflight import Preflight
from vlgauge.core.errors import UsageError
from vlgauge.core.signatures import local_name
from vlgauge.inputs.images.lazy_images import PREPROCESSING
from vlgauge.inputs.text.story_idf import IdfTable
from vlgauge.inputs.text.story_idf import idf_table
from vlgauge.inputs.text.word_vectors import WordVectorFile
from vlgauge.inputs.text.word_vectors import word_vector_file
from vlgauge.models.grounding.model import AUTHORS_IDF
from vlgauge.models.grounding.model import EMBEDDED
from vlgauge.models.grounding.model import IDF
from vlgauge.models.grounding.model import VECTORS
from vlgauge.models.grounding.model import GroundingModel
from vlgauge.models.grounding.model import grounding_model
from vlgauge.models.grounding.model import look_for_model

SOURCE_SETTINGS = ("checkpoint", "glove_path", "idf", "nouns", "regions", "detector_weights")
REQUIRED = "required"
NO_IDF = "none"


def look_for_idf(preflight: Preflight, idf: Any, profile: str) -> None:
    """Add the requirements of `load_idf` to a preflight."""
    if not (isinstance(idf, str) and idf == REQUIRED):
        preflight.look_for_file(idf, idf_table)
    elif profile != "embedded":
        preflight.look(refuse_without_idf)


def look_for_trained(preflight: Preflight, checkpoint: Any, glove_path: Any, profile: str) -> None:
    """Add the requirements of `load_trained` to a preflight."""
    look_for_model(preflight, checkpoint, profile)
    preflight.look(lambda: vectors_path(checkpoint, glove_path, profile))
    preflight.look_for_file(glove_path, word_vector_file)


def refuse_without_idf() -> NoReturn:
    """Raise the error for a missing setting `idf`.

    Raises:
        SourcesMissingError: Always.
    """
    raise SourcesMissingError.about(
        "idf",
        "is missing: pass a fitted JSON file, a mapping, or the list of the stories of a corpus (Wang et al., 2022, "
        "Eq. 1), or idf=None for weights of 1",
        f"the authors' pickle is at {AUTHORS_IDF}, and `vlgauge idf OUT --pickle FILE` converts it",
    )


def load_idf(idf: Any, profile: str) -> tuple[IdfTable | None, str]:
    """Return the table of idf weights, None for weights of 1, and its source for signatures.

    Raises:
        UsageError: If the table is required but missing, or is invalid.
    """
    if idf is None:
        return None, NO_IDF
    if isinstance(idf, str) and idf == REQUIRED:
        if profile != "embedded":
            refuse_without_idf()
        idf = EMBEDDED / IDF
    table = idf_table(idf)
    return table, table.identity


def load_trained(
    checkpoint: Any, glove_path: Any, *, profile: str, device: str
) -> tuple[GroundingModel, WordVectorFile]:
    """Return the checkpoint and the word vectors that it was trained with.

    Raises:
        ValueError: If the checkpoint was trained with other word vectors.
        WeightsNotFoundError: If the checkpoint or the word vectors cannot be found.
    """
    model = grounding_model(checkpoint, profile=profile, device=device)
    vectors = word_vector_file(vectors_path(checkpoint, glove_path, profile))
    wanted = (model.vectors or {}).get("sha256")
    if wanted not in (None, vectors.sha256):
        raise UsageError.about(
            "glove_path",
            f"must name the word vectors that {model.identity} was trained with, "
            f"{(model.vectors or {}).get('file')}@{str(wanted)[:8]}, got {vectors.identity}",
        )
    return model, vectors


def sign_model(model: GroundingModel, vectors: WordVectorFile) -> dict[str, Any]:
    """Return the signature fields that identify the source of the embeddings.

    Returns:
        ``enc``, ``dtype``, ``prep`` and ``vectors``.
    """
    names = {"enc": model.identity, "dtype": "float32", "prep": PREPROCESSING}
    return {**names, "vectors": local_name(vectors.sha256)}


def vectors_path(checkpoint: Any, glove_path: Any, profile: str) -> str | os.PathLike[str]:
    """Return the path of the file of word vectors.

    Raises:
        SourcesMissingError: If it is not set and not bundled.
    """
    path: str | os.PathLike[str] | None = glove_path
    if path is None and profile == "embedded" and checkpoint is None:
        path = EMBEDDED / VECTORS
    if path is None:
        raise SourcesMissingError.about(
            "glove_path",
            "is missing: pass the file of word vectors that the checkpoint was trained with",
            "the authors use glove.6B.300d.txt of https://nlp.stanford.edu/data/glove.6B.zip",
        )
    return path

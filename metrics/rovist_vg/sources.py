"""From the settings to what the formulas need: model, word vectors, weights, regions."""

import os
from typing import Any
from typing import NoReturn

from vlgauge.encoders.grounding.model import AUTHORS_IDF
from vlgauge.encoders.grounding.model import EMBEDDED
from vlgauge.encoders.grounding.model import IDF
from vlgauge.encoders.grounding.model import VECTORS
from vlgauge.encoders.grounding.model import GroundingModel
from vlgauge.encoders.grounding.model import grounding_model
from vlgauge.encoders.grounding.model import look_for_model
from vlgauge.media.pictures import PREPROCESSING
from vlgauge.regions import GIVEN
from vlgauge.regions import RegionSource
from vlgauge.regions import check_given
from vlgauge.regions import checked_source as checked_regions
from vlgauge.regions import checked_weights
from vlgauge.regions import look_for_regions
from vlgauge.regions import region_source
from vlgauge.settings import finite_number
from vlgauge.settings import shown
from vlgauge.signatures import local_name
from vlgauge.text.noun_phrases import checked_source as checked_nouns
from vlgauge.text.noun_phrases import look_for_phrases
from vlgauge.text.story_idf import IdfTable
from vlgauge.text.story_idf import idf_table
from vlgauge.text.word_lookup import OOV
from vlgauge.text.word_vectors import WordVectorFile
from vlgauge.text.word_vectors import word_vector_file
from vlgauge.weights.files import SourcesMissing
from vlgauge.weights.preflight import Preflight

SOURCE_SETTINGS = ("checkpoint", "glove_path", "idf", "nouns", "regions", "detector_weights")
REQUIRED = "required"
NO_IDF = "none"

__all__ = ["GIVEN", "OOV", "REQUIRED", "SOURCE_SETTINGS"]


def checked_sources(metric: Any) -> None:
    """Check the settings that name where nouns, weights and regions come from; loads nothing.

    Raises:
        ValueError: If one of them is not what it should be.
    """
    for name in ("checkpoint", "glove_path"):
        value = getattr(metric, name)
        if value is not None and (not isinstance(value, (str, os.PathLike)) or value == ""):
            raise ValueError(f"`{name}` must be the path of a file or folder, or None, got {shown(value)}")
    checked_nouns(metric.nouns, "nouns")
    checked_regions(metric.regions)
    checked_weights(metric.detector_weights, metric.regions)
    metric.min_score = finite_number("min_score", metric.min_score)


def missing_sources(metric: Any, has_images: bool, nouns: Any, regions: Any, features: Any) -> Preflight:
    """What a call needs that is not given with it; nothing is parsed, loaded or fetched.

    Raises:
        ValueError: If the call has too much or too little.
    """
    check_given(metric.name, has_images, regions, features)
    preflight = Preflight(metric.name, "rovist-vg")
    profile = metric.profile
    if nouns is None:
        look_for_phrases(preflight, metric.nouns, profile=profile, argument="nouns")
    if not (isinstance(metric.idf, str) and metric.idf == REQUIRED):
        preflight.look_for_file(metric.idf, idf_table)
    elif profile != "embedded":
        preflight.look(refuse_without_idf)
    if features is None:
        look_for_model(preflight, metric.checkpoint, profile)
        preflight.look(lambda: vectors_path(metric))
        preflight.look_for_file(metric.glove_path, word_vector_file)
    if features is None and regions is None:
        look_for_regions(preflight, metric.regions, profile=profile, weights=metric.detector_weights)
    return preflight


def refuse_without_idf() -> NoReturn:
    """SourcesMissing: no idf was given, nor None."""
    raise SourcesMissing(
        "`idf` is missing: give a fitted JSON file, a mapping, or the list of the stories of a corpus (Wang et al., "
        f"2022, Eq. 1), or idf=None for weights of 1; the authors' pickle is at {AUTHORS_IDF}, and "
        "`vlgauge idf OUT --pickle FILE` converts it"
    )


def idf_weights(metric: Any) -> tuple[IdfTable | None, str]:
    """The table of idf weights, None for weights of 1, and its source for signatures.

    Raises:
        ValueError: If none is given, or it holds something else.
        OSError: If a file cannot be read.
    """
    if metric.idf is None:
        return None, NO_IDF
    source = metric.idf
    if isinstance(source, str) and source == REQUIRED:
        if metric.profile != "embedded":
            refuse_without_idf()
        source = EMBEDDED / IDF
    table = idf_table(source)
    return table, table.identity


def trained_model(metric: Any) -> tuple[GroundingModel, WordVectorFile]:
    """The checkpoint and the word vectors that it was trained with.

    Raises:
        WeightsNotFound: If one of them is missing.
        ValueError: If they do not belong together, or are broken.
    """
    model = grounding_model(metric.checkpoint, profile=metric.profile, device=metric.device)
    vectors = word_vector_file(vectors_path(metric))
    wanted = (model.vectors or {}).get("sha256")
    if wanted not in (None, vectors.sha256):
        raise ValueError(
            f"`glove_path` must name the word vectors that {model.identity} was trained with, "
            f"{(model.vectors or {}).get('file')}@{str(wanted)[:8]}, got {vectors.identity}"
        )
    return model, vectors


def signed_model(model: GroundingModel, vectors: WordVectorFile) -> dict[str, Any]:
    """Fields of the signature that say what made the vectors."""
    return {
        "enc": model.identity,
        "dtype": "float32",
        "prep": PREPROCESSING,
        "vectors": local_name(vectors.sha256),
    }


def vectors_path(metric: Any) -> str | os.PathLike[str]:
    """The file of word vectors.

    Raises:
        SourcesMissing: If none is given.
    """
    path: str | os.PathLike[str] | None = metric.glove_path
    if path is None and metric.profile == "embedded" and metric.checkpoint is None:
        path = EMBEDDED / VECTORS
    if path is None:
        raise SourcesMissing(
            "`glove_path` is missing: name the file of word vectors that the checkpoint was trained with; the authors "
            "take glove.6B.300d.txt of https://nlp.stanford.edu/data/glove.6B.zip"
        )
    return path


def regions_from(metric: Any, regions: Any) -> tuple[RegionSource | Any, str]:
    """Where regions come from, and its name for signatures."""
    if regions is not None:
        return None, GIVEN
    source = region_source(
        metric.regions, profile=metric.profile, weights=metric.detector_weights, device=metric.device
    )
    return source, source.identity

"""From the settings to what the formulas need: phrases, weights, encoder, regions."""

import os
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any

from vlgauge.encoders import ImageTextEncoder
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
from vlgauge.settings import valid_unicode
from vlgauge.text.concreteness import UNKNOWN_WEIGHT
from vlgauge.text.concreteness import PhraseWeights
from vlgauge.text.concreteness import concreteness_table
from vlgauge.text.concreteness import packaged_ratings
from vlgauge.text.language import replace_placeholders
from vlgauge.text.noun_phrases import checked_source as checked_phrases
from vlgauge.text.noun_phrases import given_phrases
from vlgauge.text.noun_phrases import look_for_phrases
from vlgauge.text.noun_phrases import phrase_source
from vlgauge.text.story_idf import idf_table
from vlgauge.weights.preflight import Preflight

SOURCE_SETTINGS = (
    *("dataset", "theta", "concreteness", "concreteness_path", "idf", "noun_phrases"),
    *("regions", "detector_weights", "backbone", "weights", "feature_cache"),
)
CONCRETENESS = ("brysbaert", "idf")
UNITS = ("noun_phrases", "nouns")
UNKNOWN = UNKNOWN_WEIGHT
OPENAI_BACKBONE = "ViT-B/32"


def checked_sources(metric: Any) -> None:
    """Check the settings that name where phrases, weights and regions come from; reads no file and loads no model.

    Raises:
        ValueError: If one of them is not what it should be, or two do not fit.
    """
    checked_phrases(metric.noun_phrases)
    checked_regions(metric.regions)
    checked_weights(metric.detector_weights, metric.regions)
    metric.min_score = finite_number("min_score", metric.min_score)
    if (metric.idf is not None) is not (metric.concreteness == "idf"):
        raise ValueError(
            "`idf` must be given with concreteness='idf', and only then: a fitted file, or the stories of the corpus; "
            f"got {type(metric.idf).__name__} with concreteness={shown(metric.concreteness)}"
        )
    if metric.theta is not None and metric.dataset is not None:
        raise ValueError(
            f"`dataset` must be left out where `theta` is given, which takes its place, got "
            f"{shown(metric.dataset)} and {shown(metric.theta)}"
        )
    if not isinstance(metric.concreteness_path, (str, os.PathLike, NoneType)):
        raise ValueError(f"`concreteness_path` must be the path of a file, got {shown(metric.concreteness_path)}")
    if metric.concreteness_path is not None and metric.concreteness != "brysbaert":
        raise ValueError(
            f"`concreteness_path` must be left out with concreteness={metric.concreteness!r}, got "
            f"{str(metric.concreteness_path)!r}"
        )


def look_for_sources(metric: Any, has_images: bool, noun_phrases: Any, regions: Any, features: Any) -> Preflight:
    """What a call needs that is not given with it; nothing is parsed, loaded or fetched.

    Raises:
        ValueError: If the call has too much or too little.
    """
    from vlgauge.encoders.clip.loading import look_for_clip

    check_given(metric.name, has_images, regions, features)
    preflight = Preflight(metric.name, "groovist")
    profile = metric.profile
    if noun_phrases is None:
        look_for_phrases(preflight, metric.noun_phrases, profile=profile)
    if metric.concreteness == "brysbaert" and (metric.concreteness_path or packaged_ratings()) is None:
        preflight.look(concreteness_table)
    preflight.look_for_file(metric.concreteness_path, concreteness_table)
    preflight.look_for_file(metric.idf, idf_table)
    if features is None and not isinstance(metric.backbone, ImageTextEncoder):
        look_for_clip(preflight, metric.backbone, weights=metric.weights, profile=profile)
    if features is None and regions is None:
        look_for_regions(preflight, metric.regions, profile=profile, weights=metric.detector_weights)
    return preflight


def sentence_phrases(
    metric: Any, stories: Sequence[Sequence[str]], given: Any, *, units: str | None = None
) -> tuple[list[list[list[str]]], str]:
    """Phrases of each sentence of each story, and their source for signatures.

    Args:
        metric: The metric, for its settings.
        stories: Sentences of each story.
        given: Lists of the caller, flat or per sentence, used verbatim; None to extract them.
        units: "noun_phrases" or "nouns"; None for those of the metric.
    """
    if given is not None:
        return given_phrases(given, len(stories)), GIVEN
    for i, story in enumerate(stories):
        for k, sentence in enumerate(story):
            valid_unicode(sentence, f"predictions[{i}], sentence {k}")  # spaCy takes nothing else
    source = phrase_source(metric.noun_phrases, profile=metric.profile)
    flat = [replace_placeholders(sentence, metric.placeholders) for story in stories for sentence in story]
    found = iter(
        (source.nouns if (units or metric.units) == "nouns" else source.noun_phrases)(flat, progress=metric.progress)
    )
    return [[next(found) for _ in story] for story in stories], source.identity


def phrase_weigher(metric: Any) -> tuple[Callable[[str], float | None], str]:
    """A function from a phrase to its weight (None where no word is known), and its source for signatures.

    Raises:
        ValueError: If the ratings are missing or broken.
        OSError: If a file cannot be read.
    """
    if metric.concreteness is None:
        return lambda phrase: 1.0, "none"
    if metric.concreteness == "idf":
        idf = idf_table(metric.idf, lowercase=True)  # phrases are in lower case, the stories of a corpus are not
        if idf.n_stories is None:
            raise ValueError(
                "`idf` must be a fitted table with `N` and `df`, or the stories of the corpus, got finished values, "
                "which do not tell what another word weighs; fit one with "
                "`vlgauge.text.story_idf.fit_idf(stories, lowercase=True)`"
            )
        return idf.mean, idf.identity
    table = concreteness_table(metric.concreteness_path)
    return PhraseWeights(table, metric.lemmatizer).weight, table.identity


@dataclass(frozen=True)
class Sources:
    """Where vectors come from.

    Attributes:
        encoder: What makes them; None if they are given.
        encoder_name: Its identity, by which a fitted theta knows it.
        signed: Fields of the signature that say what made the vectors.
        is_published: Whether it is the one that the published thetas were made with.
        regions: The source of regions; None if regions or vectors are given.
        regions_name: Its identity, for signatures.
    """

    encoder: ImageTextEncoder | None
    encoder_name: str
    signed: dict[str, Any]
    is_published: bool
    regions: RegionSource | None
    regions_name: str


def comparison_sources(metric: Any, regions: Any, features: Any) -> Sources:
    """Encoder and source of regions of a call.

    Args:
        metric: The metric, for its settings.
        regions: Regions of the call, or None.
        features: Features of the call, or None.
    """
    if features is not None:
        return Sources(None, GIVEN, {"enc": GIVEN, "dtype": None}, False, None, GIVEN)
    encoder, published = grounding_encoder(metric)
    of_encoder = (encoder, encoder.identity, _signed(metric, encoder), published)
    if regions is not None:
        return Sources(*of_encoder, None, GIVEN)
    source = region_source(
        metric.regions, profile=metric.profile, weights=metric.detector_weights, device=metric.device
    )
    return Sources(*of_encoder, source, source.identity)


def _signed(metric: Any, encoder: Any) -> dict[str, Any]:
    """Fields of the signature of an encoder: one of ours, or an object of the user's, which computes in its own way."""
    if encoder is metric.backbone:
        return {"enc": encoder.identity, "dtype": None, "prep": None}
    from vlgauge.encoders.clip.loading import weights_name

    name = weights_name(encoder, given=metric.weights is not None)
    return {"enc": name, "prep": PREPROCESSING, "arch": encoder.architecture}


def grounding_encoder(metric: Any) -> tuple[ImageTextEncoder, bool]:
    """The encoder, and whether it is the one that the published thetas were made with."""
    if isinstance(metric.backbone, ImageTextEncoder):
        return metric.backbone, False
    from vlgauge.encoders.clip.loading import clip_encoder

    settings = {name: getattr(metric, name) for name in ("weights", "profile", "device", "dtype", "feature_cache")}
    encoder = clip_encoder(metric.backbone, **settings)
    openai = metric.profile == "paper" and encoder.row.name == OPENAI_BACKBONE
    return encoder, openai and (metric.weights is None or encoder.digest == encoder.row.openai_sha256)

"""Weights of phrases by the settings: concreteness ratings or idf."""

from collections.abc import Callable
from typing import Any

from vlgauge.checkpoints.preflight import Preflight
from vlgauge.core.errors import UsageError
from vlgauge.core.validation import check_choice
from vlgauge.core.validation import check_path
from vlgauge.core.validation import short_repr
from vlgauge.inputs.text.concreteness import PhraseWeights
from vlgauge.inputs.text.concreteness import concreteness_table
from vlgauge.inputs.text.concreteness import find_packaged_ratings
from vlgauge.inputs.text.concreteness import wordnet_lemmas
from vlgauge.inputs.text.noun_phrases import ENGLISH
from vlgauge.inputs.text.story_idf import idf_table

SOURCE_SETTINGS = (
    *("dataset", "theta", "concreteness", "concreteness_path", "idf", "noun_phrases"),
    *("regions", "detector_weights", "backbone", "weights", "feature_cache"),
)
CONCRETENESS = ("brysbaert", "idf")

Weigh = Callable[[str], float | None]
"""Function that returns the weight of a phrase. None if none of its words is known."""


def check_concreteness(concreteness: Any, *, path: Any, idf: Any) -> str | None:
    """Validate the setting `concreteness` and its sources of weights, without reading a file.

    Returns:
        The setting.

    Raises:
        ValueError: If the value is unknown, or if a source is missing or unused.
    """
    if concreteness is not None:
        check_choice("concreteness", concreteness, CONCRETENESS)
    if (idf is not None) is not (concreteness == "idf"):
        raise UsageError.about(
            "idf",
            f"and concreteness='idf' require each other, got {type(idf).__name__} with "
            f"concreteness={short_repr(concreteness)}",
            "pass a fitted file, or the stories of the corpus",
        )
    if check_path("concreteness_path", path) is not None and concreteness != "brysbaert":
        raise UsageError.about(
            "concreteness_path", f"cannot be combined with concreteness={concreteness!r}, got {str(path)!r}"
        )
    return concreteness


def has_english_ratings(concreteness: str | None, path: Any) -> bool:
    """Return whether the settings select the packaged ratings, which are of English words."""
    return concreteness == "brysbaert" and path is None


def check_weights_language(concreteness: str | None, path: Any, language: str) -> None:
    """Check that the weights suit the language of the phrases.

    Raises:
        UsageError: If the ratings are the English ones, and the phrases are of another language.
    """
    if language != ENGLISH and has_english_ratings(concreteness, path):
        raise UsageError.about(
            "concreteness",
            f'"brysbaert" has ratings of English words only, got noun phrases of language {language!r}',
            'choose concreteness="idf" or None, or pass a table of this language as `concreteness_path`',
        )


def look_for_weights(preflight: Preflight, concreteness: str | None, lemmatizer: str, *, path: Any, idf: Any) -> None:
    """Add the requirements of `load_weigher` to a preflight."""
    if concreteness == "brysbaert" and (path or find_packaged_ratings()) is None:
        preflight.look(concreteness_table)
    if concreteness == "brysbaert" and lemmatizer == "wordnet":
        preflight.look(wordnet_lemmas)
    preflight.look_for_file(path, concreteness_table)
    preflight.look_for_file(idf, idf_table)


def load_weigher(concreteness: str | None, lemmatizer: str, *, path: Any, idf: Any) -> tuple[Weigh, str]:
    """Return the function that weights a phrase, and its source for signatures.

    Raises:
        ValueError: If the ratings are missing or invalid.
        OSError: If a file cannot be read.
    """
    if concreteness is None:
        return lambda phrase: 1.0, "none"
    if concreteness == "idf":
        table = idf_table(idf, lowercase=True)  # phrases are lowercased, the stories of a corpus are not
        if table.n_stories is None:
            raise UsageError.about(
                "idf",
                "must be a fitted table with `N` and `df`, or the stories of the corpus, got final weights, "
                "which exclude other words",
                "fit one with `vlgauge.inputs.text.story_idf.fit_idf(stories, lowercase=True)`",
            )
        return table.mean, table.identity
    ratings = concreteness_table(path)
    return PhraseWeights(ratings, lemmatizer).weight, ratings.identity

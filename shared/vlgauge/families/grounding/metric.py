"""Base class of groovist and rovist_vg, which compare the words of a story with the regions of its images."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from vlgauge.checkpoints.preflight import Preflight
from vlgauge.core.errors import UsageError
from vlgauge.core.validation import check_float, check_int, check_one_each, warn
from vlgauge.families.base import Metric
from vlgauge.families.base.columns import Images, Story
from vlgauge.families.grounding.evidence import Spots
from vlgauge.inputs.text.language import (
    check_placeholders,
    check_sentences,
    check_splitter,
    replace_placeholders,
    sentence_splitter,
    split_sentences,
    story_sentences,
)
from vlgauge.inputs.text.noun_phrases import check_phrases, is_english, look_for_phrases, phrase_source
from vlgauge.inputs.text.noun_phrases import check_source as checked_phrases
from vlgauge.models.clip.backbones import may_be_multilingual
from vlgauge.models.detectors import (
    GIVEN,
    check_detector_weights,
    check_region_source,
    look_for_regions,
    region_source,
)

Splitter = Callable[[str], list[str]]


@dataclass(frozen=True, kw_only=True)
class RegionSettings:
    """Settings of the regions of images.

    Attributes:
        regions: Source of regions. See `vlgauge.models.detectors.region_source`.
        detector_weights: File of the detector's weights, or its place on the Hub.
        top_k: Maximum number of regions per image.
        min_score: Minimum score. Regions with a lower score are omitted.
        device: Device of the models.
        batch_size: Number of images or texts per forward pass.
    """

    regions: Any = None
    detector_weights: str | os.PathLike[str] | None = None
    top_k: int = 10
    min_score: float = 0.0
    device: str = "auto"
    batch_size: int = 64

    def __post_init__(self) -> None:
        check_region_source(self.regions)
        check_detector_weights(self.detector_weights, self.regions)
        object.__setattr__(self, "top_k", check_int("top_k", self.top_k, 1))
        object.__setattr__(self, "min_score", check_float("min_score", self.min_score))
        object.__setattr__(self, "batch_size", check_int("batch_size", self.batch_size, 1))

    @property
    def limits(self) -> dict[str, Any]:
        """``top_k`` and ``min_score``."""
        return {"top_k": self.top_k, "min_score": self.min_score}

    def signature_fields(self) -> dict[str, Any]:
        """Return `limits` for the signature, without the source, whose identity each call adds."""
        return self.limits

    def look_for(self, preflight: Preflight, regions: Any, features: Any, *, profile: str) -> None:
        """Make a preflight check the source of regions, if neither regions nor features are passed."""
        if features is None and regions is None:
            look_for_regions(preflight, self.regions, profile=profile, weights=self.detector_weights)

    def choose(self, regions: Any, features: Any, n_stories: int, *, profile: str) -> tuple[Any, str]:
        """Return the regions or source of regions, and its name for signatures.

        Args:
            regions: Regions of the call, or None.
            features: Features of the call, or None. With features, no regions are used.
            n_stories: Number of stories.
            profile: Profile of the metric.

        Returns:
            The regions of the call, or None with features, or otherwise the source of the setting.

        Raises:
            ValueError: If there is not one entry per story, or the profile has no such detector.
            WeightsNotFoundError: If the weights of the detector are missing.
        """
        if features is not None:
            return None, GIVEN
        if regions is not None:
            check_one_each("regions", regions, n_stories, "entry per story")
            return list(regions), GIVEN
        source = region_source(self.regions, profile=profile, weights=self.detector_weights, device=self.device)
        return source, source.identity


@dataclass(frozen=True, kw_only=True)
class SentenceSettings:
    """Settings of the sentences of stories.

    Attributes:
        sentences: Method for splitting a text into sentences. See `vlgauge.inputs.text.language.sentence_splitter`.
        placeholders: Which placeholders become words. See `vlgauge.inputs.text.language.replace_placeholders`.
    """

    sentences: str | Splitter = "rules"
    placeholders: str | None = "released"

    def __post_init__(self) -> None:
        check_splitter(self.sentences)
        check_placeholders(self.placeholders)

    def signature_fields(self) -> dict[str, Any]:
        """Return ``sentences`` and ``placeholders`` for the signature."""
        return {"sentences": self.sentences, "placeholders": self.placeholders}

    def split_stories(self, predictions: Sequence[Any]) -> tuple[list[list[str]], Splitter]:
        """Return the sentences of each story, and the function that splits them."""
        split = sentence_splitter(self.sentences)
        return [story_sentences(story, split) for story in predictions], split


class GroundingMetric(Metric):
    """Base class with the sources of words, regions and features, which are per-call inputs or settings.

    Attributes:
        words: Name of the setting and of the per-call input for the words: "noun_phrases" or "nouns".
        unit: Name of a single word, for messages.
    """

    columns = (Story("predictions"), Images("images", optional=True))
    setting_groups = (SentenceSettings, RegionSettings)
    sentences: str | Splitter
    placeholders: str | None
    words: ClassVar[str]
    unit: ClassVar[str]

    def __init__(self, *args: Any, **host: Any) -> None:
        checked_phrases(getattr(self, self.words), self.words)
        super().__init__(*args, **host)

    def start_preflight(self, images: Any, words: Any, regions: Any, features: Any) -> Preflight:
        """Return a preflight of the requirements for sentences and words that are not per-call inputs.

        Raises:
            ValueError: If the call has too many or too few inputs to compare stories with.
        """
        if features is not None and regions is not None:
            raise UsageError.about("regions", "cannot be combined with `features`; pass either")
        # Individual rows without images are reported later with their index.
        if features is None and regions is None and (images is None or all(row is None for row in images)):
            raise UsageError.about(
                "images", f"is missing: {self.name} requires images, or crops as `regions`, or `features`"
            )
        found = Preflight(self.name)
        found.look(lambda: sentence_splitter(self.sentences))
        if words is None:
            look_for_phrases(found, getattr(self, self.words), profile=self.profile, argument=self.words)
        return found

    def extract_words(
        self,
        stories: Sequence[Sequence[str]],
        given: Any,
        *,
        nouns: bool,
        pronouns: bool = True,
        split: Splitter = split_sentences,
    ) -> tuple[list[list[list[str]]], str]:
        """Return the noun phrases or nouns of each sentence of each story, and their source for signatures.

        Args:
            stories: Sentences of each story.
            given: Words passed by the user, flat or per sentence, which are used verbatim. None to extract them.
            nouns: Whether to extract nouns instead of noun phrases.
            pronouns: Whether to extract pronouns in other languages than English.
            split: Function with which NLTK's tagger splits a sentence again.

        Raises:
            ValueError: If the words of the user have another form, or a sentence is not valid Unicode.
        """
        if given is not None:
            return check_phrases(given, len(stories), argument=self.words), GIVEN
        check_sentences(stories)
        source = phrase_source(getattr(self, self.words), profile=self.profile, argument=self.words, split=split)
        self.check_language(source.language)
        extract = source.nouns if nouns else partial(source.noun_phrases, pronouns=pronouns)
        sentences = [replace_placeholders(sentence, self.placeholders) for story in stories for sentence in story]
        found = iter(extract(sentences, progress=self.progress))
        return [[next(found) for _ in story] for story in stories], source.identity

    def is_for_other_languages(self, name: str, setting: Any) -> bool:
        """Return whether a setting may support other languages than English. See `Metric.is_for_other_languages`."""
        if name == self.words and isinstance(setting, str):
            return not is_english(setting)
        if name == "backbone":
            return may_be_multilingual(setting)
        return super().is_for_other_languages(name, setting)

    def check_language(self, language: str) -> None:  # most settings support all languages
        """Check that the settings support the language of the words.

        Args:
            language: Code of a language, such as "en".

        Raises:
            UsageError: If they do not.
        """

    def warn_of_images(self, spots: Sequence[Spots]) -> None:
        """Warn once per call about the images without a region."""
        if without := sum(len(of.images_without_regions) for of in spots):
            warn(f"images without a region, which were ignored: {without}")

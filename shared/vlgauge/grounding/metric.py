"""The base of groovist and rovist_vg: the words of a story beside the regions of its images."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from vlgauge.base import StoryImageMetric
from vlgauge.base.columns import Images, Story
from vlgauge.errors import UsageError
from vlgauge.grounding.evidence import Encode, Evidence, Floats, Spots, given_stories, seen_stories
from vlgauge.grounding.features import per_story
from vlgauge.regions import GIVEN, RegionSource, checked_source, checked_weights, look_for_regions, region_source
from vlgauge.settings import finite_number, valid_unicode, warn, whole_number
from vlgauge.text.language import (
    checked_placeholders,
    checked_splitter,
    replace_placeholders,
    sentence_splitter,
    split_sentences,
    story_sentences,
)
from vlgauge.text.noun_phrases import checked_source as checked_phrases
from vlgauge.text.noun_phrases import given_phrases, look_for_phrases, phrase_source
from vlgauge.weights.preflight import Preflight

Splitter = Callable[[str], list[str]]


class GroundingMetric(StoryImageMetric):
    """Where words, regions and features come from: the call, or a setting.

    Attributes:
        words: Name of the setting, and of the per-call data, that tell the words: "noun_phrases" or "nouns".
        unit: What one of them is called, for messages.
    """

    columns = (Story("predictions"), Images("images", optional=True))
    words: ClassVar[str]
    unit: ClassVar[str]

    def __init__(
        self,
        *args: Any,
        sentences: str | Splitter = "rules",
        placeholders: str | None = "released",
        regions: Any = None,
        detector_weights: str | os.PathLike[str] | None = None,
        top_k: int = 10,
        min_score: float = 0.0,
        device: str = "auto",
        batch_size: int = 64,
        **host: Any,
    ) -> None:
        self.sentences, self.placeholders = checked_splitter(sentences), checked_placeholders(placeholders)
        checked_phrases(getattr(self, self.words), self.words)
        self.regions = checked_source(regions)
        self.detector_weights = checked_weights(detector_weights, regions)
        self.top_k, self.min_score = whole_number("top_k", top_k, 1), finite_number("min_score", min_score)
        self.device, self.batch_size = device, whole_number("batch_size", batch_size, 1)
        super().__init__(*args, **host)

    def begun_preflight(self, images: Any, words: Any, regions: Any, features: Any) -> Preflight:
        """What a call needs for its sentences and words that is not given with it.

        Raises:
            ValueError: If the call has too much or too little to compare stories with.
        """
        if features is not None and regions is not None:
            raise UsageError.about("regions", "must be left out where `features` are given, got both")
        # A row without images is refused by its number.
        if features is None and regions is None and (images is None or all(row is None for row in images)):
            raise UsageError.about(
                "images", f"is missing: {self.name} needs images, or crops as `regions`, or `features`"
            )
        found = Preflight(self.name, self.name.replace("_", "-"))
        found.look(lambda: sentence_splitter(self.sentences))
        if words is None:
            look_for_phrases(found, getattr(self, self.words), profile=self.profile, argument=self.words)
        return found

    def look_for_regions(self, preflight: Preflight, regions: Any, features: Any) -> None:
        """Have a preflight look for what finds regions, if neither they nor features are given."""
        if features is None and regions is None:
            look_for_regions(preflight, self.regions, profile=self.profile, weights=self.detector_weights)

    def told_stories(self, predictions: Sequence[Any]) -> tuple[list[list[str]], Splitter]:
        """Sentences of each story, and what splits them."""
        split = sentence_splitter(self.sentences)
        return [story_sentences(story, split) for story in predictions], split

    def sentence_words(
        self,
        stories: Sequence[Sequence[str]],
        given: Any,
        *,
        nouns: bool,
        split: Splitter = split_sentences,
    ) -> tuple[list[list[list[str]]], str]:
        """Noun phrases or nouns of each sentence of each story, and their source for signatures.

        Args:
            stories: Sentences of each story.
            given: Lists of the caller, flat or per sentence, used verbatim; None to extract them.
            nouns: Whether nouns are extracted, not noun phrases.
            split: How NLTK's tagger splits a sentence again.

        Raises:
            ValueError: If what is given has another form, or a sentence is no valid Unicode.
        """
        if given is not None:
            return given_phrases(given, len(stories), argument=self.words), GIVEN
        for i, story in enumerate(stories):
            for k, sentence in enumerate(story):
                valid_unicode(sentence, f"predictions[{i}], sentence {k}")  # spaCy takes nothing else
        source = phrase_source(getattr(self, self.words), profile=self.profile, argument=self.words, split=split)
        extract = source.nouns if nouns else source.noun_phrases
        sentences = [replace_placeholders(sentence, self.placeholders) for story in stories for sentence in story]
        found = iter(extract(sentences, progress=self.progress))
        return [[next(found) for _ in story] for story in stories], source.identity

    def chosen_regions(
        self, regions: Any, features: Any, n_stories: int
    ) -> tuple[RegionSource | Sequence[Any] | None, str]:
        """What the caller gives of each story, else the source of the setting; and its name for signatures.

        Args:
            regions: Regions of the call, or None.
            features: Features of the call, with which no regions are looked at, or None.
            n_stories: Number of stories.

        Raises:
            ValueError: If there is not one entry per story, or the profile has no such detector.
            WeightsNotFoundError: If the weights of the detector are missing.
        """
        if features is not None:
            return None, GIVEN
        if regions is not None:
            return per_story(regions, n_stories, "regions"), GIVEN
        source = region_source(self.regions, profile=self.profile, weights=self.detector_weights, device=self.device)
        return source, source.identity

    def seen_stories(
        self, text: Floats, rows: Sequence[Sequence[int]], regions: Any, images: Any, encode: Encode
    ) -> Iterator[Evidence]:
        """Evidence of each story from its images; see `vlgauge.grounding.evidence.seen_stories`."""
        return seen_stories(text, rows, regions, images, encode, top_k=self.top_k, min_score=self.min_score)

    def given_stories(self, features: Any, words: Sequence[Sequence[str]], images: Any) -> Iterator[Evidence]:
        """Evidence of each story from features; see `vlgauge.grounding.evidence.given_stories`."""
        return given_stories(features, words, images, unit=self.unit, top_k=self.top_k, min_score=self.min_score)

    def warn_of_images(self, spots: Sequence[Spots]) -> None:
        """One warning per call for the images without a region."""
        if without := sum(len(of.images_without_regions) for of in spots):
            warn(f"images without a region, which were left out: {without}")

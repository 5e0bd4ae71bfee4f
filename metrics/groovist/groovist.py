"""GROOViST: how well are the noun phrases of a story grounded in its images?"""

import math
import os
import warnings
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import evaluate

from vlgauge import base  # From: "vlgauge[groovist] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge import results  # From: "vlgauge[groovist] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.encoders.clip import tokens  # From: "vlgauge[groovist] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.text import language  # From: "vlgauge[groovist] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"

from .analyses import MATCHING
from .analyses import check_sentence_image
from .analyses import checked_analysis
from .analyses import misaligned_stories
from .analyses import n_real_words
from .analyses import noun_phrase_proportion
from .details import story_details
from .evidence import TextVectors
from .evidence import story_evidence
from .formula import VARIANTS
from .formula import StoryScore
from .formula import harmonic_mean
from .formula import story_score
from .phrases import StoryPhrases
from .phrases import story_phrases
from .sources import CONCRETENESS
from .sources import GIVEN
from .sources import SOURCE_SETTINGS
from .sources import UNITS
from .sources import UNKNOWN
from .sources import checked_sources
from .sources import comparison_sources
from .sources import look_for_sources
from .sources import phrase_weigher
from .sources import sentence_phrases
from .theta import DATASETS
from .theta import checked_theta
from .theta import chosen_theta
from .theta import fitted_theta
from .theta import look_for_theta

_PAPERS = ("https://aclanthology.org/2023.emnlp-main.202",)

_CITATION = """\
@inproceedings{surikuchi-etal-2023-groovist,
  title = {{GROOViST}: A Metric for Grounding Objects in Visual Storytelling},
  author = {Surikuchi, Aditya K and Pezzelle, Sandro and Fern{\\'a}ndez, Raquel},
  booktitle = {Proceedings of the 2023 Conference on Empirical Methods in Natural Language Processing},
  year = {2023}
}
"""

_DESCRIPTION = """\
GROOViST says how far a story is about what its images show. Each noun phrase is compared by CLIP with the regions of
all images of the story; a phrase that no region shows well is penalized, concrete phrases weigh more than abstract
ones, and the score is the mean over the phrases. Higher is better; it needs no reference story.
"""

_INPUTS = """
Args:
    predictions: list of stories, each a string or a list of sentences (one form in a call).
    images: list of lists of images (path, bytes, PIL image or uint8 array), one list per story, in their order; may be
        left out where crops or features are given.
    noun_phrases: per story a list of phrases, or one such list per sentence, used verbatim; by default extracted.
    regions: per story, per image {"boxes": [[x1, y1, x2, y2], ...], "scores": [...]} or a list of crops; by default
        found by the source of the setting `regions`.
    features: per story {"text": {phrase: vector}, "images": [array of its regions per image]} instead of an encoder.
    sentence_image: per story the image of each sentence, for analysis "temporal_misalignment".
    return_details: whether to add weight, cosine, contribution, image and region of each phrase, and what was dropped.

Returns:
    groovist: mean of the scores, unbounded, higher is better; with normalize="tanh" in [-1, 1].
    groovist_scores: one score per story, NaN for a story without a noun phrase or without any region.
    groovist_undefined: number of those.
    groovist_signature: how the numbers were made.

Examples:
    >>> import evaluate
    >>> groovist = evaluate.load("vlgauge/groovist", theta=0.6, concreteness=None)
    >>> features = {"text": {"a dog": [1.0, 0.0], "a cat": [0.0, 1.0]}, "images": [[[0.8, 0.6]], [[1.0, 0.1]]]}
    >>> result = groovist.compute(
    ...     predictions=[["A dog saw a cat."]], noun_phrases=[["a dog", "a cat"]], features=[features]
    ... )
    >>> print(round(result["groovist"], 4))
    1.9938
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class Groovist(base.StoryImageMetric):
    """Grounding of the noun phrases of a story in the regions of its images."""

    measures = "How well are the noun phrases of a story grounded in its images?"
    score_range = "(-inf, inf); tanh [-1, 1]"
    higher_is_better = True
    needs = ("groovist",)
    columns = (base.Story("predictions"), base.Images("images", optional=True))

    def __init__(
        self,
        *args: Any,
        variant: str = "released",
        dataset: str | None = None,
        theta: float | str | os.PathLike[str] | None = None,
        concreteness: str | None = "brysbaert",
        concreteness_path: str | os.PathLike[str] | None = None,
        idf: Any = None,
        lemmatizer: str = "rules",
        penalize: bool = True,
        units: str = "noun_phrases",
        noun_phrases: Any = None,
        sentences: str | Callable[[str], list[str]] = "rules",
        placeholders: str | None = "released",
        deduplicate: bool = True,
        drop_pronouns: bool = True,
        regions: Any = None,
        detector_weights: str | os.PathLike[str] | None = None,
        top_k: int = 10,
        min_score: float = 0.0,
        normalize: str | None = None,
        analysis: str | Sequence[str] | None = None,
        matching: str = "each",
        reverse: bool = False,
        backbone: Any = None,
        weights: str | os.PathLike[str] | None = None,
        feature_cache: str | os.PathLike[str] | None = None,
        device: str = "auto",
        dtype: str = "float32",
        batch_size: int = 64,
        **host: Any,
    ) -> None:
        self.variant = base.one_of("variant", variant, VARIANTS)
        self.dataset = None if dataset is None else base.one_of("dataset", dataset, DATASETS)
        self.theta = checked_theta(theta)
        self.concreteness = None if concreteness is None else base.one_of("concreteness", concreteness, CONCRETENESS)
        self.concreteness_path, self.idf = concreteness_path, idf
        self.lemmatizer = base.one_of("lemmatizer", lemmatizer, ("rules", "wordnet"))
        self.penalize = base.true_or_false("penalize", penalize)
        self.units = base.one_of("units", units, UNITS)
        self.noun_phrases, self.regions = noun_phrases, regions
        self.sentences = language.checked_splitter(sentences)
        self.placeholders = language.checked_placeholders(placeholders)
        self.deduplicate = base.true_or_false("deduplicate", deduplicate)
        self.drop_pronouns = base.true_or_false("drop_pronouns", drop_pronouns)
        self.detector_weights, self.min_score = detector_weights, min_score
        self.top_k = base.whole_number("top_k", top_k, 1)
        self.normalize = None if normalize is None else base.one_of("normalize", normalize, ("tanh",))
        self.analysis = checked_analysis(analysis)
        self.matching = base.one_of("matching", matching, MATCHING)
        self.reverse = base.true_or_false("reverse", reverse)
        self.backbone, self.weights, self.feature_cache = backbone, weights, feature_cache
        self.device, self.dtype = device, dtype
        self.batch_size = base.whole_number("batch_size", batch_size, 1)
        checked_sources(self)
        super().__init__(*args, **host)

    def _info(self) -> evaluate.MetricInfo:
        return self.describe(_DESCRIPTION, _CITATION, _INPUTS, _PAPERS)

    def signature_fields(self) -> dict[str, Any]:
        """The settings that are no source; `_compute` adds the sources by what was read there."""
        fields = {name: value for name, value in super().signature_fields().items() if name not in SOURCE_SETTINGS}
        if self.concreteness != "brysbaert":
            del fields["lemmatizer"]
        if not self.analysis or "temporal_misalignment" not in self.analysis:
            del fields["matching"]
        return fields | {"analysis": "+".join(self.analysis) if self.analysis else None}

    def fit_theta(self, *, path: str | os.PathLike[str] | None = None, **data: Any) -> dict[str, Any]:
        """Theta of a data set: the mean score of its phrases before penalty and weight, pooled over all stories.

        Args:
            path: JSON file to write, for the setting `theta`.
            **data: The columns and per-call data of `compute`.

        Returns:
            theta, the numbers of phrases and stories, encoder, variant, and the sources of regions and phrases.

        Raises:
            ValueError: If no story has a phrase and a region.
        """
        return fitted_theta(self, data, path)

    def _compute(
        self,
        predictions: list[str | list[str]],
        images: Sequence[Any] | None = None,
        noun_phrases: Sequence[Any] | None = None,
        regions: Sequence[Any] | None = None,
        features: Sequence[Any] | None = None,
        sentence_image: Sequence[Any] | None = None,
        return_details: bool = False,
    ) -> dict[str, Any]:
        """Score the stories."""
        check_sentence_image(sentence_image, self.analysis)
        has_images = images is not None and images[0] is not None
        needed = look_for_sources(self, has_images, noun_phrases, regions, features)
        look_for_theta(needed, self, features is not None)
        needed.end()
        split = language.sentence_splitter(self.sentences)
        stories = [language.story_sentences(story, split) for story in predictions]
        groups, phrase_source = sentence_phrases(self, stories, noun_phrases)
        filters = {"deduplicate": self.deduplicate, "drop_pronouns": self.drop_pronouns}
        phrases = [story_phrases(of, **filters) for of in groups]
        weigh, weight_source = phrase_weigher(self)
        sources = comparison_sources(self, regions, features)
        self.made_with = {"encoder": sources.encoder_name, "regions": sources.regions_name, "phrases": phrase_source}
        theta = chosen_theta(self, sources.is_published)
        read, evidence = story_evidence(self, sources, [of.kept for of in phrases], images, regions, features)
        scored, weights = [], []
        with base.progress_bar(len(stories), "Scoring stories", self.progress) as advance:
            for own, compared in zip(phrases, evidence, strict=True):
                weights.append([weigh(phrase) for phrase in own.kept])
                filled = [UNKNOWN if weight is None else weight for weight in weights[-1]]
                options: dict[str, Any] = {"variant": self.variant, "penalize": self.penalize}
                scored.append(story_score(compared, filled, theta.value, **options))
                advance(1)
        self._warn(phrases, scored, read)
        extra = self._analyses(stories, phrases, scored, theta.value, sentence_image)
        if return_details:
            rows = zip(scored, phrases, stories, weights, strict=True)
            extra["details"] = [story_details(*row, truncated=read.truncated) for row in rows]
        made_with = {**sources.signed, "regions": sources.regions_name, "phrases": phrase_source}
        made_with |= {"concreteness": weight_source, "theta": str(theta)}
        if phrase_source == GIVEN:
            made_with |= {"units": None, "placeholders": None}
        return self.result([self._shown(story.score) for story in scored], made_with=made_with, **extra)

    def _shown(self, score: float) -> float:
        return math.tanh(score) if self.normalize == "tanh" else score

    def _warn(self, phrases: Sequence[StoryPhrases], scored: Sequence[StoryScore], read: TextVectors) -> None:
        """One warning per kind and call, with counts."""
        kept = [phrase for own in phrases for phrase in own.kept]
        if cut := sum(phrase in read.truncated for phrase in kept):
            warnings.warn(f"noun phrases longer than the encoder takes, which were cut: {cut}", stacklevel=6)
        if special := sum(phrase in read.special for phrase in kept):
            warnings.warn(f"{special} of {len(kept)} noun phrases {tokens.SPELLED}", stacklevel=6)
        without = sum(story.spots.n_images - len(set(story.spots.image)) for story in scored)
        if without:
            warnings.warn(f"images without a region, which were left out: {without}", stacklevel=6)

    def _analyses(
        self,
        stories: Sequence[Sequence[str]],
        phrases: Sequence[StoryPhrases],
        scored: Sequence[StoryScore],
        theta: float,
        sentence_image: Sequence[Any] | None,
    ) -> dict[str, Any]:
        """Results beside the score that the settings ask for."""
        extra: dict[str, Any] = {}
        if self.reverse:
            covered = [story.coverage for story in scored]
            f = [harmonic_mean(story.score, story.coverage) for story in scored]
            for name, values in (("reverse", covered), ("f", f)):
                extra |= {name: results.mean_of_defined(values), f"{name}_scores": values}
        if "np_proportion" in (self.analysis or ()):
            split = language.sentence_splitter(self.sentences)
            n_words = [sum(n_real_words(language.words(text, split)) for text in story) for story in stories]
            n_phrases = [own.n_extracted for own in phrases]
            if self.units == "nouns" and self.made_with["phrases"] != GIVEN:
                groups, _ = sentence_phrases(self, stories, None, units="noun_phrases")
                n_phrases = [sum(map(len, of)) for of in groups]
            extra["np_proportion"] = list(map(noun_phrase_proportion, n_phrases, n_words))
        if "temporal_misalignment" in (self.analysis or ()):
            extra["temporal_misalignment"] = misaligned_stories(self, stories, phrases, scored, sentence_image, theta)
        return extra

"""GROOViST: How well is a story grounded in its images?"""

import math
import os
from collections.abc import Sequence
from typing import Any

from vlgauge.checkpoints import preflight  # From: "vlgauge[groovist]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core import validation  # From: "vlgauge[groovist]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import base  # From: "vlgauge[groovist]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import grounding  # From: "vlgauge[groovist]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.models.detectors import GIVEN  # From: "vlgauge[groovist]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

from .details import story_details
from .encoder import ENCODER_SETTINGS
from .encoder import NO_ENCODER
from .encoder import load_encoder
from .encoder import look_for_encoder
from .formula import SCALE
from .formula import VARIANTS
from .formula import rescore_story
from .formula import story_score
from .phrases import story_phrases
from .theta import DATASETS
from .theta import NEUTRAL
from .theta import ThetaInputs
from .theta import check_theta
from .theta import choose_theta
from .theta import look_for_theta
from .theta import pool_theta
from .weights import SOURCE_SETTINGS
from .weights import Weigh
from .weights import check_concreteness
from .weights import check_weights_language
from .weights import has_english_ratings
from .weights import load_weigher
from .weights import look_for_weights


class Groovist(grounding.GroundingMetric):
    """Grounding of the noun phrases of a story in the regions of its images.

    GROOViST measures how well a story is grounded in its images. Each noun phrase is compared by CLIP with the regions
    of all images of the story. A phrase without a similar region is penalized, and concrete phrases weigh more than
    abstract ones. The score is the mean over the phrases. Higher is better. GROOViST requires no reference story.

    Args:
        predictions: Stories, each a string or a list of sentences (one form per call).
        images: Images of each story in their order, one list per story (path, bytes, PIL image or uint8 array).
            Optional if crops or features are passed.
        noun_phrases: Phrases of each story, or one list of phrases per sentence, used verbatim. They are extracted by
            default.
        regions: Regions of each image of each story: {"boxes": [[x1, y1, x2, y2], ...], "scores": [...]} or a list of
            crops. By default they come from the source of the setting `regions`.
        features: Features of each story to use instead of an encoder: {"text": {phrase: vector}, "images": [array of
            its regions per image]}.
        return_details: Whether to add weight, cosine similarity, contribution, image and region of each phrase, the
            score of each region, and the dropped phrases.

    Returns:
        groovist: Mean of the scores, unbounded, higher is better. In [-1, 1] with normalize="tanh".
        groovist_scores: One score per story. NaN for a story without noun phrases or without regions.
        groovist_undefined: Number of undefined scores.
        groovist_signature: Settings and versions that the scores depend on.

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

    papers = ("https://aclanthology.org/2023.emnlp-main.202",)
    words, unit, source_settings = "noun_phrases", "phrase", SOURCE_SETTINGS

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
        deduplicate: bool = True,
        drop_pronouns: bool = True,
        normalize: str | None = None,
        backbone: Any = None,
        weights: str | os.PathLike[str] | None = None,
        feature_cache: str | os.PathLike[str] | None = None,
        dtype: str = "float32",
        **host: Any,
    ) -> None:
        self.variant = base.check_choice("variant", variant, VARIANTS)
        self.dataset = None if dataset is None else base.check_choice("dataset", dataset, DATASETS)
        self.theta = check_theta(theta, self.dataset)
        self.concreteness = check_concreteness(concreteness, path=concreteness_path, idf=idf)
        self.concreteness_path, self.idf = concreteness_path, idf
        self.lemmatizer = base.check_choice("lemmatizer", lemmatizer, ("rules", "wordnet"))
        self.penalize = base.check_bool("penalize", penalize)
        self.units = base.check_choice("units", units, ("noun_phrases", "nouns"))
        self.noun_phrases = noun_phrases
        self.deduplicate = base.check_bool("deduplicate", deduplicate)
        self.drop_pronouns = base.check_bool("drop_pronouns", drop_pronouns)
        self.normalize = None if normalize is None else base.check_choice("normalize", normalize, ("tanh",))
        self.backbone, self.weights, self.feature_cache, self.dtype = backbone, weights, feature_cache, dtype
        super().__init__(*args, **host)

    def signature_fields(self) -> dict[str, Any]:
        """Return the settings that are not sources, by name. `_compute` adds the identity of each source."""
        fields = super().signature_fields()
        if self.concreteness != "brysbaert":
            del fields["lemmatizer"]
        return fields

    def fit_theta(self, *, path: str | os.PathLike[str] | None = None, **data: Any) -> dict[str, Any]:
        """Fit theta to a dataset: the mean score of its phrases before penalty and weight, pooled over all stories.

        Args:
            path: JSON file to write, for the setting `theta`. None to write no file.
            **data: Columns and per-call inputs of `compute`.

        Returns:
            Fields of `FittedTheta` by name: theta, the numbers of phrases and stories, encoder, variant, and the
            sources of regions and phrases.

        Raises:
            ValueError: If no story has both phrases and regions.
        """
        own = {name: getattr(self, name) for name in validation.setting_names(type(self))}
        scorer = type(self)(keep_in_memory=True, **own | NEUTRAL)
        result: Any = scorer.compute(**data, return_details=True)
        return pool_theta(result[f"{self.name}_details"], scorer.theta_inputs, path)

    def rescore(self, story: Any, theta: float, *, weigh: Weigh | None = None, penalize: bool | None = None) -> float:
        """Compute the score of a story under other settings from its details.

        Args:
            story: One entry of ``groovist_details``, with text, weight and scaled score of its phrases.
            theta: Threshold on the scale of the variant.
            weigh: Function that returns the weight of a phrase. None to use the weights in the details.
            penalize: Same as the setting. None to use the setting of the metric.
        """
        penalty = self.penalize if penalize is None else penalize
        return self._normalize(rescore_story(story["noun_phrases"], theta, weigh=weigh, penalize=penalty))

    def check_sources(self, images: Any, words: Any, regions: Any, features: Any) -> preflight.Preflight:
        """Check the sources that a call requires and does not pass. Nothing is parsed, loaded or downloaded.

        Returns:
            A `Preflight` with the problems found so far, which its method `end` raises.
        """
        found = self.start_preflight(images, words, regions, features)
        backbone = self.backbone if features is None else NO_ENCODER
        look_for_weights(found, self.concreteness, self.lemmatizer, path=self.concreteness_path, idf=self.idf)
        look_for_encoder(found, backbone, weights=self.weights, profile=self.profile)
        self.grouped[grounding.RegionSettings].look_for(found, regions, features, profile=self.profile)
        look_for_theta(found, self.theta, self.dataset, backbone=backbone, profile=self.profile)
        return found

    def is_for_other_languages(self, name: str, setting: Any) -> bool:
        """Return whether a setting may support other languages than English. See `base.Metric`."""
        if name == "concreteness":
            return not has_english_ratings(setting, self.concreteness_path)
        return super().is_for_other_languages(name, setting)

    def check_language(self, language: str) -> None:
        """Check that the weights of the settings support a language. See `GroundingMetric.check_language`."""
        check_weights_language(self.concreteness, self.concreteness_path, language)

    def _compute(
        self,
        predictions: list[str | list[str]],
        images: Sequence[Any] | None = None,
        noun_phrases: Sequence[Any] | None = None,
        regions: Sequence[Any] | None = None,
        features: Sequence[Any] | None = None,
        return_details: bool = False,
    ) -> dict[str, Any]:
        self.check_sources(images, noun_phrases, regions, features).end()
        stories, _ = self.grouped[grounding.SentenceSettings].split_stories(predictions)
        source = self.grouped[grounding.RegionSettings]
        groups, phrase_source = self.extract_words(
            stories, noun_phrases, nouns=self.units == "nouns", pronouns=not self.drop_pronouns
        )
        phrases = [story_phrases(of, deduplicate=self.deduplicate, drop_pronouns=self.drop_pronouns) for of in groups]
        kept = [of.kept for of in phrases]
        weigh, rated_by = load_weigher(self.concreteness, self.lemmatizer, path=self.concreteness_path, idf=self.idf)
        own = {name: getattr(self, name) for name in ENCODER_SETTINGS}
        encoder = load_encoder(self.backbone, **own) if features is None else NO_ENCODER
        where, region_source = source.choose(regions, features, len(stories), profile=self.profile)
        self.theta_inputs = ThetaInputs(encoder.identity, self.variant, region_source, phrase_source)
        theta, origin = choose_theta(
            self.theta, self.dataset, self.theta_inputs, SCALE, is_published=encoder.is_published
        )
        read = encoder.phrases(kept)
        if features is None:
            own_rows = read.rows_of(kept)
            evidence = grounding.encode_stories(read.rows, own_rows, where, images, encoder.regions, **source.limits)
        else:
            evidence = grounding.read_stories(features, kept, images, unit=self.unit, **source.limits)
        options: dict[str, Any] = {"variant": self.variant, "penalize": self.penalize}
        pairs = base.report_progress(
            zip(kept, evidence, strict=True), len(stories), "Scoring stories", self.progress, block=1
        )
        scored = [story_score(seen, list(map(weigh, texts)), theta, **options) for texts, seen in pairs]
        read.warn(kept)
        self.warn_of_images([story.spots for story in scored])
        rows = zip(scored, phrases, stories, strict=True)
        details = [story_details(*row, truncated=read.truncated) for row in rows] if return_details else None
        signature_extra = {**encoder.signed, "regions": region_source, "phrases": phrase_source}
        signature_extra |= {"concreteness": rated_by, "theta": f"{theta}@{origin}"}
        if phrase_source == GIVEN:
            signature_extra |= {"units": None, "placeholders": None}
        scores = [self._normalize(story.score) for story in scored]
        return self.result(scores, signature_extra=signature_extra, details=details)

    def _normalize(self, score: float) -> float:
        return math.tanh(score) if self.normalize == "tanh" else score

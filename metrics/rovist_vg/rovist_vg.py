"""RoViST-VG: How well do a story's nouns match its images?"""

import math
import os
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from vlgauge.checkpoints import preflight  # From: "vlgauge[rovist-vg]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core import validation  # From: "vlgauge[rovist-vg]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import base  # From: "vlgauge[rovist-vg]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import grounding  # From: "vlgauge[rovist-vg]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.inputs.text import word_lookup  # From: "vlgauge[rovist-vg]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.models.detectors import GIVEN  # From: "vlgauge[rovist-vg]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

from .details import story_details
from .formula import AGGREGATES
from .formula import grounding_score
from .formula import scale_score
from .nouns import StoryNouns
from .nouns import look_up_nouns
from .nouns import weigh_nouns
from .sources import REQUIRED
from .sources import SOURCE_SETTINGS
from .sources import load_idf
from .sources import load_trained
from .sources import look_for_idf
from .sources import look_for_trained
from .sources import sign_model


class RovistVg(grounding.GroundingMetric):
    """Visual grounding of the nouns of a story in the regions of its images.

    RoViST-VG measures how well the nouns of a story match its images. Each noun is compared with the regions of all
    images in an embedding space trained on pairs of regions and phrases. Rare nouns have higher weights. Higher is
    better. RoViST-VG requires no reference story.

    Args:
        predictions: Stories, each a string or a list of sentences (one form per call).
        images: Images of each story, one list per story (path, bytes, PIL image or uint8 array). Optional if crops or
            features are passed.
        nouns: Nouns of each story, or one list of nouns per sentence, used verbatim. They are extracted by default.
        regions: Regions of each image of each story: {"boxes": [[x1, y1, x2, y2], ...], "scores": [...]} or a list of
            crops. By default they come from the source of the setting `regions`.
        features: Features of each story to use instead of a checkpoint: {"text": {noun: vector}, "images": [array of
            its regions per image]}. Optional "scores", one list per image, are the scores of the regions.
        return_details: Whether to add idf, cosine similarity, image and region of each noun, and the skipped nouns.

    Returns:
        rovist_vg: Mean of the scores, unbounded, higher is better. In (-1, 1) with scale=True.
        rovist_vg_scores: One score per story. NaN for a story without nouns or without regions.
        rovist_vg_undefined: Number of undefined scores.
        rovist_vg_signature: Settings and versions that the scores depend on.

    Examples:
        >>> import evaluate
        >>> rovist_vg = evaluate.load("vlgauge/rovist_vg", idf=None)
        >>> features = {"text": {"dog": [1.0, 0.0], "cat": [0.0, 1.0]}, "images": [[[0.8, 0.6]], [[1.0, 0.0]]]}
        >>> result = rovist_vg.compute(predictions=[["A dog saw a cat."]], nouns=[["dog", "cat"]], features=[features])
        >>> print(round(result["rovist_vg"], 4))
        1.513
    """

    papers = ("https://aclanthology.org/2022.findings-naacl.206",)
    words, unit, source_settings = "nouns", "noun", SOURCE_SETTINGS

    def __init__(
        self,
        *args: Any,
        checkpoint: str | os.PathLike[str] | None = None,
        glove_path: str | os.PathLike[str] | None = None,
        idf: Any = REQUIRED,
        oov: str = "unk",
        aggregate: str = "log_sum_exp",
        scale: bool = False,
        nouns: Any = None,
        **host: Any,
    ) -> None:
        self.checkpoint = validation.check_path("checkpoint", checkpoint)
        self.glove_path = validation.check_path("glove_path", glove_path)
        self.idf, self.nouns = idf, nouns
        self.oov = base.check_choice("oov", oov, word_lookup.OOV)
        self.aggregate = base.check_choice("aggregate", aggregate, AGGREGATES)
        self.scale = base.check_bool("scale", scale)
        super().__init__(*args, **host)

    def is_for_other_languages(self, name: str, setting: Any) -> bool:
        """Return whether a setting may support other languages than English. See `base.Metric`."""
        if name == "idf":
            return not (isinstance(setting, str) and setting == REQUIRED)  # None weighs all nouns equally
        return super().is_for_other_languages(name, setting)

    def check_sources(self, images: Any, words: Any, regions: Any, features: Any) -> preflight.Preflight:
        """Check the sources that a call requires and does not pass. Nothing is parsed, loaded or downloaded.

        Returns:
            A `Preflight` with the problems found so far, which its method `end` raises.
        """
        found = self.start_preflight(images, words, regions, features)
        look_for_idf(found, self.idf, self.profile)
        if features is None:
            look_for_trained(found, self.checkpoint, self.glove_path, self.profile)
        self.grouped[grounding.RegionSettings].look_for(found, regions, features, profile=self.profile)
        return found

    def rescore(
        self, story: Any, *, cosine: Callable[[str], float] | None = None, aggregate: str | None = None
    ) -> float:
        """Compute the score of a story under other cosine similarities or another aggregate from its details.

        Args:
            story: One entry of ``rovist_vg_details``, with text, idf and cosine similarity of its nouns.
            cosine: Function that returns the cosine similarity of a noun. None to use the values in the details.
            aggregate: Same as the setting. None to use the setting of the metric.
        """
        seen = [noun for noun in story["nouns"] if noun["cosine"] is not None]
        cosines = np.array([noun["cosine"] if cosine is None else cosine(noun["text"]) for noun in seen])
        return self._score(cosines, np.array([noun["idf"] for noun in seen]), aggregate or self.aggregate)

    def _compute(
        self,
        predictions: list[str | list[str]],
        images: Sequence[Any] | None = None,
        nouns: Sequence[Any] | None = None,
        regions: Sequence[Any] | None = None,
        features: Sequence[Any] | None = None,
        return_details: bool = False,
    ) -> dict[str, Any]:
        self.check_sources(images, nouns, regions, features).end()
        stories, split = self.grouped[grounding.SentenceSettings].split_stories(predictions)
        groups, noun_source = self.extract_words(stories, nouns, nouns=True, split=split)
        named = [[noun for nouns in story for noun in nouns] for story in groups]
        idf, idf_source = load_idf(self.idf, self.profile)
        own, evidence, signature_extra = self._compare(named, idf, images, regions, features)
        scores, details, spots = [], [], []
        rows = zip(stories, own, evidence, strict=True)
        reported = base.report_progress(rows, len(stories), "Scoring stories", self.progress, block=1)
        for sentences, found, seen in reported:
            best, cosines = seen.best()
            scores.append(self._score(cosines, found.idf, self.aggregate))
            spots.append(seen.spots)
            if return_details:
                details.append(story_details(sentences, found, seen.spots, best, cosines))
        self.warn_of_images(spots)
        unseen = sum(of.seen.count(False) for of in own)
        if unseen and idf is not None and idf.n_stories is None:
            validation.warn(
                f"nouns missing from the idf table: {unseen}; because it has no N, each has the weight largest "
                "value + ln 2"
            )
        signature_extra |= {"nouns": noun_source, "idf": idf_source}
        if noun_source == GIVEN:
            signature_extra |= {"sentences": None, "placeholders": None}
        return self.result(scores, signature_extra=signature_extra, details=details if return_details else None)

    def _compare(
        self, named: list[list[str]], idf: Any, images: Any, regions: Any, features: Any
    ) -> tuple[list[StoryNouns], Iterator[grounding.Evidence], dict[str, Any]]:
        """Return the nouns and evidence of each story, and the sources for the signature."""
        source = self.grouped[grounding.RegionSettings]
        where, region_source = source.choose(regions, features, len(named), profile=self.profile)
        if features is not None:
            own = [weigh_nouns(words, idf, [False] * len(words), []) for words in named]
            signature_extra = {"enc": GIVEN, "vectors": GIVEN, "regions": region_source, "oov": None}
            given = grounding.read_stories(features, named, images, unit=self.unit, **source.limits)
            return own, given, signature_extra
        model, vectors = load_trained(self.checkpoint, self.glove_path, profile=self.profile, device=source.device)
        own, distinct, rows = look_up_nouns(named, vectors, idf, self.oov)
        encode = partial(model.regions, batch_size=source.batch_size, progress=False)
        signature_extra = {**sign_model(model, vectors), "regions": region_source}
        evidence = grounding.encode_stories(model.words(distinct), rows, where, images, encode, **source.limits)
        return own, evidence, signature_extra

    def _score(self, cosines: np.ndarray, idf: np.ndarray, aggregate: str) -> float:
        """Compute the score of a story from the maximum cosine similarity of each noun. NaN without any."""
        score = grounding_score(cosines, idf, aggregate) if len(cosines) else math.nan
        return scale_score(score) if self.scale else score

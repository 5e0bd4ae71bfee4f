"""RoViST-VG: do the nouns of a story name what its images show?"""

import math
import os
import warnings
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any

import evaluate

from vlgauge import base  # From: "vlgauge[rovist-vg] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.text import language  # From: "vlgauge[rovist-vg] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.weights import preflight  # From: "vlgauge[rovist-vg] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"

from .evidence import Evidence
from .evidence import given_evidence
from .evidence import seen_stories
from .formula import AGGREGATES
from .formula import best_regions
from .formula import grounding_score
from .formula import scaled_score
from .nouns import StoryNouns
from .nouns import looked_up
from .nouns import story_nouns
from .nouns import weighed
from .sources import GIVEN
from .sources import OOV
from .sources import REQUIRED
from .sources import SOURCE_SETTINGS
from .sources import checked_sources
from .sources import idf_weights
from .sources import missing_sources
from .sources import regions_from
from .sources import signed_model
from .sources import trained_model

_PAPERS = ("https://aclanthology.org/2022.findings-naacl.206",)

_CITATION = """\
@inproceedings{wang-etal-2022-rovist,
  title = {{RoViST}: Learning Robust Metrics for Visual Storytelling},
  author = {Wang, Eileen and Han, Caren and Poon, Josiah},
  booktitle = {Findings of the Association for Computational Linguistics: NAACL 2022},
  year = {2022}
}
"""

_DESCRIPTION = """\
RoViST-VG says whether the nouns of a story name what its images show. Every noun is compared with the regions of all
images in a space that was trained on pairs of regions and phrases; rare nouns weigh more than common ones. Higher is
better; it needs no reference story.
"""

_INPUTS = """
Args:
    predictions: list of stories, each a string or a list of sentences (one form in a call).
    images: list of lists of images (path, bytes, PIL image or uint8 array), one list per story; may be left out where
        crops or features are given.
    nouns: per story a list of nouns, or one such list per sentence, used verbatim; by default extracted.
    regions: per story, per image {"boxes": [[x1, y1, x2, y2], ...], "scores": [...]} or a list of crops; by default
        found by the source of the setting `regions`.
    features: per story {"text": {noun: vector}, "images": [array of its regions per image]} instead of a checkpoint;
        "scores", one list per image, are those of the regions.
    return_details: whether to add idf, cosine, image and region of each noun, and what was left out.

Returns:
    rovist_vg: mean of the scores, unbounded, higher is better; with scale=True in (-1, 1).
    rovist_vg_scores: one score per story, NaN for a story without a noun or without any region.
    rovist_vg_undefined: number of those.
    rovist_vg_signature: how the numbers were made.

Examples:
    >>> import evaluate
    >>> rovist_vg = evaluate.load("vlgauge/rovist_vg", idf=None)
    >>> features = {"text": {"dog": [1.0, 0.0], "cat": [0.0, 1.0]}, "images": [[[0.8, 0.6]], [[1.0, 0.0]]]}
    >>> result = rovist_vg.compute(predictions=[["A dog saw a cat."]], nouns=[["dog", "cat"]], features=[features])
    >>> print(round(result["rovist_vg"], 4))
    1.513
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class RovistVg(base.StoryImageMetric):
    """Visual grounding of the nouns of a story in the regions of its images."""

    measures = "Do the nouns of a story name what its images show?"
    score_range = "(-inf, inf); scaled (-1, 1)"
    higher_is_better = True
    needs = ("rovist-vg",)
    columns = (base.Story("predictions"), base.Images("images", optional=True))

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
        sentences: str | Callable[[str], list[str]] = "rules",
        placeholders: str | None = "released",
        regions: Any = None,
        detector_weights: str | os.PathLike[str] | None = None,
        top_k: int = 10,
        min_score: float = 0.0,
        device: str = "auto",
        batch_size: int = 64,
        **host: Any,
    ) -> None:
        self.checkpoint, self.glove_path, self.idf = checkpoint, glove_path, idf
        self.oov = base.one_of("oov", oov, OOV)
        self.aggregate = base.one_of("aggregate", aggregate, AGGREGATES)
        self.scale = base.true_or_false("scale", scale)
        self.nouns, self.regions = nouns, regions
        self.sentences = language.checked_splitter(sentences)
        self.placeholders = language.checked_placeholders(placeholders)
        self.detector_weights, self.min_score = detector_weights, min_score
        self.top_k = base.whole_number("top_k", top_k, 1)
        self.device = device
        self.batch_size = base.whole_number("batch_size", batch_size, 1)
        checked_sources(self)
        super().__init__(*args, **host)

    def _info(self) -> evaluate.MetricInfo:
        return self.describe(_DESCRIPTION, _CITATION, _INPUTS, _PAPERS)

    def signature_fields(self) -> dict[str, Any]:
        """The settings that are no source; `_compute` adds the sources by what was read there."""
        return {name: value for name, value in super().signature_fields().items() if name not in SOURCE_SETTINGS}

    def look_for_sources(self, images: Any, nouns: Any, regions: Any, features: Any) -> preflight.Preflight:
        """What a call needs that is not given with it; nothing is parsed, loaded or fetched."""
        return missing_sources(self, images is not None and images[0] is not None, nouns, regions, features)

    def _compute(
        self,
        predictions: list[str | list[str]],
        images: Sequence[Any] | None = None,
        nouns: Sequence[Any] | None = None,
        regions: Sequence[Any] | None = None,
        features: Sequence[Any] | None = None,
        return_details: bool = False,
    ) -> dict[str, Any]:
        """Score the stories."""
        self.look_for_sources(images, nouns, regions, features).end()
        split = language.sentence_splitter(self.sentences)
        stories = [language.story_sentences(story, split) for story in predictions]
        named, noun_source = story_nouns(self, stories, nouns, split)
        idf, idf_source = idf_weights(self)
        own, evidence, made_with = self._compared(named, idf, images, regions, features)
        scores, details, without = [], [], 0
        with base.progress_bar(len(stories), "Scoring stories", self.progress) as advance:
            for sentences, found, seen in zip(stories, own, evidence, strict=True):
                score, rows = self._scored(found, seen)
                scores.append(scaled_score(score) if self.scale else score)
                without += seen.n_images - len(set(seen.image))
                if return_details:
                    details.append(_details(sentences, found, seen, rows))
                advance(1)
        if without:
            warnings.warn(f"images without a region, which were left out: {without}", stacklevel=5)
        unseen = sum(of.seen.count(False) for of in own)
        if unseen and idf is not None and idf.n_stories is None:
            warnings.warn(
                f"nouns that the idf table lacks: {unseen}; as it has no N, each weighs its largest value + ln 2",
                stacklevel=5,
            )
        made_with |= {"nouns": noun_source, "idf": idf_source}
        if noun_source == GIVEN:
            made_with |= {"sentences": None, "placeholders": None}
        return self.result(scores, made_with=made_with, **({"details": details} if return_details else {}))

    def _compared(
        self, named: list[list[str]], idf: Any, images: Any, regions: Any, features: Any
    ) -> tuple[list[StoryNouns], Iterator[Evidence], dict[str, Any]]:
        """Nouns and evidence of each story, and the sources for the signature."""
        if features is not None:
            own = [weighed(words, idf, [False] * len(words), []) for words in named]
            made_with = {**dict.fromkeys(("enc", "vectors", "regions"), GIVEN), "oov": None}
            return own, iter(given_evidence(features, named, top_k=self.top_k, min_score=self.min_score)), made_with
        source, region_source = regions_from(self, regions)
        model, vectors = trained_model(self)
        own, distinct, rows = looked_up(named, vectors, idf, self.oov)
        text = model.words(distinct)
        made_with = {**signed_model(model, vectors), "regions": region_source}
        return own, seen_stories(self, model, source, [text[row] for row in rows], images, regions), made_with

    def _scored(self, nouns: StoryNouns, seen: Evidence) -> tuple[float, list[dict[str, Any]]]:
        """Score of a story, NaN without a noun or a region, and what each noun brings to it."""
        if not nouns.words or not len(seen.regions):
            return math.nan, [noun_row(nouns, k, seen, None, None) for k in range(len(nouns.words))]
        cosines = seen.text @ seen.regions.T
        best = best_regions(cosines)
        highest = cosines[range(len(best)), best]
        rows = [noun_row(nouns, k, seen, int(best[k]), float(highest[k])) for k in range(len(best))]
        return grounding_score(highest, nouns.idf, self.aggregate), rows


def noun_row(nouns: StoryNouns, k: int, seen: Evidence, best: int | None, cosine: float | None) -> dict[str, Any]:
    """What `return_details` shows of a noun; None for what a story without any region does not have."""
    box = None if best is None else seen.boxes[best]
    return {
        "text": nouns.words[k],
        "idf": float(nouns.idf[k]),
        "seen": nouns.seen[k],
        "oov": nouns.oov[k],
        "cosine": cosine,
        "weighted": None if cosine is None else float(nouns.idf[k] * cosine),
        "image": None if best is None else seen.image[best],
        "region": None if best is None else seen.place[best],
        "box": None if box is None else list(box),
    }


def _details(sentences: list[str], nouns: StoryNouns, seen: Evidence, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What `return_details` shows of a story."""
    return {
        "sentences": sentences,
        "nouns": rows,
        "skipped": nouns.skipped,
        "n_oov": sum(nouns.oov),
        "n_unseen": nouns.seen.count(False),
        "images_without_regions": [image for image in range(seen.n_images) if image not in set(seen.image)],
    }

"""RoViST-C: How well does each sentence follow from the previous one?"""

import math
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from vlgauge.checkpoints import preflight  # From: "vlgauge[rovist-c]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core import validation  # From: "vlgauge[rovist-c]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.errors import UsageError  # From: "vlgauge[rovist-c]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import base  # From: "vlgauge[rovist-c]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.inputs.text import language  # From: "vlgauge[rovist-c]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.models.pairs import loading  # From: "vlgauge[rovist-c]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

CONTEXTS = ("pair", "prefix")
IDENTICAL = ("zero", "score")
TRUNCATIONS = ("auto", "error")
# Truncation of a long pair: the ends of both sentences with context "pair", the oldest tokens of the first text with
# "prefix".
_CUT = {"pair": "longest", "prefix": "oldest"}


@dataclass(frozen=True)
class Step:
    """Sentence, its context, and whether the two are identical apart from surrounding whitespace."""

    first: str
    second: str
    identical: bool


def steps(sentences: Sequence[str], *, context: str = "pair", identical: str = "zero") -> list[Step]:
    """Return the pairs (A, B) of a story (Wang et al., 2022, Section 3.2), one for each sentence B but the first.

    Args:
        sentences: Sentences of the story, in order.
        context: With "pair", A is the sentence before B. With "prefix", A consists of all sentences before B, joined by
            spaces.
        identical: With "zero" and context "prefix", a sentence that repeats the whole prefix does not extend it. With
            "score", it does.
    """
    found: list[Step] = []
    before = sentences[0] if sentences else ""
    for sentence in sentences[1:]:
        same = before.strip() == sentence.strip()
        found.append(Step(before, sentence, same))
        if context == "pair":
            before = sentence
        elif not (same and identical == "zero"):
            before = f"{before} {sentence}"
    return found


def coherence(probabilities: Sequence[float]) -> float:
    """Compute RoViST-C of a story (Wang et al., 2022, Section 3.2), the mean over its pairs. NaN without pairs."""
    return math.fsum(probabilities) / len(probabilities) if probabilities else math.nan


class RovistC(base.StoryMetric):
    """Coherence of a story by a sentence-pair classifier.

    RoViST-C measures the coherence of a story: the mean probability, by a sentence-pair classifier, that a sentence
    follows from the previous one. Higher is better. RoViST-C uses the story alone, without images or references.

    Args:
        predictions: Stories, each a string or a list of sentences (one form per call).
        return_details: Whether to add the sentences of each story, and the probability and flags of each pair.

    Returns:
        rovist_c: Mean of the scores, in [0, 1], higher is better.
        rovist_c_scores: One score per story. NaN for a story with fewer than two sentences.
        rovist_c_undefined: Number of undefined scores.
        rovist_c_signature: Settings and versions that the scores depend on.
        rovist_c_truncated: Number of pairs that exceeded the maximum length of the model.

    Examples:
        >>> import evaluate
        >>> rovist_c = evaluate.load("vlgauge/rovist_c", profile="embedded")
        >>> story = ["The dog ran home.", "The dog ran home."]
        >>> print(rovist_c.compute(predictions=[story, story[:1]])["rovist_c_scores"])
        [0.0, nan]
    """

    papers = ("https://aclanthology.org/2022.findings-naacl.206",)
    undefined_hint = base.NEEDS_SENTENCES

    def __init__(
        self,
        *args: Any,
        model: Any = None,
        base: str | PathLike[str] | None = None,
        context: str = "pair",
        identical: str = "zero",
        coherent_label: int | str = 1,
        sentences: str | Callable[[str], list[str]] = "rules",
        truncation: str = "auto",
        batch_size: int = 32,
        device: str = "auto",
        **host: Any,
    ) -> None:
        kinds = "a folder, a file or a pinned Hub id"
        if not callable(model):
            validation.check_path("model", model, f"{kinds}, or a function")
        validation.check_path("base", base, kinds)
        if not isinstance(coherent_label, str):
            coherent_label = validation.check_int("coherent_label", coherent_label, 0)
        self.model, self.base, self.coherent_label = model, base, coherent_label
        self.context = validation.check_choice("context", context, CONTEXTS)
        self.identical = validation.check_choice("identical", identical, IDENTICAL)
        self.sentences = language.check_splitter(sentences)
        self.truncation = validation.check_choice("truncation", truncation, TRUNCATIONS)
        self.batch_size = validation.check_int("batch_size", batch_size, 1)
        self.device = device
        super().__init__(*args, **host)

    def signature_fields(self) -> dict[str, Any]:
        """Return the settings for the signature by name. A call adds the identity of the loaded model."""
        fields = super().signature_fields()
        # A function returns the probability itself, for pairs of any length.
        read_by_model = ("coherent_label", "truncation") if callable(self.model) else ()
        dtype = {} if callable(self.model) else {"dtype": "float32"}
        return dtype | {name: fields[name] for name in fields if name not in ("model", "base", *read_by_model)}

    def check_sources(self) -> preflight.Preflight:
        """Check the sources that every call requires. Nothing is loaded or downloaded.

        Returns:
            A `Preflight` with the problems found so far, which its method `end` raises.
        """
        found = preflight.Preflight(self.name)
        found.look(lambda: language.sentence_splitter(self.sentences))
        loading.look_for_scorer(found, self.model, self.base, profile=self.profile)
        return found

    def _compute(self, predictions: list[str | list[str]], return_details: bool = False) -> dict[str, Any]:
        self.check_sources().end()
        split = language.sentence_splitter(self.sentences)
        texts = [language.story_sentences(story, split) for story in predictions]
        language.check_sentences(texts)
        stories = [steps(text, context=self.context, identical=self.identical) for text in texts]
        scorer = loading.pair_scorer(self.model, self.base, profile=self.profile, device=self.device)
        values, cut = self._values(scorer, stories)
        ends = np.cumsum([len(story) for story in stories])[:-1]
        by_story, cut_by_story = ([part.tolist() for part in np.split(array, ends)] for array in (values, cut))
        scores = [coherence(probabilities) for probabilities in by_story]
        extra: dict[str, Any] = {"truncated": int(cut.sum())}
        if return_details:
            extra["details"] = [
                {
                    "score": score,
                    "sentences": text,
                    "probabilities": probabilities,
                    "identical": [step.identical for step in story],
                    "truncated": flags,
                }
                for score, text, story, probabilities, flags in zip(
                    scores, texts, stories, by_story, cut_by_story, strict=True
                )
            ]
        return self.result(scores, signature_extra={"enc": scorer.identity}, **extra)

    def _values(
        self, scorer: loading.LoadedScorer | loading.GivenScorer, stories: Sequence[Sequence[Step]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the probability of each pair of all stories, and whether it was truncated.

        With ``identical="zero"``, identical pairs score 0 without the model.
        """
        every = [step for story in stories for step in story]
        asked = [i for i, step in enumerate(every) if not (step.identical and self.identical == "zero")]
        pairs = [(every[i].first, every[i].second) for i in asked]
        try:
            found = scorer.probabilities(
                pairs,
                label=self.coherent_label,
                cut=_CUT[self.context] if self.truncation == "auto" else None,
                batch_size=self.batch_size,
                progress=self.progress,
            )
        except loading.PairTooLongError as error:
            numbered = ((i, k, step) for i, story in enumerate(stories) for k, step in enumerate(story))
            i, k = next((i, k) for i, k, step in numbered if (step.first, step.second) == error.pair)
            raise UsageError.about(
                f"predictions[{i}]",
                f"must have sentence pairs of at most {error.maximum} tokens, got {error.n_tokens} in pair {k}; "
                'pass `truncation="auto"` to truncate it',
            ) from None
        values, cut = np.zeros(len(every)), np.zeros(len(every), dtype=bool)
        values[asked], cut[asked] = found.values, found.truncated
        if cut.any():
            validation.warn(
                f"{int(cut.sum())} of {len(every)} sentence pairs exceed the maximum length of the model and "
                "were truncated"
            )
        return values, cut

"""METEOR: How well do words, stems and synonyms match the references?"""

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from os import PathLike
from typing import Any

import numpy as np

from vlgauge.checkpoints import preflight  # From: "vlgauge[meteor]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.errors import UsageError  # From: "vlgauge[meteor]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.validation import short_repr  # From: "vlgauge[meteor]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import base  # From: "vlgauge[meteor]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families.ngram import meteor  # From: "vlgauge[meteor]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families.ngram import meteor15  # From: "vlgauge[meteor]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.inputs.text import tokenizers  # From: "vlgauge[meteor]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

_VERSIONS = ("1.5", "2007")
OTHER_LANGUAGES = "choose version='2007', which then matches equal words only, or bleu, cider, rouge_l or chrf"


class Meteor(base.TokenMetric):
    """METEOR of a corpus, with the maximum METEOR over the references of each caption.

    METEOR 1.5 matches the words of a caption with the words of a reference, by form, stem, synonym or paraphrase, and
    subtracts a penalty for matches in a different order. The best reference counts. The scores equal the COCO caption
    evaluation, without Java. Higher is better. METEOR requires references and the word lists of pycocoevalcap, and no
    model.

    Args:
        predictions: Captions, one string per row.
        references: References, a string or a list of strings per row.
        return_details: Whether to add the tokens, the matches and the score with each reference.

    Returns:
        meteor: METEOR of the corpus, in [0, 1], higher is better. It is not the mean of the scores.
        meteor_scores: One score per row, the maximum over its references. NaN for an empty list of references.
        meteor_length, meteor_reference_length, meteor_function_words, meteor_reference_function_words,
            meteor_exact_content and so on, meteor_chunks: Counts of each row, from whose sums the corpus score is
            computed. NaN if the score is NaN.
        meteor_undefined: Number of undefined scores. The corpus score ignores these rows.
        meteor_signature: Settings and versions that the scores depend on.

    Examples:
        >>> import evaluate
        >>> meteor = evaluate.load("vlgauge/meteor")
        >>> result = meteor.compute(
        ...     predictions=["a dog runs on the grass"],
        ...     references=[["the dog is running on grass", "two dogs run"]],
        ... )
        >>> print(round(result["meteor"], 3))
        0.311
    """

    papers = ("https://aclanthology.org/W14-3348", "https://aclanthology.org/W07-0734")
    source_settings = ("lists", "paraphrases")

    def __init__(
        self,
        *args: Any,
        version: str = "1.5",
        lists: str | PathLike[str] = meteor15.sources.INSTALLED,
        paraphrases: str | PathLike[str] | None = meteor15.sources.INSTALLED,
        **host: Any,
    ) -> None:
        self.version = base.check_choice("version", version, _VERSIONS)
        self.lists = meteor15.sources.check_source("lists", lists)
        self.paraphrases = None if paraphrases is None else meteor15.sources.check_source("paraphrases", paraphrases)
        given = {"lists": lists, "paraphrases": paraphrases}
        for name, value in given.items():
            if self.version == "2007" and value != meteor15.sources.INSTALLED:
                raise UsageError.about(name, f"is not supported with `version` 2007, got {short_repr(value)}")
        super().__init__(*args, **host)
        if self.version == "1.5":
            tokenizers.check_english(self.tokenizer, "METEOR 1.5", OTHER_LANGUAGES)

    @property
    def tokenizers(self) -> Sequence[str]:
        """Names of the tokenizers that the settings support."""
        return tokenizers.WORD_TOKENIZERS if self.version == "1.5" else super().tokenizers

    @property
    def uses_models(self) -> bool:
        """Whether a model is required. Always False, because words are matched with lists."""
        return False

    def check_sources(self) -> preflight.Preflight:
        """Check the packages of the tokenizer, and that the files of METEOR 1.5 exist, without parsing them.

        Returns:
            A `Preflight` with the problems found so far, which its method `end` raises.
        """
        found = super().check_sources()
        if self.version == "1.5":
            meteor15.sources.check_sources(found, self.lists, self.paraphrases)
        return found

    def _compute(
        self, predictions: list[str], references: list[list[str]], return_details: bool = False
    ) -> dict[str, Any]:
        if self.version == "2007":
            return self._score_as_2007(predictions, references, return_details)
        self.check_sources().end()
        opened = meteor15.sources.open_sources(self.lists, self.paraphrases, metric=self.name)
        candidates, theirs, rows = self.tokenize_rows(predictions, references)
        texts = [" ".join(tokens) for tokens in candidates]
        others = [[" ".join(tokens) for tokens in captions] for captions in theirs]
        with base.progress_bar(len(rows), "Scoring captions", self.progress) as advance:
            found = meteor15.scoring.coco_rows(texts, others, opened, advance, rows)
        of_rows = base.fill_rows(
            len(predictions),
            rows,
            found.scores.tolist(),
            map(_detail, found) if return_details else None,
            counts=dict(zip(meteor15.formula.COLUMNS, found.statistics.T.tolist(), strict=True)),
        )
        signature_extra = {"lists": opened.lists_name, "paraphrases": opened.table_name}
        return self.result(**of_rows, signature_extra=signature_extra)

    def _score_as_2007(
        self, predictions: list[str], references: list[list[str]], return_details: bool
    ) -> dict[str, Any]:
        """Return the result of METEOR of 2007, whose corpus-level value is the mean of the scores."""
        candidates, theirs, rows = self.tokenize_rows(predictions, references)
        scores: list[float] = []
        details: list[dict[str, Any]] = []
        found = zip(candidates, theirs, meteor.meteor_scores(candidates, theirs), strict=True)
        for candidate, captions, parts in base.report_progress(
            found, len(rows), "Scoring captions", self.progress, block=1
        ):
            scores.append(max(parts))
            details.append({"tokens": candidate, "references": captions, "per_reference": parts})
        of_rows = base.fill_rows(len(predictions), rows, scores, details if return_details else None)
        return self.result(**of_rows, signature_extra={"variant": meteor.VARIANT})


def _detail(pairs: list[meteor15.scoring.TextPair]) -> dict[str, Any]:
    """Return the details of a row. Spans of a match are the index of its first token and the index after its last."""
    by_score, by_reference = attrgetter("score"), attrgetter("reference_index")
    # Of equal scores, the first pair counts.
    best = max(pairs, key=by_score)
    of_references = [max(parts, key=by_score) for _, parts in groupby(pairs, by_reference)]
    mean, penalty = meteor15.formula.mean_and_penalty(np.array(best.statistics, dtype=np.float64))
    return {
        "tokens": best.own,
        "references": [pair.reference for pair in of_references],
        "per_reference": [pair.score for pair in of_references],
        "best": best.reference_index,
        "matches": [
            {"stage": meteor15.formula.STAGES[stage], "tokens": [i, i + m], "reference": [j, j + n]}
            for j, n, i, m, stage in best.matches
        ],
        "chunks": best.statistics[meteor15.formula.CHUNKS],
        "f_mean": float(mean),
        "penalty": float(penalty),
    }

"""CIDEr-D: How many informative n-grams match the references?"""

import math
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np

from vlgauge.families import base  # From: "vlgauge[cider]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import digests  # From: "vlgauge[cider]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families.base.parts import Counts  # From: "vlgauge[cider]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families.ngram import cider  # From: "vlgauge[cider]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.inputs.text import endings  # From: "vlgauge[cider]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.inputs.text import tokenizers  # From: "vlgauge[cider]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

from .formula import cider_r_penalties

PENALTIES = {"cider-d": cider.gaussian_penalties, "cider-r": cider_r_penalties}


class Cider(base.TokenMetric):
    """CIDEr-D of the COCO caption evaluation.

    CIDEr-D compares the n-grams of a caption with the n-grams of its references. N-grams that occur in the references
    of few images of the corpus get a high weight, and length differences are penalized. Higher is better. CIDEr-D
    requires references, a corpus of images (the rows of the call, or a saved table) and no model.

    Args:
        predictions: Captions, one string per row.
        references: References, a string or a list of strings per row.
        return_details: Whether to add the score with each reference, and the share of unfinished captions.

    Returns:
        cider: Mean of the scores, in [0, 10], higher is better.
        cider_scores: One score per row, the mean over its references. NaN for an empty list of references.
        cider_undefined: Number of undefined scores. These rows do not count as documents.
        cider_signature: Settings and versions that the scores depend on.
        cider_unfinished: With details, share of the captions that end in a word such as "a" or "with".

    Examples:
        >>> import evaluate
        >>> from vlgauge.families.ngram.cider import DocumentFrequency
        >>> cider = evaluate.load("vlgauge/cider", df=DocumentFrequency({("a",): 90, ("dog",): 9}, 100))
        >>> result = cider.compute(predictions=["a dog runs"], references=[["a dog is running", "a dog runs fast"]])
        >>> print(round(result["cider"], 3))
        3.503
    """

    papers = ("https://arxiv.org/abs/1411.5726", "https://arxiv.org/abs/2109.13701")

    def __init__(
        self, *args: Any, df: Any = "references", eos: bool = False, variant: str = "cider-d", **host: Any
    ) -> None:
        self.df = cider.check_df(df, ("references",))
        self.eos = base.check_bool("eos", eos)
        self.variant = base.check_choice("variant", variant, tuple(PENALTIES))
        if eos and isinstance(df, cider.DocumentFrequency):
            cider.check_end_token(df)
        self._counted: tuple[str, cider.DocumentFrequency] | None = None
        self._first_references = digests.FirstReferences()
        super().__init__(*args, **host)

    def signature_fields(self) -> dict[str, Any]:
        """Return the settings for the signature by name, omitting `eos` and `variant` if they are not set."""
        fields = super().signature_fields()
        dropped = {"eos"} if not self.eos else set()
        dropped |= {"variant"} if self.variant == "cider-d" else set()
        return {name: value for name, value in fields.items() if name not in dropped}

    def count(self, columns: Mapping[str, Sequence[Any]]) -> Counts | None:
        """Count the number of rows whose references contain each n-gram. None unless ``df="references"``."""
        if self.df != "references":
            return None
        counts = cider.document_counts(columns["references"], tokenizer=self.tokenizer, eos=self.eos)
        return counts | {"digests": {"sum": digests.sum_of_digests(columns["references"])}}

    def use_counts(self, counts: Counts) -> None:
        """Use the document frequencies of the whole corpus."""
        self._counted = (digests.name_by(counts["digests"]["sum"]), cider.sum_documents(counts))

    def _compute(
        self, predictions: list[str], references: list[list[str]], return_details: bool = False
    ) -> dict[str, Any]:
        texts, example, rows = self.tokenize_to_ids(predictions, references)
        name, table = self.df, None
        if self._counted is not None:
            name, table = self._counted
        elif self.df == "references":
            cider.warn_of_few_documents(len(rows))
            total = digests.sum_of_digests(references)
            self._first_references.warn_of_others(
                total,
                "CIDEr-D counts n-grams",
                "load cider with `df=DocumentFrequency.from_references(...)` of all references",
            )
            name = digests.name_by(total)
        else:
            name, table = cider.load_df(self.df, tokens=tokenizers.tokens_name(self.tokenizer), eos=self.eos)
        if self.variant == "cider-d":
            cider.warn_of_long_captions(texts, example)
        if self.eos:
            texts = texts.append_token(cider.END)
        parts, of = cider.cider_d_scores(texts, example, table, self.progress, penalize=PENALTIES[self.variant])
        scores = np.bincount(of, parts, len(rows)) / np.bincount(of, minlength=len(rows))
        bounds = np.searchsorted(of, np.arange(len(rows) + 1))
        # Computed only if they are requested.
        unfinished = [endings.is_unfinished(predictions[row]) for row in rows] if return_details else []
        details = (
            {
                "tokens": own,
                "references": theirs,
                "per_reference": parts[bounds[i] : bounds[i + 1]].tolist(),
                "unfinished": unfinished[i],
            }
            for i, (own, *theirs) in enumerate(texts.iter_groups(example))
        )
        found = base.fill_rows(len(predictions), rows, scores, details if return_details else None)
        if return_details:
            found["unfinished"] = float(np.mean(unfinished)) if unfinished else math.nan
        return self.result(**found, signature_extra={"df": name})

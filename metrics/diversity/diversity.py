"""Diversity: How different are several captions of an image?"""

from collections import Counter
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from functools import lru_cache
from functools import partial
from typing import Any
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge.core import results  # From: "vlgauge[diversity]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.validation import warn  # From: "vlgauge[diversity]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import base  # From: "vlgauge[diversity]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import set_sizes  # From: "vlgauge[diversity]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families.base import parts  # From: "vlgauge[diversity]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families.ngram import cider  # From: "vlgauge[diversity]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.inputs.text import tokenizers  # From: "vlgauge[diversity]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

from .formula import N_COUNTS
from .formula import div_n
from .formula import kernels
from .formula import mbleu
from .formula import position_counts
from .formula import self_cider
from .formula import spectra
from .novelty import TrainingCaptions
from .novelty import check_training_captions
from .novelty import training_captions

CaptionSets: TypeAlias = Sequence[Sequence[str]]
Floats = npt.NDArray[np.float64]
_POSITION = "position_{}_{}"  # key of a partial sum: position of a caption in its row, and index of the count


class Diversity(base.TokenMetric):
    """Self-CIDEr of caption sets, with mBLEU, Div-n, vocabulary, distinct and novel captions.

    Diversity measures how much the captions that a model samples for an image differ from each other. Self-CIDEr is 0
    for identical captions and 1 for captions without common n-grams. Higher is better. mBLEU, Div-1, Div-2, the size of
    the vocabulary and the shares of distinct and novel captions are reported with it. It requires several captions per
    image, no references and no model, and ignores whether the captions are correct.

    Args:
        predictions: Captions sampled for each image, one list of strings per row.
        return_details: Whether to add the tokens of the captions, their pairwise CIDEr-D divided by 10, and the shares
            of the singular values.

    Returns:
        diversity: Self-CIDEr, the mean of the scores, in [0, 1], higher is better.
        diversity_scores: One score per row. NaN for fewer than two captions, and if no caption has a word.
        diversity_undefined: Number of undefined scores.
        diversity_signature: Settings and versions that the scores depend on.
        diversity_div_1, diversity_div_2: Distinct uni- and bigrams of a row divided by its words, with their own
            _scores, _undefined and _signature, as the next two.
        diversity_distinct: Share of distinct captions of a row.
        diversity_novel: With the setting training_captions, the share of captions that are not among them.
        diversity_mbleu_1, ..., diversity_mbleu_4: BLEU of each caption against the other captions of its row, summed
            over rows by position and averaged over positions, lower is better.
        diversity_vocabulary: Number of distinct words of all captions.

    Examples:
        >>> import evaluate
        >>> diversity = evaluate.load("vlgauge/diversity")
        >>> result = diversity.compute(
        ...     predictions=[["a dog runs on grass", "a dog runs on grass", "a brown dog is running"]]
        ... )
        >>> print(round(result["diversity"], 3), round(result["diversity_div_1"], 3))
        0.481 0.533
    """

    papers = ("https://arxiv.org/abs/1903.12020", "https://arxiv.org/abs/1703.10476")
    columns = base.SAMPLED_COLUMNS
    unsigned = ("training_captions",)  # in the signature of the share of novel captions only
    undefined_hint = "give each row as a list of at least two captions of one image"

    def __init__(self, *args: Any, df: Any = "predictions", training_captions: Any = None, **host: Any) -> None:
        self.df = cider.check_df(df, ("predictions",))
        self.training_captions = check_training_captions(training_captions)
        self._counted: tuple[int, cider.DocumentFrequency | None] | None = None
        super().__init__(*args, **host)

    def count(self, columns: Mapping[str, Sequence[Any]]) -> parts.Counts | None:
        """Count the words of some rows and, with ``df="predictions"``, the rows that contain each n-gram."""
        sets = [captions for captions in columns["predictions"] if len(captions) > 1]
        split = lru_cache(2**16)(tokenizers.check_tokenizer(self.tokenizer))
        words = {word for captions in sets for caption in captions for word in split(caption)}
        counts: parts.Counts = cider.document_counts(sets, tokenizer=split) if self.df == "predictions" else {}
        return counts | {"words": dict.fromkeys(words, 1)}

    def use_counts(self, counts: parts.Counts) -> None:
        """Use the vocabulary and the document frequencies of the whole corpus."""
        table = _with_one_more(cider.table_of_counts(counts)) if self.df == "predictions" else None
        self._counted = (len(counts["words"]), table)

    def _compute(self, predictions: CaptionSets, return_details: bool = False) -> dict[str, Any]:
        record, counts, n_words = self._score(predictions, return_details=return_details)
        return self._with_corpus(record, counts, list(map(len, predictions)), n_words)

    def score_batch(self, columns: Mapping[str, Sequence[Any]], keys: Sequence[int]) -> parts.PartialResult:
        """Score rows as in the base class, and add the BLEU counts of each position in a row."""
        record, counts, _ = self._score(columns["predictions"])
        partial = parts.partial_result(record, len(keys), len(keys) - record[f"{self.name}_undefined"])
        sizes = [list(map(len, columns["predictions"])), [0] * len(keys)]
        return replace(
            partial,
            columns=partial.columns | dict(zip(parts.SIZES, sizes, strict=True)),
            sums={_POSITION.format(*place): int(count) for place, count in np.ndenumerate(counts)},
        )

    def combine(self, partial: parts.PartialResult) -> dict[str, Any]:
        """Combine the partial results of all rows, and compute mBLEU from the summed counts."""
        columns = {key: column for key, column in partial.columns.items() if key not in parts.SIZES}
        record = super().combine(replace(partial, columns=columns, sums={}))
        positions = range(len(partial.sums) // N_COUNTS)
        counts = [[partial.sums[_POSITION.format(i, k)] for k in range(N_COUNTS)] for i in positions]
        return self._with_corpus(record, np.array(counts), partial.columns[parts.SIZES[0]])

    def _with_corpus(
        self, record: dict[str, Any], counts: npt.NDArray[np.int64], sizes: Sequence[int], n_words: int = 0
    ) -> dict[str, Any]:
        """Add the values of the corpus that are not means of row scores."""
        several = Counter(str(size) for size in sizes if size > 1)
        if len(several) > 1:
            warn(f"{set_sizes.several_sizes(self.name, several)}; sample as many captions for every row")
        values = {f"mbleu_{order}": float(value) for order, value in zip(cider.ORDERS, mbleu(counts), strict=True)}
        values["vocabulary"] = n_words if self._counted is None else self._counted[0]
        return record | {f"{self.name}_{key}": value for key, value in values.items()}

    def _score(
        self, predictions: CaptionSets, *, return_details: bool = False
    ) -> tuple[dict[str, Any], npt.NDArray[np.int64], int]:
        """Score the rows with at least two captions.

        Returns:
            The scores of the rows, the BLEU counts of each position, and the number of distinct words.
        """
        # The first caption of a row takes the place of a candidate, and the others that of its references.
        texts, example, rows = self.tokenize_to_ids(
            [own[0] if own else "" for own in predictions], [own[1:] for own in predictions]
        )
        name, table = self._document_frequency([predictions[row] for row in rows])
        pairs, _ = cider.cider_d_scores(texts, example, table, self.progress, all_pairs=True)
        tokens = [[tuple(caption) for caption in captions] for captions in texts.iter_groups(example)]
        scores = np.full(len(rows), np.nan)
        details: list[dict[str, Any]] = [{} for _ in rows]
        for places, kernel in kernels(pairs, np.bincount(example)):
            spectrum = spectra(kernel)
            scores[places] = self_cider(spectrum)
            for place, own, shares in zip(places.tolist(), kernel, spectrum, strict=True):
                details[place] = {"tokens": tokens[place], "kernel": own, "spectrum": shares}
        signature_extra = {"df": name}
        fill = partial(base.fill_rows, len(predictions), rows)
        record = self.result(**fill(scores, details if return_details else None), signature_extra=signature_extra)
        shares = dict(zip(("div_1", "div_2"), div_n(texts, example).T, strict=True))
        shares["distinct"] = np.array([len(set(own)) / len(own) for own in tokens])
        for key, values in shares.items():
            record = self.with_score(record, f"{self.name}_{key}", fill(values, None)["scores"])
        if (training := self._training) is not None:
            novel = (sum(caption not in training.tokens for caption in own) / len(own) for own in tokens)
            key = f"{self.name}_novel"
            signature = self.signature(**signature_extra, training=training.identity).replace(self.name, key, 1)
            record |= results.result_record(key, fill(novel, None)["scores"], signature, {})
        return record, position_counts(texts, example), len(texts.tokens)

    def _document_frequency(self, sets: CaptionSets) -> tuple[str, cider.DocumentFrequency]:
        """Return the document frequencies and their name in the signature."""
        if self.df != "predictions":
            return cider.load_df(self.df, tokens=tokenizers.tokens_name(self.tokenizer))
        if self._counted is not None and self._counted[1] is not None:
            return self.df, self._counted[1]
        if not sets:
            return self.df, cider.DocumentFrequency({}, 1)
        table = cider.DocumentFrequency.from_references(sets, tokenizer=self.tokenizer)
        return self.df, _with_one_more(table)

    @cached_property
    def _training(self) -> TrainingCaptions | None:
        if self.training_captions is None:
            return None
        return training_captions(self.training_captions, tokenizers.check_tokenizer(self.tokenizer))


def _with_one_more(table: cider.DocumentFrequency) -> cider.DocumentFrequency:
    """Add a document without n-grams, so that n-grams of all captions have a weight above 0.

    Otherwise one sentence repeated for all images would have no weight and no score.
    """
    return replace(table, n_documents=table.n_documents + 1)

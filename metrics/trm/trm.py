"""TRM: How do distances within and across caption sets differ?"""

from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import MutableMapping
from collections.abc import Sequence
from contextlib import contextmanager
from functools import lru_cache
from functools import partial
from itertools import chain
from typing import Any
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge import stats  # From: "vlgauge[trm]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.checkpoints import preflight  # From: "vlgauge[trm]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.errors import UsageError  # From: "vlgauge[trm]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.validation import short_repr  # From: "vlgauge[trm]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.validation import warn  # From: "vlgauge[trm]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import base  # From: "vlgauge[trm]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import caption_sets  # From: "vlgauge[trm]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families.base.parts import Counts  # From: "vlgauge[trm]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families.ngram import cider  # From: "vlgauge[trm]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families.ngram import meteor  # From: "vlgauge[trm]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families.ngram import meteor15  # From: "vlgauge[trm]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.inputs.text import tokenizers  # From: "vlgauge[trm]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.stats import threads  # From: "vlgauge[trm]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

from .aggregates import aggregate_scores
from .distances import DISTANCES
from .distances import METEOR_15
from .distances import NGRAM_DISTANCES
from .distances import KnownDistances
from .distances import bleu_4_matrices
from .distances import check_matrices
from .distances import cider_d_matrices
from .distances import cosine_matrices
from .distances import function_matrices
from .distances import meteor_15_matrices
from .distances import rouge_l_matrices
from .distances import rouge_l_words
from .distances import zero_between_equal
from .triangles import TIES
from .triangles import levels
from .triangles import triangle_tests

Floats = npt.NDArray[np.float64]
Captions: TypeAlias = list[list[str]]
Tokens: TypeAlias = tuple[str, ...]
Tokenizer: TypeAlias = Callable[[str], Tokens]

_OTHER_LANGUAGES = "choose distance='meteor', which then matches equal words only, 'cider_d', 'rouge_l' or 'bleu_4'"

# Distances whose words or model are English by default, with the alternatives for other languages.
_ENGLISH_DISTANCES = {METEOR_15: (('distance="meteor"',),), "bert": (("encoder",),)}

# Embeddings are float32. In CIDEr-D, two captions that share only a frequent word differ by 1e-9.
_TIE_TOLERANCE = {"bert": 1e-6}


class Trm(caption_sets.CaptionSetMetric):
    """Triangle-rank metric of two caption sets, with permutation p-values.

    TRM, the triangle-rank metric, compares the captions that a model samples for an image with human captions. In each
    triangle of two captions from one set and one from the other, the within-set side is the shortest, the middle or the
    longest. If both sets come from one distribution and the distance is symmetric, all three cases are equally likely.
    Any distance between two captions can be used. Lower is better. Exact permutation p-values test whether the two sets
    could come from one distribution.

    Args:
        predictions: Caption sets sampled from the model, one list of strings per row.
        references: Sets of human captions, one list of strings per row.
        distances: With the setting distance="precomputed", one array of shape (n + m, n + m) per row. Entry [a, b] is
            the distance from a to b, the n candidates before the m references.
        return_details: Whether to add the triangle counts, captions without tokens, distinct captions, partitions, null
            deviations and the histogram of the null distribution of each row.

    Returns:
        trm: Mean of the scores Q, in [0, 4/3], lower is better. It is not 0 for identical sets, so interpret p-value
            and excess first.
        trm_scores: One score per row. NaN if a set has fewer than two captions or a distance is NaN.
        trm_undefined: Number of undefined scores.
        trm_signature: Settings and versions that the scores depend on.
        trm_separate, trm_separate_scores: The same with the two types of triangles counted separately, in [0, 8/3].
        trm_base, trm_base_scores: With the setting mean_aggregate, the mean over the candidates of the underlying
            score.
        trm_pvalue, trm_z, trm_excess, trm_excess_interval, trm_null_mean, trm_mean_log_pvalue,
            trm_expected_mean_log_pvalue of the corpus, trm_pvalues, trm_excess_scores, trm_null_means, trm_zscores of
            the rows, and the same with trm_separate_ and trm_base_: Results of the permutation test, with the setting
            pvalue. See the card.

    Examples:
        >>> import evaluate
        >>> trm = evaluate.load("vlgauge/trm", pvalue="exact")
        >>> result = trm.compute(
        ...     predictions=[["a dog runs on grass", "a brown dog running", "a puppy at play"]],
        ...     references=[["two planes wait", "a jet on the runway", "an airliner takes off"]],
        ... )
        >>> print(round(result["trm"], 4), round(result["trm_separate"], 4))
        0.4444 1.7778
        >>> print(result["trm_pvalues"])
        [0.1]
    """

    papers = ("https://aclanthology.org/2024.lrec-main.453",)
    unsigned = ("mean_aggregate",)
    setting_groups = (caption_sets.EncoderSettings, caption_sets.PermutationSettings)

    def __init__(
        self,
        *args: Any,
        distance: str | Callable[..., Any] = "meteor",
        ties: str = "fractional",
        tie_tol: float | None = None,
        force_zero_self: bool = False,
        mean_aggregate: bool = False,
        df: Any = "references",
        tokenizer: Callable[[str], Sequence[str]] | str | None = tokenizers.TREEBANK,
        workers: int = 1,
        **host: Any,
    ) -> None:
        distance = "bleu_4" if distance == "bleu" else distance
        self.distance = distance if callable(distance) else base.check_choice("distance", distance, DISTANCES)
        self.ties = base.check_choice("ties", ties, TIES)
        if tie_tol is not None:
            tie_tol = base.check_float("tie_tol", tie_tol, "a finite number of at least 0", minimum=0.0)
        self.tie_tol = tie_tol
        self.force_zero_self = base.check_bool("force_zero_self", force_zero_self)
        self.mean_aggregate = base.check_bool("mean_aggregate", mean_aggregate)
        if mean_aggregate and (callable(distance) or distance == "precomputed"):
            raise UsageError.about("mean_aggregate", f"requires a named distance, got {short_repr(distance)}")
        self.df = cider.check_df(df, ("references", "pooled"))
        self.tokenizer = tokenizers.tokenizer_setting(tokenizer, tokenizers.TREEBANK)
        if self.distance == METEOR_15:
            tokenizers.check_english(self.tokenizer, "distance 'meteor_1.5'", _OTHER_LANGUAGES)
        self.workers = base.check_int("workers", workers, 1, 1024)
        if isinstance(self.distance, str) and self.distance in _ENGLISH_DISTANCES:
            self.languages, self.other_languages = ("en",), _ENGLISH_DISTANCES[self.distance]
        self._counted: cider.DocumentFrequency | None = None
        self._compared: KnownDistances | None = None
        super().__init__(*args, **host)

    def signature_fields(self) -> dict[str, Any]:
        """Return the settings that the distance uses, by name. A call adds its sources."""
        fields = super().signature_fields() | {"tie_tol": self._tolerance()}
        dropped = {"df"}
        if self.distance != "bert":
            dropped |= {"dtype", "pooling"}
        if self._reads_tokens():
            fields["tokenizer"] = tokenizers.tokens_name(self.tokenizer)
        else:
            dropped.add("tokenizer")
        return {name: value for name, value in fields.items() if name not in dropped}

    def _rouge_l_words(self, tokens: Tokens) -> Tokens:
        """Return the words that ROUGE-L compares: all tokens of a named tokenizer that supports other letters."""
        # Deviation: the authors' code uses the letters a-z only.
        own = self.tokenizer not in (tokenizers.TREEBANK, tokenizers.DEFAULT) and isinstance(self.tokenizer, str)
        return tokens if own else rouge_l_words(tokens)

    def extremes(self) -> dict[str, str]:
        """Return the extreme direction of Q, of separate Q, and of the underlying score."""
        return {"": "large", "separate": "large"} | ({"base": "small"} if self.mean_aggregate else {})

    @property
    def tokenizers(self) -> Sequence[str]:
        """Names of the tokenizers that the distance supports. Empty if it uses none."""
        if self.distance == METEOR_15:
            return tokenizers.WORD_TOKENIZERS
        return tokenizers.NAMES if self._reads_tokens() else ()

    @property
    def reads_vectors(self) -> bool:
        """Whether the distance compares sentence embeddings."""
        return self.distance == "bert"

    @property
    def uses_models(self) -> bool:
        """Whether the distance requires a model, which only sentence embeddings do."""
        return self.reads_vectors

    def check_sources(self, embeddings: Any = None) -> preflight.Preflight:
        """Check the sources of the base class, the tokenizer, and the word lists and paraphrases of METEOR 1.5.

        Returns:
            A `Preflight` with the problems found so far, which its method `end` raises.
        """
        found = super().check_sources(embeddings)
        if self._reads_tokens():
            tokenizers.look_for_tokenizer(found, self.tokenizer)
        if self.distance == METEOR_15:
            meteor15.sources.check_sources(found)
        return found

    def count(self, columns: Mapping[str, Sequence[Any]]) -> Counts | None:
        """Count the number of rows that contain each n-gram, if CIDEr-D uses the document frequencies of the call.

        Returns:
            The counts. None if they are not required.

        Raises:
            ValueError: If the distances are precomputed, because they belong to the whole call.
        """
        if self.distance == "precomputed":
            raise UsageError("`distance='precomputed'` requires the matrices of the whole call")
        if self.distance != "cider_d" or self.df not in ("references", "pooled"):
            return None
        pooled = self.df == "pooled"
        pairs = zip(columns["predictions"], columns["references"], strict=True)
        documents = ([*ours, *theirs] if pooled else theirs for ours, theirs in pairs)
        return cider.document_counts(documents, tokenizer=self.tokenizer)

    def use_counts(self, counts: Counts) -> None:
        """Use the document frequencies of the corpus."""
        self._counted = cider.sum_documents(counts)

    def _compute(
        self,
        predictions: Captions,
        references: Captions,
        distances: Sequence[npt.ArrayLike] | None = None,
        return_details: bool = False,
    ) -> dict[str, Any]:
        minimum = 1 if self.mean_aggregate else 2
        self.test.check_sizes(predictions, references, minimum=minimum)
        pooled = [[*ours, *theirs] for ours, theirs in zip(predictions, references, strict=True)]
        if self.distance != "precomputed" and distances is not None:
            raise UsageError.about("distances", "requires distance='precomputed'")
        is_for_any_language = self.distance in NGRAM_DISTANCES and self.distance != METEOR_15
        if self.tokenizer in tokenizers.WORD_TOKENIZERS and is_for_any_language:
            tokenizers.warn_of_unparted(dict.fromkeys(chain.from_iterable(pooled)), self.tokenizers)
        examples: Sequence[Any] = check_matrices(distances, pooled) if self.distance == "precomputed" else pooled
        tokens = lru_cache(2**16)(tokenizers.check_tokenizer(self.tokenizer))
        matrices_of, signature_extra = self._prepare_distances(predictions, references, pooled, tokens)

        def inputs(rows: Sequence[int]) -> Iterator[tuple[Sequence[str], Floats]]:
            if self._compared is not None:
                return ((pooled[row], self._compared.matrix(row, pooled[row])) for row in rows)
            return zip((pooled[row] for row in rows), matrices_of(examples[row] for row in rows), strict=True)

        def scored(found: Sequence[tuple[Sequence[str], Floats]], n: int, ways: stats.Partitions | None) -> Any:
            captions, matrices = zip(*found, strict=True)
            return self._score_group(np.stack(matrices), captions, tokens, n, ways)

        return self.score_statistics(
            predictions,
            references,
            inputs,
            scored,
            lambda captions, ways: 64 * ways + 48 * captions**2,
            minimum=minimum,
            return_details=return_details,
            signature_extra=signature_extra,
        )

    def _prepare_distances(
        self, predictions: Captions, references: Captions, pooled: Captions, tokens: Tokenizer
    ) -> tuple[Any, dict[str, Any]]:
        """Return the distance matrices for the settings, and their signature fields."""
        if self._compared is not None:
            return None, self._compared.signature_extra
        if callable(self.distance):
            return function_matrices(self.distance), {}
        if self.distance == "precomputed":
            return iter, {}
        if self.distance == "bert":
            encoded = self.caption_vectors(pooled, [[] for _ in pooled])
            return cosine_matrices(pooled, encoded), {"enc": encoded.identity}
        if self.distance == "meteor":
            made = partial(meteor.meteor_matrices, tokenizer=tokens, workers=self.workers)
            return made, {"distance": meteor.VARIANT}
        if self.distance == METEOR_15:
            return meteor_15_matrices(pooled, tokens), {"distance": "meteor-1.5"}
        if self.distance == "rouge_l":
            return rouge_l_matrices(tokens, self._rouge_l_words), {}
        if self.distance == "bleu_4":
            return bleu_4_matrices(tokens), {}
        name, table = self.df, self._counted
        if table is None and name == "pooled":
            table = cider.DocumentFrequency.from_pooled(predictions, references, tokenizer=tokens)
        elif table is None and name == "references":
            cider.warn_of_few_documents(len(references))
            table = cider.DocumentFrequency.from_references(references, tokenizer=tokens)
        elif table is None:
            name, table = cider.load_df(name, tokens=tokenizers.tokens_name(self.tokenizer))
        return cider_d_matrices(table, tokens), {"df": name}

    @contextmanager
    def among(
        self,
        captions: Sequence[Sequence[str]],
        references: Sequence[Sequence[str]],
        vectors: MutableMapping[Hashable, Any],
        *,
        pairs: bool = True,
    ) -> Iterator[None]:
        """Provide precomputed distances in addition to the embeddings of the base class."""
        if self._compared is not None:
            yield
            return
        with super().among(captions, references, vectors):
            if pairs and self.distance != "precomputed":
                self._compared = self.compared(captions, references)
            try:
                yield
            finally:
                self._compared = None

    def compared(self, captions: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> KnownDistances:
        """Compute the distances between all captions of each example.

        CIDEr-D uses document frequencies from the references.
        """
        tokens = lru_cache(2**16)(tokenizers.check_tokenizer(self.tokenizer))
        distinct = [list(dict.fromkeys(texts)) for texts in captions]
        # The second side is empty, except for the counts of "pooled", which use both sides.
        nothing: Captions = [[] for _ in distinct]
        theirs = nothing if self.df == "pooled" else [list(texts) for texts in references]
        ours = distinct if self.df == "pooled" else nothing
        matrices_of, signature_extra = self._prepare_distances(ours, theirs, distinct, tokens)
        places = [{text: i for i, text in enumerate(texts)} for texts in distinct]
        return KnownDistances(
            places, list(matrices_of(distinct)), signature_extra, self.distance in ("meteor", METEOR_15)
        )

    def _score_group(
        self,
        distances: Floats,
        captions: Sequence[Sequence[str]],
        tokens: Tokenizer,
        n: int,
        ways: stats.Partitions | None,
    ) -> tuple[dict[str, caption_sets.Statistic], list[dict[str, Any]]]:
        """Compute the statistics of examples with n candidates each, and their details."""
        candidates = np.arange(distances.shape[1])[None] < n if ways is None else ways.candidates
        texts = [[tokens(caption) for caption in pooled] for pooled in captions] if self._reads_tokens() else []
        details: list[dict[str, Any]] = [{"n_distinct": len(set(pooled))} for pooled in captions]
        if self.distance in NGRAM_DISTANCES:
            is_rouge_l = self.distance == "rouge_l"
            seen = [[self._rouge_l_words(t) for t in text] for text in texts] if is_rouge_l else texts
            details = [one | {"n_empty": sum(not t for t in text)} for one, text in zip(details, seen, strict=True)]
        found = {}
        if min(n, distances.shape[1] - n) >= 2:
            values = zero_between_equal(distances, texts) if self.force_zero_self else distances
            order = levels(values, self._tolerance())
            unseen = np.array(
                [one.get("n_empty") == len(pooled) for one, pooled in zip(details, captions, strict=True)]
            )
            if count := int(np.count_nonzero(unseen)):
                # All their distances tie, and Q would be 0, as for a perfect model.
                warn(f"{count} rows have no word that the distance {self.distance!r} uses, so their `trm` is undefined")
            undefined = np.isnan(values).any(axis=(1, 2)) | unseen
            self._warn_of_ties(order[~undefined], values[~undefined])
            with threads.one_blas_thread():
                tests = triangle_tests(order, candidates, self.ties)
            for name, q, pvalues in zip(("", "separate"), tests.q, tests.pvalues, strict=True):
                q[undefined] = np.nan
                found[name] = caption_sets.Statistic(q[:, 0], None if ways is None else q, pvalues)
            for row in np.flatnonzero(~undefined).tolist():
                names = ("counts_lone_candidate", "counts_lone_reference", "expected_shares")
                details[row] |= zip(names, (*tests.counts[row].tolist(), tests.expected[row].tolist()), strict=True)
        if self.mean_aggregate:
            # The mean of the underlying score over the candidates.
            base_scores = aggregate_scores(str(self.distance), distances, texts, candidates)
            found["base"] = caption_sets.Statistic(base_scores[:, 0], None if ways is None else base_scores)
        return found, details

    def _warn_of_ties(self, order: npt.NDArray[np.signedinteger], distances: Floats) -> None:
        """Warn if all user-supplied distances tie under `tie_tol`, so that Q is 0, as for a perfect model."""
        own = callable(self.distance) or self.distance == "precomputed"
        tied = order.max(axis=(1, 2), initial=0) == 0
        if own and (distances[tied].max(axis=(1, 2)) > distances[tied].min(axis=(1, 2))).any():
            warn(
                "all distances of a row tie, so its Q is 0, because no gap between them is larger than "
                f"`tie_tol`={self._tolerance():g}; unless they differ only by rounding, pass a smaller `tie_tol`"
            )

    def _tolerance(self) -> float:
        return _TIE_TOLERANCE.get(str(self.distance), 1e-12) if self.tie_tol is None else self.tie_tol

    def _reads_tokens(self) -> bool:
        return self.force_zero_self or self.distance in NGRAM_DISTANCES

"""BERTScore: How similar are the tokens of caption and references in context?"""

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.core import validation  # From: "vlgauge[bertscore]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.errors import UsageError  # From: "vlgauge[bertscore]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.files import existing_file  # From: "vlgauge[bertscore]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import base  # From: "vlgauge[bertscore]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import digests  # From: "vlgauge[bertscore]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families.base import parts  # From: "vlgauge[bertscore]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.inputs.text import ngrams  # From: "vlgauge[bertscore]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.models import token_encoders  # From: "vlgauge[bertscore]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.models import token_matches  # From: "vlgauge[bertscore]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

from .formula import compute_weighted_means
from .formula import f_measure
from .formula import inverse_frequencies
from .formula import rescale
from .weights import REFERENCES
from .weights import GivenWeights
from .weights import check_idf
from .weights import document_counts
from .weights import read_baseline
from .weights import texts_of

PARTS = ("precision", "recall")

AllLayersEncoder = token_encoders.AllLayersEncoder
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_EMPTY = 2  # tokens of a text without content: start and end
_FEW_REFERENCES = 50  # with fewer, frequencies do not show which tokens are rare


@dataclass(frozen=True)
class Tokenized:
    """Tokens of the texts of a call.

    Attributes:
        ids: Token ids of the distinct texts.
        which: Index in `ids` of each text of the call, shape ``(n_texts,)``.
        truncated: Whether each distinct text was truncated.
    """

    ids: list[npt.NDArray[np.int32]]
    which: Ints
    truncated: npt.NDArray[np.bool_]

    def weights(self, table: Floats, texts: Ints) -> tuple[Floats, Ints]:
        """Return the weights of the tokens of some distinct texts, concatenated, and the number of tokens of each."""
        lengths = ngrams.lengths_of(self.ids)
        _, places = ngrams.ranges((np.cumsum(lengths) - lengths)[texts], lengths[texts])
        return table[np.concatenate(self.ids)[places]], lengths[texts]


class Bertscore(base.CaptionMetric):
    """Greedy matching of contextual token embeddings (Zhang et al., 2020).

    BERTScore matches each token of a caption with the most similar token of a reference, and the other way round, by
    the cosine similarity of their contextual embeddings in one layer of a BERT or RoBERTa. The score is the F-measure
    of the two means. Higher is better. BERTScore requires references.

    Args:
        predictions: Captions, one string per row.
        references: References, a string or a list of strings per row.
        return_details: Whether to add the score with each reference, and the similarities of the tokens of the caption
            and its best reference.

    Returns:
        bertscore: Mean of the F-measures, at most 1, higher is better.
        bertscore_scores: One F-measure per row, the maximum over its references. 0 for an empty caption, NaN for an
            empty list of references.
        bertscore_undefined: Number of undefined scores.
        bertscore_signature: Settings and versions that the scores depend on.
        bertscore_precision, bertscore_recall: The other two values, each with scores, undefined and signature.

    Examples:
        >>> import evaluate
        >>> bertscore = evaluate.load("vlgauge/bertscore", profile="embedded")
        >>> result = bertscore.compute(predictions=["a dog runs"], references=[["a dog is running", "a cat sleeps"]])
        >>> print(0.0 < result["bertscore"] <= 1.0)
        True
        >>> print(bertscore.compute(predictions=["a dog"], references=["a dog"])["bertscore_precision"] > 0.999)
        True
    """

    papers = ("https://arxiv.org/abs/1904.09675",)
    source_settings = ("model", "idf", "baseline")

    def __init__(
        self,
        *args: Any,
        model: str | Path | None = None,
        num_layers: int | None = None,
        idf: Any = False,
        baseline: str | Path | None = None,
        prefix_space: bool = True,
        dtype: str = "float32",
        device: str = "auto",
        batch_size: int = 64,
        **host: Any,
    ) -> None:
        if model is not None and (not isinstance(model, (str, Path)) or model == ""):
            raise UsageError.about("model", f"must be a folder or an id of the Hub, got {validation.short_repr(model)}")
        self.model = None if model is None else str(model)
        self.num_layers = None if num_layers is None else base.check_int("num_layers", num_layers, 0)
        if self.model is not None:
            token_encoders.layer_of(self.model, self.num_layers)
        self.idf = check_idf(idf)
        if baseline is not None:
            existing_file("baseline", baseline, "an existing file of comma-separated rows LAYER,P,R,F")
        self.baseline = None if baseline is None else str(baseline)
        self.prefix_space = base.check_bool("prefix_space", prefix_space)
        self.dtype = base.check_choice("dtype", dtype, token_encoders.DTYPES)
        self.device = device
        self.batch_size = base.check_int("batch_size", batch_size, 1)
        self._counted: tuple[str, Mapping[int, int], int] | None = None
        self._first_references = digests.FirstReferences()
        super().__init__(*args, **host)

    def check_sources(self) -> Any:
        """Check the sources that every call requires. Nothing is loaded or downloaded."""
        return token_encoders.look_for(self.name, self._model, profile=self.profile)

    def count(self, columns: Mapping[str, Sequence[Any]]) -> parts.Counts | None:
        """Count the references that contain each token. None unless ``idf="references"``."""
        if self.idf != REFERENCES:
            return None
        references = columns["references"]
        every = [text for own in references for text in own]
        counts = document_counts(self._reference_ids(self._encoder(), every))
        return {
            "references": {"n": len(every)},
            "tokens": {str(token): number for token, number in counts.items()},
            "digests": {"sum": digests.sum_of_digests(references)},
        }

    def use_counts(self, counts: parts.Counts) -> None:
        """Use the document frequencies of the whole corpus."""
        name = digests.name_by(counts["digests"]["sum"])
        n = counts["references"]["n"]
        warn_of_few_references(n)
        self._counted = (name, {int(token): number for token, number in counts["tokens"].items()}, n)

    def _compute(
        self, predictions: list[str], references: list[list[str]], return_details: bool = False
    ) -> dict[str, Any]:
        self.check_sources().end()
        encoder = self._encoder()
        baseline, baseline_name = np.zeros(3), None
        if self.baseline is not None:
            baseline, baseline_name = read_baseline(self.baseline, encoder.n_layers - 1)
        rows = [row for row, captions in enumerate(references) if captions]
        texts, which = ngrams.number_distinct(text for row in rows for text in (predictions[row], *references[row]))
        row_of = np.repeat(np.arange(len(rows)), [1 + len(references[row]) for row in rows])
        is_candidate = ngrams.first_of_run(row_of)
        read = self._tokenize(encoder, texts, which)
        idf_name, table = self._weights(encoder, references, read.ids)
        row_of_pair = row_of[~is_candidate]
        pairs = (read.which[is_candidate][row_of_pair], read.which[~is_candidate])
        scores = self._pair_scores(encoder, read, pairs, table)
        starts = np.flatnonzero(ngrams.first_of_run(row_of_pair))
        best = np.maximum.reduceat(scores, starts, axis=0) if len(starts) else scores
        of_rows = None
        if return_details:
            of_rows = self._details(encoder, read, pairs, rescale(scores, baseline), starts, table)
        precision, recall, f = (
            base.fill_rows(len(predictions), rows, column, of_rows) for column in rescale(best, baseline).T
        )
        self._warn_of_long_texts(encoder, read)
        is_roberta = encoder.model.config.model_type == "roberta"
        signature_extra = {
            "enc": encoder.identity,
            "num_layers": encoder.n_layers - 1,
            "prefix_space": self.prefix_space if is_roberta else None,
            "idf": idf_name,
            "baseline": baseline_name,
        }
        record = self.result(**f, signature_extra=signature_extra)
        record = self.with_score(record, f"{self.name}_precision", precision["scores"])
        return self.with_score(record, f"{self.name}_recall", recall["scores"])

    @property
    def _model(self) -> str:
        return token_encoders.model_of(self.model, self.profile)

    def _encoder(self) -> AllLayersEncoder:
        layer = token_encoders.layer_of(self._model, self.num_layers)
        how = {"profile": self.profile, "device": self.device, "dtype": self.dtype}
        return token_encoders.token_encoder(self._model, layer, **how)

    def _as_read(self, encoder: AllLayersEncoder, text: str) -> str:
        """Return the text as bert-score passes it to the tokenizer: stripped, and for RoBERTa after a space."""
        text = text.strip()
        spaced = text and self.prefix_space and encoder.model.config.model_type == "roberta"
        return f" {text}" if spaced else text

    def _tokenize(self, encoder: AllLayersEncoder, texts: Sequence[str], which: Ints) -> Tokenized:
        """Tokenize distinct texts, of which some may have equal tokens."""
        ids, cut = encoder.token_ids([self._as_read(encoder, text) for text in texts])
        rows = [np.array(row, dtype=np.int32) for row in ids]
        keys, number = ngrams.number_distinct(row.tobytes().hex() for row in rows)
        first = np.zeros(len(keys), dtype=np.int64)
        first[number[::-1]] = np.arange(len(rows))[::-1]
        return Tokenized([rows[i] for i in first], number[which], np.array(cut, dtype=bool)[first])

    def _reference_ids(self, encoder: AllLayersEncoder, texts: Sequence[str]) -> list[npt.NDArray[np.int32]]:
        distinct, which = ngrams.number_distinct(texts)
        read = self._tokenize(encoder, distinct, which)
        return [read.ids[i] for i in read.which]

    def _weights(
        self, encoder: AllLayersEncoder, references: Sequence[Sequence[str]], ids: Sequence[Any]
    ) -> tuple[str | bool, Floats]:
        """Return the name of the weights in the signature, and the weight of each token id, 0 for start and end."""
        size = 1 + max([encoder.model.config.vocab_size, *(int(row.max()) for row in ids)])
        name: str | bool = False
        if self.idf is False:
            table = np.ones(size)
        elif isinstance(self.idf, GivenWeights):
            name, table = f"given@{self.idf.digest[:8]}", self.idf.table(size)
        else:
            name, counts, n = self._frequencies(encoder, references)
            df = np.zeros(size, dtype=np.int64)
            df[list(counts)] = list(counts.values())
            table = inverse_frequencies(df, n)
        table[[encoder.tokenizer.cls_token_id, encoder.tokenizer.sep_token_id]] = 0.0
        return name, table

    def _frequencies(
        self, encoder: AllLayersEncoder, references: Sequence[Sequence[str]]
    ) -> tuple[str, Mapping[int, int], int]:
        """Return the name of the counted texts, the number of them that contain each token, and their number."""
        if self._counted is not None:
            return self._counted
        if self.idf == REFERENCES:
            total = digests.sum_of_digests(references)
            texts = [text for own in references for text in own]
            warn_of_few_references(len(texts))
            self._first_references.warn_of_others(
                total, "idf counts tokens", "load bertscore with all references as `idf`"
            )
            name = digests.name_by(total)
        else:
            texts = texts_of(self.idf) if isinstance(self.idf, str) else list(self.idf)
            source = Path(self.idf).name if isinstance(self.idf, str) else "texts"
            name = digests.name_by(digests.sum_of_digests([texts]), source)
        return name, document_counts(self._reference_ids(encoder, texts)), len(texts)

    def _pair_scores(
        self, encoder: AllLayersEncoder, read: Tokenized, pairs: tuple[Ints, Ints], table: Floats
    ) -> Floats:
        """Compute P, R and F of each pair of texts, shape ``(n_pairs, 3)``, matching equal pairs once."""
        distinct, place = np.unique(np.stack(pairs, axis=1).reshape(-1, 2), axis=0, return_inverse=True)
        first, second = distinct[:, 0], distinct[:, 1]
        matches = token_matches.token_matches(
            encoder, read.ids, (first, second), batch_size=self.batch_size, progress=self.progress
        )
        if not len(distinct):
            return np.zeros((0, 3))
        sides = [read.weights(table, texts) for texts in (first, second)]
        precision = compute_weighted_means(matches.first, *sides[0])
        recall = compute_weighted_means(matches.second, *sides[1])
        empty = (sides[0][1] <= _EMPTY) | (sides[1][1] <= _EMPTY)
        precision, recall = np.where(empty, 0.0, precision), np.where(empty, 0.0, recall)
        return np.stack([precision, recall, f_measure(precision, recall)], axis=1)[place.reshape(-1)]

    def _details(
        self,
        encoder: AllLayersEncoder,
        read: Tokenized,
        pairs: tuple[Ints, Ints],
        scores: Floats,
        starts: Ints,
        table: Floats,
    ) -> list[dict[str, Any]]:
        """Return the details of each row with references: its best pair, the first one of ties."""
        of_rows = np.split(scores, starts[1:]) if len(starts) else []
        best = [int(own[:, 2].argmax()) for own in of_rows]
        chosen = (pairs[0][starts + best], pairs[1][starts + best]) if best else (pairs[0], pairs[1])
        cosines = token_matches.token_similarities(encoder, read.ids, chosen, batch_size=self.batch_size)
        found = []
        for own, k, i, j, similar in zip(of_rows, best, *chosen, cosines, strict=True):
            found.append(
                {
                    "best_reference": k,
                    "per_reference": [dict(zip((*PARTS, "f"), one, strict=True)) for one in own.tolist()],
                    "tokens": self._token_texts(encoder, read.ids[i]),
                    "weights": table[read.ids[i]].tolist(),
                    "reference_tokens": self._token_texts(encoder, read.ids[j]),
                    "reference_weights": table[read.ids[j]].tolist(),
                    "cosines": similar.tolist(),
                    "truncated": bool(read.truncated[i]),
                }
            )
        return found

    @staticmethod
    def _token_texts(encoder: AllLayersEncoder, ids: npt.NDArray[np.int32]) -> list[str]:
        return [encoder.tokenizer.decode([token]).strip() for token in ids.tolist()]

    def _warn_of_long_texts(self, encoder: AllLayersEncoder, read: Tokenized) -> None:
        if n := int(np.count_nonzero(read.truncated)):
            validation.warn(
                f"{n} of {len(read.ids)} distinct captions and references have more than {encoder.most_tokens} tokens "
                f"of {encoder.identity} and were cut"
            )


def warn_of_few_references(n: int) -> None:
    """Warn if the references are too few to show which tokens are rare."""
    if n < _FEW_REFERENCES:
        validation.warn(
            f"idf of bertscore is counted in {n} references, which do not show which tokens are rare; score more rows "
            "in one call, or pass the references of a corpus as `idf`"
        )

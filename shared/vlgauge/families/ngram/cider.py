"""CIDEr-D: agreement of two captions in n-grams that are rare in other captions.

Implements Vedantam et al. (2015, "CIDEr: Consensus-based image description evaluation", Section 5) like the COCO
caption evaluation code.
"""

import gzip
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context
from functools import cached_property, lru_cache
from itertools import chain, pairwise, repeat
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError, as_setting
from vlgauge.core.files import FileLimitError, read_gzip_lines
from vlgauge.core.progress import Progress, report_progress
from vlgauge.core.validation import as_list, check_bool, check_int, short_repr, suggest_word, warn
from vlgauge.core.writing import write
from vlgauge.inputs.text.ngrams import (
    Ints,
    NgramSets,
    TokenIds,
    first_of_run,
    group_by_size,
    lengths_of,
    ngram_sets,
    ranges,
    token_ids,
)
from vlgauge.inputs.text.tokenizers import (
    DEFAULT,
    Tokenizer,
    check_tokenizer,
    setting_of_tokens,
    tokenizer_setting,
    tokens_name,
)

Floats = npt.NDArray[np.float64]
Ngram: TypeAlias = tuple[str, ...]
Penalize: TypeAlias = Callable[[TokenIds, Ints, Ints], Floats]

ORDERS = (1, 2, 3, 4)
SIGMA = 6.0
SCALE = 10.0
END = "<eos>"
"""End token. The released tables of self-critical.pytorch use the same one."""

# With fewer documents the frequencies do not show which n-grams are rare.
_FEW_DOCUMENTS = 50
# Captions this many times longer than their references are reported from this number of rows on. A difference of 19
# tokens costs 99% of the score.
_FEW_ROWS, _MANY_TIMES, _PENALTY_OF_LONG = 10, 2.0, 0.01
_FORMAT = "vlgauge document frequencies"
_OTHER = "other"  # tokens that are only known not to be PTB tokens
_VERSION = 2  # version 1 did not name the tokens, which were not PTB tokens by default
_MANY_TEXTS = 10_000  # number of texts from which on progress is reported
_BLOCK = 2**18  # number of entries of a working array
_DIGITS = Context(prec=30)  # digits of a logarithm before it is rounded to the 17 digits of a float


# -- Document frequencies ---------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class DocumentFrequency:
    """Number of documents that contain each n-gram, out of D documents.

    Attributes:
        counts: df(g) of the n-grams in more than one document. All other n-grams are weighted as if they were in one.
        n_documents: D.
        tokens: Name of the tokens in which they were counted, such as "ptb-3.4.1". Empty if unknown.

    Raises:
        UsageError: If `counts` is not a mapping from tuples of 1 to 4 tokens to integers from 1 to D, or D is not a
            positive integer.
    """

    counts: Mapping[Ngram, int]
    n_documents: int
    tokens: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.counts, Mapping):
            raise UsageError.about(
                "counts", f"must map n-grams to numbers of documents, got {type(self.counts).__name__}"
            )
        if not isinstance(self.tokens, str):
            raise UsageError.about("tokens", f"must be the name of a tokenizer, got {short_repr(self.tokens)}")
        # Copy the counts, so that the digest stays valid.
        object.__setattr__(self, "counts", dict(self.counts))
        object.__setattr__(self, "n_documents", check_int("n_documents", self.n_documents, 1, 2**63 - 1))
        for ngram, count in self.counts.items():
            is_ngram = isinstance(ngram, tuple) and all(isinstance(token, str) for token in ngram)
            if not is_ngram or len(ngram) not in ORDERS:
                raise UsageError.about(
                    "counts", f"must have tuples of 1 to {len(ORDERS)} tokens as n-grams, got {short_repr(ngram)}"
                )
            if type(count) is not int or not 1 <= count <= self.n_documents:
                raise UsageError.about(
                    "counts",
                    f"must be integers from 1 to `n_documents`={self.n_documents}, got {short_repr(count)} for "
                    f"{' '.join(ngram)!r}",
                )

    @classmethod
    def from_references(
        cls, references: Iterable[Sequence[str]], *, tokenizer: Tokenizer | str | None = DEFAULT, eos: bool = False
    ) -> "DocumentFrequency":
        """Count one document per example, which consists of all its references, like the COCO caption evaluation code.

        Args:
            references: References of each example, a string or a list of strings. An example without references is not
                a document.
            tokenizer: Name of a tokenizer, or a function that splits a caption into tokens.
            eos: Whether each reference ends in an end token, as ``cider(eos=True)`` requires.

        Raises:
            UsageError: If the references have another form.
        """
        splitter = tokenizer_setting(tokenizer)
        counts, n_documents = _count_documents(references, splitter, eos=check_bool("eos", eos))
        several = {ngram: count for ngram, count in counts.items() if count > 1}
        return cls(several, n_documents, tokens_name(splitter))

    @classmethod
    def from_pooled(
        cls,
        predictions: Iterable[Sequence[str]],
        references: Iterable[Sequence[str]],
        *,
        tokenizer: Tokenizer | str | None = DEFAULT,
    ) -> "DocumentFrequency":
        """Count one document per example, which consists of its candidates and references without distinguishing them.

        Args:
            predictions: Candidates of each example.
            references: References of each example.
            tokenizer: Name of a tokenizer, or a function that splits a caption into tokens.
        """
        pooled = ([*ours, *theirs] for ours, theirs in zip(predictions, references, strict=True))
        return cls.from_references(pooled, tokenizer=tokenizer)

    @classmethod
    def load(cls, path: str | Path) -> "DocumentFrequency":
        """Load a table written by `save`.

        Raises:
            ValueError: If the file has another format or version, or is damaged.
        """
        try:
            lines = read_gzip_lines(path)
            header = json.loads(next(lines, b""))
            if header["format"] != _FORMAT or header["version"] not in (1, _VERSION):
                raise UsageError(f"format {header['format']!r}, version {header['version']!r}")
            counts, n_rows = {}, 0
            for row in map(json.loads, lines):
                if not isinstance(row, list) or tuple(row[:-1]) in counts:
                    raise UsageError(f"invalid or repeated row: {short_repr(row)}")
                counts[tuple(row[:-1])] = row[-1]
                n_rows += 1
            if n_rows != header["entries"]:
                raise UsageError(f"{n_rows} of {header['entries']} entries")
            return cls(counts, header["documents"], _OTHER if header["version"] == 1 else header["tokens"])
        except FileLimitError:
            raise
        except (KeyError, TypeError, ValueError, RecursionError, OverflowError) as error:
            reason = error if isinstance(error, UsageError) else "other content"
            raise UsageError.about(
                "path", f"must be a file of document frequencies, version {_VERSION}, got {str(path)!r}: {reason}"
            ) from error

    def save(self, path: str | Path) -> None:
        """Write a gzip file of JSON lines: a header, then one ``["a", "dog", 12]`` per n-gram in several documents.

        Equal tables result in identical bytes.

        Raises:
            NotWritableError: If the file cannot be written.
        """
        rows = self._rows()
        header = {"format": _FORMAT, "version": _VERSION, "tokens": self.tokens}
        header |= {"documents": self.n_documents, "entries": len(rows)}
        lines = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in (header, *rows))
        text = "".join(f"{line}\n" for line in lines)
        write(path, gzip.compress(text.encode(), mtime=0))

    @cached_property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of the counts, for signatures."""
        return hashlib.sha256(json.dumps([self.n_documents, self._rows()]).encode()).hexdigest()

    @property
    def eos(self) -> bool:
        """Whether the documents have an end token, which then occurs in all of them."""
        return self.counts.get((END,), 1) == self.n_documents

    def weights(self, ngrams: Iterable[Ngram]) -> Floats:
        """Return the inverse document frequencies of n-grams, shape ``(n,)``, see `inverse_frequencies`."""
        found = np.fromiter(map(self.counts.get, ngrams, repeat(1)), np.int64)
        return inverse_frequencies(found, self.n_documents)

    def _rows(self) -> list[list[str | int]]:
        return [[*ngram, count] for ngram, count in sorted(self.counts.items()) if count > 1]


def check_df(df: Any, choices: Sequence[str]) -> Any:
    """Check the setting ``df`` of a metric.

    Args:
        df: Value of the setting.
        choices: Allowed words, such as "references".

    Returns:
        The setting.

    Raises:
        ValueError: If it is not a valid source of document frequencies.
    """
    is_path = isinstance(df, str | Path)
    if isinstance(df, DocumentFrequency) or (is_path and (df in choices or os.path.isfile(df))):
        return df
    raise UsageError.about(
        "df",
        f"must be {', '.join(map(repr, choices))}, a DocumentFrequency or the path of its saved file, got "
        f"{short_repr(df)}{', which is not an existing file' if is_path else ''}",
        suggest_word(df, choices) if isinstance(df, str) else "",
    )


def load_df(df: DocumentFrequency | str | Path, *, tokens: str, eos: bool = False) -> tuple[str, DocumentFrequency]:
    """Return document frequencies from a table or a file, and their name in the signature.

    N-grams that a table of other tokens cannot contain would be treated as rare.

    Args:
        df: The setting, validated by `check_df`.
        tokens: Name in signatures of the tokens of the captions.
        eos: Whether the captions have an end token.

    Raises:
        UsageError: If the frequencies were counted in the tokens of another named tokenizer, or the captions have an
            end token and the documents have none.

    Warns:
        UserWarning: If they were counted by another version of it, or if only one of the two tokenizers has a name.
    """
    source, table = ("given", df) if isinstance(df, DocumentFrequency) else (Path(df).name, DocumentFrequency.load(df))
    counted, own = setting_of_tokens(table.tokens), setting_of_tokens(tokens)
    if counted and own and counted != own:
        raise UsageError.about(
            "df",
            f"must be counted in the tokens of the captions, {tokens!r}, got a table of {table.tokens!r}",
            f"set {as_setting('tokenizer', counted)}, or count it again with `vlgauge idf --references FILE "
            f"--tokenizer {own}`",
        )
    if table.tokens not in ("", tokens) and (counted or own):
        warn(
            f"`df` was counted with the tokenizer {table.tokens!r}, but the captions are tokenized with {tokens!r}, "
            "so that n-grams missing from `df` are treated as rare; "
            + (
                "count it again with `vlgauge idf --references`, or pass the `tokenizer` that it was counted with"
                if own
                else f"pass {as_setting('tokenizer', counted)}, or count it with your tokenizer"
            )
        )
    if eos:
        check_end_token(table)
    return f"{source}@{table.digest[:8]}", table


def check_end_token(df: DocumentFrequency) -> None:
    """Check that document frequencies were counted with an end token.

    Raises:
        UsageError: If they were not. The end token would be treated as the rarest word.
    """
    if not df.eos:
        raise UsageError(
            f"`df` must count the end token {END!r} in every document with {as_setting('eos', True)}, got a table "
            "without it; count it again with `vlgauge idf --references FILE --eos` or "
            "`DocumentFrequency.from_references(..., eos=True)`"
        )


def document_counts(
    documents: Iterable[Sequence[str]], *, tokenizer: Tokenizer | str = DEFAULT, eos: bool = False
) -> dict[str, Any]:
    """Count the document frequencies of a part of a corpus, to be added to the counts of the other parts.

    Args:
        documents: Captions of each example, a string or a list of strings. An example without captions is not a
            document.
        tokenizer: Name of a tokenizer, or a function that splits a caption into tokens.
        eos: Whether each caption ends in an end token.

    Returns:
        ``documents``: the number of documents under "n". ``ngrams``: number of documents by the JSON of an n-gram.
    """
    counts, n_documents = _count_documents(documents, tokenizer, eos=eos)
    return {"documents": {"n": n_documents}, "ngrams": {json.dumps(ngram): n for ngram, n in counts.items()}}


def sum_documents(counts: Mapping[str, Mapping[str, int]]) -> DocumentFrequency:
    """Build the document frequencies from the summed counts of all parts of a corpus.

    Warns:
        UserWarning: If the corpus has few documents.
    """
    warn_of_few_documents(counts["documents"]["n"])
    return table_of_counts(counts)


def table_of_counts(counts: Mapping[str, Mapping[str, int]]) -> DocumentFrequency:
    """Build document frequencies like `sum_documents`, without a warning."""
    several = {tuple(json.loads(ngram)): count for ngram, count in counts["ngrams"].items() if count > 1}
    return DocumentFrequency(several, max(1, counts["documents"]["n"]))


def _count_documents(documents: Any, tokenizer: Tokenizer | str, *, eos: bool) -> tuple[Counter[Ngram], int]:
    """Count the documents that contain each n-gram, and all documents with at least one caption.

    Raises:
        UsageError: If the documents are not lists of captions.
    """
    if isinstance(documents, (str, bytes, Mapping)) or not isinstance(documents, Iterable):
        raise UsageError.about("references", f"must have one list of captions per row, got {short_repr(documents)}")
    counts: Counter[Ngram] = Counter()
    n_documents = 0
    split, end = check_tokenizer(tokenizer), [END] * eos
    for i, captions in enumerate(documents):
        own = [captions] if isinstance(captions, str) else as_list(captions)
        if own is None or not all(isinstance(text, str) for text in own):
            raise UsageError.about(f"references[{i}]", f"must be a list of captions, got {short_repr(captions)}")
        counts.update(set().union(*(ngrams([*split(caption), *end]) for caption in own)))
        n_documents += bool(own)
    return counts, n_documents


def warn_of_few_documents(n_documents: int) -> None:
    """Warn if a call has too few documents for meaningful document frequencies."""
    if n_documents < _FEW_DOCUMENTS:
        rows = "1 row" if n_documents == 1 else f"{n_documents} rows"
        warn(
            f"CIDEr-D takes document frequencies from the references of {rows}, too few to determine which "
            f"n-grams are rare (from one row, no n-gram has any weight); pass {as_setting('df')}, which `vlgauge "
            "idf --references` creates from a corpus"
        )


def warn_of_long_captions(texts: TokenIds, example: Ints) -> None:
    """Warn if captions are so much longer than their references that the length penalty alone decides the scores.

    Args:
        texts: The candidate of an example, then its references, then the next example.
        example: Shape ``(n_texts,)``, ascending, index of the example of each text.
    """
    is_candidate = first_of_run(example)
    lengths = texts.lengths
    ours, theirs = lengths[is_candidate], lengths[~is_candidate]
    if len(ours) < _FEW_ROWS or ours.mean() < _MANY_TIMES * theirs.mean():
        return
    penalties = length_penalties(ours[example[~is_candidate]], theirs)
    best = np.maximum.reduceat(penalties, np.flatnonzero(first_of_run(example[~is_candidate])))
    if np.median(best) < _PENALTY_OF_LONG:
        warn(
            f"captions have {ours.mean():.1f} tokens on average and references {theirs.mean():.1f}: the length penalty "
            f"of CIDEr-D alone removes more than {1 - _PENALTY_OF_LONG:.0%} of the scores of most rows; ask the model "
            "for one short sentence, or choose a metric of detailed captions: capture, soft_spice or specs"
        )


def ngrams(tokens: Sequence[str]) -> Iterator[Ngram]:
    """Return all n-grams of 1 to 4 tokens with repetitions, in ascending order of length."""
    return chain.from_iterable(zip(*(tokens[start:] for start in range(n)), strict=False) for n in ORDERS)


# -- Weights ----------------------------------------------------------------------------------------------------------
def inverse_frequencies(df: Ints, n_documents: int) -> Floats:
    """Compute the weights ln D - ln max(1, df(g)) (Vedantam et al., 2015, Eq. 1), exactly 0 if df = D.

    Args:
        df: df(g) of some n-grams, shape ``(n,)``.
        n_documents: D.

    Returns:
        Shape ``(n,)``, float64.
    """
    logs = np.fromiter(map(natural_log, np.maximum(1, df).tolist()), np.float64, len(df))
    return natural_log(n_documents) - logs


@lru_cache(2**16)
def natural_log(count: int) -> float:
    """Return the float nearest to ln of a positive integer.

    The logarithms of NumPy and of the C library differ in the last bit, and each differs between processors. If the
    logarithms of D and df = D came from different ones, a word in all documents would have a weight of 1e-15 instead of
    0, and its cosine would be 1.
    """
    return float(_DIGITS.ln(count))


# -- Pairs ------------------------------------------------------------------------------------------------------------
def cider_d_of_examples(examples: Iterable[Sequence[Sequence[str]]], df: DocumentFrequency) -> Iterator[Floats]:
    """Compute CIDEr-D of all ordered pairs of texts of each example, see `cider_d_scores`.

    Args:
        examples: Tokens of each text. Several examples are consumed at a time, because their n-grams are processed
            together.
        df: Document frequencies.

    Yields:
        One matrix per example, shape ``(n_texts, n_texts)``, row h, column r, float64, in [0, 10]. 0 if the texts have
        no common n-gram with a weight. C(h, h) is 10 only for 4 or more tokens, and 2.5 for one token.
    """

    def size_of(texts: Sequence[Sequence[str]]) -> int:
        return sum(len(texts) + len(tokens) for tokens in texts)

    for block in group_by_size(examples, size_of, _BLOCK):
        sizes = lengths_of(block)
        example = np.repeat(np.arange(len(block)), sizes)
        scores, _ = cider_d_scores(token_ids(chain.from_iterable(block)), example, df, all_pairs=True)
        parts = np.split(scores, np.cumsum(sizes**2)[:-1])
        yield from (part.reshape(n, n) for part, n in zip(parts, sizes, strict=True))


def _spell_ngrams(prefixes: Sequence[Ngram], keys: Ints, tokens: Sequence[str]) -> list[Ngram]:
    """Return the n-grams of `NgramSets.keys`, given the n-grams of one token less."""
    firsts, lasts = np.divmod(keys, max(1, len(tokens)))
    return [(*prefixes[first], tokens[last]) for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True)]


def _pairs_within_runs(is_new: npt.NDArray[np.bool_], is_first: npt.NDArray[np.bool_]) -> Iterator[tuple[Ints, Ints]]:
    """Yield the indices of ordered pairs of entries within the same run, in blocks.

    Args:
        is_new: Shape ``(n_entries,)``, whether a run begins at the entry.
        is_first: Shape ``(n_entries,)``, whether the entry is the first one of pairs.
    """
    run = np.cumsum(is_new) - 1
    entries = np.flatnonzero(is_first)
    starts, lengths = np.flatnonzero(is_new)[run[entries]], np.bincount(run)[run[entries]]
    bounds = np.flatnonzero(first_of_run(np.cumsum(lengths) // _BLOCK))
    for begin, end in pairwise([*bounds.tolist(), len(entries)]):
        owners, seconds = ranges(starts[begin:end], lengths[begin:end])
        yield entries[begin + owners], seconds


def length_penalties(hypotheses: Ints, references: Ints) -> Floats:
    """Compute exp(-(l_h - l_r)^2 / (2 sigma^2)) for the numbers l of bigrams, max(tokens - 1, 0).

    Args:
        hypotheses: Numbers of tokens.
        references: Numbers of tokens, of a shape that broadcasts with `hypotheses`.
    """
    difference = np.maximum(hypotheses - 1, 0) - np.maximum(references - 1, 0)
    return np.exp(-(difference**2) / (2 * SIGMA**2))


def gaussian_penalties(texts: TokenIds, hypotheses: Ints, references: Ints) -> Floats:
    """Compute the penalties of CIDEr-D, see `length_penalties`.

    Args:
        texts: Tokens of all texts.
        hypotheses: Index of the hypothesis of each pair, shape ``(P,)``.
        references: Index of the reference of each pair, shape ``(P,)``.

    Returns:
        Shape ``(P,)``, float64.
    """
    return length_penalties(texts.lengths[hypotheses], texts.lengths[references])


def iterate_orders(counted: Iterator[NgramSets], n_texts: int, progress: Progress) -> Iterator[NgramSets]:
    """Yield the n-gram sets of each order and report progress, after each order if there are many texts."""
    block = 1 if n_texts > _MANY_TEXTS else len(ORDERS)
    return report_progress(counted, len(ORDERS), "Counting n-grams", progress, block=block)


def cider_d_scores(
    texts: TokenIds,
    example: Ints,
    df: DocumentFrequency | None = None,
    progress: Progress = False,
    *,
    all_pairs: bool = False,
    penalize: Penalize = gaussian_penalties,
) -> tuple[Floats, Ints]:
    """Compute CIDEr-D of pairs of a hypothesis h and a reference r (Vedantam et al., 2015, Section 5).

    With h_g the tf-idf of the n-gram g in h and l_h the number of bigrams of h, sim_n = sum_g min(h_g, r_g) r_g / (|h|
    |r|) * exp(-(l_h - l_r)^2 / (2 sigma^2)), and C = 10 mean_n sim_n.

    Args:
        texts: The candidate of an example, then its references, then the next example.
        example: Shape ``(n_texts,)``, ascending, index of the example of each text.
        df: Document frequencies. None to count them in the references, with one document per example.
        progress: Progress reporting.
        all_pairs: Whether to score all ordered pairs of the texts of an example, each with itself too, and not only the
            candidate with each of its references.
        penalize: Computes a factor in [0, 1] per pair, by default the length penalty of CIDEr-D.

    Returns:
        The scores of P pairs, by hypothesis and then by reference, shape ``(P,)``, in [0, 10], and the index of the
        example of each pair, ascending, shape ``(P,)``.
    """
    is_candidate = first_of_run(example)
    is_hypothesis = is_candidate | all_pairs
    candidate = np.flatnonzero(is_candidate)[np.cumsum(is_candidate) - 1]  # first text of the example of each text
    chosen = np.flatnonzero(is_hypothesis)
    sizes = np.bincount(example)[example[chosen]]
    owners, references = ranges(candidate[chosen], sizes)
    hypotheses = chosen[owners]
    # The pair (h, r) is at rows[h] + r.
    rows = np.zeros_like(example)
    rows[chosen] = np.cumsum(sizes) - sizes - candidate[chosen]
    n_documents = max(1, int(np.count_nonzero(is_candidate))) if df is None else df.n_documents
    similarity = np.zeros(len(hypotheses))
    spelled: list[Ngram] = [()]
    # An n-gram that occurs once is in at most one document, unless a table of document frequencies contains it.
    counted = iterate_orders(ngram_sets(texts, repeated_only=df is None), len(example), progress)
    for n, grams in enumerate(counted, 1):
        # Last axis: one entry per n-gram and text, with the texts ascending within an n-gram.
        captions = grams.captions
        is_new = first_of_run(grams.ngrams) | first_of_run(example[captions])
        if df is None:
            # The first reference of an example with the n-gram is the first text with it, or follows the
            # candidate.
            ours = is_candidate[captions]
            is_document = ~ours & (is_new | np.roll(ours, 1))
            idf = inverse_frequencies(np.bincount(grams.ngrams[is_document], minlength=len(grams.keys)), n_documents)
        else:
            spelled = _spell_ngrams(spelled, grams.keys, texts.tokens)
            idf = df.weights(spelled)
        weights = grams.counts * idf[grams.ngrams]
        products = np.zeros(len(hypotheses))
        for h, r in _pairs_within_runs(is_new, is_hypothesis[captions]):
            # Add one by one in the order of the n-grams, so that sums are independent of the other examples.
            np.add.at(products, rows[captions[h]] + captions[r], np.minimum(weights[h], weights[r]) * weights[r])
        left_out = np.maximum(texts.lengths - (n - 1), 0) - np.bincount(captions, grams.counts, len(example))
        norms = np.sqrt(np.bincount(captions, weights**2, len(example)) + left_out * natural_log(n_documents) ** 2)
        both = norms[hypotheses] * norms[references]
        similarity += np.divide(products, both, out=np.zeros(len(both)), where=both > 0.0)
    scores = SCALE * penalize(texts, hypotheses, references) * similarity / len(ORDERS)
    wanted = all_pairs | (hypotheses != references)
    return scores[wanted], example[hypotheses[wanted]]

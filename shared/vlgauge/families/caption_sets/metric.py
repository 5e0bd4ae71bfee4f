"""Base classes of metrics that compare a set of captions with a set of references, with permutation tests."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from vlgauge import stats
from vlgauge.checkpoints.preflight import Preflight
from vlgauge.core.progress import reported
from vlgauge.core.results import result_record
from vlgauge.core.validation import check_choice, check_int, warn
from vlgauge.families.base.columns import Captions
from vlgauge.families.base.encoding import EncodingMetric
from vlgauge.families.base.evaluate_adapter import lock_of
from vlgauge.families.base.metric import Metric
from vlgauge.families.base.parts import SIZES, PartialResult, shared_text
from vlgauge.families.caption_sets.corpus_statistic import (
    CorpusStatistic,
    Details,
    GroupScores,
    GroupStatistics,
    Statistic,
    joined,
)
from vlgauge.families.caption_sets.details import null_histogram, principal_plane
from vlgauge.families.caption_sets.vectors import (
    CaptionVectors,
    KnownVectors,
    check_lengths,
    given_captions,
    groups_of_equal_sizes,
    known_vectors,
)
from vlgauge.families.set_sizes import TEST_SETTINGS

# Maximum number of set sizes in a warning. A ragged corpus has dozens.
_SIZES_NAMED = 4

Input = TypeVar("Input")


class CaptionSetMetric(Metric):
    """Base class of metrics of two caption sets.

    The settings select the permutation test: ``pvalue`` (None, "exact", "auto" or "monte_carlo"), ``max_partitions``
    (maximum number of partitions that are enumerated), ``permutations`` (number of Monte Carlo draws), ``seed``, and
    ``chunk_bytes``, the maximum size of working arrays.
    """

    columns = (Captions("predictions"), Captions("references"))

    def __init__(
        self,
        *args: Any,
        pvalue: str | None = None,
        max_partitions: int = 20_000,
        permutations: int = 9_999,
        seed: int = 0,
        chunk_bytes: int = 2**28,
        **host: Any,
    ) -> None:
        self.pvalue = None if pvalue is None else check_choice("pvalue", pvalue, stats.PVALUE_MODES)
        self.max_partitions = check_int("max_partitions", max_partitions, 1)
        self.permutations = check_int("permutations", permutations, 1, 10**9)
        self.chunk_bytes = check_int("chunk_bytes", chunk_bytes, 1)
        set_seed = check_int("seed", seed, 0, 2**32 - 1)  # range of the generator of `evaluate`
        super().__init__(*args, **host)
        # `evaluate` has an attribute of this name, the seed of NumPy's global generator, which our metrics do
        # not use.
        self.seed = set_seed
        # While rows of a larger corpus are scored: the seeds of their draws, and then their statistics.
        self._keys: Sequence[int] | None = None
        self._tested: dict[str, CorpusStatistic] = {}

    def signature_fields(self) -> dict[str, Any]:
        """Return the settings, including those of the permutation test only if it is run."""
        fields = super().signature_fields()
        dropped = TEST_SETTINGS if self.pvalue is None else ()
        return {name: value for name, value in fields.items() if name not in dropped}

    def partitions(self, n: int, m: int) -> stats.Partitions | None:
        """Return the partitions that the settings request, or None without a test.

        Args:
            n: Number of candidates.
            m: Number of references.

        Raises:
            ValueError: If all partitions are requested and there are too many.
        """
        if self.pvalue is None:
            return None
        return stats.partitions(
            n, m, pvalue=self.pvalue, max_partitions=self.max_partitions, draws=self.permutations, seed=self.seed
        )

    def check_sizes(
        self, predictions: Sequence[Sequence[str]], references: Sequence[Sequence[str]], *, minimum: int = 2
    ) -> None:
        """Check that sets are not too large for the test, before any computation.

        Args:
            predictions: Candidates of each row.
            references: References of each row.
            minimum: Rows with fewer captions on either side are ignored.

        Raises:
            ValueError: If all partitions are requested and there are too many.
        """
        if self.pvalue == "exact":
            for n, m, _ in groups_of_equal_sizes(predictions, references, minimum=minimum):
                stats.check_partition_count(n, m, self.max_partitions)

    def score_statistics(
        self,
        predictions: Sequence[Sequence[str]],
        references: Sequence[Sequence[str]],
        inputs: Callable[[Sequence[int]], Iterator[Input]],
        score_group: Callable[[Sequence[Input], int, stats.Partitions | None], GroupStatistics],
        row_bytes: Callable[[int, int], int],
        *,
        extreme: Mapping[str, str] | None = None,
        minimum: int = 2,
        return_details: bool,
        made_with: dict[str, Any],
    ) -> dict[str, Any]:
        """Build the result dictionary of a metric with one or more statistics, from groups of rows of equal sizes.

        Args:
            predictions: Candidates of each row.
            references: References of each row.
            inputs: Function from indices of rows to an iterator over the inputs of their statistics, in that order and
                one at a time, so that only the inputs of one group are in memory.
            score_group: Computes the statistics of some rows from their inputs, the number of candidates and the
                partitions.
            row_bytes: Returns the working memory of a row in bytes, given its number of captions and of partitions.
            extreme: Values that are evidence against the null hypothesis, "large" or "small", by name of the statistic.
                The name is the prefix of the keys and "" for the score itself.
            minimum: Minimum number of captions on either side for `score_group` to be called.
            return_details: Whether the result contains the details of each row.
            made_with: Signature fields that are only known at call time.

        Raises:
            ValueError: If all partitions are requested and there are too many.
        """
        self.check_sizes(predictions, references, minimum=minimum)
        if self._keys is None:
            self._warn_of_sizes(list(zip(map(len, predictions), map(len, references), strict=True)))
        tested = self._statistics(len(predictions), extreme or {"": "large"})
        details: Details = [{} for _ in predictions]
        groups = list(groups_of_equal_sizes(predictions, references, minimum=minimum))
        order = [row for _, _, rows in groups for row in rows]
        made = reported(inputs(order), len(order), "Comparing sets of captions", self.progress, block=20)
        for n, m, rows in groups:
            ways = self.partitions(n, m)
            step = max(1, self.chunk_bytes // row_bytes(n + m, 1 if ways is None else len(ways.candidates)))
            for start in range(0, len(rows), step):
                chunk = rows[start : start + step]
                found, notes = score_group([next(made) for _ in chunk], n, ways)
                for name, statistic in found.items():
                    tested[name].add(chunk, statistic)
                for index, (row, note) in enumerate(zip(chunk, notes, strict=True)):
                    details[row] = note | self._test_details(tested, ways, row)
                    if return_details and "" in found:
                        details[row] |= _null_details(found[""], index)
        if self._keys is not None:
            # These are rows of a larger corpus. Their tests are added to its tests.
            self._tested = tested
        extra = {key: value for name, one in tested.items() for key, value in one.keys(name, self.pvalue).items()}
        told = details if return_details else None
        return self.result(tested[""].scores.tolist(), made_with=made_with, details=told, **extra)

    def extremes(self) -> dict[str, str]:
        """Return the statistics in the form that `score_statistics` expects."""
        return {"": "large"}

    def among(
        self,
        captions: Sequence[Sequence[str]],
        references: Sequence[Sequence[str]],
        vectors: MutableMapping[Hashable, KnownVectors],
        *,
        pairs: bool = True,
    ) -> AbstractContextManager[None]:
        """Share the computations on captions between calls inside the context.

        Nested contexts have no effect.

        Args:
            captions: All captions that a row may have on either side in any of the calls.
            references: References of each row. Metrics that count in references use these references in all calls.
            vectors: Embeddings by encoder. Missing ones are added for the next metric.
            pairs: Whether all pairs of the captions of a row are compared in advance.
        """
        return nullcontext()

    def score_batch(self, columns: Mapping[str, Sequence[Any]], keys: Sequence[int]) -> PartialResult:
        """Score rows as in the base class, including their permutation tests."""
        with lock_of(self):
            self._keys = keys
            try:
                result = self._compute(**columns)
            finally:
                self._keys = None
            tested, self._tested = self._tested, {}
        found = [one.partial(name, self.pvalue) for name, one in tested.items()]
        sides = (columns["predictions"], columns["references"])
        sizes = {size: list(map(len, side)) for size, side in zip(SIZES, sides, strict=True)}
        return PartialResult(
            len(keys),
            sizes | {key: values for one in found for key, values in one.columns.items()},
            draws={name: draws for one in found for name, draws in one.draws.items()},
            texts={f"{self.name}_signature": frozenset([result[f"{self.name}_signature"]])},
        )

    def combine(self, partial: PartialResult) -> dict[str, Any]:
        """Combine partial results as in the base class, including the permutation tests of the corpus."""
        self._warn_of_sizes(list(zip(*(partial.columns[size] for size in SIZES), strict=True)))
        tested = self._statistics(partial.n_rows, self.extremes())
        for name, one in tested.items():
            one.restore(name, partial, self.pvalue)
        extra = {key: value for name, one in tested.items() for key, value in one.keys(name, self.pvalue).items()}
        signature = shared_text(f"{self.name}_signature", partial.texts[f"{self.name}_signature"])
        return result_record(self.name, tested[""].scores.tolist(), signature, extra)

    def _statistics(self, n_rows: int, extreme: Mapping[str, str]) -> dict[str, CorpusStatistic]:
        return {
            name: CorpusStatistic(n_rows, values, draws=self.permutations, seed=self.seed, keys=self._keys)
            for name, values in extreme.items()
        }

    def _warn_of_sizes(self, sizes: Sequence[tuple[int, int]]) -> None:
        """Warn if scores of sets of several sizes are averaged, or if no set is large enough for a score."""
        defined = Counter(size for size in sizes if min(size) >= 2)
        counts = {f"{n}v{m}": count for (n, m), count in defined.items()}
        if len(counts) > 1:
            most = sorted(counts, key=lambda size: -counts[size])[:_SIZES_NAMED]
            named = ", ".join(f"{counts[size]} of {size}" for size in most)
            rest = f" and {len(counts) - len(most)} other sizes" if len(counts) > len(most) else ""
            advice = "read" if self.pvalue else "load it with `pvalue` and read"
            warn(
                f"`{self.name}` is a mean over sets of {len(counts)} sizes, whose scores are not comparable: "
                f"{named}{rest}; {advice} `{self.name}_excess` first"
            )
        elif sizes and not counts:
            few = [sum(n < 2 for n in side) for side in zip(*sizes, strict=True)]
            warn(
                f"`{self.name}` is undefined for all of {len(sizes)} rows, as each side needs 2 captions or "
                f"more: {few[0]} have fewer candidates, {few[1]} fewer references"
            )

    def _test_details(
        self, tested: Mapping[str, CorpusStatistic], ways: stats.Partitions | None, row: int
    ) -> dict[str, Any]:
        if ways is None:
            return {}
        stds = {joined(name, "null_std"): float(one.test.null_stds[row]) for name, one in tested.items()}
        return {"n_partitions": ways.count, "exact": ways.exact, **stds}


def _null_details(found: Statistic, index: int) -> dict[str, Any]:
    """Return the histogram of the null distribution of one row, or an empty dictionary without a test."""
    if found.null is None:
        return {}
    tolerance = np.broadcast_to(found.tolerance, len(found.scores))[index]
    return {"null": null_histogram(found.null[index], float(tolerance))}


class CaptionVectorMetric(EncodingMetric, CaptionSetMetric):
    """Base class of metrics of two sets of sentence embeddings.

    The settings select the embeddings: ``encoder`` and ``pooling``, with ``device`` and ``batch_size``.
    """

    def __init__(self, *args: Any, device: str = "auto", batch_size: int = 64, **host: Any) -> None:
        self.device = device
        self.batch_size = check_int("batch_size", batch_size, 1)
        self._known: KnownVectors | None = None
        super().__init__(*args, **host)

    def check_sources(self, embeddings: Any = None) -> Preflight:
        """Check the requirements of a call that are not passed with it, without loading or downloading anything.

        Args:
            embeddings: Embeddings passed to the call. None if captions are encoded.
        """
        found = Preflight(self.name, self._extra)
        if embeddings is None and self.reads_vectors:
            self.look_for_encoder(found)
        return found

    def caption_vectors(
        self, predictions: Sequence[Sequence[str]], references: Sequence[Sequence[str]], embeddings: Any = None
    ) -> CaptionVectors:
        """Return the embeddings of all captions, either the supplied ones or those of the encoder of the settings."""
        if embeddings is not None:
            return given_captions(predictions, references, embeddings)
        known = self._known
        if known is None:
            captions = [[*ours, *theirs] for ours, theirs in zip(predictions, references, strict=True)]
            known = self._encoded_captions(captions)
        return known.of(predictions, references)

    def _encoded_captions(self, captions: Sequence[Sequence[str]]) -> KnownVectors:
        return known_vectors(captions, self.text_encoder(), batch_size=self.batch_size, progress=self.progress)

    @contextmanager
    def among(
        self,
        captions: Sequence[Sequence[str]],
        references: Sequence[Sequence[str]],
        vectors: MutableMapping[Hashable, KnownVectors],
        *,
        pairs: bool = True,
    ) -> Iterator[None]:
        """Share computations as in the base class, and encode every caption once."""
        if self._known is not None or not self.reads_vectors:
            yield
            return
        source = self.encoder if isinstance(self.encoder, str) else id(self.encoder)
        made_by = (source, self.profile, self.pooling, self.device)
        if made_by not in vectors:
            vectors[made_by] = self._encoded_captions(captions)
        self._known = vectors[made_by]
        try:
            yield
        finally:
            self._known = None

    @property
    def reads_vectors(self) -> bool:
        """Whether the settings require sentence embeddings."""
        return True


class VectorSetMetric(CaptionVectorMetric):
    """Base class of metrics that only use the sentence embeddings of two caption sets."""

    @abstractmethod
    def score_group(self, vectors: npt.NDArray[np.floating], n: int, ways: stats.Partitions | None) -> GroupScores:
        """Compute scores, null distributions and details of rows of equal sizes.

        Args:
            vectors: Embeddings of the pooled captions of S rows, candidates first, shape ``(S, N, d)``.
            n: Number of candidates.
            ways: Partitions of the test. None without a test.
        """

    def _compute(
        self,
        predictions: list[list[str]],
        references: list[list[str]],
        embeddings: Any = None,
        return_details: bool = False,
    ) -> dict[str, Any]:
        self.check_sizes(predictions, references)
        unread = {"dtype": None, "pooling": None}
        vectors = self.caption_vectors(predictions, references, embeddings)
        check_lengths(vectors, "encoder" if embeddings is None else "embeddings")
        unseen = set() if embeddings is not None else self._unseen_rows(vectors, predictions, references)

        def row_bytes(captions: int, ways: int) -> int:
            # Float64 values: embeddings, a few matrices of pairs, and the null distribution with its
            # comparison.
            return 8 * (captions * vectors.table.shape[1] + 6 * captions**2 + 3 * ways)

        def scored(rows: Sequence[int], n: int, ways: stats.Partitions | None) -> GroupStatistics:
            stacked = vectors.stack(rows)
            if unseen:
                stacked = np.where(np.array([row in unseen for row in rows])[:, None, None], np.nan, stacked)
            found, details = self.score_group(stacked, n, ways)
            for note, row in zip(details, rows, strict=True):
                note["n_distinct"] = len(set(vectors.positions[row].tolist()))
                if return_details:
                    note["plane"] = {} if row in unseen else principal_plane(vectors.stack([row])[0])
            return {"": found}, details

        return self.score_statistics(
            predictions,
            references,
            iter,
            scored,
            row_bytes,
            return_details=return_details,
            made_with={"enc": vectors.identity, **(unread if embeddings is not None else {})},
        )

    def _unseen_rows(
        self, vectors: CaptionVectors, predictions: Sequence[Sequence[str]], references: Sequence[Sequence[str]]
    ) -> set[int]:
        """Return rows of which the encoder knows no word, with embeddings that are all zero, and warn about them.

        Equal embeddings have the score of a perfect model. If captions differ, another warning is issued.
        """
        unseen, alike = set(), 0
        for row, positions in enumerate(vectors.positions):
            if min(len(predictions[row]), len(references[row])) < 2:
                continue
            own = vectors.table[np.unique(positions)]
            if not own.any():
                unseen.add(row)
            elif (own == own[0]).all():
                texts = {" ".join(text.casefold().split()) for text in (*predictions[row], *references[row])}
                alike += len(texts) > 1
        if unseen:
            warn(f"{len(unseen)} rows have no word that `encoder` knows, so their `{self.name}` is undefined")
        if alike:
            warn(
                f"`encoder` returns one embedding for the different captions of {alike} rows, so their `{self.name}` "
                "equals the score of equal captions; choose an encoder that distinguishes them"
            )
        return unseen

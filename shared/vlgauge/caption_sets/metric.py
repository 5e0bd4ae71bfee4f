"""Bases of the metrics that compare a set of captions with a set of references, with permutation tests."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from vlgauge import statistics
from vlgauge.base.columns import Captions
from vlgauge.base.encoding import EncodingMetric
from vlgauge.base.host import lock_of
from vlgauge.base.metric import Metric
from vlgauge.base.parts import SIZES, PartialResult, shared_text
from vlgauge.caption_sets.corpus_statistic import (
    CorpusStatistic,
    Details,
    GroupScores,
    GroupStatistics,
    Statistic,
    joined,
)
from vlgauge.caption_sets.details import null_histogram, principal_plane
from vlgauge.caption_sets.vectors import (
    CaptionVectors,
    KnownVectors,
    check_lengths,
    given_captions,
    groups_of_equal_sizes,
    known_vectors,
)
from vlgauge.progress import reported
from vlgauge.results import result_record
from vlgauge.set_sizes import TEST_SETTINGS
from vlgauge.settings import one_of, warn, whole_number
from vlgauge.weights.preflight import Preflight

# Sizes of sets that a warning names; a ragged corpus has dozens.
_SIZES_NAMED = 4

Input = TypeVar("Input")


class CaptionSetMetric(Metric):
    """Base of the metrics of two caption sets.

    Its settings choose the permutation test: ``pvalue`` (None, "exact", "auto" or "monte_carlo"), ``max_partitions``
    (largest number that is enumerated), ``permutations`` (Monte-Carlo draws), ``seed``, and ``chunk_bytes``, the bound
    on working arrays.
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
        self.pvalue = None if pvalue is None else one_of("pvalue", pvalue, statistics.PVALUE_MODES)
        self.max_partitions = whole_number("max_partitions", max_partitions, 1)
        self.permutations = whole_number("permutations", permutations, 1, 10**9)
        self.chunk_bytes = whole_number("chunk_bytes", chunk_bytes, 1)
        set_seed = whole_number("seed", seed, 0, 2**32 - 1)  # as the generator of the host takes it
        super().__init__(*args, **host)
        # The host has an attribute of this name, the seed of numpy's global generator, which no metric of ours reads.
        self.seed = set_seed
        # While rows of a larger corpus are scored: the seeds of their draws, and then their statistics.
        self._keys: Sequence[int] | None = None
        self._tested: dict[str, CorpusStatistic] = {}

    def signature_fields(self) -> dict[str, Any]:
        """The settings; those of the permutation test only where it is run."""
        fields = super().signature_fields()
        dropped = TEST_SETTINGS if self.pvalue is None else ()
        return {name: value for name, value in fields.items() if name not in dropped}

    def partitions(self, n: int, m: int) -> statistics.Partitions | None:
        """The partitions that the settings ask for; None without a test.

        Raises:
            ValueError: As `check_sizes`.
        """
        if self.pvalue is None:
            return None
        return statistics.partitions(
            n, m, pvalue=self.pvalue, max_partitions=self.max_partitions, draws=self.permutations, seed=self.seed
        )

    def check_sizes(
        self, predictions: Sequence[Sequence[str]], references: Sequence[Sequence[str]], *, minimum: int = 2
    ) -> None:
        """Refuse sets that are too large for the test, before any work is done.

        Raises:
            ValueError: If all partitions are wanted and there are too many.
        """
        if self.pvalue == "exact":
            for n, m, _ in groups_of_equal_sizes(predictions, references, minimum=minimum):
                statistics.check_partition_count(n, m, self.max_partitions)

    def score_statistics(
        self,
        predictions: Sequence[Sequence[str]],
        references: Sequence[Sequence[str]],
        inputs: Callable[[Sequence[int]], Iterator[Input]],
        score_group: Callable[[Sequence[Input], int, statistics.Partitions | None], GroupStatistics],
        row_bytes: Callable[[int, int], int],
        *,
        extreme: Mapping[str, str] | None = None,
        minimum: int = 2,
        return_details: bool,
        made_with: dict[str, Any],
    ) -> dict[str, Any]:
        """The result dictionary of a metric of one or more statistics, from groups of rows of equal sizes.

        Args:
            predictions: Candidates of each row.
            references: References of each row.
            inputs: Makes what the statistics of the rows at the given positions are computed from, in that order and
                one at a time, so that those of a group are all that is in memory.
            score_group: Computes the statistics of some rows from their inputs, the number of candidates and the
                partitions.
            row_bytes: Working memory of a row, given its number of captions and of partitions.
            extreme: Names of the statistics, "" for the score itself, and which values speak against the null
                hypothesis: "large" or "small". The name is prefix of the keys.
            minimum: Captions that either side must have for `score_group` to be called.
            return_details: Whether the result has the details of each row.
            made_with: Fields of the signature that only this call knows.
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
            # Rows of a larger corpus, to whose tests they are added.
            self._tested = tested
        extra = {key: value for name, one in tested.items() for key, value in one.keys(name, self.pvalue).items()}
        told = details if return_details else None
        return self.result(tested[""].scores.tolist(), made_with=made_with, details=told, **extra)

    def extremes(self) -> dict[str, str]:
        """The statistics as `score_statistics` takes them."""
        return {"": "large"}

    def among(
        self,
        captions: Sequence[Sequence[str]],
        references: Sequence[Sequence[str]],
        vectors: MutableMapping[Hashable, KnownVectors],
        *,
        pairs: bool = True,
    ) -> AbstractContextManager[None]:
        """Context within which calls take their captions from those given here, which are looked at once.

        Args:
            captions: All captions that a row may have on either side in any of the calls.
            references: Of each row; what a metric counts in references, it counts in these, in all calls.
            vectors: Vectors by encoder; those that are not there yet are added, for the next metric.
            pairs: Whether all pairs of the captions of a row are compared beforehand.

        Within such a context another one changes nothing.
        """
        return nullcontext()

    def score_batch(self, columns: Mapping[str, Sequence[Any]], keys: Sequence[int]) -> PartialResult:
        """As the base, with the permutation tests of the rows."""
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
        """As the base, with the tests of the corpus."""
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
        """Say that scores of sets of several sizes are averaged, or that no set is large enough to have one."""
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
        self, tested: Mapping[str, CorpusStatistic], ways: statistics.Partitions | None, row: int
    ) -> dict[str, Any]:
        if ways is None:
            return {}
        stds = {joined(name, "null_std"): float(one.test.null_stds[row]) for name, one in tested.items()}
        return {"n_partitions": ways.count, "exact": ways.exact, **stds}


def _null_details(found: Statistic, index: int) -> dict[str, Any]:
    """The columns of the null distribution of one row; nothing without a test."""
    if found.null is None:
        return {}
    tolerance = np.broadcast_to(found.tolerance, len(found.scores))[index]
    return {"null": null_histogram(found.null[index], float(tolerance))}


class CaptionVectorMetric(EncodingMetric, CaptionSetMetric):
    """Base of the metrics of two sets of sentence vectors.

    Its settings choose the vectors: ``encoder`` and ``pooling``, with ``device`` and ``batch_size``.
    """

    def __init__(self, *args: Any, device: str = "auto", batch_size: int = 64, **host: Any) -> None:
        self.device = device
        self.batch_size = whole_number("batch_size", batch_size, 1)
        self._known: KnownVectors | None = None
        super().__init__(*args, **host)

    def look_for_sources(self, embeddings: Any = None) -> Preflight:
        """What a call needs that is not given with it; nothing is loaded or fetched.

        Args:
            embeddings: Vectors of the call; None where captions are encoded.
        """
        found = Preflight(self.name, self._extra)
        if embeddings is None and self.reads_vectors:
            self.look_for_encoder(found)
        return found

    def caption_vectors(
        self, predictions: Sequence[Sequence[str]], references: Sequence[Sequence[str]], embeddings: Any = None
    ) -> CaptionVectors:
        """Vectors of all captions: the given ones, or those of the encoder that the settings choose."""
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
        """As the base has it; every caption is encoded once."""
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
        """Whether the settings ask for sentence vectors."""
        return True


class VectorSetMetric(CaptionVectorMetric):
    """Base of the metrics that look at nothing but the sentence vectors of two caption sets."""

    @abstractmethod
    def score_group(self, vectors: npt.NDArray[np.floating], n: int, ways: statistics.Partitions | None) -> GroupScores:
        """Scores, null distributions and details of rows of equal sizes.

        Args:
            vectors: Of the pooled captions of S rows, candidates first, shape ``(S, N, d)``.
            n: Number of candidates.
            ways: The partitions of the test; None without one.
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
            # Float64: vectors, a few matrices of pairs, and the null distribution with its comparison.
            return 8 * (captions * vectors.table.shape[1] + 6 * captions**2 + 3 * ways)

        def scored(rows: Sequence[int], n: int, ways: statistics.Partitions | None) -> GroupStatistics:
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
        """Rows of which the encoder knows no word, whose vectors are all zero; a warning says so.

        Equal vectors have the score of a perfect model: where captions differ, another warning says that.
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
                f"`encoder` makes one vector of the different captions of {alike} rows, so their `{self.name}` is that "
                "of equal captions; choose an encoder that sees their words"
            )
        return unseen

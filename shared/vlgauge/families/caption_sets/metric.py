"""Base class of metrics that compare a set of captions with a set of references, with permutation tests."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from vlgauge import stats
from vlgauge.checkpoints.preflight import Preflight
from vlgauge.core.progress import report_progress
from vlgauge.core.results import result_record
from vlgauge.core.validation import check_int, warn
from vlgauge.families.base.columns import Captions
from vlgauge.families.base.encoding import EncoderSettings
from vlgauge.families.base.evaluate_adapter import lock_of
from vlgauge.families.base.metric import Metric
from vlgauge.families.base.parts import SIZES, PartialResult, find_shared_text
from vlgauge.families.caption_sets.corpus_statistic import (
    CorpusStatistic,
    Details,
    GroupScores,
    GroupStatistics,
    Statistic,
    join_key,
)
from vlgauge.families.caption_sets.details import null_histogram, principal_plane
from vlgauge.families.caption_sets.permutation_settings import PermutationSettings
from vlgauge.families.caption_sets.vectors import (
    CaptionSets,
    CaptionVectors,
    KnownVectors,
    check_lengths,
    convert_embeddings,
    groups_of_equal_sizes,
)
from vlgauge.families.set_sizes import several_sizes
from vlgauge.models.sentences.given import look_for_text_encoder
from vlgauge.models.sentences.model import SENTENCE_EXTRA

Input = TypeVar("Input")


class CaptionSetMetric(Metric):
    """Base class of metrics of two caption sets.

    The settings select the permutation test (`PermutationSettings`) and, for a metric with `EncoderSettings`, the
    embeddings: ``encoder`` and ``pooling``, with ``device`` and ``batch_size``.
    """

    columns = (Captions("predictions"), Captions("references"))
    setting_groups: ClassVar[tuple[type[Any], ...]] = (PermutationSettings,)

    def __init__(self, *args: Any, device: str = "auto", batch_size: int = 64, **host: Any) -> None:
        self.device = device
        self.batch_size = check_int("batch_size", batch_size, 1)
        super().__init__(*args, **host)
        self.encoding: Any = self.grouped.get(EncoderSettings)
        self.test: PermutationSettings = self.grouped[PermutationSettings]
        self._known: KnownVectors | None = None
        # While rows of a larger corpus are scored: the seeds of their draws, and then their statistics.
        self._keys: Sequence[int] | None = None
        self._tested: dict[str, CorpusStatistic] = {}

    @property
    def reads_vectors(self) -> bool:
        """Whether the settings require sentence embeddings."""
        return EncoderSettings in self.setting_groups

    @property
    def _extra(self) -> str:
        # trm requires no extra unless it uses embeddings.
        return self.needs[0] if self.needs else SENTENCE_EXTRA

    def check_sources(self, embeddings: Any = None) -> Preflight:
        """Check the requirements of a call that are not passed with it, without loading or downloading anything.

        Args:
            embeddings: Embeddings passed to the call. None if captions are encoded.

        Returns:
            A `Preflight` with the problems found so far, which its method `end` raises.
        """
        found = Preflight(self.name, self._extra)
        if embeddings is None and self.reads_vectors:
            look_for_text_encoder(found, self.encoding.encoder, profile=self.profile)
        return found

    def caption_vectors(
        self, predictions: CaptionSets, references: CaptionSets, embeddings: Any = None
    ) -> CaptionVectors:
        """Return the embeddings of all captions, either supplied or computed with the encoder of the settings."""
        if embeddings is not None:
            return convert_embeddings(predictions, references, embeddings)
        pooled = [[*ours, *theirs] for ours, theirs in zip(predictions, references, strict=True)]
        return (self._known or self._encode_captions(pooled)).of(predictions, references)

    def _encode_captions(self, captions: CaptionSets) -> KnownVectors:
        """Encode the distinct captions of all rows, each once."""
        texts = list(dict.fromkeys(chain.from_iterable(captions)))
        encoder = self.encoding.text_encoder(profile=self.profile, device=self.device, extra=self._extra)
        table = encoder.encode(texts, batch_size=self.batch_size, progress=self.progress)
        return KnownVectors({text: row for row, text in enumerate(texts)}, table, encoder.identity)

    def score_vectors(
        self,
        predictions: CaptionSets,
        references: CaptionSets,
        embeddings: Any,
        score_group: Callable[[npt.NDArray[np.floating], int, stats.Partitions | None], GroupScores],
        return_details: bool,
    ) -> dict[str, Any]:
        """Build the result dictionary of a metric whose only statistic compares embeddings.

        Args:
            predictions: Candidates of each row.
            references: References of each row.
            embeddings: Embeddings passed to the call. None if captions are encoded.
            score_group: Computes scores, null distributions and details of S rows of equal sizes from the embeddings of
                their pooled captions, candidates first, shape ``(S, N, d)``, the number of candidates and the
                partitions.
            return_details: Whether the result contains the details of each row.

        Returns:
            Values by key, as returned by `compute`.

        Raises:
            ValueError: If caption sets are too small for the test, or embeddings are invalid.
        """
        self.test.check_sizes(predictions, references)
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
            found, details = score_group(stacked, n, ways)
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
            signature_extra={"enc": vectors.identity}
            | ({} if embeddings is None else {"dtype": None, "pooling": None}),
        )

    def score_statistics(
        self,
        predictions: CaptionSets,
        references: CaptionSets,
        inputs: Callable[[Sequence[int]], Iterator[Input]],
        score_group: Callable[[Sequence[Input], int, stats.Partitions | None], GroupStatistics],
        row_bytes: Callable[[int, int], int],
        *,
        minimum: int = 2,
        return_details: bool,
        signature_extra: dict[str, Any],
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
            minimum: Minimum number of captions on either side for `score_group` to be called.
            return_details: Whether the result contains the details of each row.
            signature_extra: Signature fields that are only known at call time.

        Returns:
            Values by key, as returned by `compute`.

        Raises:
            ValueError: If all partitions are requested and there are too many.
        """
        self.test.check_sizes(predictions, references, minimum=minimum)
        if self._keys is None:
            self._warn_of_sizes(list(zip(map(len, predictions), map(len, references), strict=True)))
        tested = self._statistics(len(predictions))
        details: Details = [{} for _ in predictions]
        groups = list(groups_of_equal_sizes(predictions, references, minimum=minimum))
        order = [row for _, _, rows in groups for row in rows]
        made = report_progress(inputs(order), len(order), "Comparing sets of captions", self.progress, block=20)
        for n, m, rows in groups:
            ways = self.test.partitions(n, m)
            step = max(1, self.test.chunk_bytes // row_bytes(n + m, 1 if ways is None else len(ways.candidates)))
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
        extra = {key: value for name, one in tested.items() for key, value in one.keys(name, self.test.pvalue).items()}
        row_details = details if return_details else None
        return self.result(tested[""].scores.tolist(), signature_extra=signature_extra, details=row_details, **extra)

    def extremes(self) -> dict[str, str]:
        """Return the values that are evidence against the null hypothesis, "large" or "small", by name of a statistic.

        The name is the prefix of the keys and "" for the score itself.
        """
        return {"": "large"}

    @contextmanager
    def among(
        self,
        captions: CaptionSets,
        references: CaptionSets,
        vectors: MutableMapping[Hashable, KnownVectors],
        *,
        pairs: bool = True,
    ) -> Iterator[None]:
        """Share the computations on captions between calls inside the context, and encode every caption once.

        Nested contexts have no effect.

        Args:
            captions: All captions that a row may have on either side in any of the calls.
            references: References of each row. Metrics that count in references use these references in all calls.
            vectors: Embeddings by encoder. Missing ones are added for the next metric.
            pairs: Whether all pairs of the captions of a row are compared in advance.
        """
        if self._known is not None or not self.reads_vectors:
            yield
            return
        encoder = self.encoding.encoder
        source = encoder if isinstance(encoder, str) else id(encoder)
        made_by = (source, self.profile, self.encoding.pooling, self.device)
        if made_by not in vectors:
            vectors[made_by] = self._encode_captions(captions)
        self._known = vectors[made_by]
        try:
            yield
        finally:
            self._known = None

    def score_batch(self, columns: Mapping[str, Sequence[Any]], keys: Sequence[int]) -> PartialResult:
        """Score rows as in the base class, including their permutation tests."""
        with lock_of(self):
            self._keys = keys
            try:
                result = self._compute(**columns)
            finally:
                self._keys = None
            tested, self._tested = self._tested, {}
        found = [one.partial(name, self.test.pvalue) for name, one in tested.items()]
        sides = (columns["predictions"], columns["references"])
        sizes = {size: list(map(len, side)) for size, side in zip(SIZES, sides, strict=True)}
        return PartialResult(
            len(keys),
            sizes | {key: values for one in found for key, values in one.columns.items()},
            draws={name: draws for one in found for name, draws in one.draws.items()},
            texts={f"{self.name}_signature": frozenset([result[f"{self.name}_signature"]])},
        )

    def combine(self, partial: PartialResult) -> dict[str, Any]:
        """Combine partial results as in the base class, including the permutation tests of the corpus.

        Returns:
            Values by key, as returned by `compute`.

        Raises:
            UsageError: If rows were scored with different settings or models.
        """
        self._warn_of_sizes(list(zip(*(partial.columns[size] for size in SIZES), strict=True)))
        tested = self._statistics(partial.n_rows)
        for name, one in tested.items():
            one.restore(name, partial, self.test.pvalue)
        extra = {key: value for name, one in tested.items() for key, value in one.keys(name, self.test.pvalue).items()}
        signature = find_shared_text(f"{self.name}_signature", partial.texts[f"{self.name}_signature"])
        return result_record(self.name, tested[""].scores.tolist(), signature, extra)

    def _statistics(self, n_rows: int) -> dict[str, CorpusStatistic]:
        return {
            name: CorpusStatistic(n_rows, values, draws=self.test.permutations, seed=self.test.seed, keys=self._keys)
            for name, values in self.extremes().items()
        }

    def _warn_of_sizes(self, sizes: Sequence[tuple[int, int]]) -> None:
        """Warn if scores of sets of several sizes are averaged, or if no set is large enough for a score."""
        defined = Counter(size for size in sizes if min(size) >= 2)
        counts = {f"{n}v{m}": count for (n, m), count in defined.items()}
        if len(counts) > 1:
            advice = "read" if self.test.pvalue else "load it with `pvalue` and read"
            warn(f"{several_sizes(self.name, counts)}; {advice} `{self.name}_excess` first")
        elif sizes and not counts:
            few = [sum(n < 2 for n in side) for side in zip(*sizes, strict=True)]
            warn(
                f"`{self.name}` is undefined for all of {len(sizes)} rows, because each side requires at least 2 "
                f"captions: {few[0]} rows have fewer candidates, {few[1]} fewer references"
            )

    def _test_details(
        self, tested: Mapping[str, CorpusStatistic], ways: stats.Partitions | None, row: int
    ) -> dict[str, Any]:
        if ways is None:
            return {}
        stds = {join_key(name, "null_std"): float(one.test.null_stds[row]) for name, one in tested.items()}
        return {"n_partitions": ways.count, "exact": ways.exact, **stds}

    def _unseen_rows(self, vectors: CaptionVectors, predictions: CaptionSets, references: CaptionSets) -> set[int]:
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


def _null_details(found: Statistic, index: int) -> dict[str, Any]:
    """Return the histogram of the null distribution of one row, or an empty dictionary without a test."""
    if found.null is None:
        return {}
    tolerance = np.broadcast_to(found.tolerance, len(found.scores))[index]
    return {"null": null_histogram(found.null[index], float(tolerance))}

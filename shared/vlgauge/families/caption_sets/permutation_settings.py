"""Settings of the permutation tests of caption sets."""

from dataclasses import dataclass
from typing import Any

from vlgauge import stats
from vlgauge.core.validation import check_choice, check_int
from vlgauge.families.caption_sets.vectors import CaptionSets, groups_of_equal_sizes
from vlgauge.families.set_sizes import TEST_SETTINGS
from vlgauge.stats.permutation import PVALUE_MODES, check_partition_count


@dataclass(frozen=True, kw_only=True)
class PermutationSettings:
    """Settings of the permutation tests of caption sets.

    Attributes:
        pvalue: "exact", "auto" or "monte_carlo". None without a test.
        max_partitions: Maximum number of partitions that are enumerated.
        permutations: Number of Monte Carlo draws.
        seed: Seed of the draws.
        chunk_bytes: Maximum size of working arrays.
    """

    pvalue: str | None = None
    max_partitions: int = 20_000
    permutations: int = 9_999
    seed: int = 0
    chunk_bytes: int = 2**28

    def __post_init__(self) -> None:
        if self.pvalue is not None:
            check_choice("pvalue", self.pvalue, PVALUE_MODES)
        # The range of the seed is that of the generator of `evaluate`.
        limits = {"max_partitions": (1,), "permutations": (1, 10**9), "chunk_bytes": (1,), "seed": (0, 2**32 - 1)}
        for name, ends in limits.items():
            object.__setattr__(self, name, check_int(name, getattr(self, name), *ends))

    def signature_fields(self) -> dict[str, Any]:
        """Return the settings of the test by name, for the signature. Empty without a test."""
        return {} if self.pvalue is None else {name: getattr(self, name) for name in TEST_SETTINGS}

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

    def check_sizes(self, predictions: CaptionSets, references: CaptionSets, *, minimum: int = 2) -> None:
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
                check_partition_count(n, m, self.max_partitions)

"""Recomputation of published values: our value for each, or why it could not be checked and how to change that."""

from collections.abc import Iterator

from vlgauge.research.verification.authors_files import (
    check_coco_demo,
    check_example,
    check_stories,
    check_story_means,
    check_style_table,
)
from vlgauge.research.verification.findings import Data, Finding, Tools, Unchecked, metric_of
from vlgauge.research.verification.protocols import check_protocols
from vlgauge.research.verification.released_scores import check_released_scores

CHECKS = (
    *(check_protocols, check_example, check_coco_demo, check_story_means, check_stories, check_style_table),
    check_released_scores,
)


def verify_all(data: Data, tools: Tools) -> Iterator[Finding | Unchecked]:
    """Recompute every published value of the metrics. If a value cannot be checked, yield the reason instead."""
    for check in CHECKS:
        yield from check(data, tools)


__all__ = ["CHECKS", "Data", "Finding", "Tools", "Unchecked", "metric_of", "verify_all"]

"""Suites of metrics that papers report together in one table, under one name.

Names of suites are reserved and cannot be names of metrics. `vlgauge.score` and `vlgauge.compare` accept them in place
of metrics.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class TableColumn:
    """Column of the table of a suite.

    Attributes:
        title: Title used in papers.
        metric: Name of the metric.
        key: Key of the value in its result.
    """

    title: str
    metric: str
    key: str


@dataclass(frozen=True)
class Suite:
    """Group of metrics that are reported together.

    Attributes:
        name: Reserved name.
        purpose: Short description of the table.
        columns: Columns of the table, in the order used in papers.
        settings: Settings that differ from the defaults, by metric.
        needs: Required column of the rows, by metric. The metric is omitted if the column is missing.
    """

    name: str
    purpose: str
    columns: tuple[TableColumn, ...]
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    needs: Mapping[str, str] = field(default_factory=dict)

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics without duplicates, in the order of the columns."""
        return list(dict.fromkeys(column.metric for column in self.columns))


_COCO = Suite(
    "coco",
    "the table of the COCO caption evaluation",
    (
        *(TableColumn(f"BLEU-{order}", "bleu", f"bleu_{order}") for order in (1, 2, 3, 4)),
        TableColumn("METEOR", "meteor", "meteor"),
        TableColumn("ROUGE-L", "rouge_l", "rouge_l"),
        TableColumn("CIDEr", "cider", "cider"),
        TableColumn("SPICE", "spice", "spice"),
        TableColumn("CLIP-S", "clip_s", "clip_s"),
        TableColumn("RefCLIP-S", "clip_s", "ref_clip_s"),
        TableColumn("PAC-S", "pac_s", "pac_s"),
    ),
    needs={"clip_s": "images", "pac_s": "images"},
)
_STORIES = Suite(
    "stories",
    "grounding, coherence and repetition of visual stories",
    (
        TableColumn("GROOViST", "groovist", "groovist"),
        TableColumn("RoViST-VG", "rovist", "rovist_vg"),
        TableColumn("RoViST-C", "rovist", "rovist_c"),
        TableColumn("RoViST-NR", "rovist", "rovist_nr"),
        TableColumn("RoViST", "rovist", "rovist"),
        TableColumn("d_HM", "d_hm", "d_hm"),
    ),
    # All published distances compute the coherence of a sentence with all sentences before it.
    settings={"rovist": {"c": {"context": "prefix"}}},
    needs={"d_hm": "references"},
)
_SETS = Suite(
    "sets",
    "sets of sampled captions against sets of human captions, and their diversity",
    (
        TableColumn("TRM", "trm", "trm"),
        TableColumn("MMD-BERT", "mmd_bert", "mmd_bert"),
        TableColumn("Frechet-BERT", "frechet_bert", "frechet_bert"),
        TableColumn("Self-CIDEr", "diversity", "diversity"),
        TableColumn("mBLEU-4", "diversity", "diversity_mbleu_4"),
        TableColumn("Div-1", "diversity", "diversity_div_1"),
        TableColumn("Div-2", "diversity", "diversity_div_2"),
    ),
)

SUITES: Mapping[str, Suite] = {suite.name: suite for suite in (_COCO, _STORIES, _SETS)}
"""Suites by name."""

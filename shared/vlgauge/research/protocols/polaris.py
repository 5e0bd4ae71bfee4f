"""Polaris (Wada et al., 2024) and Nebula (Matsuda et al., 2024): model and human captions, rated from 0 to 1.

The tables have the layout of Composite on the Hub. References that equal the caption are kept.
"""

from collections.abc import Sequence
from functools import partial

from vlgauge.core.errors import UsageError
from vlgauge.research.protocols.composite import read_rated_table
from vlgauge.research.protocols.files import FilePath, one_file
from vlgauge.research.protocols.ratings import RatedCaptions


def _read(
    name: str, files: Sequence[FilePath], *, images: FilePath | None = None, references: int | None = None
) -> RatedCaptions:
    path = one_file(files, f"{name}_test.csv")
    task = read_rated_table(name, path, images, references, own_removed=False)
    outside = [rating for rating in task.ratings.ravel().tolist() if not 0 <= rating <= 1]
    if outside:
        raise UsageError.about(str(path), f"must have ratings from 0 to 1 as 'score', got {outside[0]:g}")
    return task


read_polaris, read_nebula = partial(_read, "polaris"), partial(_read, "nebula")

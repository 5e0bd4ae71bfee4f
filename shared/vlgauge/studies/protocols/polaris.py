"""Polaris (Wada et al., 2024) and Nebula (Matsuda et al., 2024): captions of models and people, rated from 0 to 1.

Their tables have the layout of Composite on the Hub; references stay as they are, also where one equals the caption.
"""

from __future__ import annotations

from collections.abc import Sequence

from vlgauge.studies.protocols.composite import rated_table
from vlgauge.studies.protocols.files import FilePath, one_file
from vlgauge.studies.protocols.ratings import RatedCaptions

POLARIS_FILE, NEBULA_FILE = "polaris_test.csv", "nebula_test.csv"


def read_polaris(
    files: Sequence[FilePath], *, images: FilePath | None = None, references: int | None = None
) -> RatedCaptions:
    """The test set of Polaris, a row per rating.

    Args:
        files: A table as `vlgauge.studies.protocols.composite.rated_table` reads it, or a folder with `POLARIS_FILE`.
        images: Folder of the images.
        references: Number of references per row, the first ones; None for all, 0 for none.

    Raises:
        ValueError: If a column is missing, a cell is of another kind, or a rating is not from 0 to 1.
        OSError: If the file cannot be read.
    """
    return _read("polaris", POLARIS_FILE, files, images, references)


def read_nebula(
    files: Sequence[FilePath], *, images: FilePath | None = None, references: int | None = None
) -> RatedCaptions:
    """The test set of Nebula, a row per rating.

    Args:
        files: A table as `vlgauge.studies.protocols.composite.rated_table` reads it, or a folder with `NEBULA_FILE`.
        images: Folder of the images.
        references: Number of references per row, the first ones; None for all, 0 for none.

    Raises:
        ValueError: If a column is missing, a cell is of another kind, or a rating is not from 0 to 1.
        OSError: If the file cannot be read.
    """
    return _read("nebula", NEBULA_FILE, files, images, references)


def _read(
    name: str, file: str, files: Sequence[FilePath], images: FilePath | None, references: int | None
) -> RatedCaptions:
    path = one_file(files, file)
    task = rated_table(name, path, images, references, own_removed=False)
    outside = [rating for rating in task.ratings.ravel().tolist() if not 0 <= rating <= 1]
    if outside:
        raise ValueError(f"`{path}` must have ratings from 0 to 1 as 'score', got {outside[0]:g}")
    return task

"""VATEX-EVAL (Shi et al., 2022): captions of videos, each rated by three annotators.

The reader uses the pickles of EMScore's folder: ``candidates_list.pkl`` (n captions), ``gts_list.pkl`` (n lists of
references), ``human_scores.pkl`` (3 n ratings, grouped by annotator) and ``video_ids.pkl`` (n ids). The frame features
of that folder are projected by CLIP. They suit EMScore but not PAC-S, which has a different projection.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vlgauge.checkpoints.pickles import read_pickle
from vlgauge.core.errors import UsageError
from vlgauge.research.protocols.files import FilePath, Folder, find_named_files, texts
from vlgauge.research.protocols.ratings import ANNOTATORS, RatedCaptions, RatedRow, rated_captions

CAPTIONS_FILE, REFERENCES_FILE = "candidates_list.pkl", "gts_list.pkl"
RATINGS_FILE, VIDEOS_FILE = "human_scores.pkl", "video_ids.pkl"
N_ANNOTATORS = 3


def read_vatex_eval(
    files: Sequence[FilePath], *, videos: FilePath | None = None, references: int | None = 9
) -> RatedCaptions:
    """Read VATEX-EVAL: 18,000 rows. The figures are mean correlations over the annotators.

    Videos are files, of which the metrics use 10 frames.

    Args:
        files: The four pickles, or a folder with them. They are read without executing any code.
        videos: Folder of the videos, named by their ids.
        references: Number of references per row, from the first one. None for all, 0 for none.

    Raises:
        ValueError: If a file is missing, has another layout, or contains anything other than data.
        OSError: If a file cannot be read.
    """
    paths = find_named_files(files, [CAPTIONS_FILE, REFERENCES_FILE, RATINGS_FILE, VIDEOS_FILE])
    predictions = texts(_as_list(paths[CAPTIONS_FILE]), f"`{paths[CAPTIONS_FILE]}`")
    rows = _as_list(paths[REFERENCES_FILE])
    known = [texts(row, f"row {i} of `{paths[REFERENCES_FILE]}`") for i, row in enumerate(rows)]
    ids = texts(_as_list(paths[VIDEOS_FILE]), f"`{paths[VIDEOS_FILE]}`")
    ratings = _ratings(paths[RATINGS_FILE])
    counts = [len(predictions), len(known), len(ids), len(ratings)]
    if len(set(counts)) != 1:
        raise UsageError(
            f"the four files of VATEX-EVAL must have as many captions, reference lists, ids and ratings, got {counts}"
        )
    rated = np.flatnonzero(~np.isnan(ratings).any(axis=1)).tolist()
    folder = Folder(videos, paths[VIDEOS_FILE])
    chosen = [
        RatedRow(predictions[i], _enough(known[i], references, i), folder.video(ids[i]), ids[i], ratings[i])
        for i in rated
    ]
    rules = {"ratings": "annotators", "round": 4}
    left_out = {"rows with a rating that is NaN": len(ratings) - len(rated)}
    return rated_captions("vatex_eval", chosen, references, rules, ANNOTATORS, seen="videos", left_out=left_out)


def _as_list(path: Path) -> list[Any]:
    content = read_pickle(path)
    found = content.tolist() if isinstance(content, np.ndarray) else content
    if not isinstance(found, list):
        raise UsageError.about(str(path), f"must contain a list or an array, got {type(content).__name__}")
    return [row.tolist() if isinstance(row, np.ndarray) else row for row in found]


def _ratings(path: Path) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Read the ratings, shape ``(n, 3)``. In the file they are grouped by annotator."""
    content = _as_list(path)
    try:
        return np.asarray(content, dtype=np.float64).reshape(N_ANNOTATORS, -1).T
    except (TypeError, ValueError):
        raise UsageError.about(str(path), "must contain three numbers per caption") from None


def _enough(references: list[str], count: int | None, row: int) -> list[str]:
    if count is not None and count > len(references):
        raise UsageError.about(
            "references", f"must be at most {len(references)}, as many as row {row} has, got {count}"
        )
    return references

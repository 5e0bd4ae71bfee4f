"""Calibrated score scale of a backbone, with mean 1 for matching pairs and mean 0 for shuffled pairs.

The calibration is an affine map of cosines, so the order of captions does not change and nothing is clamped. It has no
other purpose.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import MissingFileError, UsageError, UsageTypeError
from vlgauge.core.files import read_json
from vlgauge.core.validation import short_repr
from vlgauge.core.writing import write
from vlgauge.families.clip_score.formula import Floats, Positions, Vectors
from vlgauge.stats import percentile_interval

FORMAT = "vlgauge-calibration-1"
FEWEST = 10


@dataclass(frozen=True)
class Calibration:
    """Fitted scale w (c - offset) of a cosine c. The offset is the mean cosine of shuffled pairs.

    Both parameters have bootstrap intervals over the images, at confidence level `level`. The encoder is identified by
    its architecture and the SHA-256 of its weights, together with the prompt that precedes captions.
    """

    backbone: str
    architecture: str
    weights: str
    prompt: str
    w: float
    offset: float
    w_interval: tuple[float, float]
    offset_interval: tuple[float, float]
    n_rows: int
    n_images: int
    level: float
    resamples: int
    seed: int

    @property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of all attributes."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    def scores(self, cosines: npt.ArrayLike) -> Floats:
        """Compute calibrated scores w (c - offset), without clamping.

        Args:
            cosines: c, any shape.
        """
        return self.w * (np.asarray(cosines, dtype=np.float64) - self.offset)

    def check(self, architecture: str, weights: str, prompt: str) -> None:
        """Check that an encoder is the one on which the scale was fitted.

        Args:
            architecture: Architecture of the encoder.
            weights: SHA-256 of its weights.
            prompt: Text before every caption.

        Raises:
            ValueError: If the architecture, weights or prompt differ.
        """
        ours = {"backbone": self.architecture, "weights": self.weights[:8], "prompt": self.prompt.strip() or "none"}
        theirs = {"backbone": architecture, "weights": weights[:8], "prompt": prompt.strip() or "none"}
        other = [name for name in ours if ours[name] != theirs[name]]
        if other:
            raise UsageError.about(
                "calibration",
                f"must be fitted on the same backbone, weights and prompt, got {other[0]} {ours[other[0]]!r} instead "
                f"of {theirs[other[0]]!r}",
                "run: vlgauge calibrate",
            )

    def save(self, path: str | Path) -> None:
        """Write the scale as JSON, for `read_calibration` and the setting ``calibration=PATH``.

        Raises:
            NotWritableError: If the file cannot be written.
        """
        write(path, json.dumps({"format": FORMAT, **asdict(self), "sha256": self.digest}, indent=1) + "\n")


def read_calibration(path: str | PathLike[str]) -> Calibration:
    """Read a scale written by `Calibration.save`.

    Raises:
        ValueError: If the file is not a calibration, or was modified.
        TypeError: If `path` is not a path.
        OSError: If the file cannot be read.
    """
    if not isinstance(path, (str, PathLike)):
        raise UsageTypeError.about("calibration", f"must be the path of a file, got {type(path).__name__}")
    try:
        record = read_json(Path(path), "`calibration`")
    except OSError as error:
        kind = MissingFileError if isinstance(error, FileNotFoundError) else UsageError
        raise kind(f"`calibration` must be a file, got {short_repr(fspath(path))}: {error.strerror}") from None
    try:
        assert isinstance(record, dict)
        own = {key: value for key, value in record.items() if key not in ("format", "sha256")}
        own |= {key: tuple(map(float, own[key])) for key in ("w_interval", "offset_interval")}
        found = Calibration(**own)
        same = found.digest == record["sha256"] and math.isfinite(found.w + found.offset)
    except (KeyError, TypeError, ValueError, AssertionError):
        same = False
    if not same:
        raise UsageError.about(
            "calibration", f"must be an unmodified file written by `vlgauge calibrate`, got {str(path)!r}"
        )
    return found


def mean_cosines(
    right: Floats, read: Vectors, seen: Vectors, image_of: Positions, counts: Floats
) -> tuple[float, float]:
    """Compute the mean cosine of matching pairs, and the mean cosine of each caption with all other images.

    Args:
        right: Shape ``(n,)``, cosines of the matching pairs.
        read: Shape ``(n, d)``, L2-normalized embeddings of the captions.
        seen: Shape ``(m, d)``, L2-normalized embeddings of the distinct images.
        image_of: Shape ``(n,)``, index of the image of each caption.
        counts: Shape ``(m,)``, number of times that each image is counted, with all its captions. 1 for the original
            sample. An image that is counted twice does not form a shuffled pair with itself.

    Returns:
        Both means. NaN for both if there are no shuffled pairs.
    """
    weights = counts[image_of]
    own = np.bincount(image_of, minlength=len(seen))
    texts, images = weights @ read, counts @ seen
    same = float(np.sum(weights * counts[image_of] * right))
    n_all = float(np.sum(counts * own) * np.sum(counts))
    n_same = float(np.sum(counts * counts * own))
    if n_all == n_same:
        return math.nan, math.nan
    return float(weights @ right / np.sum(weights)), (float(texts @ images) - same) / (n_all - n_same)


def fit_scale(
    read: Vectors, seen: Vectors, image_of: Positions, *, level: float, resamples: int, seed: int, **about: Any
) -> Calibration:
    """Fit the scale on which matching pairs have mean 1 and shuffled pairs have mean 0.

    Args:
        read: Shape ``(n, d)``, L2-normalized embeddings of the captions.
        seen: Shape ``(m, d)``, L2-normalized embeddings of the distinct images.
        image_of: Shape ``(n,)``, index of the image of each caption.
        level: Confidence level of the intervals.
        resamples: Number of bootstrap samples of images.
        seed: Seed of the bootstrap samples.
        **about: Other attributes of `Calibration`.

    Raises:
        ValueError: If there are fewer than 10 images, or matching pairs are not more similar than shuffled ones.
    """
    n_images = len(seen)
    if n_images < FEWEST:
        raise UsageError(f"FILE must have at least {FEWEST} different images to shuffle, got {n_images}")
    read, seen = read.astype(np.float64), seen.astype(np.float64)
    right = np.sum(read * seen[image_of], axis=1)
    one, zero = mean_cosines(right, read, seen, image_of, np.ones(n_images))
    if not one > zero:
        raise UsageError(
            f"FILE must have captions that match their images better than others, got mean cosines of {one:.3f} "
            f"and {zero:.3f} after shuffling"
        )
    rng = np.random.default_rng(seed)
    drawn = np.empty((resamples, 2))
    for sample in drawn:
        counts = np.bincount(rng.integers(0, n_images, n_images), minlength=n_images).astype(np.float64)
        own, other = mean_cosines(right, read, seen, image_of, counts)
        sample[:] = (1 / (own - other), other) if own > other else (math.nan, math.nan)
    factor, offset = (percentile_interval(column, level) for column in drawn.T)
    return Calibration(
        w=1 / (one - zero),
        offset=zero,
        w_interval=factor,
        offset_interval=offset,
        n_rows=len(read),
        n_images=n_images,
        level=level,
        resamples=resamples,
        seed=seed,
        **about,
    )


def fit_on_metric(
    metric: Any, rows: Sequence[Mapping[str, Any]], *, level: float, resamples: int, seed: int
) -> Calibration:
    """Fit the scale of the backbone of a metric on rows of captions and images.

    Args:
        metric: clip_s for images.
        rows: Values by column, in the form that `_compute` expects.
        level: Confidence level of the intervals.
        resamples: Number of bootstrap samples of images.
        seed: Seed of the bootstrap samples.

    Raises:
        ValueError: If there are too few images, or matching pairs are not more similar than shuffled ones.
    """
    predictions, cells = [row["predictions"] for row in rows], [row["images"] for row in rows]
    read, seen, image_of, encoder = metric.clip.unit_vectors(predictions, cells, metric.progress)
    about = {"backbone": encoder.row.name, "architecture": encoder.architecture, "weights": encoder.digest}
    how: dict[str, Any] = {"level": level, "resamples": resamples, "seed": seed}
    return fit_scale(read, seen, image_of, prompt=metric.prompt, **about, **how)

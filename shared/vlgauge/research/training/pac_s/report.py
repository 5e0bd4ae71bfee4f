"""Outputs of a training of PAC-S in addition to the weights: comparison with the base, log, curve, card."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.core.writing import write
from vlgauge.models.clip.heads import Adapter
from vlgauge.models.clip.loading import ClipEncoder
from vlgauge.research.training.loop import Progressed
from vlgauge.research.training.pac_s.data import Foil
from vlgauge.research.training.report import draw_losses, fill_card
from vlgauge.stats import bootstrap_interval

Floats = npt.NDArray[np.float64]

# Prompt that pac_s prepends to every caption by default, used for scoring whatever the training prompt was.
SCORING_PROMPT = "A photo depicts "


@dataclass(frozen=True)
class WeightsComparison:
    """Accuracy on pairs of one kind before and after training. Ties count as wrong.

    Attributes:
        kind: Kind of error in the wrong captions. "all" for all pairs.
        n_pairs: Number of pairs.
        n_images: Number of images, or of scenes that were rendered several times, which the bootstrap resamples.
        before: Accuracy of the base.
        after: Accuracy of the trained weights.
        low: Low end of the 95% interval of after - before.
        high: High end of this interval.
    """

    kind: str
    n_pairs: int
    n_images: int
    before: float
    after: float
    low: float
    high: float

    @property
    def gain(self) -> float:
        """Accuracy after training minus accuracy before, as a share."""
        return self.after - self.before


def margins(encoder: ClipEncoder, adapter: Adapter | None, foils: Sequence[Foil]) -> Floats:
    """Compute the cosine of the correct caption minus the cosine of the wrong one, shape ``(n_foils,)``."""
    encoded = encoder.image_hidden([foil.image for foil in foils], adapter=adapter)
    images = _unit(encoder.project(encoded, "image", adapter))
    texts = [text for foil in foils for text in (foil.right, foil.wrong)]
    hidden = encoder.text_hidden(texts, prompt=SCORING_PROMPT).end
    features = _unit(encoder.project(hidden, "text", adapter)).reshape(len(foils), 2, -1)
    cosines = np.einsum("ij,ikj->ik", images, features)
    return cosines[:, 0] - cosines[:, 1]


def comparisons(foils: Sequence[Foil], before: Floats, after: Floats, seed: int = 0) -> list[WeightsComparison]:
    """Compute the accuracies over all pairs and by kind.

    Args:
        foils: Test pairs.
        before: Cosine of the correct caption minus the cosine of the wrong one before training, shape ``(n_foils,)``.
        after: The same after training.
        seed: Seed of the intervals.

    Returns:
        Comparison of all pairs, if there are several kinds, and then of each kind in order of first occurrence. A pair
        is correct if its value is above 0.
    """
    kinds = np.array([foil.kind for foil in foils])
    groups = np.array([foil.group or foil.image.key.hex() for foil in foils])
    distinct = list(dict.fromkeys(kinds.tolist()))
    found = [_comparison("all", groups, before, after, seed)] if len(distinct) > 1 else []
    for kind in distinct:
        of_kind = kinds == kind
        found.append(_comparison(kind, groups[of_kind], before[of_kind], after[of_kind], seed))
    return found


def _comparison(kind: str, groups: npt.NDArray[np.str_], before: Floats, after: Floats, seed: int) -> WeightsComparison:
    right_before, right_after = before > 0, after > 0
    gains = right_after.astype(np.float64) - right_before
    interval = bootstrap_interval(gains.tolist(), groups=groups.tolist(), seed=seed)
    # A gain is a difference of two shares.
    within = interval.within((-1.0, 1.0), float(gains.mean())) if interval else None
    low, high = (within.low, within.high) if within else (np.nan, np.nan)
    n_images = len(set(groups.tolist()))
    return WeightsComparison(
        kind, len(gains), n_images, float(right_before.mean()), float(right_after.mean()), low, high
    )


def _unit(features: npt.NDArray[np.float32]) -> Floats:
    values = features.astype(np.float64)
    return values / np.linalg.norm(values, axis=-1, keepdims=True)


def write_log(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Write the log as JSON lines.

    Raises:
        NotWritableError: If the file cannot be written.
    """
    write(path, "".join(f"{json.dumps(line)}\n" for line in lines))


def write_card(
    path: Path, title: str, command: str, facts: Mapping[str, str], comparisons: Sequence[WeightsComparison]
) -> None:
    """Write the model card.

    Raises:
        NotWritableError: If the file cannot be written.
    """
    table = [f"| {name.replace('_', ' ')} | {value} |" for name, value in facts.items()]
    lines = "\n".join(map(comparison_line, comparisons))
    write(path, fill_card("pac_s", title=title, command=command, facts="\n".join(table), comparisons=lines))


def comparison_line(comparison: WeightsComparison) -> str:
    """Format a row of the table in the card."""
    c = comparison
    shares = f"{100 * c.before:.2f}% | {100 * c.after:.2f}% | {100 * c.gain:+.2f}"
    return f"| {c.kind} | {c.n_pairs} | {c.n_images} | {shares} | {100 * c.low:+.2f} to {100 * c.high:+.2f} |"


def draw_curve(path: Path, state: Progressed) -> None:
    """Draw training and validation loss over the iterations. The base has no training loss."""
    lines = {"training": "train_total", "validation": "validation_total"}
    losses = {side: [line.get(name, np.nan) for line in state.rounds] for side, name in lines.items()}
    iterations = [line["iteration"] for line in state.rounds]
    draw_losses(path, iterations, {"loss (Eq. 3)": losses}, iterations[state.best], "iteration")

"""Before and after: how often the right caption of an image scores above a wrong one, with bootstrap intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vlgauge.encoders.clip.heads import Adapter
from vlgauge.encoders.clip.loading import ClipEncoder
from vlgauge.statistics import bootstrap_interval
from vlgauge.training.pac_s.material import Material
from vlgauge.training.pac_s.rows import Foil

Floats = npt.NDArray[np.float64]

# As the metric scores, whatever the training was: pac_s puts it before every caption by default.
SCORING_PROMPT = "A photo depicts "


@dataclass(frozen=True)
class Comparison:
    """Accuracy before and after on pairs of one kind; ties count as wrong.

    Attributes:
        kind: What is wrong in the wrong captions; "all" for all pairs.
        n_pairs: Number of pairs.
        n_images: Number of images, or of scenes that were drawn several times, which the bootstrap resamples.
        before: Accuracy of the base.
        after: Accuracy of the trained weights.
        low: Lower end of the 95 % interval of after - before.
        high: Upper end of it.
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
        """Accuracy after less accuracy before."""
        return self.after - self.before


def margins(encoder: ClipEncoder, adapter: Adapter | None, foils: Sequence[Foil]) -> Floats:
    """Cosine of the right caption less that of the wrong one, shape ``(n_foils,)``."""
    pictures = encoder.image_hidden([foil.image for foil in foils], adapter=adapter)
    images = _unit(encoder.project(pictures, "image", adapter))
    texts = [text for foil in foils for text in (foil.right, foil.wrong)]
    hidden = encoder.text_hidden(texts, prompt=SCORING_PROMPT).end
    features = _unit(encoder.project(hidden, "text", adapter)).reshape(len(foils), 2, -1)
    cosines = np.einsum("ij,ikj->ik", images, features)
    return cosines[:, 0] - cosines[:, 1]


def comparisons(foils: Sequence[Foil], before: Floats, after: Floats, seed: int = 0) -> list[Comparison]:
    """Accuracies over all pairs and by kind."""
    kinds = np.array([foil.kind for foil in foils])
    groups = np.array([foil.group or foil.image.key.hex() for foil in foils])
    distinct = list(dict.fromkeys(kinds.tolist()))
    found = [_comparison("all", groups, before, after, seed)] if len(distinct) > 1 else []
    for kind in distinct:
        of_kind = kinds == kind
        found.append(_comparison(kind, groups[of_kind], before[of_kind], after[of_kind], seed))
    return found


def _comparison(kind: str, groups: npt.NDArray[np.str_], before: Floats, after: Floats, seed: int) -> Comparison:
    right_before, right_after = before > 0, after > 0
    gains = right_after.astype(np.float64) - right_before
    interval = bootstrap_interval(gains.tolist(), groups=groups.tolist(), seed=seed)
    # A gain is that of two shares.
    within = interval.within((-1.0, 1.0), float(gains.mean())) if interval else None
    low, high = (within.low, within.high) if within else (np.nan, np.nan)
    n_images = len(set(groups.tolist()))
    return Comparison(kind, len(gains), n_images, float(right_before.mean()), float(right_after.mean()), low, high)


def other_captions(material: Material, seed: int) -> list[Foil]:
    """Validation rows, each with the caption of another image: the test where no file of foils is given."""
    rows = material.validation
    rng = np.random.default_rng(seed)
    foils = []
    for row in rows:
        others = rows[material.image[rows] != material.image[row]]
        other = rng.choice(others)
        right, wrong = (material.texts[material.caption[index]] for index in (row, other))
        if right != wrong:
            foils.append(Foil(material.pictures[material.image[row]], right, wrong, "another image's caption"))
    return foils


def _unit(features: npt.NDArray[np.float32]) -> Floats:
    values = features.astype(np.float64)
    return values / np.linalg.norm(values, axis=-1, keepdims=True)

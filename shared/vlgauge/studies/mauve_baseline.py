"""MAUVE (Pillutla et al., 2021) of two sets of sentence vectors, by the package mauve-text of whoever asks for it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.errors import MissingExtraError, UsageError
from vlgauge.installed import not_importable
from vlgauge.settings import warn

SEED = 25
FEW = 100

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Mauve:
    """What the package finds.

    Attributes:
        value: In [0, 1], higher for distributions that are more alike.
        curve: The divergence curve whose area that is, shape ``(k, 2)``, in [0, 1]: exp(-c KL(q, r)) and
            exp(-c KL(p, r)) over the mixtures r of both sides. None if the package gives none.
    """

    value: float
    curve: Floats | None


def mauve_package() -> Any:
    """The module of mauve-text."""
    try:
        import mauve
    except ImportError as error:
        raise MissingExtraError(
            not_importable("MAUVE needs the package mauve-text, not installed here; run: pip install mauve-text", error)
        ) from error
    return mauve


def mauve_with_curve(
    p_features: npt.ArrayLike, q_features: npt.ArrayLike, *, seed: int = SEED, **options: Any
) -> Mauve:
    """Return MAUVE of a corpus with its divergence curve (Chan et al., 2024, Appendix B.5).

    It counts vectors in clusters, a tenth as many as there are vectors on the smaller side: of five captions against
    five it has a handful of values. The package is under the GPL and never comes with this one.

    Args:
        p_features: Vectors of one side, shape ``(n, d)``.
        q_features: Those of the other, shape ``(m, d)``.
        seed: Of the clusters.
        options: Further arguments of ``mauve.compute_mauve``.

    Raises:
        ValueError: If the vectors are not two matrices of finite numbers of one width, or there are none.
        ImportError: If mauve-text is not installed.
    """
    sides = [np.asarray(side, dtype=np.float64) for side in (p_features, q_features)]
    shapes = " and ".join(str(side.shape) for side in sides)
    if any(side.ndim != 2 or not side.size for side in sides) or sides[0].shape[1] != sides[1].shape[1]:
        raise UsageError(f"`p_features` and `q_features` must be vectors of one width, (n, d) and (m, d), got {shapes}")
    for name, side in zip(("p_features", "q_features"), sides, strict=True):
        if not np.isfinite(side).all():
            raise UsageError(f"`{name}` must be finite, got {side[~np.isfinite(side)][0]}")
    package = mauve_package()
    if min(map(len, sides)) < FEW:
        warn(f"MAUVE is made for thousands of texts; of fewer than {FEW} on a side it has few values, got {shapes}")
    found = package.compute_mauve(p_features=sides[0], q_features=sides[1], seed=seed, verbose=False, **options)
    curve = np.asarray(getattr(found, "divergence_curve", ()), dtype=np.float64)
    drawable = curve.ndim == 2 and curve.shape[1] == 2 and np.isfinite(curve).all()
    return Mauve(float(found.mauve), curve if drawable else None)

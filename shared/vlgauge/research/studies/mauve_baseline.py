"""MAUVE (Pillutla et al., 2021) of two sets of sentence embeddings, by the optional package mauve-text."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.core.errors import UsageError
from vlgauge.core.optional_dependencies import importing
from vlgauge.core.validation import warn

SEED = 25
FEW = 100

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Mauve:
    """Result of mauve-text.

    Attributes:
        value: MAUVE in [0, 1], higher for more similar distributions. It is the area under the curve.
        curve: Divergence curve, shape ``(k, 2)``, in [0, 1]: exp(-c KL(q, r)) and exp(-c KL(p, r)) over mixtures r of
            both sides. None if the package returns none.
    """

    value: float
    curve: Floats | None


def mauve_package() -> Any:
    """Import mauve-text and return its module.

    Raises:
        ImportError: If it is not installed.
    """
    with importing("MAUVE requires the package mauve-text; run: pip install mauve-text"):
        import mauve
    return mauve


def mauve_with_curve(
    p_features: npt.ArrayLike, q_features: npt.ArrayLike, *, seed: int = SEED, **options: Any
) -> Mauve:
    """Compute MAUVE of two corpora together with its divergence curve (Chan et al., 2024, Appendix B.5).

    MAUVE counts embeddings in clusters, one per ten embeddings of the smaller side. With five captions against five it
    has only a handful of values. The package is licensed under the GPL and is never installed by this one.

    Args:
        p_features: Embeddings of one side, shape ``(n, d)``.
        q_features: Embeddings of the other side, shape ``(m, d)``.
        seed: Seed of the clustering.
        **options: Additional arguments of ``mauve.compute_mauve``.

    Raises:
        ValueError: If the embeddings are not two non-empty matrices of finite numbers with the same width.
        ImportError: If mauve-text is not installed.

    Warns:
        UserWarning: If a side has fewer than 100 embeddings.
    """
    sides = [np.asarray(side, dtype=np.float64) for side in (p_features, q_features)]
    shapes = " and ".join(str(side.shape) for side in sides)
    if any(side.ndim != 2 or not side.size for side in sides) or sides[0].shape[1] != sides[1].shape[1]:
        raise UsageError(f"`p_features` and `q_features` must have the shapes (n, d) and (m, d), got {shapes}")
    for name, side in zip(("p_features", "q_features"), sides, strict=True):
        if not np.isfinite(side).all():
            raise UsageError.about(name, f"must be finite, got {side[~np.isfinite(side)][0]}")
    package = mauve_package()
    if min(map(len, sides)) < FEW:
        warn(
            f"MAUVE is designed for thousands of texts and has few distinct values for fewer than {FEW} per side, "
            f"got {shapes}"
        )
    found = package.compute_mauve(p_features=sides[0], q_features=sides[1], seed=seed, verbose=False, **options)
    curve = np.asarray(getattr(found, "divergence_curve", ()), dtype=np.float64)
    drawable = curve.ndim == 2 and curve.shape[1] == 2 and np.isfinite(curve).all()
    return Mauve(float(found.mauve), curve if drawable else None)

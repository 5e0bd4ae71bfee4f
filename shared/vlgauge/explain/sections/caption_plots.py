"""The two plots of a caption set: where the captions lie, and what other splits of them would have scored."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from markupsafe import Markup
from matplotlib.axes import Axes

from .plots import CANDIDATE, GREY, INK, REFERENCE, new_plot, plot_settings, svg

Floats = npt.NDArray[np.float64]
SIZE = (4.2, 3.5)
N_BINS = 30
TOLERANCE = 1e-9  # values this close tie, as in the metrics


def principal_plane(vectors: npt.NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Coordinates of the vectors in the plane in which they vary most.

    Args:
        vectors: shape ``(N, d)``.

    Returns:
        Coordinates, shape ``(N, 2)``, and the share of the variance along each axis, shape ``(2,)``. Of the two
        directions that an axis can have, it gets the one in which the farthest vector is on the positive side.
    """
    centred = np.asarray(vectors, dtype=np.float64) - np.mean(vectors, axis=0, dtype=np.float64)
    left, singular, _ = np.linalg.svd(centred, full_matrices=False)
    points = (left * singular)[:, :2]
    points *= np.where(points.max(axis=0) >= -points.min(axis=0), 1.0, -1.0)
    total = np.sum(singular**2)
    return points, singular[:2] ** 2 / total if total > 0.0 else np.zeros(2)


def caption_cloud(name: str, vectors: npt.NDArray[np.floating], n: int, *, ellipses: bool = False) -> Markup:
    """Candidates and references as points of a plane, numbered as the captions beside the plot.

    Args:
        name: Unique on the page.
        vectors: shape ``(N, d)``, the n candidates first.
        n: Number of candidates.
        ellipses: Whether to add the mean of each side and one standard deviation around it.
    """
    points, shares = principal_plane(vectors)
    with plot_settings():
        figure, axes = new_plot(*SIZE)
        for side, colour, marker, word, offset in (
            (points[n:], REFERENCE, "^", "references", (6, -11)),
            (points[:n], CANDIDATE, "o", "candidates", (6, 4)),
        ):
            axes.plot(side[:, 0], side[:, 1], marker, color=colour, markersize=8, alpha=0.85, label=word)
            for point, numbers in _coinciding(side):
                axes.annotate(numbers, point, xytext=offset, textcoords="offset points", color=colour, fontsize=9)
        corners = _draw_ellipses(axes, points, n) if ellipses else points
        middle, reach = (corners.max(axis=0) + corners.min(axis=0)) / 2, 0.6 * max(np.ptp(corners, axis=0).max(), 1e-6)
        axes.set(xlim=(middle[0] - reach, middle[0] + reach), ylim=(middle[1] - reach, middle[1] + reach))
        axes.set(aspect="equal", xticks=[], yticks=[])
        axes.set_xlabel(f"1st principal component ({shares[0]:.0%} of variance)")
        axes.set_ylabel(f"2nd ({shares[1]:.0%})")
        figure.legend(loc="outside upper center", ncols=2, reverse=True)
        return svg(
            figure,
            f"{name}-cloud",
            f"The vectors of {n} candidates (circles) and {len(points) - n} references (triangles) in the plane in "
            f"which they vary most{', with an ellipse around the mean of each side' if ellipses else ''}.",
        )


def _draw_ellipses(axes: Axes, points: Floats, n: int) -> Floats:
    """Draw mean and `deviation_ellipse` of the first n points and of the others; all that the plot has to hold."""
    outlines = [deviation_ellipse(side) for side in (points[:n], points[n:])]
    for side, outline, colour, line in zip(
        (points[:n], points[n:]), outlines, (CANDIDATE, REFERENCE), ("-", "--"), strict=True
    ):
        axes.plot(outline[:, 0], outline[:, 1], line, color=colour, linewidth=1.2)
        axes.plot(*side.mean(axis=0), "+", color=colour, markersize=11, markeredgewidth=2)
    return np.concatenate([points, *outlines])


def deviation_ellipse(points: Floats) -> Floats:
    """The points at one standard deviation from the mean, in every direction of the plane.

    Args:
        points: shape ``(N, 2)``, at least two.

    Returns:
        shape ``(73, 2)``, a closed line; flat where the points lie on one.
    """
    values, vectors = np.linalg.eigh(np.cov(points.T))
    angles = np.linspace(0.0, 2.0 * np.pi, 73)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    # The symmetric root, which is the same for either sign of an eigenvector.
    outline: Floats = points.mean(axis=0) + circle @ (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return outline


def _coinciding(points: Floats) -> list[tuple[tuple[float, float], str]]:
    """Places and the numbers of the captions there, such as "1, 3", counted from 1."""
    numbers: dict[tuple[float, float], list[str]] = {}
    for number, (x, y) in enumerate(points.round(6).tolist(), 1):
        numbers.setdefault((x, y), []).append(str(number))
    return [(place, ", ".join(here)) for place, here in numbers.items()]


def null_histogram(name: str, null: Floats, statistic: str, tolerance: float = TOLERANCE) -> Markup:
    """The values of all splits, with those as large as the observed one set apart, and p in the title.

    Args:
        name: Unique on the page.
        null: shape ``(P,)``, the observed value first.
        statistic: What the values are.
        tolerance: Values this close tie.
    """
    as_large = null >= null[0] - tolerance
    p = f"{np.count_nonzero(as_large)}/{len(null)} = {np.mean(as_large):.2g}"
    with plot_settings():
        figure, axes = new_plot(*SIZE)
        # An edge at the observed value, so that no bin holds values of both groups.
        width = max(float(np.ptp(null)), 1e-6) / N_BINS
        below, above = np.ceil((null[0] - null.min()) / width), np.floor((null.max() - null[0]) / width) + 1
        edges = null[0] - tolerance + width * np.arange(-below, above + 1)
        smaller, larger = (np.histogram(values, edges)[0] for values in (null[~as_large], null[as_large]))
        starts, widths = edges[:-1], np.diff(edges)
        axes.bar(starts, smaller, widths, align="edge", color=GREY, label="smaller")
        axes.bar(starts, larger, widths, align="edge", color=CANDIDATE, hatch="////", label="as large")
        axes.axvline(null[0], color=INK, linewidth=1.5, linestyle="--", label="observed")
        axes.set_title(f"p = {p}")
        axes.set_xlabel(f"{statistic} of a split")
        axes.set_ylabel("number of splits")
        axes.locator_params(axis="x", nbins=5)
        figure.legend(loc="outside upper center", ncols=3, columnspacing=1.0, handletextpad=0.4)
        return svg(
            figure,
            f"{name}-null",
            f"Histogram of the {statistic} of all {len(null)} splits, from {null.min():.3f} to {null.max():.3f}; "
            f"the observed one, {null[0]:.3f}, is a dashed line; p = {p}.",
        )

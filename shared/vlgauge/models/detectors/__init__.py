"""Regions of the images of a story: provided by the user, read from files, detected, or cells of a grid."""

import os
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any

from vlgauge.checkpoints.detectors import look_for_weights
from vlgauge.checkpoints.preflight import Preflight
from vlgauge.checkpoints.torch_runtime import DETECTOR_PACKAGES
from vlgauge.core.errors import UsageError
from vlgauge.core.signatures import signature_value
from vlgauge.core.validation import as_list, nearest, short_repr
from vlgauge.models.detectors.files import arrange_regions as arrange_regions
from vlgauge.models.detectors.files import read_authors_regions as read_authors_regions
from vlgauge.models.detectors.sources import FORMS, Cell, convert_regions
from vlgauge.models.detectors.sources import GIVEN as GIVEN
from vlgauge.models.detectors.sources import Region as Region
from vlgauge.models.detectors.sources import RegionSource as RegionSource
from vlgauge.models.detectors.torchvision_models import DETECTORS, detector

DEFAULT_DETECTOR = "fasterrcnn_resnet50_fpn_v2"
PLAIN = ("whole", "grid")


def check_region_source(regions: Any) -> Any:
    """Check the setting `regions` of a metric without building a source, and return it.

    Raises:
        ValueError: If it is neither None, a known name nor a function.
    """
    if regions is None or callable(regions):
        return regions
    known = (*PLAIN, *DETECTORS)
    if not isinstance(regions, str) or regions not in known:
        hint = f"; {nearest(regions, known)}" if isinstance(regions, str) else "; pass boxes and crops to `compute`"
        raise UsageError.about(
            "regions",
            f"must be one of {', '.join(map(repr, known))}, or a function of an image that returns boxes and "
            f"scores, got {short_repr(regions)}{hint}",
        )
    return regions


def check_detector_weights(weights: Any, regions: Any) -> Any:
    """Check the setting `detector_weights` of a metric without accessing a file, and return it.

    Raises:
        ValueError: If it is neither None nor a path, or the source of regions does not use it.
    """
    if not isinstance(weights, (str, os.PathLike, NoneType)):
        raise UsageError.about(
            "detector_weights", f"must be a local file, or a file on the Hub with its commit, got {short_repr(weights)}"
        )
    if weights is not None and (callable(regions) or regions in PLAIN):
        source = signature_value(regions) if callable(regions) else repr(regions)
        raise UsageError.about(
            "detector_weights",
            f"requires the name of a detector as `regions`, got {os.fspath(weights)!r} with regions={source}",
        )
    return weights


def look_for_regions(preflight: Preflight, regions: Any, *, profile: str, weights: Any) -> None:
    """Make a preflight check the requirements of `region_source`."""
    chosen = _choose_source(regions, profile, weights)
    if not callable(chosen) and chosen not in PLAIN and (profile == "paper" or weights is not None):
        preflight.need(DETECTOR_PACKAGES)
        preflight.look(lambda: look_for_weights(chosen, weights, profile=profile))


def _choose_source(regions: Any, profile: str, weights: Any) -> Any:
    """Check the source of regions and return it, or the default of the profile for None."""
    if check_region_source(regions) is not None:
        return regions
    return DEFAULT_DETECTOR if profile == "paper" or weights is not None else "grid"


def region_source(
    regions: str | Callable[..., Any] | None = None,
    *,
    profile: str = "paper",
    weights: Any = None,
    device: str = "auto",
) -> RegionSource:
    """Return the source of regions of a setting. A detector is built at its first use, once per process.

    Args:
        regions: ``"whole"`` (the image itself), ``"grid"`` (the image itself, then 3 x 3 cells), the name of a
            torchvision detector, a function ``image -> (boxes, scores)``, or None. None is the kind of detector used in
            the paper under profile "paper" or if `weights` is passed, and otherwise the grid.
        profile: Profile of the metric.
        weights: File of the detector's weights, or ``owner/name/FILE@<commit>`` of the Hub. None for the weights of
            torchvision, if they are on this machine.
        device: Device of the detector.

    Raises:
        ValueError: If the setting is invalid, or the profile has no such detector.
        WeightsNotFoundError: If the detector's weights are missing.
    """
    chosen = _choose_source(regions, profile, weights)
    if callable(chosen):
        return RegionSource(str(signature_value(chosen)), chosen)
    if chosen in PLAIN:
        return RegionSource(chosen, whole=chosen == "whole")
    if profile == "embedded" and weights is None:
        raise UsageError.about(
            "regions",
            f"must be {', '.join(map(repr, PLAIN))}, a function, or a detector with a weights file under profile "
            f"'embedded', which includes no detector, got {short_repr(chosen)}",
        )
    found = detector(chosen, weights=weights, device=device, profile=profile)
    return RegionSource(found.identity, found, known=found.known)


def regions_of(
    images: Sequence[Sequence[Cell] | None],
    source: RegionSource | Sequence[Any],
    *,
    first_story: int = 0,
    top_k: int = 10,
    min_score: float = 0.0,
) -> list[list[list[Region]]]:
    """Return the regions of every image of every story, best first.

    Args:
        images: Image cells per story. None for a story with crops.
        source: Source of regions, or the regions per story and image provided by the user. See `convert_regions`.
        first_story: Index of the first story, for messages.
        top_k: Maximum number of regions per image.
        min_score: Minimum score. Regions with a lower score are omitted.

    Returns:
        Regions per story and image. An image may have no regions.

    Raises:
        ValueError: If images are missing or unreadable, or do not match the regions of the user.
    """
    result = []
    for story, cells in enumerate(images):
        place = f"images[{first_story + story}]"
        if not isinstance(source, RegionSource):
            result.append(_of_given(source[story], cells, first_story + story, top_k, min_score))
            continue
        if not cells:
            raise UsageError.about(place, "must have at least one image, got none")
        result.append([source.find(c, f"{place}[{j}]", top_k=top_k, min_score=min_score) for j, c in enumerate(cells)])
    return result


def _of_given(row: Any, cells: Sequence[Cell] | None, story: int, top_k: int, min_score: float) -> list[list[Region]]:
    """Return the regions of one story that the user provides for each of its images."""
    place = f"regions[{story}]"
    entries = as_list(row)
    if entries is None:
        raise UsageError.about(
            place, f"must be a list with one entry per image, each {FORMS}, got {type(row).__name__}"
        )
    if not entries and not cells:
        raise UsageError.about(place, "must have an entry for at least one image, got none")
    if cells is not None and len(entries) != len(cells):
        raise UsageError.about(place, f"must have one entry per image, got {len(entries)} for {len(cells)} images")
    return [
        convert_regions(
            entry,
            None if cells is None else cells[j],
            f"{place}[{j}]",
            f"images[{story}][{j}]",
            top_k=top_k,
            min_score=min_score,
        )
        for j, entry in enumerate(entries)
    ]

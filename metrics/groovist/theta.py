"""Theta: published values, files of fitted values, and the selection of the value for a call."""

import hashlib
import json
import math
import os
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import replace
from typing import Any
from typing import NoReturn

from vlgauge.checkpoints.files import SourcesMissingError
from vlgauge.checkpoints.preflight import Preflight
from vlgauge.core.errors import UsageError
from vlgauge.core.files import DATA
from vlgauge.core.files import existing_file
from vlgauge.core.files import read_json
from vlgauge.core.validation import check_float
from vlgauge.core.validation import short_repr
from vlgauge.core.validation import warn
from vlgauge.core.writing import write
from vlgauge.models.clip.demo import DEMO_NAME
from vlgauge.models.detectors import GIVEN

# Mean phrase score of each dataset, on the scale of 2.5 times the cosine similarity of OpenAI's CLIP ViT-B/32.
PUBLISHED = {"VIST": 0.6159241924121119, "AESOP": 0.5949957337433985, "VWP": 0.6193549522736276}
PUBLISHED_ENCODER = "OpenAI's CLIP ViT-B/32"
SCENES = "scenes"
DATASETS = (*PUBLISHED, SCENES)
# Settings for fitting theta, which do not change the phrase scores before penalty and weight.
NEUTRAL: dict[str, Any] = {
    **{"theta": 0.0, "dataset": None, "concreteness": None, "concreteness_path": None, "idf": None},
    **{"penalize": False, "normalize": None},
}
FORMAT = "groovist-theta-1"


@dataclass(frozen=True)
class FittedTheta:
    """Theta of a dataset with its provenance.

    Attributes:
        theta: Mean of the scaled phrase scores, pooled over all stories.
        n_phrases: Number of phrases.
        n_stories: Number of stories.
        encoder: Identity of the encoder.
        variant: Variant of the scale, "released" or "paper".
        regions: Source of the regions.
        phrases: Source of the phrases.
    """

    theta: float
    n_phrases: int
    n_stories: int
    encoder: str
    variant: str
    regions: str
    phrases: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the value and its provenance as JSON.

        Raises:
            NotWritableError: If the file cannot be written.
        """
        write(path, json.dumps({"format": FORMAT, **asdict(self)}, indent=2) + "\n")


@dataclass(frozen=True)
class ThetaInputs:
    """Sources and variant of scores, to which a theta is bound."""

    encoder: str
    variant: str
    regions: str
    phrases: str


def check_theta(theta: Any, dataset: str | None) -> Any:
    """Validate the setting `theta`: None, a finite number, or the path of a fitted one.

    Returns:
        None, a float, or the path.

    Raises:
        ValueError: If it is none of these, or if `dataset` is set too.
    """
    if not (theta is None or isinstance(theta, (str, os.PathLike))):
        theta = check_float("theta", theta, "a finite number or the file of a fitted theta")
    if theta is not None and dataset is not None:
        raise UsageError.about(
            "dataset", f"cannot be combined with `theta`, got {short_repr(dataset)} and {short_repr(theta)}"
        )
    return theta


def read_theta(path: str | os.PathLike[str]) -> FittedTheta:
    """Read a file written by `FittedTheta.save`.

    Raises:
        ValueError: If the file is not valid.
        FileNotFoundError: If the file does not exist.
    """
    wanted, hint = "a finite number or an existing file of a fitted theta", "`fit_theta(..., path=...)` writes one"
    file = existing_file("theta", path, wanted, hint)
    content = read_json(file, "`theta`")
    fitted = _read_fitted(content) if isinstance(content, Mapping) else None
    if fitted is None:
        raise UsageError.about(
            "theta",
            f"must be a file written by `fit_theta`, got {os.fspath(path)!r} without its fields",
            "fit it again",
        )
    return fitted


def _read_fitted(content: Mapping[str, Any]) -> FittedTheta | None:
    """Return the record, or None if a field is missing or has the wrong type."""
    kinds = {"theta": float, "n_phrases": int, "n_stories": int}
    names = list(FittedTheta.__dataclass_fields__)
    if content.get("format") != FORMAT or not all(type(content.get(n)) is kinds.get(n, str) for n in names):
        return None
    return FittedTheta(**{name: content[name] for name in names}) if math.isfinite(content["theta"]) else None


def read_scenes_theta(inputs: ThetaInputs, scale: float) -> FittedTheta:
    """Return theta of the synthetic scenes for the profile "embedded".

    It is the value fitted with the source of regions in `inputs` if there is one, otherwise the first value. It was
    fitted with the variant "released". For "paper" it is converted to the scale of the cosine similarity, as are the
    published values.
    """
    content = (DATA / "groovist" / "theta_scenes.json").read_text("utf-8")
    records = [_read_fitted(record) for record in json.loads(content)]
    known = {record.regions: record for record in records if record is not None}
    found = known.get(inputs.regions) or next(iter(known.values()))
    if inputs.variant == found.variant:
        return found
    return replace(found, theta=found.theta / scale, variant=inputs.variant)


def look_for_theta(preflight: Preflight, theta: Any, dataset: str | None, *, backbone: Any, profile: str) -> None:
    """Add the requirements of `choose_theta` to a preflight.

    Args:
        preflight: Preflight of the call.
        theta: Setting `theta`.
        dataset: Setting `dataset`.
        backbone: Setting `backbone`, or an encoder. The demo CLIP, which is the default of the profile "embedded",
            comes with a theta.
        profile: Profile of the metric.
    """
    preflight.look_for_file(theta, read_theta)
    name = getattr(backbone, "identity", "")
    is_demo = name.startswith(f"{DEMO_NAME}@") or (profile == "embedded" and not name)
    if theta is None and dataset is None and not is_demo:
        preflight.look(refuse_without_theta)


def refuse_without_theta() -> NoReturn:
    """Raise the error for a missing theta.

    Raises:
        SourcesMissingError: Always.
    """
    raise SourcesMissingError.about(
        "theta",
        f"is missing: pass a number or the file of a fitted theta (`fit_theta`), or with {PUBLISHED_ENCODER} a "
        f"`dataset` from {', '.join(map(repr, PUBLISHED))}",
    )


def choose_theta(
    theta: Any, dataset: str | None, inputs: ThetaInputs, scale: float, *, is_published: bool
) -> tuple[float, str]:
    """Return the theta of a call on its own scale, and its origin.

    Args:
        theta: Setting `theta`: a number on the scale of the variant, a file, or None.
        dataset: Setting `dataset`.
        inputs: Sources and variant of the scores of the call.
        scale: Divisor that converts a theta of the variant "released" to "paper".
        is_published: Whether the encoder is `PUBLISHED_ENCODER`.

    Raises:
        ValueError: If there is no theta, or if it was fitted with another encoder or variant.
    """
    if isinstance(theta, float):
        return theta, "given"
    if theta is not None:
        fitted = read_theta(theta)
        return _check_fitted(fitted, inputs, "fitted")
    if dataset == SCENES or (dataset is None and inputs.encoder.startswith(f"{DEMO_NAME}@")):
        fitted = read_scenes_theta(inputs, scale)
        if fitted.encoder != inputs.encoder:
            named = "`theta` is required" if dataset is None else "`dataset` is not supported"
            raise UsageError(
                f"{named} with this encoder, because the theta of {SCENES} is only valid for {fitted.encoder}, got "
                f"{inputs.encoder}; fit another with `fit_theta` and pass it as `theta`"
            )
        return _check_fitted(fitted, inputs, SCENES)
    if dataset is None:
        refuse_without_theta()
    if not is_published:
        raise UsageError.about(
            "dataset",
            f"is not supported with this encoder, because the theta of {dataset} is only valid for "
            f"{PUBLISHED_ENCODER}, got {inputs.encoder}",
            "fit another with `fit_theta` and pass it as `theta`",
        )
    if inputs.regions != GIVEN:
        warn(
            f"the theta of {dataset} was fitted with the regions of its authors, but this call uses "
            f"{inputs.regions}; pass their regions as `regions`, or fit another theta with `fit_theta`"
        )
    value = PUBLISHED[dataset]
    return (value if inputs.variant == "released" else value / scale), dataset


def _check_fitted(fitted: FittedTheta, inputs: ThetaInputs, origin: str) -> tuple[float, str]:
    """Return a fitted theta, identified by a hash of its record.

    A different encoder or variant raises an error, and a different source of regions or phrases causes a warning.
    """
    for name in ("encoder", "variant"):
        before, now = getattr(fitted, name), getattr(inputs, name)
        if before != now:
            raise UsageError.about(
                "theta", f"must be fitted with the {name} of this call, got {before} and {now}", "fit it again"
            )
    for name in ("regions", "phrases"):
        before, now = getattr(fitted, name), getattr(inputs, name)
        if before != now:
            warn(f"theta was fitted with {name} {before}, but this call uses {now}; fit it again")
    return fitted.theta, f"{origin}-{hashlib.sha256(json.dumps(asdict(fitted)).encode()).hexdigest()[:8]}"


def pool_theta(
    details: Sequence[Mapping[str, Any]], inputs: ThetaInputs, path: str | os.PathLike[str] | None
) -> dict[str, Any]:
    """Compute the mean of s over all phrases of all stories, and write it if a path is set.

    See `Groovist.fit_theta`.

    Returns:
        Fields of `FittedTheta` by name.

    Raises:
        UsageError: If no phrase has a region.
        NotWritableError: If the file cannot be written.
    """
    rows = [row["scaled"] for story in details for row in story["noun_phrases"]]
    scores = [score for score in rows if score is not None]
    if not scores:
        raise UsageError.about("predictions", "must have at least one phrase with a region to fit theta, got none")
    fitted = FittedTheta(math.fsum(scores) / len(scores), len(scores), len(details), **asdict(inputs))
    if path is not None:
        fitted.save(path)
    return asdict(fitted)

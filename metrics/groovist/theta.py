"""Theta: the published values, the file of a fitted one, and which of them a call may use."""

import hashlib
import json
import math
import os
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import replace
from pathlib import Path
from typing import Any
from typing import NoReturn

from vlgauge.encoders.clip.toy import TOY_NAME
from vlgauge.errors import MissingFileError
from vlgauge.errors import UsageError
from vlgauge.files import DATA
from vlgauge.files import read_json
from vlgauge.regions import GIVEN
from vlgauge.settings import finite_number
from vlgauge.settings import shown
from vlgauge.settings import warn
from vlgauge.weights.files import SourcesMissing
from vlgauge.weights.preflight import Preflight
from vlgauge.writing import write

# The mean phrase score of each data set, on the scale of 2.5 times the cosine of OpenAI's CLIP ViT-B/32.
PUBLISHED = {"VIST": 0.6159241924121119, "AESOP": 0.5949957337433985, "VWP": 0.6193549522736276}
PUBLISHED_ENCODER = "OpenAI's CLIP ViT-B/32"
SCENES = "scenes"
DATASETS = (*PUBLISHED, SCENES)
# Settings that change no phrase's score before penalty and weight, with which theta is fitted.
NEUTRAL: dict[str, Any] = {
    **{"theta": 0.0, "dataset": None, "concreteness": None, "concreteness_path": None, "idf": None},
    **{"penalize": False, "normalize": None, "analysis": None, "reverse": False},
}
FORMAT = "groovist-theta-1"


@dataclass(frozen=True)
class FittedTheta:
    """Theta of a data set and how it was made.

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
        """Write the value and its record as JSON."""
        write(path, json.dumps({"format": FORMAT, **asdict(self)}, indent=2) + "\n")


@dataclass(frozen=True)
class MadeWith:
    """What scores are made with, and what a theta holds for."""

    encoder: str
    variant: str
    regions: str
    phrases: str


@dataclass(frozen=True)
class Theta:
    """The value that a call uses, on its own scale, and where it is from."""

    value: float
    origin: str

    def __str__(self) -> str:
        return f"{self.value}@{self.origin}"


def checked_theta(theta: Any, dataset: str | None) -> Any:
    """The setting `theta`, if it is None, a finite number, or the path of a fitted one.

    Raises:
        ValueError: If it is not, or there is a `dataset` beside it.
    """
    if not (theta is None or isinstance(theta, (str, os.PathLike))):
        theta = finite_number("theta", theta, "a finite number or the file of a fitted one")
    if theta is not None and dataset is not None:
        raise UsageError(
            f"`dataset` must be left out where `theta` is given, which takes its place, got "
            f"{shown(dataset)} and {shown(theta)}"
        )
    return theta


def read_theta(path: str | os.PathLike[str]) -> FittedTheta:
    """Read what `FittedTheta.save` wrote.

    Raises:
        ValueError: If it is no such file.
        FileNotFoundError: If there is none.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise MissingFileError(
            f"`theta` must be a finite number or an existing file of a fitted one, got {os.fspath(path)!r}; "
            "`fit_theta(..., path=...)` writes one"
        )
    content = read_json(file, "`theta`")
    fitted = _fitted(content) if isinstance(content, Mapping) else None
    if fitted is None:
        raise UsageError(
            f"`theta` must be a file that `fit_theta` wrote, got {os.fspath(path)!r} without its fields; fit it again"
        )
    return fitted


def _fitted(content: Mapping[str, Any]) -> FittedTheta | None:
    """The record, if all its fields are there and of their type."""
    kinds = {"theta": float, "n_phrases": int, "n_stories": int}
    names = list(FittedTheta.__dataclass_fields__)
    if content.get("format") != FORMAT or not all(type(content.get(n)) is kinds.get(n, str) for n in names):
        return None
    return FittedTheta(**{name: content[name] for name in names}) if math.isfinite(content["theta"]) else None


def scenes_theta(made: MadeWith, scale: float) -> FittedTheta:
    """Theta of the drawn scenes for the embedded profile; that of the given source of regions, if it was fitted.

    Fitted with the variant "released"; for "paper" on the scale of the cosine, as with the published ones.
    """
    content = (DATA / "groovist" / "theta_scenes.json").read_text("utf-8")
    records = [_fitted(record) for record in json.loads(content)]
    known = {record.regions: record for record in records if record is not None}
    found = known.get(made.regions) or next(iter(known.values()))
    if made.variant == found.variant:
        return found
    return replace(found, theta=found.theta / scale, variant=made.variant)


def look_for_theta(preflight: Preflight, theta: Any, dataset: str | None, *, backbone: Any, profile: str) -> None:
    """Have a preflight look for what `chosen_theta` needs.

    Args:
        preflight: Of the call.
        theta: The setting.
        dataset: The setting.
        backbone: The setting, or an encoder; the toy CLIP, which an embedded profile has, brings a theta of its own.
        profile: Profile of the metric.
    """
    preflight.look_for_file(theta, read_theta)
    name = getattr(backbone, "identity", "")
    is_toy = name.startswith(f"{TOY_NAME}@") or (profile == "embedded" and not name)
    if theta is None and dataset is None and not is_toy:
        preflight.look(refuse_without_theta)


def refuse_without_theta() -> NoReturn:
    """SourcesMissing: theta was not given, and no data set that has one."""
    raise SourcesMissing(
        f"`theta` is missing: give a number or the file of a fitted one (`fit_theta`), or with {PUBLISHED_ENCODER} "
        f"a `dataset` of {', '.join(map(repr, PUBLISHED))}"
    )


def chosen_theta(theta: Any, dataset: str | None, made: MadeWith, scale: float, *, is_published: bool) -> Theta:
    """The theta of a call.

    Args:
        theta: The setting: a number on the scale of the variant, a file, or None.
        dataset: The setting.
        made: What the scores of the call are made with.
        scale: What a theta of the variant "released" is divided by for "paper".
        is_published: Whether the encoder is `PUBLISHED_ENCODER`.

    Raises:
        ValueError: If there is none, or it was made with another encoder or variant.
    """
    if isinstance(theta, float):
        return Theta(theta, "given")
    if theta is not None:
        fitted = read_theta(theta)
        return _of_fitted(fitted, made, "fitted")
    if dataset == SCENES or (dataset is None and made.encoder.startswith(f"{TOY_NAME}@")):
        fitted = scenes_theta(made, scale)
        if fitted.encoder != made.encoder:
            named = "`theta` must be given" if dataset is None else "`dataset` must be left out"
            raise UsageError(
                f"{named} with this encoder, because the theta of {SCENES} holds for {fitted.encoder} only, got "
                f"{made.encoder}; fit another with `fit_theta` and give it as `theta`"
            )
        return _of_fitted(fitted, made, SCENES)
    if dataset is None:
        refuse_without_theta()
    if not is_published:
        raise UsageError(
            f"`dataset` must be left out with this encoder, because the theta of {dataset} holds for "
            f"{PUBLISHED_ENCODER} only, got {made.encoder}; fit another with `fit_theta` and give it as `theta`"
        )
    if made.regions != GIVEN:
        warn(
            f"the theta of {dataset} was made with the regions of its authors, this call has {made.regions}; give "
            "theirs as `regions`, or fit another theta with `fit_theta`"
        )
    value = PUBLISHED[dataset]
    return Theta(value if made.variant == "released" else value / scale, dataset)


def _of_fitted(fitted: FittedTheta, made: MadeWith, origin: str) -> Theta:
    """A fitted theta, named by its record; refused if encoder or variant differ, told if another source does."""
    for name in ("encoder", "variant"):
        before, now = getattr(fitted, name), getattr(made, name)
        if before != now:
            raise UsageError(f"`theta` must be fitted with the {name} of this call, got {before} and {now}; fit again")
    for name in ("regions", "phrases"):
        before, now = getattr(fitted, name), getattr(made, name)
        if before != now:
            warn(f"theta was fitted with {name} {before}, this call has {now}; better fit it again")
    return Theta(fitted.theta, f"{origin}-{hashlib.sha256(json.dumps(asdict(fitted)).encode()).hexdigest()[:8]}")


def fitted_theta(
    details: Sequence[Mapping[str, Any]], made: MadeWith, path: str | os.PathLike[str] | None
) -> dict[str, Any]:
    """Mean of s over all phrases of all stories, written if there is a path; see `Groovist.fit_theta`."""
    rows = [row["scaled"] for story in details for row in story["noun_phrases"]]
    scores = [score for score in rows if score is not None]
    if not scores:
        raise UsageError.about(
            "predictions", "must have at least one phrase to fit theta on, got none that has a region"
        )
    fitted = FittedTheta(math.fsum(scores) / len(scores), len(scores), len(details), **asdict(made))
    if path is not None:
        fitted.save(path)
    return asdict(fitted)

"""Theta: the published values, the file of a fitted one, and which of them a call may use."""

import hashlib
import json
import math
import os
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import replace
from pathlib import Path
from typing import Any
from typing import NoReturn

from vlgauge.encoders.clip.toy import TOY_NAME
from vlgauge.files import DATA
from vlgauge.files import read_json
from vlgauge.regions import GIVEN
from vlgauge.settings import finite_number
from vlgauge.settings import setting_names
from vlgauge.weights.files import SourcesMissing
from vlgauge.weights.preflight import Preflight
from vlgauge.writing import write

# The mean phrase score of each data set, on the scale of 2.5 times the cosine of OpenAI's CLIP ViT-B/32.
PUBLISHED = {"VIST": 0.6159241924121119, "AESOP": 0.5949957337433985, "VWP": 0.6193549522736276}
PUBLISHED_ENCODER = "OpenAI's CLIP ViT-B/32"
SCALE = 2.5
SCENES = "scenes"
DATASETS = (*PUBLISHED, SCENES)
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
class Theta:
    """The value that a call uses, on its own scale, and where it is from."""

    value: float
    origin: str

    def __str__(self) -> str:
        return f"{self.value}@{self.origin}"


def checked_theta(theta: Any) -> Any:
    """The setting `theta`, if it is None, a finite number, or the path of a fitted one.

    Raises:
        ValueError: If it is not.
    """
    if theta is None or isinstance(theta, (str, os.PathLike)):
        return theta
    return finite_number("theta", theta, "a finite number or the file of a fitted one")


def read_theta(path: str | os.PathLike[str]) -> FittedTheta:
    """Read what `FittedTheta.save` wrote.

    Raises:
        ValueError: If it is no such file.
        FileNotFoundError: If there is none.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise FileNotFoundError(
            f"`theta` must be a finite number or an existing file of a fitted one, got {os.fspath(path)!r}; "
            "`fit_theta(..., path=...)` writes one"
        )
    content = read_json(file, "`theta`")
    fitted = _fitted(content) if isinstance(content, Mapping) else None
    if fitted is None:
        raise ValueError(
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


def scenes_theta(regions: str, variant: str) -> FittedTheta:
    """Theta of the drawn scenes for the embedded profile; that of the given source of regions, if it was fitted.

    Fitted with the variant "released"; for "paper" on the scale of the cosine, as with the published ones.
    """
    content = (DATA / "groovist" / "theta_scenes.json").read_text("utf-8")
    records = [_fitted(record) for record in json.loads(content)]
    known = {record.regions: record for record in records if record is not None}
    found = known.get(regions) or next(iter(known.values()))
    return found if variant == found.variant else replace(found, theta=found.theta / SCALE, variant=variant)


def look_for_theta(preflight: Preflight, metric: Any, has_features: bool) -> None:
    """Have a preflight look for what `chosen_theta` needs."""
    preflight.look_for_file(metric.theta, read_theta)
    name = getattr(metric.backbone, "identity", "")
    toy = not has_features and (name.startswith(f"{TOY_NAME}@") or (metric.profile == "embedded" and not name))
    if metric.theta is None and metric.dataset is None and not toy:
        preflight.look(refuse_without_theta)


def refuse_without_theta() -> NoReturn:
    """SourcesMissing: theta was not given, and no data set that has one."""
    raise SourcesMissing(
        f"`theta` is missing: give a number or the file of a fitted one (`fit_theta`), or with {PUBLISHED_ENCODER} "
        f"a `dataset` of {', '.join(map(repr, PUBLISHED))}"
    )


def chosen_theta(metric: Any, is_published_encoder: bool) -> Theta:
    """The theta of a call.

    Args:
        metric: The metric: its settings `theta` (a number on the scale of the variant, a file, or None), `dataset` and
            `variant`, and `made_with`, the sources of the call.
        is_published_encoder: Whether the encoder is `PUBLISHED_ENCODER`.

    Raises:
        ValueError: If there is none, or it was made with another encoder or variant.
    """
    theta, dataset = metric.theta, metric.dataset
    encoder = metric.made_with["encoder"]
    if dataset is None and encoder.startswith(f"{TOY_NAME}@"):
        dataset = SCENES
    if isinstance(theta, float):
        return Theta(theta, "given")
    if theta is not None or dataset == SCENES:
        shipped = theta is None
        fitted = scenes_theta(metric.made_with["regions"], metric.variant) if shipped else read_theta(theta)
        if shipped and fitted.encoder != encoder:
            named = "`theta` must be given" if metric.dataset is None else "`dataset` must be left out"
            raise ValueError(
                f"{named} with this encoder, because the theta of {SCENES} holds for {fitted.encoder} only, got "
                f"{encoder}; fit another with `fit_theta` and give it as `theta`"
            )
        _check_fitted(fitted, metric)
        digest = hashlib.sha256(json.dumps(asdict(fitted)).encode()).hexdigest()[:8]
        return Theta(fitted.theta, f"{dataset if theta is None else 'fitted'}-{digest}")
    if dataset is None:
        refuse_without_theta()
    if not is_published_encoder:
        raise ValueError(
            f"`dataset` must be left out with this encoder, because the theta of {dataset} holds for "
            f"{PUBLISHED_ENCODER} only, got {encoder}; fit another with `fit_theta` and give it as `theta`"
        )
    regions = metric.made_with["regions"]
    if regions != GIVEN:
        warnings.warn(
            f"the theta of {dataset} was made with the regions of its authors, this call has {regions}; give theirs as "
            "`regions`, or fit another theta with `fit_theta`",
            stacklevel=6,
        )
    value = PUBLISHED[dataset]
    return Theta(value if metric.variant == "released" else value / SCALE, dataset)


def fitted_theta(metric: Any, data: Mapping[str, Any], path: str | os.PathLike[str] | None) -> dict[str, Any]:
    """Fit theta with the settings of a metric, and write it if there is a path; see `Groovist.fit_theta`."""
    neutral = {"theta": 0.0, "dataset": None, "concreteness": None, "concreteness_path": None, "idf": None}
    neutral |= {"penalize": False, "normalize": None, "analysis": None, "reverse": False}
    settings = {name: getattr(metric, name) for name in setting_names(type(metric))}
    scorer = type(metric)(keep_in_memory=True, **settings | neutral)
    result = scorer.compute(**data, return_details=True)
    rows = [[p["scaled"] for p in story["noun_phrases"]] for story in result[f"{metric.name}_details"]]
    scores = [score for row in rows for score in row if score is not None]
    if not scores:
        raise ValueError("`predictions` must have at least one phrase to fit theta on, got none that has a region")
    fitted = FittedTheta(
        theta=math.fsum(scores) / len(scores),
        n_phrases=len(scores),
        n_stories=len(rows),
        encoder=scorer.made_with["encoder"],
        variant=metric.variant,
        regions=scorer.made_with["regions"],
        phrases=scorer.made_with["phrases"],
    )
    if path is not None:
        fitted.save(path)
    return asdict(fitted)


def _check_fitted(fitted: FittedTheta, metric: Any) -> None:
    """Refuse a theta of another encoder or variant; warn of another source of regions or phrases."""
    now = {**metric.made_with, "variant": metric.variant}
    for name in ("encoder", "variant"):
        made = getattr(fitted, name)
        if made != now[name]:
            raise ValueError(
                f"`theta` must be fitted with the {name} of this call, got {made} and {now[name]}; fit again"
            )
    for name in ("regions", "phrases"):
        made = getattr(fitted, name)
        if made != now[name]:
            warnings.warn(
                f"theta was fitted with {name} {made}, this call has {now[name]}; better fit it again", stacklevel=7
            )

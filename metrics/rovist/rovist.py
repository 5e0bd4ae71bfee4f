"""RoViST: how well grounded, coherent and free of repetition is a visual story?"""

import hashlib
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

import evaluate

from vlgauge import base  # From: "vlgauge[rovist] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge import catalog  # From: "vlgauge[rovist] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge import errors  # From: "vlgauge[rovist] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.settings import shown  # From: "vlgauge[rovist] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.weights import preflight  # From: "vlgauge[rovist] @ git+https://github.com/vlgauge/vlgauge@v0.1.0"

_DESCRIPTION = """\
RoViST is the sum of three scores of a visual story: visual grounding (RoViST-VG), coherence (RoViST-C) and
non-redundancy (RoViST-NR). Higher is better; it reads the story and its images, no reference.
"""

_INPUTS = """
Args:
    predictions: list of stories, each a string or a list of sentences (one form in a call).
    images: list of the images of each story, in any form: path, bytes, PIL image or uint8 array.
    regions: regions of each image of each story, see rovist_vg; optional.
    nouns, features: nouns of each story and given features, see rovist_vg; optional.
    return_details: whether to add the three parts of every story, and the details of each part.

Returns:
    rovist: mean of the scores, higher is better.
    rovist_scores: one score per story, NaN where one of the three parts is.
    rovist_undefined: number of those.
    rovist_signature: how the numbers were made; those of the parts are beside it.
    rovist_vg, rovist_c, rovist_nr: the same four keys of each part.

Examples:
    >>> import evaluate
    >>> from vlgauge import scenes
    >>> rovist = evaluate.load("vlgauge/rovist", profile="embedded")
    >>> story = scenes.stories(1, seed=0, split="test")[0]
    >>> result = rovist.compute(predictions=[story.sentences], images=[story.images()])
    >>> parts = [result[name] for name in ("rovist_vg", "rovist_c", "rovist_nr")]
    >>> print(abs(result["rovist"] - sum(parts)) < 1e-12)
    True
"""

PARTS = ("vg", "c", "nr")


def overall(vg: float, c: float, nr: float) -> float:
    """RoViST of a story (Wang et al., 2022, section 6.2): S_VG + C + NR; NaN if one of them is."""
    return vg + c + nr


def checked_part(name: str, settings: Any) -> dict[str, Any]:
    """The setting of a part, if it is a dictionary of its settings."""
    if settings is None:
        return {}
    if not isinstance(settings, Mapping) or not all(isinstance(key, str) for key in settings):
        raise errors.UsageError.about(name, f"must be a dictionary of settings of rovist_{name}, got {shown(settings)}")
    for key in settings:
        if key in ("path", "config_name"):
            raise errors.UsageTypeError(f"`{key}` is no setting of rovist_{name}, which `{name}` has the settings of")
    if name == "vg" and "scale" in settings:
        raise errors.UsageError.about("vg", "must leave `scale` out, which `scale_vg` decides")
    return dict(settings)


def loaded_part(name: str, settings: Mapping[str, Any]) -> Any:
    """The metric of a part, from the same installation as the package."""
    # By its own module, as `evaluate.load` is another function while the examples of this script are tested.
    with told_where_to_set(name, errors.UsageError):
        return evaluate.loading.load(str(catalog.metric_folder(f"rovist_{name}")), **settings)


@contextmanager
def told_where_to_set(name: str, kind: type[errors.UsageError]) -> Iterator[None]:
    """Say in an error of a part, which names a setting, that rovist takes it in the dictionary of that part."""
    try:
        yield
    except kind as error:
        # A more special error may be made in another way.
        if type(error) is not kind:
            raise
        raise error.with_message(f"{error}; {where_to_set(name)}") from error


def where_to_set(name: str) -> str:
    """How a setting of a part is given to rovist."""
    return f"in rovist this is a setting of the part `{name}`, given as {name}={{...}}"


class Rovist(base.StoryImageMetric):
    """Sum of visual grounding, coherence and non-redundancy of a story."""

    about = (_DESCRIPTION, _INPUTS)
    papers = ("https://aclanthology.org/2022.findings-naacl.206",)
    undefined_hint = base.NEEDS_SENTENCES
    source_settings = PARTS  # which have signatures of their own
    columns = (base.Story("predictions"), base.Images("images", optional=True))

    def __init__(
        self,
        *args: Any,
        vg: Mapping[str, Any] | None = None,
        c: Mapping[str, Any] | None = None,
        nr: Mapping[str, Any] | None = None,
        scale_vg: bool = False,
        device: str = "auto",
        **host: Any,
    ) -> None:
        self.vg, self.c, self.nr = checked_part("vg", vg), checked_part("c", c), checked_part("nr", nr)
        self.scale_vg = base.true_or_false("scale_vg", scale_vg)
        self.device = device
        super().__init__(*args, **host)
        common: dict[str, Any] = {"keep_in_memory": True, "profile": self.profile, "progress": self.progress}
        on = {"device": self.device}
        chosen = {"vg": on | self.vg | {"scale": self.scale_vg}, "c": on | self.c, "nr": self.nr}
        self.parts = {name: loaded_part(name, common | own) for name, own in chosen.items()}

    def look_for_sources(self, images: Any, nouns: Any, regions: Any, features: Any) -> preflight.Preflight:
        """What the parts need that is not given with a call; nothing is parsed, loaded or fetched."""
        found = preflight.Preflight(self.name, "rovist")
        found.join(self.parts["vg"].look_for_sources(images, nouns, regions, features), where_to_set("vg"))
        for name in ("c", "nr"):
            found.join(self.parts[name].look_for_sources(), where_to_set(name))
        return found

    def _compute(
        self,
        predictions: list[str | list[str]],
        images: Sequence[Any] | None = None,
        regions: Sequence[Any] | None = None,
        nouns: Sequence[Any] | None = None,
        features: Sequence[Any] | None = None,
        return_details: bool = False,
    ) -> dict[str, Any]:
        data = {"regions": regions, "nouns": nouns, "features": features}
        given = {name: value for name, value in data.items() if value is not None}
        self.look_for_sources(images, nouns, regions, features).end()
        extra: dict[str, Any] = {}
        for name, part in self.parts.items():
            # Not `compute`, which would store the rows again.
            own = {"images": images, **given} if name == "vg" else {}
            with told_where_to_set(name, errors.WeightsNotFoundError):
                result = part._compute(predictions=predictions, **own, return_details=return_details)
            extra |= {key.removeprefix("rovist_"): value for key, value in result.items()}
        columns = [extra[f"{name}_scores"] for name in PARTS]
        scores = [overall(*values) for values in zip(*columns, strict=True)]
        # Made only if they are asked for.
        details = (dict(zip(("score", *PARTS), row, strict=True)) for row in zip(scores, *columns, strict=True))
        signatures = "\n".join(extra[f"{name}_signature"] for name in PARTS)
        made_with = {"parts": hashlib.sha256(signatures.encode()).hexdigest()[:8]}
        return self.result(scores, made_with=made_with, details=list(details) if return_details else None, **extra)

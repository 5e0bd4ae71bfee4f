"""RoViST: How grounded, coherent and non-redundant is a story?"""

import hashlib
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

import evaluate

from vlgauge.checkpoints import preflight  # From: "vlgauge[rovist]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core import catalog  # From: "vlgauge[rovist]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core import errors  # From: "vlgauge[rovist]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.validation import short_repr  # From: "vlgauge[rovist]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import base  # From: "vlgauge[rovist]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

PARTS = ("vg", "c", "nr")


def overall(vg: float, c: float, nr: float) -> float:
    """Compute RoViST of a story (Wang et al., 2022, Section 6.2): S_VG + C + NR. NaN if one of them is NaN."""
    return vg + c + nr


def check_part(name: str, settings: Any) -> dict[str, Any]:
    """Validate the settings of a component.

    Returns:
        The settings. Empty if `settings` is None.

    Raises:
        ValueError: If `settings` is not a dictionary with string keys, or contains ``scale``.
        TypeError: If it contains ``path`` or ``config_name``.
    """
    if settings is None:
        return {}
    if not isinstance(settings, Mapping) or not all(isinstance(key, str) for key in settings):
        raise errors.UsageError.about(
            name, f"must be a dictionary of settings of rovist_{name}, got {short_repr(settings)}"
        )
    for key in settings:
        if key in ("path", "config_name"):
            raise errors.UsageTypeError.about(
                key, f"is not a setting of rovist_{name}", f"`{name}` may only contain its settings"
            )
    if name == "vg" and "scale" in settings:
        raise errors.UsageError.about("vg", "must not contain `scale`; use `scale_vg`")
    return dict(settings)


def load_part(name: str, settings: Mapping[str, Any]) -> Any:
    """Load the metric of a component from the same installation as the package, and return it.

    Raises:
        UsageError: If a setting is invalid. The message names the component.
    """
    # Not `evaluate.load`, which is replaced while the examples of this script are tested.
    with add_setting_hint(name, errors.UsageError):
        return evaluate.loading.load(str(catalog.metric_folder(f"rovist_{name}")), **settings)


@contextmanager
def add_setting_hint(name: str, kind: type[errors.UsageError]) -> Iterator[None]:
    """Add to errors of a component that its settings belong in the dictionary of this component.

    Raises:
        UsageError: If the code inside the context raises it. The message gets the hint.
    """
    try:
        yield
    except kind as error:
        # A subclass may have another constructor.
        if type(error) is not kind:
            raise
        raise error.with_message(f"{error}; {setting_hint(name)}") from error


def setting_hint(name: str) -> str:
    """Return a hint on how to pass a setting of a component to rovist."""
    return f"in rovist this is a setting of the part `{name}`, passed as {name}={{...}}"


class Rovist(base.Metric):
    """Sum of visual grounding, coherence and non-redundancy of a story.

    RoViST is the sum of three scores of a visual story: visual grounding (RoViST-VG), coherence (RoViST-C) and
    non-redundancy (RoViST-NR). Higher is better. RoViST uses the story and its images, and no references.

    Args:
        predictions: Stories, each a string or a list of sentences (one form per call).
        images: Images of each story, one list per story (path, bytes, PIL image or uint8 array).
        regions: Optional regions of each image of each story. See rovist_vg.
        nouns, features: Optional nouns of each story and features to use instead of an encoder. See rovist_vg.
        return_details: Whether to add the three component scores of each story, and the details of each component.

    Returns:
        rovist: Mean of the scores, higher is better.
        rovist_scores: One score per story. NaN if one of the three component scores is NaN.
        rovist_undefined: Number of undefined scores.
        rovist_signature: Settings and versions that the scores depend on. The components have separate signatures.
        rovist_vg, rovist_c, rovist_nr: Components, with the same four keys each.

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

    papers = ("https://aclanthology.org/2022.findings-naacl.206",)
    undefined_hint = base.NEEDS_SENTENCES
    source_settings = PARTS  # these have separate signatures
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
        self.vg, self.c, self.nr = check_part("vg", vg), check_part("c", c), check_part("nr", nr)
        self.scale_vg = base.check_bool("scale_vg", scale_vg)
        self.device = device
        super().__init__(*args, **host)
        common: dict[str, Any] = {"keep_in_memory": True, "profile": self.profile, "progress": self.progress}
        on = {"device": self.device}
        chosen = {"vg": on | self.vg | {"scale": self.scale_vg}, "c": on | self.c, "nr": self.nr}
        self.parts = {name: load_part(name, common | own) for name, own in chosen.items()}

    def languages_of_call(self, given: Collection[str] = ()) -> tuple[str, ...]:
        """Return the languages of the components. See `base.Metric.languages_of_call`."""
        of_vg: tuple[str, ...] = self.parts["vg"].languages_of_call(given)
        of_c: tuple[str, ...] = self.parts["c"].languages_of_call()
        return of_c if catalog.ANY_LANGUAGE in of_vg else of_vg

    def check_sources(self, images: Any, nouns: Any, regions: Any, features: Any) -> preflight.Preflight:
        """Check the sources that the components require and the call does not pass, without loading anything.

        Returns:
            A `Preflight` with the problems found so far, which its method `end` raises.
        """
        found = preflight.Preflight(self.name)
        found.join(self.parts["vg"].check_sources(images, nouns, regions, features), setting_hint("vg"))
        for name in ("c", "nr"):
            found.join(self.parts[name].check_sources(), setting_hint(name))
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
        self.check_sources(images, nouns, regions, features).end()
        extra: dict[str, Any] = {}
        for name, part in self.parts.items():
            # Not `compute`, which would store the rows again.
            own = {"images": images, **given} if name == "vg" else {}
            with add_setting_hint(name, errors.WeightsNotFoundError):
                result = part._compute(predictions=predictions, **own, return_details=return_details)
            extra |= {key.removeprefix("rovist_"): value for key, value in result.items()}
        columns = [extra[f"{name}_scores"] for name in PARTS]
        scores = [overall(*values) for values in zip(*columns, strict=True)]
        # Computed only if they are requested.
        details = (dict(zip(("score", *PARTS), row, strict=True)) for row in zip(scores, *columns, strict=True))
        signatures = "\n".join(extra[f"{name}_signature"] for name in PARTS)
        signature_extra = {"parts": hashlib.sha256(signatures.encode()).hexdigest()[:8]}
        return self.result(
            scores, signature_extra=signature_extra, details=list(details) if return_details else None, **extra
        )

"""Which models a profile uses: what the published ones need, and what of it is not on this machine."""

from vlgauge.catalog import metric_title
from vlgauge.errors import UsageError
from vlgauge.prefetching.assets import ByHand, HubFiles, assets_of, described, title
from vlgauge.prefetching.fetching import is_there
from vlgauge.signatures import TOY_NUMBERS

PROFILES = {
    "Embedded: nothing is fetched": "embedded",
    "Published: the models of the papers": "paper",
}

TOY = f"**Toy:** a small model trained on drawn scenes stands for the published one. Its numbers {TOY_NUMBERS}."


def needs_no_model(name: str) -> bool:
    """Whether both profiles of a metric give the same scores."""
    return not assets_of(name)


def profile_note(name: str, profile: str) -> str:
    """What a visitor should know of a metric under a profile, as Markdown."""
    assets = assets_of(name)
    if not assets:
        return f"{metric_title(name)} needs no model: both profiles give the same scores."
    if profile == "embedded":
        # A model of our own is in the place of a published one.
        has_toy = any(isinstance(one, HubFiles) or (isinstance(one, ByHand) and one.has_toy) for one in assets)
        return TOY if has_toy else "The published model comes with the installed packages."
    words = {True: "there", False: "**missing**", None: "to be given by you, from Python or the command line"}
    lines = [f"- {words[is_there(asset)]}: {title(asset)}" for asset in assets]
    told = f"The published models. Nothing is fetched from here; `vlgauge prefetch {name}` does."
    return "\n".join([told, "", *lines])


def models_in_words(name: str, profile: str) -> str:
    """What of the published models is not here, in a sentence; empty where nothing is missing."""
    missing = [asset for asset in assets_of(name) if is_there(asset) is False] if profile != "embedded" else []
    if not missing:
        return ""
    return f"{len(missing)} of the published models are not on this machine; run: vlgauge prefetch {name}"


def refuse_missing(name: str) -> None:
    """Refuse to score by published models that would first have to be fetched."""
    missing = [described(asset) for asset in assets_of(name) if is_there(asset) is False]
    if missing:
        raise UsageError(
            f"`profile` must be 'embedded' until the published models of {name} are here, {len(missing)} missing: "
            f"{'; '.join(missing)}; run: vlgauge prefetch {name}"
        )

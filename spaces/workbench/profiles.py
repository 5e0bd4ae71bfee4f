"""Models of the profiles: published models that a metric requires, and those not available on this machine."""

from vlgauge.api.prefetch.assets import HubFiles, ManualDownload, assets_of, describe_asset, title
from vlgauge.api.prefetch.fetching import is_there
from vlgauge.core.catalog import metric_title
from vlgauge.core.errors import UsageError
from vlgauge.core.signatures import DEMO_NUMBERS

PROFILES = {
    "Embedded: no downloads": "embedded",
    "Published: models of the papers": "paper",
}

DEMO_NOTE = (
    "**Demo model:** a small model trained on synthetic scenes replaces the published model. "
    f"Its scores {DEMO_NUMBERS}."
)


def needs_no_model(name: str) -> bool:
    """Return whether both profiles of a metric give the same scores."""
    return not assets_of(name)


def profile_note(name: str, profile: str) -> str:
    """Return a note about the models of a metric under a profile, as Markdown."""
    assets = assets_of(name)
    if not assets:
        return f"{metric_title(name)} needs no model: both profiles give the same scores."
    if profile == "embedded":
        # A demo model replaces a published model.
        replaced = any(
            isinstance(one, HubFiles) or (isinstance(one, ManualDownload) and one.has_demo) for one in assets
        )
        return DEMO_NOTE if replaced else "The published model comes with the installed packages."
    words = {True: "there", False: "**missing**", None: "to be passed from Python or the command line"}
    lines = [f"- {words[is_there(asset)]}: {title(asset)}" for asset in assets]
    note = f"The published models. This page downloads nothing; run `vlgauge prefetch {name}`."
    return "\n".join([note, "", *lines])


def models_in_words(name: str, profile: str) -> str:
    """Return a sentence about missing published models. Empty if none is missing."""
    missing = [asset for asset in assets_of(name) if is_there(asset) is False] if profile != "embedded" else []
    if not missing:
        return ""
    return f"{len(missing)} of the published models are not on this machine; run: vlgauge prefetch {name}"


def check_models_present(name: str) -> None:
    """Check that all published models of a metric are available without a download.

    Raises:
        UsageError: If one is missing.
    """
    missing = [describe_asset(asset) for asset in assets_of(name) if is_there(asset) is False]
    if missing:
        raise UsageError.about(
            "profile",
            f"must be 'embedded' until the published models of {name} are on this machine, {len(missing)} missing: "
            f"{'; '.join(missing)}",
            f"run: vlgauge prefetch {name}",
        )

"""Tables of the external files that each metric requires, for its card and for the documentation."""

import re

from vlgauge.api.prefetch.assets import Asset, HubFiles, ManualDownload, about, assets_of
from vlgauge.checkpoints.files import cache_folder
from vlgauge.core.catalog import metric_names

CACHE = "~/.cache/vlgauge"
HEADING = "### Files from Outside"
_HEAD = "| file | from | size | license | known by | fetched by |\n|---|---|---|---|---|---|\n"
_SECTION = re.compile(rf"^{HEADING}\n.*?(?=^#)", re.MULTILINE | re.DOTALL)
# A new section is inserted before this heading.
_NEXT = "### Inputs\n"
_NOTHING = "None: the metric needs no model.\n"
_BY_HAND = "https://vlgauge.github.io/vlgauge/howto/manual_downloads.html"


def section(name: str) -> str:
    """Return the section of a card with the files required by the default settings, under the profile "paper"."""
    assets = list_assets(name)
    if not assets:
        return f"{HEADING}\n\n{_NOTHING}\n"
    said = (
        'The default settings need these files; `profile="embedded"` needs none.\n'
        f'The first call, or `vlgauge prefetch {name}`, fetches those marked "vlgauge".\n'
        f"[Manual downloads]({_BY_HAND}) has commits,\n"
        "digests, and instructions for the others.\n"
    )
    rows = "".join(f"| {cells} |\n" for cells in map(_of_card, assets))
    return f"{HEADING}\n\n{said}\n| file | size | license | fetched by |\n|---|---|---|---|\n{rows}\n"


def with_section(card: str, name: str) -> str:
    """Return a card with its section inserted or updated."""
    if _SECTION.search(card):
        return _SECTION.sub(lambda _: section(name), card, count=1)
    return card.replace(_NEXT, section(name) + _NEXT, 1)


def table() -> str:
    """Return a table of the assets of all metrics without duplicates, with the metrics that require each asset."""
    users: dict[str, list[str]] = {}
    nothing = []
    for name in metric_names():
        assets = list_assets(name)
        if not assets:
            nothing.append(name)
        for asset in assets:
            users.setdefault(_row(asset), []).append(name)
    rows = "".join(f"| {', '.join(names)} {row}" for row, names in users.items())
    head = "".join(f"| {first} {line}\n" for first, line in zip(("metric", "---"), _HEAD.splitlines(), strict=True))
    return f"{head}{rows}\nNothing from outside: {', '.join(nothing)}.\n"


def list_assets(name: str) -> list[Asset]:
    """Return the assets of a metric, regardless of installed packages."""
    return [(isinstance(asset, ManualDownload) and asset.instead_of) or asset for asset in assets_of(name)]


def _row(asset: Asset) -> str:
    facts = about(asset)
    what = ", ".join(f"`{name}`" for name in asset.patterns) if isinstance(asset, HubFiles) else asset.what
    # Show the default folder instead of the cache folder of this machine.
    who = (
        f"you: {asset.steps.replace(str(cache_folder()), CACHE)}"
        if isinstance(asset, ManualDownload)
        else "`vlgauge prefetch`, or the first call"
    )
    return f"| {what} | [its page]({facts.origin}) | {facts.size} | {facts.licence} | {facts.known_by} | {who} |\n"


def _of_card(asset: Asset) -> str:
    """Return the cells of a card, which are a subset of the cells in the documentation."""
    facts = about(asset)
    what = asset.repository if isinstance(asset, HubFiles) else asset.what
    by = "you" if isinstance(asset, ManualDownload) else "vlgauge"
    return f"[{what}]({facts.origin}) | {facts.size} | {facts.licence} | {by}"

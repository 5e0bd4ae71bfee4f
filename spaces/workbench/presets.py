"""Known caption datasets that the picker offers, with split and columns. None was downloaded for this list."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vlgauge.api.row_sources.guessing import KINDS
from vlgauge.api.row_sources.source import Kind
from vlgauge.families.base.columns import Column
from vlgauge.inputs.datasets.kinds import MEDIA_COLUMNS
from vlgauge_workbench.picker import TEMPLATES


@dataclass(frozen=True)
class Preset:
    """Split and columns that are selected when a dataset is opened, if they exist.

    Attributes:
        source: Task of lmms_eval 0.7.3 (PyPI) with ID and split. The column names are from its utils.py.
        split: Name of the split.
        columns: Names of the columns by vlgauge column.
    """

    source: str
    split: str
    columns: Mapping[str, Sequence[str]]


PRESETS = {
    identity: Preset(**one) for identity, one in json.loads((TEMPLATES / "presets.json").read_text("utf-8")).items()
}


def preset_split(identity: str, splits: Sequence[str]) -> str:
    """Return the split that is selected first."""
    preset = PRESETS.get(identity)
    return preset.split if preset is not None and preset.split in splits else splits[0]


def preset_titles(identity: str, columns: Sequence[Column], kinds: Mapping[str, Kind]) -> dict[str, list[str]]:
    """Return the preset column names that a metric can use.

    Returns:
        Column names by vlgauge column. Empty for an unknown dataset, or if the columns differ from the preset.
    """
    preset = PRESETS.get(identity)
    found = {}
    for name, titles in ({} if preset is None else preset.columns).items():
        own = next((column for column in columns if column.name == name), None)
        # The type of image bytes may be unknown.
        fitting = KINDS[type(own)] + (("other",) if name in MEDIA_COLUMNS else ()) if own else ("text", "other")
        if all(kinds.get(title) in fitting for title in titles) and (own or name == "id"):
            found[name] = list(titles)
    return found

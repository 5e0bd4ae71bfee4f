"""Known caption datasets that the picker offers, with split and columns. None was downloaded for this list."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vlgauge.api.row_sources.guessing import KINDS
from vlgauge.api.row_sources.source import Kind
from vlgauge.families.base.columns import Column
from vlgauge.inputs.tables.files import PICTURED


@dataclass(frozen=True)
class Preset:
    """Split and columns that are selected when a dataset is opened, if they exist."""

    split: str
    columns: Mapping[str, Sequence[str]]


# ID and split are from a task of lmms_eval 0.7.3 (PyPI), column names from its utils.py.
PRESETS = {
    # tasks/detailcaps: detailcaps.yaml. Long captions by three models, the first of which is used as the prediction.
    "foundation-multimodal-models/DetailCaps-4870": Preset(
        "test",
        {
            "predictions": ["GT_Caption_GPT4O"],
            "references": ["GT_Caption_GPT4V", "GT_Caption_Gemini15Pro"],
            "images": ["binary"],
            "id": ["image"],
        },
    ),
    # tasks/coco_cap: coco2017_cap_val.yaml. Human captions, as in the next two.
    "lmms-lab-encoder/COCO-Caption2017": Preset(
        "val", {"references": ["answer"], "images": ["image"], "id": ["question_id"]}
    ),
    # tasks/flickr30k: flickr30k_test.yaml.
    "lmms-lab-encoder/flickr30k": Preset("test", {"references": ["caption"], "images": ["image"], "id": ["img_id"]}),
    # tasks/nocaps: nocaps_val.yaml.
    "lmms-lab-encoder/NoCaps": Preset(
        "validation", {"references": ["annotations_captions"], "images": ["image"], "id": ["image_id"]}
    ),
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
        fitting = KINDS[type(own)] + (("other",) if name in PICTURED else ()) if own else ("text", "other")
        if all(kinds.get(title) in fitting for title in titles) and (own or name == "id"):
            found[name] = list(titles)
    return found

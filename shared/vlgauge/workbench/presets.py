"""Known data sets of captions, as examples in the picker: their split and columns; nothing of them was fetched."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vlgauge.base.columns import Column
from vlgauge.media.tables import PICTURED
from vlgauge.row_sources.guessing import KINDS
from vlgauge.row_sources.source import Kind


@dataclass(frozen=True)
class Preset:
    """What is chosen when the data set is opened, as far as it is there."""

    split: str
    columns: Mapping[str, Sequence[str]]


# The id and split are those of a task of lmms_eval 0.7.3 (PyPI), the titles what its utils.py reads of a row.
PRESETS = {
    # tasks/detailcaps: detailcaps.yaml; long captions by three models, of which the first stands as a prediction.
    "foundation-multimodal-models/DetailCaps-4870": Preset(
        "test",
        {
            "predictions": ["GT_Caption_GPT4O"],
            "references": ["GT_Caption_GPT4V", "GT_Caption_Gemini15Pro"],
            "images": ["binary"],
            "id": ["image"],
        },
    ),
    # tasks/coco_cap: coco2017_cap_val.yaml; captions by people, as in the next two.
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
    """The split that is chosen first."""
    preset = PRESETS.get(identity)
    return preset.split if preset is not None and preset.split in splits else splits[0]


def preset_titles(identity: str, columns: Sequence[Column], kinds: Mapping[str, Kind]) -> dict[str, list[str]]:
    """Titles of the columns that a metric can take of them; nothing of a data set that is not known or has others."""
    preset = PRESETS.get(identity)
    found = {}
    for name, titles in ({} if preset is None else preset.columns).items():
        own = next((column for column in columns if column.name == name), None)
        # Bytes of a picture may have no type that tells so.
        fitting = KINDS[type(own)] + (("other",) if name in PICTURED else ()) if own else ("text", "other")
        if all(kinds.get(title) in fitting for title in titles) and (own or name == "id"):
            found[name] = list(titles)
    return found

"""Section of every card that shows how to call a metric from the Hub."""

from pathlib import Path
from typing import Any

import vlgauge
from vlgauge.families.base import Column, Metric
from vlgauge.families.base.columns import Captions, Images, References, Story
from vlgauge.families.base.components import COMPONENTS, Components
from vlgauge.families.base.metric import REPOSITORY
from vlgauge.families.base.video_columns import OneImage, Videos
from vlgauge_workbench.about import python_call, shell_call
from vlgauge_workbench.snippets import render_code

TEMPLATES = Path(__file__).parent / "templates"
STORY = ["We went to the fair.", "The lights came on at dusk.", "A band played until ten."]
MODEL = ["A dog is playing.", "A dog plays with a ball.", "A brown dog runs."]
PEOPLE = ["A dog leaps for a ball.", "Brown dog playing on the grass.", "Dog mid-jump."]
IMAGE = "picture.png"


def example_row(metric: Metric) -> dict[str, Any]:
    """Return the cells of an example row by column name, without optional columns. Images are file names."""
    row = {
        column.name: cell
        for column in metric.columns
        if (cell := _cell(column)) is not None and not isinstance(column, Videos)
    }
    # References that are optional next to another input, such as the objects of an image, are required without it.
    alone = len(row) == 1 and any(isinstance(column, References) for column in metric.columns)
    return row | ({"references": PEOPLE} if alone else {})


def _cell(column: Column) -> Any:
    if isinstance(column, Components):
        return dict(zip(COMPONENTS, (0.8, 0.6, 0.9) if column.name == "predictions" else (1.1, 0.7, 0.9), strict=True))
    if isinstance(column, Story):
        return STORY
    if isinstance(column, References):
        return None if column.optional else PEOPLE
    if isinstance(column, Captions):
        return MODEL if column.name == "predictions" else PEOPLE
    if isinstance(column, OneImage):
        return IMAGE
    if isinstance(column, Images):
        return [IMAGE] * len(STORY)
    return "romantic" if column.name == "styles" else PEOPLE[0].lower()


def section(name: str, kind: str, org: str, ref: str) -> str:
    """Return the section on loading and calling a metric from elsewhere."""
    if name == "workbench":
        return _by_api("rovist_nr", "workbench", org)
    asked = name if kind == "gradio" else "workbench"
    return f"{_by_evaluate(name, org, ref)}\n{_by_api(name, asked, org)}"


def _by_evaluate(name: str, org: str, ref: str) -> str:
    metric = vlgauge.load(name)
    # The demo configuration requires no files of the user.
    values = {"is_demo": "demo" in metric.configs, "has_models": bool(metric.needs), "columns": example_row(metric)}
    release = {"repository": REPOSITORY, "version": vlgauge.__version__, "ref": ref}
    return render_code("by_evaluate.md", TEMPLATES, name=name, org=org, **values, **release)


def _by_api(name: str, space: str, org: str) -> str:
    call, address = {"metric": name, **example_row(vlgauge.load(name))}, f"https://{host_of(org, space)}/"
    if isinstance(call.get("images"), str):
        # The page accepts one or several images in the same format.
        call["images"] = [call["images"]]
    python, shell = python_call(call, address), shell_call(call, address)
    return render_code("by_api.md", TEMPLATES, org=org, space=space, python=python, shell=shell) + "\n"


def host_of(org: str, space: str) -> str:
    """Return the host name of the page of a Space."""
    return f"{org}-{space}.hf.space".replace("_", "-").lower()

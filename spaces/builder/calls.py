"""Section of every card that shows how to call a metric from the Hub."""

import json
from typing import Any

import vlgauge
from vlgauge.families.base import Column, Metric
from vlgauge.families.base.columns import Captions, Images, References, Story
from vlgauge.families.base.components import COMPONENTS, Components
from vlgauge.families.base.metric import REPOSITORY
from vlgauge.families.base.video_columns import OneImage, Videos
from vlgauge_workbench.about import python_call, shell_call

STORY = ["We went to the fair.", "The lights came on at dusk.", "A band played until ten."]
MODEL = ["A dog is playing.", "A dog plays with a ball.", "A brown dog runs."]
PEOPLE = ["A dog leaps for a ball.", "Brown dog playing on the grass.", "Dog mid-jump."]
PICTURE = "picture.png"


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
        return PICTURE
    if isinstance(column, Images):
        return [PICTURE] * len(STORY)
    return "romantic" if column.name == "styles" else PEOPLE[0].lower()


def section(name: str, kind: str, org: str, ref: str) -> str:
    """Return the section on loading and calling a metric from elsewhere."""
    if name == "workbench":
        return _by_api("rovist_nr", "workbench", org)
    asked = name if kind == "gradio" else "workbench"
    return f"{_by_evaluate(name, org, ref)}\n{_by_api(name, asked, org)}"


def _by_evaluate(name: str, org: str, ref: str) -> str:
    metric = vlgauge.load(name)
    config = _config(metric)
    settings = [json.dumps(f"{org}/{name}"), *([json.dumps(config)] if config else [])]
    settings.append(f'revision="release-{vlgauge.__version__}"')
    columns = {column: [cell] for column, cell in example_row(metric).items()}
    lines = [f"metric = evaluate.load({', '.join(settings)})", *_call("result = metric.compute", columns)]
    hint = f"vlgauge[{name.replace('_', '-')}] @ git+{REPOSITORY}@{ref}"
    needs = ""
    if metric.needs:
        needs = (
            f"\n`vlgauge prefetch {name}` downloads the published weights and lists manual downloads.\n"
            'With `profile="embedded"` nothing is downloaded; CLIP, grounding heads and the model of sentence order\n'
            "are demo models then.\n"
        )
    return f"""### From the Hub

`evaluate` fetches the script from this Space, and the package that it imports is to be installed:

```sh
pip install "{hint}"
```

```python
import evaluate

{chr(10).join(lines)}
print(result["{name}"], result["{name}_signature"])
```
{needs}"""


def _by_api(name: str, space: str, org: str) -> str:
    call, address = {"metric": name, **example_row(vlgauge.load(name))}, f"https://{host_of(org, space)}/"
    if isinstance(call.get("images"), str):
        # The page accepts one or several images in the same format.
        call["images"] = [call["images"]]
    return f"""### Through the API

[The page](https://huggingface.co/spaces/{org}/{space}) scores one example per call, with the profile `embedded` unless
`profile` is "paper". The response contains the score (null if undefined) and the signature.

```python
{python_call(call, address)}
```

```sh
{shell_call(call, address)}
```
"""


def host_of(org: str, space: str) -> str:
    """Return the host name of the page of a Space."""
    return f"{org}-{space}.hf.space".replace("_", "-").lower()


def _config(metric: Metric) -> str:
    """Return the configuration that requires no user files, or "" if the default one requires none."""
    return "demo" if "demo" in metric.configs else ""


def _call(start: str, keywords: dict[str, Any]) -> list[str]:
    """Return the lines of a call, with one keyword argument per line."""
    return [
        f"{start}(",
        *(f"    {key}={json.dumps(value, ensure_ascii=False)}," for key, value in keywords.items()),
        ")",
    ]

"""Tab with the models of a metric, how to cite it, and how to call it from a program."""

import json
import platform
import shlex
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.route_utils import get_root_url

from vlgauge.core.catalog import citation, metric_facts, metric_title
from vlgauge.families.base import Metric
from vlgauge.version import __version__
from vlgauge_workbench.inputs import FILES, examples_for
from vlgauge_workbench.picker import TEMPLATES
from vlgauge_workbench.profiles import PROFILES, profile_note
from vlgauge_workbench.scoring import first_config
from vlgauge_workbench.snippets import render_code

_PACKAGES = ("evaluate", "datasets", "numpy", "torch", "transformers", "open_clip_torch", "spacy", "pillow", "gradio")


def add_tab() -> list[Any]:
    """Add the components of the tab.

    Returns:
        Components that change with the metric, in the order of `updates`.
    """
    gr.Markdown((TEMPLATES / "about.md").read_text("utf-8"))
    facts = gr.Markdown()
    gr.Markdown("## From a program")
    python = _code("Python: pip install gradio_client")
    shell = _code("Shell: curl, in two steps")
    dataset = _code("Python: rows of a dataset of the Hub")
    gr.Markdown("## How to cite\nCite the paper of the metric, and state the signature of the score.")
    paper = _code("BibTeX")
    licenses = (TEMPLATES / "licenses.md").read_text("utf-8")
    gr.Markdown(f"{licenses}\n## Versions\n{_versions()}")
    return [facts, python, shell, dataset, paper]


def _code(label: str) -> Any:
    """Create a component for text to copy, without syntax colors, because those of Gradio have too little contrast."""
    return gr.Code(label=label, language=None, interactive=False, show_line_numbers=False)


def updates(loaded: Metric, request: gr.Request) -> list[Any]:
    """Return the new values of the components for a metric, with the URL that the user opened.

    Returns:
        Texts: languages and profiles, Python call, shell call, dataset call, and BibTeX.
    """
    name, call, address = loaded.name, call_of(loaded), address_of(request)
    facts = [f"### {metric_title(name)}, {one}\n{profile_note(name, one)}" for one in PROFILES.values()]
    return [
        "\n\n".join([f"Languages: {metric_facts(name).supported_languages}.", *facts]),
        python_call(call, address),
        shell_call(call, address),
        dataset_call(loaded, address),
        citation(name).rstrip(),
    ]


def address_of(request: gr.Request) -> str:
    """Return the URL that the user opened, also behind a proxy."""
    asked = request.request
    return (
        f"{get_root_url(asked, asked.url.path, asked.scope.get('root_path'))}/" if asked else "http://127.0.0.1:7860/"
    )


def call_of(loaded: Metric) -> dict[str, Any]:
    """Return the arguments of a `/score` call for a bundled example, with files by name."""
    example = examples_for(loaded)[0].cells
    call: dict[str, Any] = {"metric": loaded.name}
    if loaded.configs and loaded.config_name != first_config(loaded.name):
        call["config"] = loaded.config_name
    names = [column.name for column in loaded.columns]
    call |= {name: example[name] for name in names if name not in FILES and example.get(name) is not None}
    if "images" in names:
        images = example["images"]
        call["images"] = [Path(path).name for path in ([images] if isinstance(images, str) else images)]
    if "videos" in names:
        call["videos"] = Path(example["videos"]).name
    return call


def python_call(call: dict[str, Any], address: str) -> str:
    """Return Python code for a `/score` call."""
    texts, files = _split(call)
    return render_code("score_call.py", texts=texts, files=files, address=address)


def _split(call: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the texts and the files of a call, by argument."""
    files = {name: call[name] for name in FILES if name in call}
    return {name: cell for name, cell in call.items() if name not in files}, files


def dataset_call(loaded: Metric, address: str) -> str:
    """Return Python code for a `/score_dataset` call, with placeholders for the dataset and its columns."""
    titles: dict[str, Any] = {name: name.removesuffix("s") for name in ("images", "videos", "styles")}
    titles |= {"predictions": "caption", "references": ["reference"]}
    names = [column.name for column in loaded.columns]
    config = loaded.config_name if loaded.configs and loaded.config_name != first_config(loaded.name) else ""
    words: dict[str, Any] = {"metric": loaded.name, "dataset": "OWNER/NAME", "split": "test"}
    words |= {name: titles[name] for name in names} | ({"config": config} if config else {}) | {"rows": 100}
    return render_code("dataset_call.py", words=words, address=address)


def shell_call(call: dict[str, Any], address: str) -> str:
    """Return curl commands for a `/score` call.

    The first request returns an event ID, the second one the result of this event.
    """
    texts, files = _split(call)
    body = shlex.quote(json.dumps(texts, ensure_ascii=False, indent=1))
    if files:
        # The double-quoted part is a command. Base64 has no characters that JSON or a shell would interpret.
        parts = [f'"{name}": {_encode_files(cell)}' for name, cell in files.items()]
        body = f"{body[:-3]},\n {', '.join(parts)}\n}}'"
    # Use a pipe, because an image can be longer than the maximum length of a command-line argument.
    return render_code("score_call.sh", body=body, files=files, where=f"{address}gradio_api/call/v2/score")


def _encode_files(cell: str | list[str]) -> str:
    if isinstance(cell, list):
        return f"[{', '.join(map(_encode_files, cell))}]"
    return f"\"'\"$(base64 < {shlex.quote(cell)} | tr -d '\\n')\"'\""


def _versions() -> str:
    found = {"vlgauge": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return ", ".join(f"{package} {number}" for package, number in found.items())

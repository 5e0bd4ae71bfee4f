"""Card of a Space: the card of the metric, with the front matter and URLs that the Hub requires."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from vlgauge.api.prefetch.assets import HubFiles

PYTHON = "3.12"
LONGEST_DESCRIPTION = 60
COLOURS = ("red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray")
# Keys of the front matter for the Hub, in the order of a card. Only the package uses the others.
KEYS = (
    *("title", "emoji", "colorFrom", "colorTo", "sdk", "sdk_version", "python_version", "app_file", "pinned"),
    *("short_description", "thumbnail", "suggested_hardware", "tags", "models", "preload_from_hub", "datasets"),
    *("license", "hf_oauth", "hf_oauth_scopes"),
)
_TEXTS = ("title", "emoji", "colorFrom", "colorTo", "short_description", "license")
_LISTS = ("tags", "models", "datasets")
_FRONT = re.compile(r"---\n(.*?\n)---\n", re.DOTALL)


class Card(NamedTuple):
    """Card with its front matter and its text."""

    facts: dict[str, Any]
    body: str


def read_card(path: Path) -> Card:
    """Read a card with front matter that the Hub accepts.

    Raises:
        ValueError: If the front matter is missing or not valid. All errors are named.
    """
    text = path.read_text("utf-8")
    found = _FRONT.match(text)
    if found is None:
        raise ValueError(f"{path} must begin with front matter between two lines of ---; see the other cards")
    try:
        facts = yaml.safe_load(found[1])
    except yaml.YAMLError as error:
        raise ValueError(f"the front matter of {path} must be YAML: {' '.join(str(error).split())}") from error
    if not isinstance(facts, dict):
        raise ValueError(f"the front matter of {path} must be keys with values, got {type(facts).__name__}")
    if wrong := _faults(facts):
        raise ValueError(f"the front matter of {path} must have {'; '.join(wrong)}")
    return Card(facts, text[found.end() :])


def _faults(facts: Mapping[str, Any]) -> list[str]:
    """Return the errors of the front matter."""
    given: dict[str, Any] = {name: facts.get(name) for name in (*_TEXTS, *_LISTS)}
    wrong = [f"`{name}`, a string" for name in _TEXTS if not isinstance(given[name], str) or not given[name]]
    wrong += [
        f"`{name}`, a list of strings"
        for name in _LISTS
        if not isinstance(given[name], list) or not all(isinstance(one, str) for one in given[name])
    ]
    if wrong:
        return wrong
    wrong = [
        f"`{name}`, one of {', '.join(COLOURS)}, got {given[name]!r}"
        for name in ("colorFrom", "colorTo")
        if given[name] not in COLOURS
    ]
    if (n := len(given["short_description"])) > LONGEST_DESCRIPTION:
        wrong.append(f"`short_description` of at most {LONGEST_DESCRIPTION} characters, got {n}")
    # A variation selector may follow the emoji.
    if given["emoji"].isascii() or len(given["emoji"]) > 2:
        wrong.append(f"`emoji`, a single one, got {given['emoji']!r}")
    if given["tags"][:2] != ["evaluate", "metric"]:
        wrong.append(f"`tags` that begin with evaluate and metric, got {given['tags']}")
    return wrong


def gradio_version(constraints: Path) -> str:
    """Return the version of Gradio that the tests last passed with.

    Raises:
        ValueError: If the file does not contain it.
    """
    found = re.search(r"^gradio==(\S+)$", constraints.read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError(f"{constraints} must have a line gradio==VERSION, got none")
    return found[1]


def stamp_facts(
    facts: Mapping[str, Any], files: Sequence[HubFiles], gradio: str | None, thumbnail: str
) -> dict[str, Any]:
    """Return the front matter of a Space, by key."""
    models = list(dict.fromkeys([*(one.repository for one in files), *facts["models"]]))
    own = {**facts, "models": models, "pinned": False, "thumbnail": thumbnail}
    for name in ("sdk_version", "python_version"):
        own.pop(name, None)
    if gradio is None:
        own |= {"sdk": "static", "app_file": "index.html"}
    else:
        own |= {"sdk": "gradio", "sdk_version": gradio, "python_version": PYTHON, "app_file": "app.py"}
        own |= {"suggested_hardware": "cpu-basic"}
        # The page is the workbench, in which users may sign in to score their gated datasets.
        own |= {"hf_oauth": True, "hf_oauth_scopes": ["gated-repos"]}
        if preloaded := preloads(files):
            own["preload_from_hub"] = preloaded
    return {key: own[key] for key in KEYS if key in own}


def preloads(files: Sequence[HubFiles]) -> list[str]:
    """Return the files that the Hub adds to a Space at build time, if their names and commit are known."""
    known = [one for one in files if one.revision and not any("*" in name for name in one.patterns)]
    return [f"{one.repository} {','.join(one.patterns)} {one.revision}" for one in known]


def text_of(card: Card) -> str:
    """Return the content of the card file."""
    front = yaml.safe_dump(card.facts, sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{front}---\n{card.body}"


def adapt_to_hub(body: str, names: Sequence[str], org: str) -> str:
    """Convert the text of a card for the Hub: relative links become URLs, and calls use `evaluate.load`."""
    metric = "|".join(map(re.escape, names))
    body = re.sub(rf'vlgauge\.load\("({metric})"', rf'evaluate.load("{org}/\1"', body)
    body = re.sub(r"^import vlgauge$", "import evaluate", body, flags=re.MULTILINE)
    body = re.sub(rf'  # evaluate\.load\("\w+/(?:{metric})"\) from the Hub$', "", body, flags=re.MULTILINE)
    return re.sub(rf"\]\(\.\./({metric})/README\.md\)", rf"](https://huggingface.co/spaces/{org}/\1)", body)


def insert_section(body: str, section: str) -> str:
    """Insert a section after the usage of the metric and before its inputs.

    Raises:
        ValueError: If neither "Inputs" nor "Limitations and Bias" is a heading.
    """
    place = re.search(r"^### Inputs$", body, re.MULTILINE) or re.search(r"^## Limitations", body, re.MULTILINE)
    if place is None:
        raise ValueError("a card must have the heading Inputs or Limitations and Bias")
    return f"{body[: place.start()]}{section}\n{body[place.start() :]}"

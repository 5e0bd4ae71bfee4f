"""The card of a Space: that of the metric, with the front matter and the addresses that the Hub wants."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from vlgauge.prefetching.assets import HubFiles

PYTHON = "3.12"
LONGEST_DESCRIPTION = 60
COLOURS = ("red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray")
# In the order of a card.
KEYS = (
    *("title", "emoji", "colorFrom", "colorTo", "sdk", "sdk_version", "python_version", "app_file", "pinned"),
    *(
        "short_description",
        "thumbnail",
        "suggested_hardware",
        "tags",
        "models",
        "preload_from_hub",
        "datasets",
        "license",
    ),
    *("hf_oauth", "hf_oauth_scopes"),
)
# Facts that the package reads and the Hub has no use for.
OF_THE_PACKAGE = ("group", "input", "compares_sets", "paper", "extra", "scores")
_TEXTS = ("title", "emoji", "colorFrom", "colorTo", "short_description", "license")
_LISTS = ("tags", "models", "datasets")
_FRONT = re.compile(r"---\n(.*?\n)---\n", re.DOTALL)


class Card(NamedTuple):
    """A card: what its front matter says, and its text."""

    facts: dict[str, Any]
    body: str


def read_card(path: Path) -> Card:
    """A card whose front matter the Hub will take.

    Raises:
        ValueError: If it has none, or not what it must have; all of it is named.
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
    """What the front matter lacks."""
    given: dict[str, Any] = {name: facts.get(name) for name in (*_TEXTS, *_LISTS)}
    wrong = [f"`{name}`, a text" for name in _TEXTS if not isinstance(given[name], str) or not given[name]]
    wrong += [
        f"`{name}`, a list of texts"
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
    # An emoji may have a mark of variation behind it.
    if given["emoji"].isascii() or len(given["emoji"]) > 2:
        wrong.append(f"`emoji`, one of them, got {given['emoji']!r}")
    if given["tags"][:2] != ["evaluate", "metric"]:
        wrong.append(f"`tags` that begin with evaluate and metric, got {given['tags']}")
    return wrong


def gradio_version(constraints: Path) -> str:
    """The version of Gradio that the tests last passed with.

    Raises:
        ValueError: If the file does not say.
    """
    found = re.search(r"^gradio==(\S+)$", constraints.read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError(f"{constraints} must have a line gradio==VERSION, got none")
    return found[1]


def stamped(facts: Mapping[str, Any], files: Sequence[HubFiles], gradio: str | None, thumbnail: str) -> dict[str, Any]:
    """The front matter of a Space."""
    models = list(dict.fromkeys([*(one.repository for one in files), *facts["models"]]))
    own = {**facts, "models": models, "pinned": False, "thumbnail": thumbnail}
    for name in ("sdk_version", "python_version", *OF_THE_PACKAGE):
        own.pop(name, None)
    if gradio is None:
        own |= {"sdk": "static", "app_file": "index.html"}
    else:
        own |= {"sdk": "gradio", "sdk_version": gradio, "python_version": PYTHON, "app_file": "app.py"}
        own |= {"suggested_hardware": "cpu-basic"}
        # The page is the workbench, in which visitors may sign in to score gated data sets of theirs.
        own |= {"hf_oauth": True, "hf_oauth_scopes": ["gated-repos"]}
        if preloaded := preloads(files):
            own["preload_from_hub"] = preloaded
    return {key: own[key] for key in sorted(own, key=lambda key: KEYS.index(key) if key in KEYS else len(KEYS))}


def preloads(files: Sequence[HubFiles]) -> list[str]:
    """What the Hub puts beside a Space when it builds it: files whose names and commit are known."""
    known = [one for one in files if one.revision and not any("*" in name for name in one.patterns)]
    return [f"{one.repository} {','.join(one.patterns)} {one.revision}" for one in known]


def text_of(card: Card) -> str:
    """The file of a card."""
    front = yaml.safe_dump(card.facts, sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{front}---\n{card.body}"


def on_the_hub(body: str, names: Sequence[str], org: str) -> str:
    """The text of a card that stands by itself: what it names beside it in the repository becomes an address."""
    metric = "|".join(map(re.escape, names))
    body = re.sub(rf'vlgauge\.load\("({metric})"', rf'evaluate.load("{org}/\1"', body)
    body = re.sub(r"^import vlgauge$", "import evaluate", body, flags=re.MULTILINE)
    body = re.sub(rf'  # evaluate\.load\("\w+/(?:{metric})"\) from the Hub$', "", body, flags=re.MULTILINE)
    return re.sub(rf"\]\(\.\./({metric})/README\.md\)", rf"](https://huggingface.co/spaces/{org}/\1)", body)


def with_section(body: str, section: str) -> str:
    """The text of a card with one more section, behind how the metric is used and before what it reads.

    Raises:
        ValueError: If neither "Inputs" nor "Limitations and Bias" is a heading.
    """
    place = re.search(r"^### Inputs$", body, re.MULTILINE) or re.search(r"^## Limitations", body, re.MULTILINE)
    if place is None:
        raise ValueError("a card must have the heading Inputs or Limitations and Bias, got neither")
    return f"{body[: place.start()]}{section}\n{body[place.start() :]}"

"""Python code, shell commands and links that reproduce the result of one example."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from pprint import pformat
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from vlgauge.explain import explanation_of
from vlgauge.explain.examples import IMAGES, Example
from vlgauge_workbench.inputs import FILES, text_of
from vlgauge_workbench.picker import TEMPLATES
from vlgauge_workbench.scoring import first_config, same_file

LONGEST_LINK = 3000  # characters
OWN_FILES = "# Replace the file names by your own, relative to the current folder."
_MARK = "\0"  # placeholder of the folder of bundled images, a character that JSON escapes


@dataclass(frozen=True)
class Snippet:
    """Text to copy, or the reason why there is none."""

    text: str = ""
    why_not: str = ""

    @property
    def copied(self) -> Markup:
        """Text, escaped for HTML, with its line breaks."""
        return escape(self.text)


def snippets(name: str, profile: str, config: str, cells: Mapping[str, Any], tokenizer: str = "") -> dict[str, Snippet]:
    """Return snippets that score the example, by interface."""
    given = {column: cell for column, cell in cells.items() if cell is not None}
    return {
        "Python": Snippet(_python(name, profile, config, given, tokenizer)),
        "CLI": _shell(name, profile, config, given, tokenizer),
    }


def format_code(value: Any, indent: int = 0) -> str:
    """Return a value as Python code whose lines after the first are indented."""
    return pformat(value, width=100, sort_dicts=False).replace("\n", "\n" + " " * indent)


@cache
def _environment(folder: Path) -> Environment:
    found = Environment(
        loader=FileSystemLoader(folder), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    found.filters.update(repr=repr, quote=shlex.quote, pretty=format_code)
    found.filters["json"] = lambda value: json.dumps(value, ensure_ascii=False)
    found.globals["own_files"] = OWN_FILES
    return found


def render_code(template: str, folder: Path = TEMPLATES, /, **values: Any) -> str:
    """Render a template of code or Markdown, in which nothing is escaped."""
    return _environment(folder).get_template(f"{template}.jinja").render(values)


def _is_ours(path: str) -> bool:
    return Path(path).parent == IMAGES


def _files(cell: Any) -> list[str]:
    return [cell] if isinstance(cell, str) else list(cell)


def _python(name: str, profile: str, config: str, cells: Mapping[str, Any], tokenizer: str) -> str:
    written = {
        column: _write_paths(cell) if column in FILES else format_code(cell, indent=len(column) + 6)
        for column, cell in cells.items()
    }
    values = {"name": name, "profile": profile, "config": config, "tokenizer": tokenizer, "cells": written}
    has_settings = bool(explanation_of(name).settings_alone())
    return f"{render_code('score.py', has_settings=has_settings, **values, **_sources(cells))}\n"


def _sources(cells: Mapping[str, Any]) -> dict[str, bool]:
    """Return whether the cells have bundled files, and files of the user."""
    ours = [_is_ours(path) for column in FILES if column in cells for path in _files(cells[column])]
    return {"has_bundled": any(ours), "has_own": not all(ours)}


def _write_paths(cell: Any) -> str:
    """Return file paths as Python code: bundled files by package folder, others by name."""
    names = [f"str(IMAGES / {Path(one).name!r})" if _is_ours(one) else repr(Path(one).name) for one in _files(cell)]
    return names[0] if isinstance(cell, str) else f"[{', '.join(names)}]"


def _shell(name: str, profile: str, config: str, cells: Mapping[str, Any], tokenizer: str) -> Snippet:
    if explanation_of(name).settings_alone():
        return Snippet(why_not="A file cannot contain document frequencies, which one row lacks: copy as Python")
    row = dict(cells)
    for column in FILES:
        if column in row:
            paths = [f"{_MARK}/{Path(one).name}" if _is_ours(one) else Path(one).name for one in _files(row[column])]
            row[column] = paths[0] if isinstance(row[column], str) else paths
    quoted = shlex.quote(json.dumps(row, ensure_ascii=False)).replace(json.dumps(_MARK)[1:-1], "'\"$images\"'")
    values = {"name": name, "profile": profile, "config": config, "tokenizer": tokenizer, "row": quoted}
    return Snippet(f"{render_code('score.sh', **values, **_sources(cells))}\n")


def link(name: str, profile: str, config: str, cells: Mapping[str, Any], example: Example, tokenizer: str = "") -> str:
    """Return the URL query that shows the example. Empty if it is too long or the example has uploaded files."""
    words = {"metric": name}
    if config and config != first_config(name):
        words["config"] = config
    if profile != "embedded":
        words["profile"] = profile
    if tokenizer:
        words["tokenizer"] = tokenizer
    words["example"] = example.shows
    for column, cell in cells.items():
        base = example.cells.get(column)
        if column in FILES:
            if cell is not None and not same_file(cell, base):
                return ""
        elif text_of(cell) != text_of(base):
            words[column] = text_of(cell)
    query = f"?{urlencode(words)}"
    return query if len(query) <= LONGEST_LINK else ""

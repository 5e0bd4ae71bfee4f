"""Python code, shell commands and links that reproduce the result of one example."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from pprint import pformat
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup, escape

from vlgauge.explain import explanation_of
from vlgauge.explain.examples import PICTURES, Example
from vlgauge_workbench.inputs import FILES, text_of
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


def _is_ours(path: str) -> bool:
    return Path(path).parent == PICTURES


def _files(cell: Any) -> list[str]:
    return [cell] if isinstance(cell, str) else list(cell)


def _python(name: str, profile: str, config: str, cells: Mapping[str, Any], tokenizer: str) -> str:
    setting = f"tokenizer={tokenizer!r}" if tokenizer else ""
    words = [repr(name), *([repr(config)] if config else []), f"profile={profile!r}", *filter(None, [setting])]
    imports = ["import vlgauge"]
    if explanation_of(name).settings_alone():
        imports.append("from vlgauge.explain import explanation_of")
        words.append(f"**explanation_of({name!r}).settings_alone({setting})")
    files = [path for column in FILES if column in cells for path in _files(cells[column])]
    if any(map(_is_ours, files)):
        imports.append("from vlgauge.explain.examples import PICTURES")
    notes = [OWN_FILES] if not all(map(_is_ours, files)) else []
    lines = []
    for column, cell in cells.items():
        text = _write_paths(cell) if column in FILES else pformat(cell, width=100, sort_dicts=False)
        lines.append(f"    {column}=[{text}],".replace("\n", "\n" + " " * (6 + len(column))))
    load = f"metric = vlgauge.load({', '.join(words)})"
    return "\n".join(
        [*imports, "", *notes, load, "result = metric.compute(", *lines, ")", f"print(result[{name!r}])", ""]
    )


def _write_paths(cell: Any) -> str:
    """Return file paths as Python code: bundled files by package folder, others by name."""
    names = [f"str(PICTURES / {Path(one).name!r})" if _is_ours(one) else repr(Path(one).name) for one in _files(cell)]
    return names[0] if isinstance(cell, str) else f"[{', '.join(names)}]"


def _shell(name: str, profile: str, config: str, cells: Mapping[str, Any], tokenizer: str) -> Snippet:
    if explanation_of(name).settings_alone():
        return Snippet(why_not="A file cannot contain document frequencies, which one row lacks: copy as Python")
    row: dict[str, Any] = {}
    ours = False
    for column, cell in cells.items():
        if column not in FILES:
            row[column] = cell
            continue
        ours = ours or any(map(_is_ours, _files(cell)))
        paths = [f"{_MARK}/{Path(one).name}" if _is_ours(one) else Path(one).name for one in _files(cell)]
        row[column] = paths[0] if isinstance(cell, str) else paths
    quoted = shlex.quote(json.dumps(row, ensure_ascii=False)).replace(json.dumps(_MARK)[1:-1], "'\"$pictures\"'")
    lines = [OWN_FILES] if any(column in FILES for column in cells) and not ours else []
    if ours:
        lines.append('pictures=$(python -c "from vlgauge.explain.examples import PICTURES; print(PICTURES)")')
    chosen = (f" --config {config}" if config else "") + (f" --set tokenizer={tokenizer}" if tokenizer else "")
    lines.append(f"printf '%s\\n' {quoted} > row.jsonl")
    return Snippet("\n".join([*lines, f"vlgauge score {name} row.jsonl{chosen} --profile {profile} --quiet", ""]))


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

"""API pages of the metrics (class, settings of `vlgauge.load`, inputs and result), and the constants of packages."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

import vlgauge
from vlgauge.core.catalog import metric_facts, metric_folder, metric_names, metric_title
from vlgauge.core.validation import setting_parameters
from vlgauge.families.base import Metric

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# Settings of several metrics, for which a card has only a summary.
SHARED = {
    "profile": 'source of the models: `"paper"`, the published weights, or `"embedded"`, the bundled models; `None`: '
    'the environment variable `VLGAUGE_PROFILE`, or `"paper"`',
    "progress": "whether to show a progress bar, or a function that receives the progress; `None`: only in a terminal",
    "sandbox": "whether worker processes decode images, videos and tables, see "
    "[Untrusted files](/howto/untrusted_files.md)",
    "device": 'device of the models: `"auto"`, `"cpu"`, `"cuda"`, ...',
    "dtype": "precision of the models",
    "batch_size": "number of inputs that a model processes at once",
    "chunk_bytes": "maximum memory of a block of distances, in bytes",
    "feature_cache": "folder for storing features",
}
# Packages that export constants of their modules, which autodoc leaves out.
CONSTANTS = ("vlgauge.stats", "vlgauge.scenes", "vlgauge.families.base", "vlgauge.models.judges")
_SETTINGS = re.compile(r"^\| setting \| default .*\n\|[-| ]+\n((?:\|.*\n)+)", re.MULTILINE)
_CELLS = re.compile(r"(?<!\\)\|")
_SECTION = re.compile(r"^(Args|Returns|Examples):\n((?:    .*\n|\n)+)", re.MULTILINE)
_OTHER_CARD = re.compile(r"\]\(\.\./(\w+)/README\.md\)")
_CARD_LINK = re.compile(r"\]\((#[\w-]+)\)")


def metric_class(name: str) -> type[Metric]:
    """Return the class of a metric."""
    return type(vlgauge.load(name, keep_in_memory=True, progress=False))


def object_name(name: str) -> str:
    """Return the name of the class of a metric in the API reference."""
    return f"vlgauge_metrics.{name}.{name}.{metric_class(name).__name__}"


def defaults(cls: type[Metric]) -> dict[str, Any]:
    """Return the settings of a metric class with their default values."""
    return {name: parameter.default for name, parameter in setting_parameters(cls).items()}


def documented(name: str) -> dict[str, tuple[tuple[str, ...], str]]:
    """Return the row of each setting in the card of a metric: the settings of the row, and their description."""
    found = {}
    table = _SETTINGS.search((metric_folder(name) / "README.md").read_text("utf-8"))
    own, other = rf"](/metrics/{name}.md\1)", r"](/metrics/\1.md)"
    for line in table[1].splitlines() if table else ():
        cell, _, text = (cell.strip() for cell in _CELLS.split(line)[1:-1])
        names = tuple(re.findall(r"`(\w+)`", cell))
        text = _OTHER_CARD.sub(other, _CARD_LINK.sub(own, text))
        found |= {setting: (names, text) for setting in names}
    return found


def settings(name: str) -> str:
    """Return the table of the settings of a metric.

    Raises:
        KeyError: If neither the card nor `SHARED` describes a setting.
    """
    values, cards = defaults(metric_class(name)), documented(name)
    rows: dict[tuple[str, ...], str] = {}
    for setting in values:
        names, text = cards.get(setting, ((), ""))
        if len(names) != 1 and setting in SHARED:
            names, text = (setting,), SHARED[setting]
        elif len(names) > 1:
            names = tuple(one for one in names if one not in SHARED)
        if not text:
            raise KeyError(f"the card of {name} must describe the setting {setting}")
        rows[names] = text
    return _table(
        [([f"`{one}`" for one in names], [f"`{values[one]!r}`" for one in names], rows[names]) for names in rows]
    )


def shared_settings() -> str:
    """Return the table of the settings of all metrics."""
    return _table([([f"`{name}`"], [f"`{value!r}`"], SHARED[name]) for name, value in defaults(Metric).items()]) + "\n"


def _table(rows: list[tuple[list[str], list[str], str]]) -> str:
    lines = [f"| {', '.join(names)} | {', '.join(values)} | {text} |" for names, values, text in rows]
    return "\n".join(["| setting | default | description |", "|---|---|---|", *lines])


def entries(text: str) -> str:
    """Return the entries of a section of a docstring as a list."""
    found = []
    for entry in re.split(r"^    (?=\w)", text, flags=re.MULTILINE)[1:]:
        keys, _, about = " ".join(entry.split()).partition(": ")
        plain = re.fullmatch(r"[\w, ]+", keys) and " of " not in keys
        keys = re.sub(r"\b\w+\b" if plain else r"\b\w*_\w*", r"`\g<0>`", keys)
        found.append(f"* {keys}: {about}")
    return "\n".join(found)


def page(name: str) -> str:
    """Return the API page of a metric."""
    cls = metric_class(name)
    sections = dict(_SECTION.findall(cls.split_docstring()[1] + "\n"))
    example = "\n".join(line.removeprefix("    ") for line in sections["Examples"].strip("\n").splitlines())
    configs = ", ".join(f'`"{config}"`' for config in cls.configs)
    parts = [
        f"# {name}",
        f'`vlgauge.load("{name}")` returns an instance of this class. The [card of {metric_title(name)}]'
        f"(/metrics/{name}.md) describes the method, its limitations and published results.\n\n"
        f"[Languages](/howto/languages.md): {metric_facts(name).supported_languages}.",
        f"```{{eval-rst}}\n.. autoclass:: {object_name(name)}\n   :show-inheritance:\n```",
        "## Settings",
        f'Keyword arguments of `vlgauge.load("{name}")`, in addition to the '
        "[arguments of `evaluate`](/api/load.md#settings-of-all-metrics)."
        + (f" Values of `config_name`: {configs}." if configs else ""),
        settings(name),
        "## Inputs of compute",
        entries(sections["Args"]),
        "## Result",
        entries(sections["Returns"]),
        "## Example",
        f"```pycon\n{example}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def index() -> str:
    """Return the list of the metric classes with their settings."""
    lines = ["| metric | class | settings |", "|---|---|---|"]
    for name in metric_names():
        cls = metric_class(name)
        own = ", ".join(f"`{setting}`" for setting in defaults(cls) if setting not in defaults(Metric))
        lines.append(f"| [{name}]({name}.md) | `{cls.__name__}` | {own} |")
    names = "\n".join(metric_names())
    return (
        "# Metrics\n\nThe class of each metric, and its settings: the keyword arguments of "
        "[`vlgauge.load`](/api/load.md). All metrics also have the settings "
        f"{', '.join(f'`{name}`' for name in defaults(Metric))}.\n\n" + "\n".join(lines) + "\n\n"
        f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    )


def constants(package: str) -> str:
    """Return the constants and type aliases that a package exports, with their docstrings."""
    from sphinx.pycode import ModuleAnalyzer  # not needed by the tests of the other pages

    found = import_module(package)
    modules = [f"{package}.{module.name}" for module in iter_modules(found.__path__)]
    documented = {
        name: lines
        for module in modules
        for (scope, name), lines in ModuleAnalyzer.for_module(module).find_attr_docs().items()
        if not scope
    }
    lines = []
    for name in found.__all__:
        value = getattr(found, name)
        if not (inspect.isclass(value) or inspect.isroutine(value)):
            lines += [f".. py:data:: {name}", f"   :value: {value!r}", ""]
            lines += [f"   {line}" for line in documented.get(name, ())]
    return "\n".join(["```{eval-rst}", f".. py:currentmodule:: {package}", "", *lines, "```", ""])


def pages() -> dict[str, str]:
    """Return all pages by file name."""
    return {f"{name}.md": page(name) for name in metric_names()} | {"index.md": index()}


def describe_class(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Leave inputs and result out of the docstring of a metric class, because its page has sections for them."""
    if name.startswith("vlgauge_metrics."):
        lines[:] = obj.split_docstring()[0].splitlines()


def sign_class(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str, None] | None:
    """Replace the signature of a metric class by all of its settings."""
    if not name.startswith("vlgauge_metrics."):
        return None
    own = ", ".join(f"{setting}={default!r}" for setting, default in defaults(obj).items())
    return f"(config_name=None, *, {own})", None


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("autodoc-process-docstring", describe_class, priority=400)
    app.connect("autodoc-process-signature", sign_class)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

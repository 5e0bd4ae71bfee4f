"""Create the files of a new metric like another one. They load, and their tests name the remaining steps."""

import argparse
import ast
import builtins
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Any

import yaml

import vlgauge
from vlgauge.core.writing import write
from vlgauge.families.base.metric import REPOSITORY

ROOT = Path(__file__).resolve().parents[1]
SKELETON = Path(__file__).parent / "skeleton"
# Methods that a family requires its metrics to implement.
STUBS = {
    "Explanation": ("reason(self, row: int) -> str", "values(self, row: int) -> dict[str, Any]"),
    "GroundedStory": ("note(self, part: Mapping[str, Any], n_parts: int) -> str",),
}
# Attributes that the constructor of a family reads: constants that are expressions, and settings that precede its own.
BEFORE = {
    "grounding.GroundingMetric": """\
    words, unit, source_settings = "noun_phrases", "phrase", ("noun_phrases", "regions")  # TODO

    def __init__(self, *args: Any, noun_phrases: Any = None, **host: Any) -> None:  # TODO
        self.noun_phrases = noun_phrases
        super().__init__(*args, **host)
""",
}
# Constants that are not copied from the other metric.
OWN = ("unsigned", "requires")
# Required content of the sections of a card, by heading. The other sections contain "TODO".
SECTIONS = {
    "Files from Outside": "`make format` writes this section.",
    "Output Values": "TODO * `{name}`: its range, and whether higher is better or lower is better.\n"
    "* `{name}_scores`: one per row; NaN where TODO.",
    "Citation": "```bibtex\n@inproceedings{{TODO,\n  title = {{TODO}}\n}}\n```",
}
# Statements of a template of an explanation that belong to its family.
_SHARED = re.compile(r"^\{% (?:extends|set|include) .*? %\}", re.MULTILINE)
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def main(arguments: Sequence[str] | None = None, *, root: Path = ROOT) -> int:
    """Write the skeleton.

    Returns:
        0, or 2 after an error, which is printed as one line on standard error.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", metavar="NAME", help="such as new_metric: lower case, words joined by _")
    parser.add_argument("--like", metavar="METRIC", required=True, help="a metric that reads the same")
    options = parser.parse_args(arguments)
    try:
        files = skeleton(options.name, options.like, root)
    except ValueError as error:
        sys.stderr.write(f"new_metric: error: {error}\n")
        return 2
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        write(root / path, text)
        print(path)
    print(f"\nNow and after each step: .venv/bin/python -m pytest -x tests/metrics/{options.name}")
    return 0


def skeleton(name: str, like: str, root: Path) -> dict[str, str]:
    """Return the new and the changed files by their paths in the checkout, with their whole content.

    Raises:
        ValueError: If the name is not valid or already exists, or the other metric does not exist.
    """
    known = sorted(path.parent.name for path in root.glob("metrics/*/README.md"))
    if not _NAME.fullmatch(name):
        raise ValueError(f"`NAME` must be lower-case words joined by _, got {name!r}")
    if name in known:
        raise ValueError(f"`NAME` must be new, got {name!r}, which is in metrics/{name}")
    if like not in known:
        raise ValueError(f"`--like` must be one of {', '.join(known)}, got {like!r}")
    words = {"name": name, "like": like, "class_name": name.title().replace("_", ""), "title": name.upper()}
    source, folder = root / "metrics" / like, f"metrics/{name}"
    files = {
        f"{folder}/__init__.py": _fill("package", words),
        f"{folder}/{name}.py": _fill("script", {**words, **_of_script(source / f"{like}.py", name)}),
        f"{folder}/explanation.py": _fill("explanation", {**words, **_of_explanation(source / "explanation.py")}),
        f"{folder}/examples.jsonl": _examples(source / "examples.jsonl"),
        f"{folder}/README.md": _card(source / "README.md", words),
        f"tests/metrics/{name}/test_{name}.py": _fill("tests", words),
        "setup.cfg": _with_extra((root / "setup.cfg").read_text("utf-8"), name, like),
    }
    if (source / "corpus_counts.py").is_file():
        files[f"{folder}/corpus_counts.py"] = _fill("corpus_counts", words)
    for template in sorted(source.glob("*.jinja")):
        files[f"{folder}/{template.name}"] = _page(template)
    return files


def _fill(template: str, words: dict[str, str]) -> str:
    return Template((SKELETON / f"{template}.txt").read_text("utf-8")).substitute(words).rstrip() + "\n"


def _of_script(path: Path, name: str) -> dict[str, str]:
    """Return the base class of a metric, the signature of its scoring method, and the imports of both."""
    tree = ast.parse(path.read_text("utf-8"))
    cls = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.bases][-1]
    methods = {node.name: node for node in cls.body if isinstance(node, ast.FunctionDef)}
    imported = {
        alias.asname or alias.name: node
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and not node.level
        for alias in node.names
    }
    base = ast.unparse(cls.bases[0])
    wanted = [
        ast.unparse(node)
        for node in cls.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_own(node, node.targets[0].id)
    ]
    used = {base.partition(".")[0]: imported[base.partition(".")[0]]}
    compute, more = _scoring(methods.get("_compute"), imported, path.stem)
    used |= more
    extra = name.replace("_", "-")
    hint = f'  # From: "vlgauge[{extra}]@git+{REPOSITORY}@v{vlgauge.__version__}"'
    imports = [f"from {node.module} import {one}" for one, node in used.items()]
    own = sorted(f"{line}{hint}" for line in imports if line.startswith("from vlgauge"))
    others = {line for line in imports if not line.startswith("from vlgauge")}
    others |= {"from typing import Any"} if "Any" in compute or base in BEFORE else set()
    constants = "".join(f"    {line}  # TODO\n" for line in wanted) + BEFORE.get(base, "")
    words = {
        "base": base,
        "constants": constants,
        "library": "".join(f"{line}\n" for line in sorted(others)),
        "imports": "\n".join(own),
    }
    return words | {"compute": compute}


def _scoring(
    found: ast.FunctionDef | None, imported: dict[str, ast.ImportFrom], like: str
) -> tuple[str, dict[str, ast.ImportFrom]]:
    """Return a stub of the scoring method, and the imports of its types."""
    if found is None:
        return f"    # TODO: the family scores; what is its own, as in metrics/{like}\n", {}
    used: dict[str, ast.ImportFrom] = {}
    lines = ["    def _compute(", "        self,"]
    every = found.args.args[1:]
    defaults = [None] * (len(every) - len(found.args.defaults)) + [*found.args.defaults]
    for argument, default in zip(every, defaults, strict=True):
        names = {node.id for node in ast.walk(argument) if isinstance(node, ast.Name)} - {*dir(builtins), "Any"}
        # Types defined in the script or in a module next to it do not exist in the new metric.
        kind = ast.unparse(argument.annotation) if argument.annotation and names <= imported.keys() else "Any"
        used |= {one: imported[one] for one in names if kind != "Any"}
        lines.append(f"        {argument.arg}: {kind}{f' = {ast.unparse(default)}' if default else ''},")
    lines += [
        "    ) -> dict[str, Any]:",
        '        """Score the rows; the card describes the keys."""',
        "        raise NotImplementedError(",
        f'            "TODO: the formula of the paper as a function, called here; see metrics/{like}"',
        "        )",
    ]
    return "\n".join(lines), used


def _is_own(node: ast.Assign, name: str) -> bool:
    """Return whether a class constant is required by the family, and is not in `OWN`.

    Columns that differ from the columns of the family are a constant of its package.
    """
    kind = {"columns": ast.Attribute, "setting_groups": ast.Tuple}.get(name, ast.Constant)
    return name not in OWN and isinstance(node.value, kind)


def _of_explanation(path: Path) -> dict[str, str]:
    """Return the base class of an explanation, its imports, and stubs of its required methods."""
    tree = ast.parse(path.read_text("utf-8"))
    base = ast.unparse(next(node for node in tree.body if isinstance(node, ast.ClassDef)).bases[0])
    found = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    home = next(node.module for node in found if any(alias.name == base for alias in node.names))
    stubs = "".join(
        f'\n    def {head}:\n        """TODO."""\n        raise NotImplementedError("TODO")\n'
        for head in STUBS.get(base, ())
    )
    library = {"Mapping": "from collections.abc import Mapping\n", "Any": "from typing import Any\n"}
    imports = "".join(line for word, line in library.items() if word in stubs)
    return {
        "base": base,
        "imports": "\n".join([*filter(None, [imports]), f"from {home} import {base}"]),
        "stubs": stubs,
    }


def _examples(path: Path) -> str:
    """Return the examples of another metric, with a TODO in each title and reason."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    with_todos = [
        row | {"title": f"TODO {row['title']}", "why": f"TODO {row['why']}"} for row in rows if "config" not in row
    ]
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in with_todos)


def _card(path: Path, words: dict[str, str]) -> str:
    """Return the card of another metric with its headings only."""
    text = path.read_text("utf-8")
    front, body = text.split("---\n", 2)[1:]
    facts = yaml.safe_load(front)
    own: dict[str, Any] = {"title": f"{words['title']} TODO", "short_description": "TODO its question?"}
    own |= {"paper": "[TODO](https://example.org)"}
    own |= {"reading": [f"TODO {what}." for what in ("What the score measures", "What to compare", "What it ignores")]}
    facts |= own | ({"extra": words["name"].replace("_", "-")} if "extra" in facts else {})
    kept = {key: value for key, value in facts["scores"][0].items() if key in ("direction", "value", "references")}
    title = {"key": words["name"], "title": own["title"], "range": "TODO such as [0, 1]"}
    facts["scores"] = [title | kept]
    front = yaml.safe_dump(facts, sort_keys=False, allow_unicode=True, width=1000)
    headings = [
        line for line in re.sub(r"^```.*?^```$", "", body, flags=re.M | re.S).splitlines() if line.startswith("#")
    ]
    headings[0] = f"# Metric Card for {words['title']}"
    todos = [SECTIONS.get(heading.strip("# "), "TODO").format(**words) for heading in headings[1:]]
    sections = [headings[0], *(f"{heading}\n\n{todo}" for heading, todo in zip(headings[1:], todos, strict=True))]
    return f"---\n{front}---\n\n" + "\n\n".join(sections) + "\n"


def _page(template: Path) -> str:
    """Return the part of a template that is shared by a family, with a TODO for the rest."""
    shared = "".join(f"{line}\n" for line in _SHARED.findall(template.read_text("utf-8")))
    return f"{shared}{{# TODO: as in metrics/{template.parent.name}/{template.name} #}}\n"


def _with_extra(text: str, name: str, like: str) -> str:
    """Add an extra for a metric to setup.cfg, below the one of another metric with its requirements, and to `all`."""
    theirs = re.search(rf"^{like} =\n((?: +\S.*\n)*)", text, re.MULTILINE)
    if theirs is None:
        raise ValueError(f"setup.cfg must have an extra of {like}, got none; add it below [options.extras_require]")
    text = f"{text[: theirs.end()]}{name} =\n{theirs[1]}{text[theirs.end() :]}"
    lines = text.splitlines(keepends=True)
    every = lines.index("all =\n") + 1
    extras = sorted({*re.findall(r"[\w-]+", lines[every].partition("[")[2]), name.replace("_", "-")})
    lines[every] = f"    vlgauge[{', '.join(extras)}]\n"
    return "".join(lines)


if __name__ == "__main__":
    sys.exit(main())

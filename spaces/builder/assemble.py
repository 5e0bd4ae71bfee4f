"""Assemble the files of a Space on the Hub, without network access. Equal input yields identical bytes."""

import argparse
import configparser
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import calls
import card
import static_page
import thumbnail
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import vlgauge
from vlgauge.api.prefetch.assets import hub_files_of
from vlgauge.cli import plain_warnings
from vlgauge.core.validation import check_choice
from vlgauge.core.writing import write
from vlgauge.explain.examples import examples_of, explain_examples
from vlgauge.families.base.metric import REPOSITORY

ROOT = Path(__file__).resolve().parents[2]
WORKBENCH = "workbench"
KINDS = ("gradio", "static")
ORG = "vlgauge"

_APP = '''"""The Space of {name}: what `{command}` shows."""

import vlgauge_workbench as workbench

demo = workbench.app({word})
if __name__ == "__main__":
    workbench.launch(demo, warmed=True)
'''
_HINT = re.compile(rf"(git\+{re.escape(REPOSITORY)}@)[^\"\s]+")
_TAG = re.compile(r"v\d+(\.\d+)*((a|b|rc)\d+)?(\.(post|dev)\d+)?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
# A name on the Hub consists of letters and digits, with single separators between them.
_ORG = re.compile(r"[A-Za-z0-9]+([-_.][A-Za-z0-9]+)*")


def main(arguments: Sequence[str] | None = None) -> int:
    """Assemble a Space, or all of them.

    Returns:
        0, or 2 after an error, which is printed as one line on standard error.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="output folder (default: build/spaces/NAME)")
    options = parser.parse_args(arguments)
    try:
        if options.out and options.all:
            raise ValueError("--out cannot be combined with --all")
        for name in select_names(options.name, options.all, options.kind):
            with plain_warnings("assemble"):
                files = assemble_space(name, kind=options.kind, ref=options.ref, org=options.org)
            out = options.out or ROOT / "build" / "spaces" / name
            if options.out is None and out.is_dir():
                shutil.rmtree(out)  # with modules that an older checkout had
            write_folder(files, out)
            print(f"{out}: {len(files)} files, {sum(map(len, files.values())):,} bytes", flush=True)
    except (ValueError, OSError, ImportError) as error:
        sys.stderr.write(f"assemble: error: {' '.join(str(error).split())}\n")
        return 2
    return 0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that determine the Spaces."""
    parser.add_argument("name", metavar="NAME", nargs="?", help=f"a metric, or {WORKBENCH}")
    parser.add_argument("--all", action="store_true", help="every Space; with --kind static all except the workbench")
    parser.add_argument("--kind", choices=KINDS, default="gradio", help="gradio: run the app; static: show a page")
    parser.add_argument(
        *("--ref",),
        default=f"v{vlgauge.__version__}",
        help="tag or full commit of the installed package (default: %(default)s)",
    )
    parser.add_argument("--org", default=ORG, help="user or organization on the Hub (default: %(default)s)")


def select_names(name: str | None, every: bool, kind: str) -> list[str]:
    """Return the names of the selected Spaces.

    Raises:
        ValueError: If both or neither of NAME and --all is passed, or the Space does not exist.
    """
    if (name is None) is not every:
        raise ValueError(f"NAME or `--all` must be given, got {'both' if every else 'neither'}")
    if name is None:
        return metrics_of(ROOT) if kind == "static" else space_names()
    return [check_choice("NAME", name, space_names())]


def space_names(root: Path = ROOT) -> list[str]:
    """Return the name of every Space: one per metric, and the workbench."""
    return [*metrics_of(root), WORKBENCH]


def metrics_of(root: Path) -> list[str]:
    """Return the names of the metrics of a checkout."""
    return sorted(path.name for path in (root / "metrics").iterdir() if (path / f"{path.name}.py").is_file())


def assemble_space(
    name: str, *, kind: str = "gradio", ref: str | None = None, org: str = ORG, root: Path = ROOT
) -> dict[str, bytes]:
    """Return the files of a Space, sorted by path.

    Raises:
        ValueError: If an argument is not valid, or the checkout lacks a file or extra.
    """
    check_choice("NAME", name, space_names(root))
    check_choice("--kind", kind, KINDS)
    ref = check_ref(ref or f"v{vlgauge.__version__}")
    check_org(org)
    if name == WORKBENCH and kind == "static":
        raise ValueError("`--kind` must be gradio for workbench, got static; static pages compute no scores")
    files = {} if name == WORKBENCH else scripts_of(root / "metrics" / name, ref, org)
    source = root / ("spaces" if name == WORKBENCH else "metrics") / name / "README.md"
    own = card_of(source, name, kind, ref, org, root)
    files["README.md"] = card.text_of(own).encode("utf-8")
    files[thumbnail.FILE] = thumbnail.thumbnail(own.facts["title"], own.facts["short_description"])
    if kind == "gradio":
        files["app.py"] = app_of(name).encode("utf-8")
        files["requirements.txt"] = f"{requirement(name, ref, root)}\n".encode()
    else:
        files |= static_files(name, own, org)
    return dict(sorted(files.items()))


def check_ref(ref: str) -> str:
    """Return `ref` if it is a version tag or a full commit.

    Raises:
        ValueError: If it is anything else, such as a branch, which can change.
    """
    if not _TAG.fullmatch(ref) and not _COMMIT.fullmatch(ref):
        raise ValueError(
            f"`--ref` must be the tag of a version, such as v{vlgauge.__version__}, or a commit of 40 hexadecimal "
            f"digits, got {ref!r}; a branch moves"
        )
    return ref


def check_org(org: str) -> str:
    """Return `org` if it is a valid name on the Hub.

    Raises:
        ValueError: If it is not.
    """
    if not _ORG.fullmatch(org) or len(org) > 42:
        raise ValueError(f"`--org` must be the name of a user or organization of the Hub, got {org!r}")
    return org


def scripts_of(folder: Path, ref: str, org: str) -> dict[str, bytes]:
    """Return the script of a metric and the modules that it imports, adapted to the Space.

    Their installation hints name the tag or commit, and their examples name the Space. Other modules, such as the
    explanation, are imported from the package that the Space installs.
    """
    found = {}
    script = (folder / f"{folder.name}.py").read_text("utf-8")
    names = {folder.name, *re.findall(r"^from \.(\w+) import", script, re.MULTILINE)}
    for path in sorted(folder / f"{name}.py" for name in names):
        text = _HINT.sub(rf"\g<1>{ref}", path.read_bytes().decode("utf-8"))
        found[path.name] = text.replace(f'"{ORG}/{folder.name}"', f'"{org}/{folder.name}"').encode("utf-8")
    return found


def app_of(name: str) -> str:
    """Return the app of a Space, which differs only in its metric."""
    command, word = (
        (f"vlgauge workbench --metric {name}", f'"{name}"') if name != WORKBENCH else ("vlgauge workbench", "")
    )
    return _APP.format(name=name, command=command, word=word)


def card_of(source: Path, name: str, kind: str, ref: str, org: str, root: Path) -> card.Card:
    """Build the card of a Space."""
    facts, body = card.read_card(source)
    gradio = card.gradio_version(root / "constraints.txt") if kind == "gradio" else None
    files = [] if name == WORKBENCH else hub_files_of(name)
    body = card.adapt_to_hub(body, metrics_of(root), org)
    image = thumbnail.address(name, org)
    return card.Card(
        card.stamp_facts(facts, files, gradio, image), card.insert_section(body, calls.section(name, kind, org, ref))
    )


def requirement(name: str, ref: str, root: Path) -> str:
    """Return the line of requirements.txt.

    Raises:
        ValueError: If setup.cfg lacks an extra.
    """
    setup = configparser.ConfigParser()
    setup.read(root / "setup.cfg", encoding="utf-8")
    known = {canonicalize_name(extra) for extra in setup["options.extras_require"]}
    wanted = ["all" if name == WORKBENCH else str(canonicalize_name(name)), "workbench"]
    if missing := [extra for extra in wanted if extra not in known]:
        raise ValueError(f"setup.cfg must have the extra {' and '.join(missing)}, lacks it")
    line = f"vlgauge[{','.join(wanted)}] @ git+{REPOSITORY}@{ref}"
    Requirement(line)
    return line


def static_files(name: str, own: card.Card, org: str) -> dict[str, bytes]:
    """Return the page of a static Space, and its examples."""
    metric, examples = explain_examples(name), [one for one in examples_of(name) if not one.config]
    files = {"index.html": static_page.page(metric, examples, own, org).encode("utf-8")}
    return files | {f"examples/{path}": file for path, file in static_page.example_files(metric, examples).items()}


def write_folder(files: Mapping[str, bytes], out: Path) -> None:
    """Write the files of a Space, and remove files of an earlier call.

    Raises:
        ValueError: If the folder contains any other file. Nothing is changed in this case.
        OSError: If a file cannot be written.
    """
    there = [
        path.relative_to(out).as_posix() for path in sorted(out.rglob("*")) if path.is_symlink() or not path.is_dir()
    ]
    made = {"README.md", thumbnail.FILE, "app.py", "requirements.txt", "index.html", *files}
    others = [path for path in there if (out / path).is_symlink() or (path not in made and not _is_example(path))]
    if (out.exists() and not out.is_dir()) or others or (there and "README.md" not in there):
        what = "a file" if out.is_file() else ", ".join(others[:5] or there[:5])
        raise ValueError(
            f"`--out` must be a new folder, or one with a Space that was assembled there, got {what} in it"
        )
    for path in set(there) - set(files):
        (out / path).unlink()
    for path, content in files.items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        write(out / path, content)
    if not any(path.startswith("examples/") for path in files) and (out / "examples").is_dir():
        (out / "examples").rmdir()


def _is_example(path: str) -> bool:
    return re.fullmatch(r"examples/(examples\.jsonl|\d-\d+\.png)", path) is not None


if __name__ == "__main__":
    sys.exit(main())

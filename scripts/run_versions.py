"""Run the tests with the lowest and the newest versions of the dependencies: `make lowest`, `make newest`.

``scripts/run_versions.py lowest light tests/metrics/cider`` runs some tests of one group of extras.
"""

# Each group of extras has a separate environment in build/versions, resolved by uv: the lowest versions of direct
# dependencies that setup.cfg allows together, or the newest versions of all packages, ignoring constraints.txt. If
# another package of a group requires a higher version (Gradio requires a newer Hub client), the resolved version is
# tested. Installed versions and test results are written to build/versions/tested.md.

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from configparser import ConfigParser
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "versions"
RESOLUTIONS = {"lowest": "lowest-direct", "newest": "highest"}
SHOWN = (
    *("datasets", "evaluate", "filelock", "huggingface-hub", "numpy", "pandas", "pillow", "pyarrow", "scipy"),
    *("threadpoolctl", "safetensors", "sentence-transformers", "sentencepiece", "tokenizers", "torch", "torchvision"),
    *("transformers", "open-clip-torch", "spacy", "nltk", "av", "gradio", "ray", "trl", "torchmetrics", "accelerate"),
)


@dataclass(frozen=True)
class Group:
    """Extras that are installed together, and their tests.

    Attributes:
        extras: Names of the extras in setup.cfg.
        tests: Files and folders of tests.
        ignored: Files among them that require more than the extras.
        left_out: Names of tests in other files that require more than the extras.
    """

    extras: tuple[str, ...]
    tests: tuple[str, ...]
    ignored: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def list_needed_extras() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the extras that all tests require, and the test tools.

    The tools are not installed at their lowest versions, because users do not combine vlgauge with old test tools.
    """
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", "utf-8")
    extras, *tools = config["options.extras_require"]["test"].strip().splitlines()
    return tuple(extras.removeprefix("vlgauge[").removesuffix("]").split(", ")), tuple(tools)


ALL, TOOLS = list_needed_extras()
_METRICS = ("bleu", "cider", "d_hm", "meteor", "onlystyle", "rouge_l", "rovist_nr", "stylecider")
_WITH_MODELS = (
    *("aloha", "capture", "clip-s", "frechet-bert", "groovist", "meteor", "mmd-bert", "pac-s", "polos"),
    *("rovist", "soft-spice", "specs", "spice", "spider"),
)
_JUDGES = ("clair", "dsg", "fleur", "vqascore")  # require transformers 5
_FOLDERS = (
    *("families/base", "families/ngram", "families/style", "leaderboard", "checkpoints/hub", "api/row_sources"),
    *("core", "inputs/images", "inputs/tables", "inputs/video"),
)
_FOLDERS_WITH_MODELS = ("families/caption_sets", "families/clip_score", "models", "families/grounding")
GROUPS: Mapping[str, Group] = {
    # Metrics with few dependencies, with videos and pages.
    "light": Group(
        ("explain", "meteor", "video"),
        tuple(f"tests/{name}" for name in (*(f"metrics/{name}" for name in _METRICS), *_FOLDERS)),
        (
            "tests/families/base/test_images.py",
            "tests/families/base/test_dataset_map.py",
            "tests/families/base/test_languages.py",
            "tests/core/test_signatures.py",
            "tests/inputs/images/test_cells.py",
        ),
        (
            *("story_demo-rovist_c", "features_of_the_oracle", "nobody_listens", "a_hub_that_is_silent_is_waited_for"),
            "one_request_and_one_error_where_the_hub_is_down",
        ),
    ),
    # Every metric that supports the older transformers that other packages require.
    "models": Group(
        (*_WITH_MODELS, "embedded", "explain", "punkt", "video"),
        tuple(f"tests/{name}" for name in (*_FOLDERS_WITH_MODELS, "families/base", "metrics", "checkpoints")),
        ("tests/models/judges", *(f"tests/metrics/{name}" for name in _JUDGES)),
        (
            "a_training_loop_around_it",
            *(f"({test} and {name})" for test in ("test_metric", "test_every_metric_of_english") for name in _JUDGES),
        ),
    ),
    # All extras, with the tools around the metrics.
    "all": Group(ALL, ("tests",)),
}


def environment(name: str, resolution: str, extras: Sequence[str]) -> Path:
    """Create a new environment with these extras, and return its Python."""
    folder = FOLDER / name
    python = folder / "bin" / "python"
    uv = [sys.executable, "-m", "uv"]
    here = f"-e{ROOT}[{','.join(extras)}]"
    subprocess.run([*uv, "venv", "-q", "--clear", "--python", sys.executable, str(folder)], check=True)
    install = [*uv, "pip", "install", "-q", "--python", str(python)]
    subprocess.run([*install, "--resolution", RESOLUTIONS[resolution], here], check=True)
    # The tools must not change the resolved versions: pre-commit would install a newer filelock.
    kept = FOLDER / f"{name}.txt"
    kept.write_text(
        "".join(f"{one}=={version}\n" for one, version in list_installed(python).items() if one != "vlgauge")
    )
    subprocess.run([*install, "--constraint", str(kept), *TOOLS], check=True)
    return python


def list_installed(python: Path) -> dict[str, str]:
    """Return the versions of an environment by name."""
    listed = [sys.executable, "-m", "uv", "pip", "list", "--format", "json", "--python", str(python)]
    found = json.loads(subprocess.run(listed, check=True, capture_output=True, text=True).stdout)
    return {one["name"].lower().replace("_", "-"): one["version"] for one in found}


def table(title: str, group: Group, versions: Mapping[str, str], end: str) -> str:
    """Return the tested versions as Markdown."""
    rows = [f"| {name} | {versions[name]} |" for name in SHOWN if name in versions]
    extras = ", ".join(f"`{extra}`" for extra in group.extras)
    head = [f"## {title}", "", f"Extras {extras}: {end}.", "", "| package | version |", "|---|---|"]
    return "\n".join([*head, *rows, ""])


def main(arguments: Sequence[str] | None = None) -> int:
    """Create the environments, run the tests, and write the tables.

    Returns:
        0, or 1 if a test failed.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("resolution", choices=RESOLUTIONS)
    parser.add_argument("group", nargs="?", choices=GROUPS, help="one group (default: all of them)")
    parser.add_argument("tests", nargs="*", help="tests to run instead of the group's")
    parser.add_argument("--workers", default="auto", help="processes of the tests (default: one per processor)")
    options = parser.parse_args(arguments)
    tables, failed = [], False
    for name in [options.group] if options.group else GROUPS:
        group, title = GROUPS[name], f"{options.resolution}-{name}"
        python = environment(title, options.resolution, group.extras)
        selection = [*(options.tests or group.tests), *(f"--ignore={path}" for path in group.ignored)]
        if group.left_out:
            selection += ["-k", f"not ({' or '.join(group.left_out)})"]
        run = [str(python), "-m", "pytest", "-q", "-n", options.workers, "--dist", "loadfile", "--maxprocesses", "8"]
        finished = subprocess.run([*run, *selection], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        print(finished.stdout)
        failed |= finished.returncode != 0
        end = (finished.stdout.strip().splitlines() or ["nothing was run"])[-1].partition(" in ")[0]
        tables.append(table(title.replace("-", ", "), group, list_installed(python), end))
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "tested.md").write_text("\n".join(tables), encoding="utf-8")
    print(f"{FOLDER / 'tested.md'}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

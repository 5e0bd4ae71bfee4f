"""List or clear the features that are stored on disk."""

import argparse
import os
import sqlite3
from pathlib import Path

import numpy as np

from vlgauge.core.errors import MissingFileError, UsageError
from vlgauge.core.results import to_table
from vlgauge.models.features.disk import FILE, clear, list_features

VARIABLE = "VLGAUGE_FEATURES"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, action, purpose in (
        ("info", run_info, "list the encoders with cached features"),
        ("clear", run_clear, "remove all cached features"),
    ):
        command = actions.add_parser(name, help=purpose, description=f"{purpose.capitalize()}.")
        command.add_argument("--folder", metavar="DIR", help=f"default: ${VARIABLE}")
        command.set_defaults(run=action)


def run_info(options: argparse.Namespace) -> None:
    """Print one line per encoder and modality.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    root = choose_folder(options.folder)
    try:
        stores = list_features(root)
    except sqlite3.Error as error:
        raise UsageError(f"{root / FILE} cannot be read: {error}; `vlgauge cache clear` removes it") from error
    rows = [
        [*one.name.split("/"), one.n_features, f"{one.n_bytes / 2**20:.1f}", f"{np.datetime64(one.used, 'D')}"]
        for one in stores
    ]
    print(to_table([str(root), "side", "features", "MiB", "last used"], rows))
    print(f"{sum(one.n_bytes for one in stores) / 2**20:.1f} MiB in all")


def run_clear(options: argparse.Namespace) -> None:
    """Delete the stored features.

    Raises:
        UsageError: If an option or the content of a file is not valid.
        OSError: If the file cannot be removed.
    """
    root = choose_folder(options.folder)
    print(f"removed {clear(root) / 2**20:.1f} MiB from {root}")


def choose_folder(folder: str | None) -> Path:
    """Return the folder of the option or of the environment variable.

    Raises:
        UsageError: If neither is set.
        MissingFileError: If the folder does not exist.
    """
    chosen = folder or os.environ.get(VARIABLE)
    if not chosen:
        raise UsageError(f"--folder is required, because {VARIABLE} is not set")
    root = Path(chosen).expanduser()
    if not root.is_dir():
        raise MissingFileError(
            f"{root} is not a folder; features are stored there if `feature_cache` or {VARIABLE} is set"
        )
    return root

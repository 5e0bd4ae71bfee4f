"""List or clear the features that are stored on disk."""

import argparse
import os
from datetime import UTC, datetime
from pathlib import Path

from vlgauge.core.errors import MissingFileError, UsageError
from vlgauge.core.results import to_table
from vlgauge.models.features.disk import SHARD, clear, files_in, store_folders

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


def run_info(options: argparse.Namespace) -> int:
    """Print one line per encoder and modality.

    Returns:
        Exit code 0.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    root = choose_folder(options.folder)
    rows, total = [], 0
    for folder in store_folders(root):
        shards = files_in([folder], SHARD).values()
        n_bytes = sum(shard.st_size for shard in shards)
        total += n_bytes
        if shards:
            used = datetime.fromtimestamp(max(shard.st_mtime for shard in shards), tz=UTC)
            rows.append(
                [folder.parent.name, folder.name, len(shards), f"{n_bytes / 2**20:.1f}", f"{used:%Y-%m-%d %H:%M}"]
            )
    print(to_table([str(root), "side", "files", "MiB", "last used (UTC)"], rows))
    print(f"{total / 2**20:.1f} MiB in all")
    return 0


def run_clear(options: argparse.Namespace) -> int:
    """Delete the stored features.

    Returns:
        Exit code 0.

    Raises:
        UsageError: If an option or the content of a file is not valid.
    """
    root = choose_folder(options.folder)
    print(f"removed {clear(root) / 2**20:.1f} MiB from {root}")
    return 0


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

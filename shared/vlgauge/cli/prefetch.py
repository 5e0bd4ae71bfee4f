"""Download the files that metrics and encoders require, so that scoring works offline."""

import argparse

from vlgauge.api.prefetch.assets import (
    Asset,
    Download,
    HubFiles,
    ManualDownload,
    assets_of,
    describe_asset,
    licence_of,
    manual_facts,
    title,
)
from vlgauge.api.prefetch.fetching import check_files, folder_of, is_there, sizes
from vlgauge.checkpoints.files import sha256_of
from vlgauge.cli.inputs import declare
from vlgauge.core.catalog import metric_names
from vlgauge.core.errors import WeightsNotFoundError
from vlgauge.core.results import to_table

_COLUMNS = ["file", "size", "sha256", "compared"]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    words = "metric (pac_s, groovist, ...), all, or encoder (clip:ViT-B/32, "
    words += "sentence:ID, pair:ID, vision:ID, layers:ID, judge:ID, factual:ID, detector:NAME)"
    declare(parser, "names NAME", words, nargs="+")
    mode = parser.add_mutually_exclusive_group()
    declare(mode, "--list", "list automatic and manual downloads, without network access")
    declare(mode, "--check", "exit with 1 if a file is missing, without network access")


def run(options: argparse.Namespace) -> int:
    """Run the command: list, check or download.

    Returns:
        Exit code: 0, or with ``--check`` 1 if an asset is missing.

    Raises:
        UsageError: If an option or the content of a file is not valid.
        WeightsNotFoundError: If files cannot be downloaded.
    """
    assets = select_assets(options.names)
    if not assets:
        print(f"{', '.join(options.names)}: nothing to fetch")
        return 0
    if options.list:
        for asset in assets:
            print(
                "\n".join([describe_asset(asset), *(manual_facts(asset) if isinstance(asset, ManualDownload) else ())])
            )
        return 0
    return check(assets) if options.check else fetch(assets)


def select_assets(names: list[str]) -> list[Asset]:
    """Return the assets of the names, without duplicates.

    Raises:
        ValueError: If a name is unknown.
    """
    expanded = [one for name in names for one in (metric_names() if name == "all" else [name])]
    assets: list[Asset] = []
    for name in expanded:
        assets += [asset for asset in assets_of(name) if title(asset) not in map(title, assets)]
    return assets


def check(assets: list[Asset]) -> int:
    """Print for each asset whether it is available, and return 1 if one is missing, otherwise 0."""
    code = 0
    for asset in assets:
        there = is_there(asset)
        print(f"{ {True: 'there', False: 'missing', None: 'not known'}[there] }: {describe_asset(asset)}")
        code = max(code, int(there is False))
    return code


def fetch(assets: list[Asset]) -> int:
    """Print the instructions for manual downloads, then download and check the files, starting with files of the Hub.

    Returns:
        Exit code 0.

    Raises:
        WeightsNotFoundError: If files cannot be downloaded. It is raised after the other files were downloaded and
            names all that failed.
    """
    for asset in assets:
        if isinstance(asset, ManualDownload) and is_there(asset):
            print(f"{asset.what}: present")
        elif isinstance(asset, ManualDownload):
            print("\n".join([f"{asset.what}: manual download: {asset.steps}", *manual_facts(asset)]), flush=True)
    lacking = []
    for asset in sorted(assets, key=lambda asset: isinstance(asset, Download)):
        try:
            if isinstance(asset, HubFiles):
                _fetch(asset)
            elif isinstance(asset, Download):
                _download(asset)
        except WeightsNotFoundError as error:
            lacking.append(str(error))
    if lacking:
        raise WeightsNotFoundError("; ".join(lacking))
    return 0


def _fetch(files: HubFiles) -> None:
    print(f"{title(files)}\n  license: {licence_of(files)}", flush=True)
    for name, n_bytes in sizes(files).items():
        print(f"  {name} ({megabytes(n_bytes)})", flush=True)
    folder = folder_of(files)
    rows = [
        [file.name, megabytes(file.n_bytes), file.sha256[:16], file.compared_with]
        for file in check_files(files, folder)
    ]
    print(to_table(_COLUMNS, rows))
    print(f"{files.repository}@{folder.name} is complete; with HF_HUB_OFFLINE=1 no network is used", flush=True)


def _download(file: Download) -> None:
    print(f"{file.what}\n  license: {licence_of(file)}", flush=True)
    path = file.fetch()
    row = [path.name, megabytes(path.stat().st_size), sha256_of(path)[:16], "as in its name"]
    print(to_table(_COLUMNS, [row]), flush=True)


def megabytes(n_bytes: int) -> str:
    """Format a size in megabytes."""
    return f"{n_bytes / 1e6:.1f} MB"

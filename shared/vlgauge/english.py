"""The small English pipeline that is shipped with the package: tagger, parts of speech and parser in one file."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from packaging.specifiers import SpecifierSet

from vlgauge.encoders.pool import pool
from vlgauge.encoders.weights import sha256_of

if TYPE_CHECKING:
    from spacy.language import Language

FOLDER = Path(__file__).resolve().parent / "data" / "english"
PIPELINE = "pipeline.xz"
RECORD = "pipeline.json"


def import_spacy() -> Any:
    """The module spacy.

    Raises:
        ImportError: If it is not installed; names the extra.
    """
    try:
        import spacy
    except ImportError as error:
        raise ImportError(
            'noun phrases and nouns need spaCy, which cannot be imported here; run: pip install "vlgauge[english]"'
        ) from error
    return spacy


def english_record(folder: Path = FOLDER) -> dict[str, Any]:
    """What is known about the pipeline: name, sha256, versions of spaCy that read it, training and accuracy."""
    record: dict[str, Any] = json.loads((folder / RECORD).read_text("utf-8"))
    return record


def english_identity(folder: Path = FOLDER) -> str:
    """Name of the shipped pipeline, for signatures."""
    record = english_record(folder)
    return f"{record['name']}@{record['sha256'][:8]}"


def english_pipeline(folder: Path = FOLDER) -> Language:
    """The shipped pipeline, loaded once per process.

    Raises:
        ImportError: If spaCy is missing or of a version that cannot read it.
        ValueError: If the file is not the one that the record names.
    """
    nlp: Language = pool.get(("english", sha256_of(folder / PIPELINE)), lambda: _load(folder))
    return nlp


def _load(folder: Path) -> Language:
    spacy, record = import_spacy(), english_record(folder)
    if spacy.__version__ not in SpecifierSet(record["spacy"], prereleases=True):
        raise ImportError(
            f"the embedded English pipeline needs spaCy {record['spacy']}, got {spacy.__version__}; "
            'run: pip install "vlgauge[english]"'
        )
    file = folder / PIPELINE
    if sha256_of(file) != record["sha256"]:
        raise ValueError(f"{file.name} must have the sha256 {record['sha256']}, got {sha256_of(file)}; install again")
    return unpacked(file.read_bytes())


def packed(nlp: Language) -> bytes:
    """A pipeline as compressed bytes without the words it has seen; its weights are rounded to nine bits in place.

    spaCy writes numbers and text in msgpack, which holds no code; nothing is pickled.
    """
    for component in (nlp.get_pipe(name) for name in nlp.pipe_names):
        for node in component.model.walk():  # type: ignore[attr-defined]
            for name in node.param_names:
                if node.has_param(name):
                    node.set_param(name, rounded(node.get_param(name)))
    return lzma.compress(nlp.to_bytes(exclude=["vocab"]), preset=9 | lzma.PRESET_EXTREME)


def rounded(weights: np.ndarray) -> np.ndarray:
    """Float32 numbers with a mantissa of nine bits, the rest zero; they compress to less than half."""
    bits = np.ascontiguousarray(weights, dtype=np.float32).view(np.uint32)
    return ((bits + np.uint32(1 << 14)) & np.uint32(0xFFFF8000)).view(np.float32)


def unpacked(data: bytes) -> Language:
    """The pipeline that `packed` wrote."""
    import srsly
    from spacy.util import get_lang_class
    from thinc.api import Config

    plain = lzma.decompress(data)
    config = Config().from_bytes(srsly.msgpack_loads(plain)["config.cfg"])
    nlp: Language = get_lang_class(config["nlp"]["lang"]).from_config(config)
    nlp.from_bytes(plain, exclude=["vocab"])
    for _, component in nlp.pipeline:
        for label in getattr(component, "labels", ()):
            nlp.vocab.strings.add(label)
    return nlp

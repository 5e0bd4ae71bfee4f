"""Files that a user has brought, sorted by what they are: by names and shapes of tensors, by first lines, by layout.

Nothing in a file is executed, and no name of a file counts.
"""

import argparse
import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlgauge.encoders.clip.architectures import TABLE
from vlgauge.encoders.clip.heads import FORMAT as ADAPTER
from vlgauge.encoders.clip.tensor_names import SECOND_POSITIONS
from vlgauge.encoders.grounding.model import CONFIG, FORMAT
from vlgauge.encoders.hidden_layers import BERTS
from vlgauge.encoders.model_folders import WEIGHTS
from vlgauge.encoders.rated.conversion import STAND_INS
from vlgauge.encoders.rated.files import FORMAT as RATED
from vlgauge.encoders.rated.files import GAMMA
from vlgauge.errors import MissingFileError
from vlgauge.files import open_file, read_json
from vlgauge.text.story_idf import read_pickled
from vlgauge.weights.files import sha256_of
from vlgauge.weights.reading import is_safetensors, read_torch_object

Shapes = Mapping[str, tuple[int, ...]]
Kind = tuple[str, str]

_FIRST = 4096
_LARGE_JSON = 2**26
_VECTOR = re.compile(rb"\S+((?: -?\d+(?:\.\d+)?(?:e-?\d+)?){20,})\s*")
# Patches of the image tower by the names of OpenAI and open_clip, and of Hugging Face's CLIPModel.
_CONVERTED = {ADAPTER: ("pac_s", "converted weights of PAC-S"), RATED: ("polos", "a head of Polos")}
_WRITE = ("ForConditionalGeneration", "ForCausalLM")
_PATCHES = ("visual.conv1.weight", "vision_model.embeddings.patch_embedding.weight")


@dataclass(frozen=True)
class Sorted:
    """A file or folder, and what it is: one word for `SETTINGS`, "" if no metric takes it, and the same for people."""

    path: Path
    kind: str
    what: str


def sorted_files(folder: Path) -> list[Sorted]:
    """What lies in a folder: its files, its folders, and the folder itself where it is a model."""
    if not folder.is_dir():
        raise MissingFileError(f"--from must name a folder, got {str(folder)!r}")
    own = _folder(folder)
    parts = set(own.kind and ("config.json", "spiece.model", "tokenizer.json", "tokenizer_config.json", CONFIG))
    paths = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".") and path.name not in parts]
    found = [_folder(path) if path.is_dir() else _file(path) for path in paths]
    return [own, *found] if own.kind else found


def _folder(path: Path) -> Sorted:
    """A folder by the names of its files and its configuration."""
    if (path / "modules.json").is_file():
        return Sorted(path, "sentences", "an encoder of sentences")
    if (path / "config.cfg").is_file() and (path / "meta.json").is_file():
        return Sorted(path, "pipeline", "a spaCy pipeline")
    config = _json(path / CONFIG)
    if config.get("format") == FORMAT:
        return Sorted(path, "grounding", "grounding heads by vlgauge train rovist_vg")
    tokenizer = any((path / name).is_file() for name in ("tokenizer.json", "spiece.model", "vocab.txt", "vocab.json"))
    if config and tokenizer:
        if any("SequenceClassification" in str(name) for name in config.get("architectures") or ()):
            return Sorted(path, "classifier", "a classifier of sentence pairs")
        if config.get("model_type") == "albert":
            return Sorted(path, "base", "configuration and tokenizer of ALBERT")
        if config.get("model_type") in BERTS.model_types and any((path / name).is_file() for name in WEIGHTS):
            return Sorted(path, "layers", f"a text encoder of the kind {config['model_type']}")
        writes = [name for name in map(str, config.get("architectures") or ()) if name.endswith(_WRITE)]
        if writes and any(path.glob("*.safetensors")):
            return Sorted(path, "judge", f"a model that writes, {writes[0]}")
    checkpoints = list(path.glob("*.ckpt"))
    if len(checkpoints) == 1 and (path / "hparams.yaml").is_file():
        return _file(checkpoints[0])
    return Sorted(path, "", "no folder of a model")


def _file(path: Path) -> Sorted:
    try:
        with open_file(path, "FOLDER") as stream:
            start = stream.read(_FIRST)
        for read in (_page, _tensors, _archive, _pickle, _text):
            found = read(path, start)
            if found is not None:
                return Sorted(path, *found)
    except ImportError:
        return Sorted(path, "", 'saved by torch, which is not installed here; run: pip install "vlgauge[all]"')
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        return Sorted(path, "", f"not taken: {' '.join(str(error).split())[:200]}")
    return Sorted(path, "", "nothing that a metric takes")


def _page(path: Path, start: bytes) -> Kind | None:
    """What comes in place of a file when a download goes wrong."""
    if start.lstrip().lower().startswith((b"<!doctype", b"<html")):
        return "", "a web page in place of a file; open the link in a browser and confirm the download"
    if start.startswith(b"version https://git-lfs"):
        return "", "a pointer of Git LFS in place of a file; fetch it by git lfs pull"
    return None


def _tensors(path: Path, start: bytes) -> Kind | None:
    """Safetensors, whose header has names and shapes."""
    if not is_safetensors(start):
        return None
    with open_file(path, "FOLDER") as stream:
        header = json.loads(stream.read(8 + int.from_bytes(start[:8], "little"))[8:])
    told = header.pop("__metadata__", {}).get("format")
    if told in _CONVERTED:
        return _CONVERTED[told]
    return _named({name: tuple(told["shape"]) for name, told in header.items()}, path, is_whole="clip")


def _archive(path: Path, start: bytes) -> Kind | None:
    """A zip file: what torch.save wrote, a package, or files that are still packed."""
    if not start.startswith(b"PK"):
        return None
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if any(name.endswith(".dist-info/METADATA") for name in names):
        return "", f"a package; run: pip install {path}"
    if not any(name.endswith("/data.pkl") for name in names):
        return "", f"packed; run: unzip {path}"
    if sha256_of(path) in {row.openai_sha256 for row in TABLE.values()}:
        return _published(path)
    return _saved(path)


def _saved(path: Path) -> Kind | None:
    """What torch.save wrote; tensors come out, nothing else is let in but the options of a script and names."""
    content = read_torch_object(path, allowed=[argparse.Namespace, *STAND_INS])
    for key in ("model", "state_dict"):
        content = content.get(key, content) if isinstance(content, Mapping) else {}
    shapes = {str(name): tuple(value.shape) for name, value in content.items() if hasattr(value, "shape")}
    return _named(shapes, path, is_whole="pac_s")


def _pickle(path: Path, start: bytes) -> Kind | None:
    """A plain pickle: the authors' idf, or what torch wrote before its version 1.6."""
    if not start.startswith(b"\x80"):
        return None
    try:
        read_pickled(path)
    except ValueError:
        return _saved(path)
    return "pickle", "a pickled table of idf"


def _named(shapes: Shapes, path: Path, *, is_whole: str) -> Kind | None:
    """What tensors of these names and shapes are."""
    names = {name.removeprefix("module."): shape for name, shape in shapes.items()}
    if {"image_encoder.linear.weight", "text_encoder.linear.weight"} <= names.keys():
        width = names["text_encoder.linear.weight"][-1]
        return "grounding", f"checkpoint of RoViST-VG, for word vectors of {width} values"
    if "linear.weight" in names and any(name.startswith("albert_model.") for name in names):
        return "order", "checkpoint of RoViST-C"
    if GAMMA in names and "ff.0.ff.linear_1.weight" in names:
        return "rated", "checkpoint of Polos"
    if any(name.startswith("backbone.") for name in names) and any("head" in name for name in names):
        return "detector", "weights of a detector of torchvision"
    patches = next((names[name] for name in _PATCHES if name in names), None)
    if patches is None:
        return None
    if SECOND_POSITIONS in names:
        return "long", "a CLIP for long captions, such as SPECS"
    return _published(path) or (is_whole, f"a whole CLIP with patches of {patches[-1]} pixels, not a published file")


def _published(path: Path) -> Kind | None:
    digest = sha256_of(path)
    name = next((row.name for row in TABLE.values() if digest in (row.sha256, row.openai_sha256)), None)
    return ("clip", f"weights of CLIP {name}, as published") if name else None


def _text(path: Path, start: bytes) -> Kind | None:
    """Word vectors, ratings, or a table of idf, by the first lines."""
    lines = start.split(b"\n")
    header = re.fullmatch(rb"\d+ \d+\s*", lines[0]) and len(lines) > 1
    row = _VECTOR.fullmatch(lines[1] if header else lines[0])
    if row and len(lines) > 1:
        return "vectors", f"word vectors of {row[1].count(b' ')} values"
    titles = {title.strip('"\r') for title in re.split("[;,\t]", lines[0].decode("utf-8", "replace"))}
    if {"Word", "Conc.M"} <= titles:
        return "ratings", "ratings of concreteness"
    content = _json(path) if start.lstrip()[:1] == b"{" and path.stat().st_size <= _LARGE_JSON else {}
    if isinstance(content.get("df"), dict) and "N" in content:
        return "idf", f"a table of idf of {content['N'] or 'an unknown number of'} stories"
    return None


def _json(path: Path) -> dict[str, Any]:
    """The object in a file of JSON; an empty one if it is something else."""
    try:
        content = read_json(path, "FOLDER") if path.is_file() else {}
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}

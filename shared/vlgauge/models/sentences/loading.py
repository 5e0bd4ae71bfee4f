"""Loading of sentence-transformers models from a folder, with a check for missing and unknown tensors."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from vlgauge.checkpoints import known_tensors
from vlgauge.checkpoints.reading import loading
from vlgauge.checkpoints.torch_runtime import exact
from vlgauge.core.errors import UsageError
from vlgauge.core.optional_dependencies import importing
from vlgauge.core.progress import quiet_transformers


def load_sentence_model(folder: Path, pooling: str, device: str) -> Any:
    """Load a float32 model in evaluation mode, with all tensors from the folder.

    Neither the network nor code of the model is used.

    Args:
        folder: Folder of the model.
        pooling: "model", or "cls" for the L2-normalized embedding of the first token.
        device: Torch device.

    Returns:
        A `sentence_transformers.SentenceTransformer`.

    Raises:
        ValueError: If tensors are missing, unknown or not finite, or the model does not return one embedding per text.
    """
    with importing('sentence encoders require more packages; run: pip install "vlgauge[mmd-bert]"'):
        import torch
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.modules import Normalize, Pooling

    with quiet_transformers(), torch.random.fork_rng(devices=[]):
        with loading("encoder", "must be a model that loads", str(folder)):
            model = SentenceTransformer(
                str(folder), device=device, local_files_only=True, model_kwargs={"use_safetensors": True}
            )
        check_tensors(model, folder)
        known_tensors.check_finite_tensors(model.state_dict(), str(folder), "encoder")
    if pooling == "cls":
        tokens: Any = model[0]
        width = tokens.get_embedding_dimension()
        model = SentenceTransformer(modules=[tokens, Pooling(width, "cls"), Normalize()], device=device)
    model = model.float().eval()
    _check_vector(model, folder, pooling)
    return model


def _check_vector(model: Any, folder: Path, pooling: str) -> None:
    """Check that a text is encoded as one vector, because modules of other kinds of models return other outputs."""
    kinds = ", ".join(type(module).__name__ for module in model)
    try:
        with exact(model.device):
            vectors = np.asarray(model.encode(["a"], show_progress_bar=False))
        why = (
            ""
            if vectors.ndim == 2 and np.isfinite(vectors).all()
            else f"values of the shape {vectors.shape[1:]} or NaN"
        )
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
    if why:
        raise UsageError.about(
            "encoder",
            f"must return one embedding per text{', that of its first token' * (pooling == 'cls')}, got "
            f"{str(folder)!r} with the modules {kinds}, which returns {why}",
        )


def check_tensors(model: Any, folder: Path) -> None:
    """Check that the files contain all tensors of a sentence encoder and no others.

    The library would initialize missing ones randomly.

    Raises:
        ValueError: If tensors are missing or unknown.
    """
    kinds = {type(module).__name__ for module in model}
    kind = known_tensors.SENTENCE_OF_TOKENS if "Pooling" in kinds else known_tensors.SENTENCE
    for entry, module in zip(json.loads((folder / "modules.json").read_text("utf-8")), model, strict=False):
        lacking, surplus = _other_tensors(module, folder / (entry.get("path") or ""), kind)
        problems = [
            f"{known_tensors.list_names(names)} {what}"
            for names, what in ((lacking, "missing"), (surplus, "too much"))
            if names
        ]
        if problems:
            raise UsageError.about(
                "encoder",
                f"must have the tensors of its {type(module).__name__} and no others, got {'; '.join(problems)} in "
                f"{str(folder)!r}",
            )


def _other_tensors(module: Any, folder: Path, kind: str) -> tuple[list[str], list[str]]:
    """Return the names of required tensors that are missing in the files of a module, and of tensors unknown to it."""
    from safetensors import safe_open
    from transformers import PreTrainedModel

    file = folder / "model.safetensors"
    inner = next((part for part in (module, *module.children()) if isinstance(part, PreTrainedModel)), None)
    wanted = set((module if inner is None else inner).state_dict())
    found: set[str] = set()
    if file.is_file():
        with safe_open(file, framework="numpy") as opened:
            found = set(opened.keys())
    lacking, surplus = known_tensors.missing(wanted - found, kind), known_tensors.surplus(found - wanted, kind)
    if inner is None or not (lacking or surplus):
        return lacking, surplus
    # Only the library can resolve older names, tied tensors and several files.
    model: Any = type(inner)
    _, report = model.from_pretrained(
        str(folder), config=inner.config, output_loading_info=True, local_files_only=True, use_safetensors=True
    )
    lacking = [*report["missing_keys"], *(str(key) for key in report["mismatched_keys"])]
    return known_tensors.missing(lacking, kind), known_tensors.surplus(report["unexpected_keys"], kind)

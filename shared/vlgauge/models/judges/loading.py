"""Loading of judge models into the model pool of the process, which keeps one copy per model."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from vlgauge.checkpoints import known_tensors
from vlgauge.checkpoints.files import SourcesMissingError
from vlgauge.checkpoints.preflight import Preflight
from vlgauge.checkpoints.reading import RejectedModelError, create_rejection, loading
from vlgauge.checkpoints.torch_runtime import check_torch, resolve_device
from vlgauge.core.errors import UsageError
from vlgauge.core.optional_dependencies import check_version, importing
from vlgauge.core.pool import pool
from vlgauge.core.progress import announce, quiet_transformers
from vlgauge.core.validation import check_choice, short_repr
from vlgauge.models.judges.adapters import add_adapter, scale_of
from vlgauge.models.judges.clip_t5 import is_clip_t5, load_clip_t5
from vlgauge.models.judges.demo import demo_judge
from vlgauge.models.judges.questions import Judge
from vlgauge.models.judges.sources import (
    JudgeFiles,
    count_stored_numbers,
    find_adapter,
    find_judge,
    judge_source,
)
from vlgauge.models.judges.transformers_judge import LoadedJudge, Parts

PACKAGES = ("torch", "torchvision", "transformers", "safetensors")
# In older versions, the greedy answer of a Qwen-VL depended on the other rows of a batch, and the question of PaliGemma
# could attend to its answer.
LEAST = "5.0"
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
DTYPES = tuple(BYTES)
_EXPECTED = ("model", "must be a model that loads")


def judge_of(
    model: Any,
    *,
    profile: str = "paper",
    device: str = "auto",
    dtype: str = "float32",
    device_map: str | Mapping[str, Any] | None = None,
    tower: str | None = None,
    adapter: str | None = None,
    own: bool = False,
    setting: str = "model",
) -> Judge:
    """Return the judge model of a setting, loading it into the pool if necessary.

    Args:
        model: A folder, a Hub id with its commit, or a custom `Judge`, which is returned unchanged.
        profile: "paper", or "embedded" for the demo model.
        device: ``"auto"`` for the first available device of cuda, mps and cpu, or a torch device.
        dtype: One of `DTYPES`.
        device_map: Device map of transformers, for a model that is larger than one device. It replaces `device`.
        tower: Folder or pinned id of the image tower, for CLIP-FlanT5 only.
        adapter: Folder or pinned id of an adapter for a LLaVA model, in the format of LLaVA's training code.
        own: Whether to load a separate copy that is not shared with metrics, because it will be trained.
        setting: Name of the setting, for error messages.

    Raises:
        SourcesMissingError: If CLIP-FlanT5 has no `tower`.
        WeightsNotFoundError: If the files of a model cannot be found.
        ValueError: If a setting is invalid or not supported by the model.
    """
    if isinstance(model, Judge):
        check_no_parts(tower, adapter, "a custom judge")
        return model
    check_choice("dtype", dtype, DTYPES)
    check_torch("a judge", PACKAGES, "fleur")
    check_version("transformers", LEAST, "a judge")
    device = resolve_device(device)
    if dtype == "float16" and not device.startswith("cuda"):
        raise UsageError.about("dtype", f"must be 'float32' or 'bfloat16' on {device}, got 'float16'")
    if profile == "embedded" and model is None:
        check_no_parts(tower, adapter, "the demo judge")
        return demo_judge(device)
    files = find_judge(os.fspath(model), setting)
    seeing = None
    if is_clip_t5(files.config):
        if tower is None:
            raise SourcesMissingError.about(
                "tower",
                "is missing: CLIP-FlanT5 requires the folder or pinned id of its image tower, "
                f"{files.config['mm_vision_tower']} (owner/name@COMMIT)",
            )
        seeing = find_judge(os.fspath(tower), "tower")
    elif tower is not None:
        raise UsageError.about("tower", f"is not supported for a model that includes an image tower, got {tower!r}")
    more = None if adapter is None else find_adapter(os.fspath(adapter))
    if more is not None:
        if files.config.get("model_type") != "llava":
            raise UsageError.about("adapter", f"is only supported for LLaVA, got {adapter!r}")
        scale_of(more.config)  # raises before the model is loaded
    key = ("judge", files.identity, *(one and one.identity for one in (seeing, more)), device, dtype, repr(device_map))
    load = partial(_load_judge, files, seeing, more, device, dtype, device_map)
    return load() if own else pool.get(key, load, f"{files.name} in {dtype}")


def look_for_model(preflight: Preflight, setting: str, value: Any) -> None:
    """Make a preflight check the requirements of a model, a tower or an adapter, without loading or downloading it.

    Args:
        preflight: The preflight.
        setting: Name of the setting. See `judge_source`.
        value: Value of the setting. None and a custom judge have no requirements.
    """
    if value is not None and not isinstance(value, Judge):
        preflight.need(PACKAGES)
        preflight.look(judge_source(os.fspath(value), setting).look)


def _load_judge(
    files: JudgeFiles,
    tower: JudgeFiles | None,
    adapter: JudgeFiles | None,
    device: str,
    dtype: str,
    device_map: str | Mapping[str, Any] | None,
) -> LoadedJudge:
    """Load a judge model whose tensors are all read from the files."""
    with importing('judges require more packages; run: pip install "vlgauge[fleur]"'):
        import torch
        import transformers  # noqa: F401

    if device_map is None:
        with loading(*_EXPECTED, files.name):
            numbers = count_stored_numbers(files.folder)
        check_model_size(files.name, numbers, dtype, device)
    own = loading(*_EXPECTED, files.name, (ImportError, RejectedModelError))
    with quiet_transformers(), torch.random.fork_rng(devices=[]), own:
        if tower is not None:
            parts = load_clip_t5(files, tower, getattr(torch, dtype), device)
        else:
            parts = _parts(files, getattr(torch, dtype), device, device_map)
    if adapter is not None:
        add_adapter(parts.model, adapter)
    known_tensors.check_finite_tensors(parts.model.state_dict(), files.name, "model")
    identity = "+".join(one.identity for one in (files, tower, adapter) if one is not None)
    return LoadedJudge(identity, parts, dtype)


def check_no_parts(tower: Any, adapter: Any, of: str) -> None:
    """Check that no tower and no adapter is set for a judge that does not support them.

    Args:
        tower: Image tower setting.
        adapter: Adapter setting.
        of: Description of the judge, for messages.

    Raises:
        ValueError: If one of them is set.
    """
    for name, value in (("tower", tower), ("adapter", adapter)):
        if value is not None:
            raise UsageError.about(name, f"is not supported for {of}, got {short_repr(value)}")


def _parts(files: JudgeFiles, dtype: Any, device: str, device_map: str | Mapping[str, Any] | None) -> Parts:
    import transformers
    from transformers.models.auto import modeling_auto

    common = {"local_files_only": True, "trust_remote_code": False}
    folder = str(files.folder)
    config = transformers.AutoConfig.from_pretrained(folder, **common)
    seeing = modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    kind = "text"
    auto: Any = transformers.AutoModelForCausalLM
    if config.model_type in seeing and not _reads_text_alone(files.config):
        kind = config.model_type if config.model_type in ("llava", "paligemma") else "chat"
        auto = transformers.AutoModelForImageTextToText
    elif getattr(config, "is_encoder_decoder", False):
        auto = transformers.AutoModelForSeq2SeqLM
    model, report = auto.from_pretrained(
        folder,
        dtype=dtype,
        use_safetensors=True,
        output_loading_info=True,
        **({} if device_map is None else {"device_map": device_map}),
        **common,
    )
    # The library initializes tensors that are missing in the files randomly.
    lacking = [str(key) for part in ("missing_keys", "mismatched_keys") for key in report.get(part, ())]
    more = known_tensors.surplus(map(str, report.get("unexpected_keys", ())), known_tensors.JUDGE)
    for what, names in (("no weights for", lacking), ("unknown weights", more)):
        if names:
            raise create_rejection(*_EXPECTED, files.name, f"{what} {', '.join(sorted(names)[:3])}")
    model = model.eval() if device_map is not None else model.to(device).eval()
    if kind == "text":
        return Parts(kind, model, transformers.AutoTokenizer.from_pretrained(folder, **common))
    processor = transformers.AutoProcessor.from_pretrained(folder, **common)
    if not hasattr(processor, "image_processor"):
        raise create_rejection(*_EXPECTED, files.name, "its files name no image processor")
    # Use Pillow for resizing, as everywhere in this package.
    processor.image_processor = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil", **common)
    return Parts(kind, model, processor.tokenizer, processor)


def _reads_text_alone(config: Mapping[str, Any]) -> bool:
    """Return whether a configuration describes a text-only model of a family that also has models of images."""
    return not any(key in config for key in ("vision_config", "image_token_id", "image_token_index"))


def check_model_size(name: str, n_numbers: int, dtype: str, device: str) -> None:
    """Check that the weights of a model fit into the free memory of a device, before anything is read.

    Args:
        name: Name of the model, for messages.
        n_numbers: Number of weights.
        dtype: One of `DTYPES`.
        device: Torch device.

    Raises:
        RejectedModelError: If they do not fit.
    """
    free = free_bytes(device)
    needed = n_numbers * BYTES[dtype]
    if free is None:
        return
    announce(f"{name} requires {needed / 1e9:.1f} GB in {dtype} of {free / 1e9:.1f} GB free on {device}", logged=False)
    if needed > free:
        smaller = f"dtype='bfloat16' ({2 * n_numbers / 1e9:.1f} GB), " if BYTES[dtype] > 2 else ""
        raise RejectedModelError.about(
            "model",
            f"must fit into the memory of {device}, of which {free / 1e9:.1f} GB are free, got {name!r} of "
            f"{needed / 1e9:.1f} GB in {dtype}",
            f"pass {smaller}device_map='auto' for several devices, or a smaller model",
        )


def free_bytes(device: str) -> int | None:
    """Return the free memory of a device in bytes, or None if the system does not report it."""
    if device.startswith("cuda"):
        import torch

        return int(torch.cuda.mem_get_info(device)[0])
    meminfo = Path("/proc/meminfo")
    if not meminfo.is_file():
        return None
    lines = [line.split() for line in meminfo.read_text("utf-8").splitlines()]
    return next((1024 * int(line[1]) for line in lines if line and line[0] == "MemAvailable:"), None)

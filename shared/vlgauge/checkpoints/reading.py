"""Safe loading of tensors from untrusted weight files, without executing any code in them."""

from __future__ import annotations

import os
import re
import warnings
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vlgauge.checkpoints import known_tensors
from vlgauge.checkpoints.files import sha256_of
from vlgauge.checkpoints.pickles import check_opcodes
from vlgauge.core.errors import MissingFileError, UsageError, short_reason

if TYPE_CHECKING:
    import torch

# Minimum size of the header of a zip file member, in bytes.
_MEMBER_HEADER = 30
# Safetensors dtypes that every torch operation supports, unlike others such as F4.
_NUMBERS = ("F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL")
# Maximum bytes of tensors per byte of the file, because tied weights share their storage.
_BYTES_PER_BYTE = 8

# Keys under which training programs store the state dict.
_STATE_KEYS = ("state_dict", "model")

# Pickles in a file of torch before version 1.6: magic number, version, system, and the object.
_OLD_PICKLES = 4

_ADVICE = "save only its tensors, torch.save({'state_dict': model.state_dict()}, FILE), and pass that file"
# Pattern of the reason in torch's message, whose remainder suggests unsafe loading.
_TORCH_REASON = re.compile(r"WeightsUnpickler error: (.*?)(?: Check the documentation|$)")
_REFUSED_NAME = re.compile(r"GLOBAL (\S+) (?:was not an allowed global|whose module)")


def read_tensors(path: str | PathLike[str], *, archives: Collection[str] = ()) -> dict[str, torch.Tensor]:
    """Load the tensors of a weight file by their stored names.

    Args:
        path: A safetensors file, a file of ``torch.save`` with a state dict (bare, under ``"state_dict"`` or under
            ``"model"``), or one of OpenAI's TorchScript archives.
        archives: SHA-256 digests of the TorchScript archives that may be opened, because opening can run their code.

    Returns:
        Tensors by name, with the stored shapes and dtypes.

    Raises:
        ValueError: If the file is of another kind, such as a pickle with code, an unknown archive, a web page or a
            truncated file, or if a tensor contains NaN or infinity.
        FileNotFoundError: If the file does not exist.
    """
    file = check_file(path)
    with file.open("rb") as stream:
        start = stream.read(512)
    _check_no_text(start, file)
    if is_safetensors(start):
        return _read_safetensors(file)
    if _is_torchscript(file):
        return _read_archive(file, archives)
    return state_dict_in(read_torch_object(file), file)


def read_torch_object(path: str | PathLike[str], *, allowed: Sequence[type] = ()) -> Any:
    """Load an object written by ``torch.save`` that consists of tensors, containers, numbers and strings.

    Args:
        path: Path of the file.
        allowed: Further classes that the pickle may name. Their instances are filled without running their code.

    Returns:
        The stored object, with all tensors on the CPU.

    Raises:
        ValueError: If the pickle names any other class or function, or the file is truncated or not a torch file.
        FileNotFoundError: If the file does not exist.
    """
    import torch

    file = check_file(path)
    try:
        _check_content(file)
        with torch.serialization.safe_globals(list(allowed)), warnings.catch_warnings():
            # For a plain pickle, torch first warns that it may not support it. Errors are handled below.
            warnings.filterwarnings("ignore", message="Detected pickle protocol")
            return torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:
        # A truncated or forged file can raise nearly any exception.
        if name := _REFUSED_NAME.search(str(error)):
            raise UsageError.about(
                "checkpoint",
                f"must contain only tensors, got a pickle that refers to {name[1][:200]} in {str(file)!r}",
                f"nothing in it was executed; {_ADVICE}",
            ) from None
        raise _broken(file, error) from error


def state_dict_in(content: Any, source: Path) -> dict[str, torch.Tensor]:
    """Return the tensors by name of the state dict in a loaded object: bare, or under one of the keys `_STATE_KEYS`.

    Raises:
        ValueError: If there is no state dict or more than one, or a tensor in it is incompletely stored or not finite.
    """
    import torch

    keyed = content if isinstance(content, Mapping) else {}
    found_keys = [key for key in _STATE_KEYS if isinstance(keyed.get(key), Mapping)]
    if len(found_keys) > 1:
        both = " and ".join(map(repr, found_keys))
        raise UsageError.about("checkpoint", f"must contain one state dict, got those under {both} in {str(source)!r}")
    inner = keyed[found_keys[0]] if found_keys else content
    if not isinstance(inner, Mapping) or not any(isinstance(value, torch.Tensor) for value in inner.values()):
        keys = ", ".join(map(str, keyed))[:200]
        found = f"the keys {keys}" if keys else type(content).__name__
        raise UsageError.about(
            "checkpoint",
            f"must contain a state dict, bare or under {' or '.join(map(repr, _STATE_KEYS))}, got {found} in "
            f"{str(source)!r}",
        )
    wanted = set(known_tensors.surplus(map(str, inner), known_tensors.ANY))
    kept = {str(name): value for name, value in inner.items() if str(name) in wanted}
    for name, value in kept.items():
        if not isinstance(value, torch.Tensor):
            kind = type(value).__name__
            raise UsageError.about("checkpoint", f"must contain tensors, got {kind} under {name!r} in {str(source)!r}")
    check_stored(kept, source)
    known_tensors.check_finite_tensors(kept, str(source))
    return kept


def check_stored(tensors: Mapping[str, torch.Tensor], source: Path) -> None:
    """Check that tensors are not larger than their storage, because one stored number can be expanded to any shape.

    Raises:
        ValueError: If a tensor has more bytes than its storage, or all tensors together have more than 8 times the
            bytes of the file.
    """
    import torch

    left = _BYTES_PER_BYTE * source.stat().st_size
    for name, tensor in tensors.items():
        n_bytes = tensor.numel() * tensor.element_size()
        left -= n_bytes
        if tensor.layout != torch.strided or n_bytes > tensor.untyped_storage().nbytes() or left < 0:
            raise UsageError.about(
                "checkpoint",
                f"must store each number of its tensors, got {name!r} of shape {tuple(tensor.shape)} from fewer "
                f"numbers in {str(source)!r}",
                _ADVICE,
            )


class RejectedModelError(UsageError):
    """Raised if a model does not load."""


def create_rejection(argument: str, expected: str, name: str, why: str) -> RejectedModelError:
    """Create the error for a model that does not load.

    Args:
        argument: Name of the argument.
        expected: Requirement, such as "must be a model that loads".
        name: Name of the model.
        why: Message of the failure.
    """
    return RejectedModelError.about(argument, f"{expected}, got {name!r}, which fails with: {why}")


@contextmanager
def loading(argument: str, expected: str, name: str, kept: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Convert errors of a library that loads a file to RejectedModelError.

    Invalid files can raise nearly any exception.

    Args:
        argument: See `create_rejection`.
        expected: See `create_rejection`.
        name: See `create_rejection`.
        kept: Exceptions that are raised unchanged.

    Raises:
        RejectedModelError: If the library raises another exception than `kept`.
    """
    try:
        yield
    except kept:
        raise
    except Exception as error:
        raise create_rejection(argument, expected, name, short_reason(error)) from error


@contextmanager
def name_setting(setting: str) -> Iterator[None]:
    """Replace the argument `checkpoint` of errors raised inside the context with another one.

    Raises:
        UsageError: If the code inside the context raises it. Only the name of the argument changes.
    """
    try:
        yield
    except UsageError as error:
        if error.argument != "checkpoint" or error.problem is None:
            raise
        raise type(error).about(setting, error.problem, error.remedy) from error


def is_safetensors(start: bytes) -> bool:
    """Return whether a file with these first bytes is in safetensors format: header length, then a JSON object."""
    return len(start) > 8 and start[8:9] == b"{" and int.from_bytes(start[:8], "little") < 2**30


def check_file(path: str | PathLike[str]) -> Path:
    """Check that a file exists and return its path.

    Raises:
        FileNotFoundError: If the path does not exist.
        ValueError: If it is not a file.
    """
    file = Path(path)
    if not file.exists():
        raise MissingFileError(f"{os.fspath(path)}: No such file")
    if not file.is_file():
        raise UsageError.about("checkpoint", f"must be a file, got the folder or device {os.fspath(path)!r}")
    return file


def _check_no_text(start: bytes, file: Path) -> None:
    """Raise an error for text files that replace weights if a download goes wrong, such as web pages."""
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not text:
        raise UsageError.about(
            "checkpoint", f"must contain weights, got a file that is empty or whitespace: {str(file)!r}"
        )
    if text.startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
        raise UsageError.about(
            "checkpoint",
            f"must contain weights, got a web page in {str(file)!r}, which Google Drive returns instead of a "
            "large file",
            "open the link in a browser and confirm the download",
        )
    if text.startswith(b"version https://git-lfs"):
        raise UsageError.about(
            "checkpoint",
            f"must contain weights, got a Git LFS pointer in {str(file)!r}",
            "run: git lfs pull",
        )


def _read_safetensors(file: Path) -> dict[str, torch.Tensor]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="pt") as stored:
            for name in stored.keys():  # noqa: SIM118  # not a mapping
                if (kind := stored.get_slice(name).get_dtype()) not in _NUMBERS:
                    raise UsageError.about(
                        "checkpoint",
                        f"must contain numbers of the types {', '.join(_NUMBERS)}, got {kind} under {name!r} in "
                        f"{str(file)!r}",
                        "save it as float32",
                    )
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise _broken(file, error) from error
    known_tensors.check_finite_tensors(tensors, str(file))
    return tensors


def _check_content(file: Path) -> None:
    """Check the members and the opcodes of the pickles of a torch file.

    Raises:
        ValueError: If members of the zip archive are compressed or share bytes, which `torch.save` does not write, so
            that they unpack to more bytes than the file has. Also if there is no pickle.
        pickle.UnpicklingError: See `check_opcodes`.
    """
    if not zipfile.is_zipfile(file):
        with file.open("rb") as stream:
            for _ in range(_OLD_PICKLES):
                check_opcodes(stream, file.stat().st_size)
        return
    end = 0
    with zipfile.ZipFile(file) as archive:
        for info in sorted(archive.infolist(), key=lambda info: info.header_offset):
            own = info.compress_type == zipfile.ZIP_STORED and info.file_size == info.compress_size
            if not own or info.header_offset < end:
                raise UsageError(f"the member {info.filename!r}, which is compressed or shares bytes with another")
            end = info.header_offset + _MEMBER_HEADER + info.compress_size
        for info in archive.infolist():
            # torch ignores the case of names.
            if info.filename.lower().endswith("data.pkl"):
                with archive.open(info) as stream:
                    check_opcodes(stream, info.file_size)


def _is_torchscript(file: Path) -> bool:
    """Return whether a file is a TorchScript archive, a program with weights."""
    try:
        if not zipfile.is_zipfile(file):
            return False
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise _broken(file, error) from error
    return any(name.partition("/")[2].startswith(("code/", "constants.pkl")) for name in names)


def _read_archive(file: Path, known: Collection[str]) -> dict[str, torch.Tensor]:
    """Load the tensors of a TorchScript archive, which must be a known one because opening it may run its code."""
    import torch

    digest = sha256_of(file)
    if digest not in known:
        raise UsageError.about(
            "checkpoint",
            f"must contain weights without code, got an unknown TorchScript archive (sha256 {digest[:16]}) in "
            f"{str(file)!r}",
            "only OpenAI's published archives are supported; pass safetensors",
        )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*torch.jit.load")
        state = torch.jit.load(file, map_location="cpu").state_dict()
    return state_dict_in(state, file)


def _broken(file: Path, error: Exception) -> UsageError:
    text = " ".join(str(error).split())
    reason = _TORCH_REASON.search(text)
    kind = "" if isinstance(error, UsageError) else f"{type(error).__name__}: "
    why = (reason[1] if reason else f"{kind}{text}")[:200]
    return UsageError.about(
        "checkpoint",
        f"must be a safetensors file or a file written by torch.save, got {str(file)!r}, which fails with: {why}",
    )

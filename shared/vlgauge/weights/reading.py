"""Reading weights from files that strangers made: tensors come out, nothing in the file is executed."""

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

from vlgauge.errors import MissingFileError, UsageError
from vlgauge.weights import known_tensors
from vlgauge.weights.files import sha256_of

if TYPE_CHECKING:
    import torch

# What stands before the bytes of a member of a zip file, at least.
_MEMBER_HEADER = 30
# Types of safetensors that every operation of torch knows; of others, such as F4, some do not.
_NUMBERS = ("F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL")
# Tied weights have their numbers in several tensors.
_BYTES_PER_BYTE = 8

_ADVICE = "save its tensors alone, torch.save({'state_dict': model.state_dict()}, FILE), and give that file"
# Torch's own text advises the unsafe way of loading; its reason stands between these.
_TORCH_REASON = re.compile(r"WeightsUnpickler error: (.*?)(?: Check the documentation|$)")
_REFUSED_NAME = re.compile(r"GLOBAL (\S+) (?:was not an allowed global|whose module)")


def read_tensors(path: str | PathLike[str], *, archives: Collection[str] = ()) -> dict[str, torch.Tensor]:
    """The tensors of a weight file by the names that they have there.

    Args:
        path: Safetensors; a file of ``torch.save`` with a state dict, bare or under ``"state_dict"``; or one of
            OpenAI's TorchScript archives.
        archives: SHA-256 of the TorchScript archives that may be opened, since that can run what is in them.

    Raises:
        ValueError: If the file is anything else: code in a pickle, an unknown archive, a web page, cut short; or if a
            tensor has NaN or infinity.
        FileNotFoundError: If there is no such file.
    """
    file = checked_file(path)
    with file.open("rb") as stream:
        start = stream.read(512)
    _refuse_text(start, file)
    if is_safetensors(start):
        return _read_safetensors(file)
    if _is_torchscript(file):
        return _read_archive(file, archives)
    return state_dict_in(read_torch_object(file), file)


def read_torch_object(path: str | PathLike[str], *, allowed: Sequence[type] = ()) -> Any:
    """What ``torch.save`` wrote, if it is made of tensors, containers, numbers and texts.

    Args:
        path: File.
        allowed: Further classes that the pickle may name; their instances are filled without running code of theirs.

    Raises:
        ValueError: If the pickle names anything else, or the file is cut short or no torch file at all.
        FileNotFoundError: If there is no such file.
    """
    import torch

    file = checked_file(path)
    try:
        _check_members(file)
        with torch.serialization.safe_globals(list(allowed)), warnings.catch_warnings():
            # Of a plain pickle torch says first that it may not understand it; what it then refuses is told below.
            warnings.filterwarnings("ignore", message="Detected pickle protocol")
            return torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:
        # A truncated or forged file can raise nearly any exception.
        if name := _REFUSED_NAME.search(str(error)):
            raise UsageError(
                f"`checkpoint` must hold nothing but tensors, got a pickle that asks for {name[1][:200]} in "
                f"{str(file)!r}; nothing in it was executed; {_ADVICE}"
            ) from None
        raise UsageError(_broken(file, error)) from error


def state_dict_in(content: Any, source: Path) -> dict[str, torch.Tensor]:
    """The state dict that a file holds, bare or under ``"state_dict"``.

    Raises:
        ValueError: If there is none, or a tensor of it is not whole or not finite.
    """
    import torch

    inner = content.get("state_dict", content) if isinstance(content, Mapping) else content
    if not isinstance(inner, Mapping) or not any(isinstance(value, torch.Tensor) for value in inner.values()):
        keys = ", ".join(map(str, content))[:200] if isinstance(content, Mapping) else ""
        found = f"the keys {keys}" if keys else type(content).__name__
        raise UsageError(
            f"`checkpoint` must hold a state dict, bare or under 'state_dict', got {found} in {str(source)!r}"
        )
    wanted = set(known_tensors.surplus(map(str, inner), known_tensors.ANY))
    kept = {str(name): value for name, value in inner.items() if str(name) in wanted}
    for name, value in kept.items():
        if not isinstance(value, torch.Tensor):
            kind = type(value).__name__
            raise UsageError(f"`checkpoint` must hold tensors, got {kind} under {name!r} in {str(source)!r}")
    check_stored(kept, source)
    known_tensors.refuse_not_finite(kept, str(source))
    return kept


def check_stored(tensors: Mapping[str, torch.Tensor], source: Path) -> None:
    """Refuse tensors of more numbers than the file has: one number can be said to fill a matrix of any size.

    Raises:
        ValueError: If one is of more bytes than are stored for it, or all of them are of many times those of the file.
    """
    import torch

    left = _BYTES_PER_BYTE * source.stat().st_size
    for name, tensor in tensors.items():
        n_bytes = tensor.numel() * tensor.element_size()
        left -= n_bytes
        if tensor.layout != torch.strided or n_bytes > tensor.untyped_storage().nbytes() or left < 0:
            raise UsageError(
                f"`checkpoint` must store each number of its tensors, got {name!r} of shape {tuple(tensor.shape)} from "
                f"fewer numbers in {str(source)!r}; {_ADVICE}"
            )


class RefusedModel(UsageError):
    """A model that is not what it should be, in words of ours."""


def refused(expected: str, name: str, why: str) -> RefusedModel:
    """The error for a model that does not load.

    Args:
        expected: What was to be loaded, such as "`model` must be a model that loads".
        name: Of the model.
        why: What it fails with.
    """
    return RefusedModel(f"{expected}, got {name!r}, which fails with: {why}")


@contextmanager
def loading(expected: str, name: str, kept: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Context of what a library loads: of a file that is cut short or of another kind it raises nearly anything.

    Args:
        expected: As of `refused`.
        name: As of `refused`.
        kept: Errors that are raised as they are.
    """
    try:
        yield
    except kept:
        raise
    except Exception as error:
        raise refused(expected, name, " ".join(str(error).split())[:200]) from error


@contextmanager
def given_as(setting: str) -> Iterator[None]:
    """Let messages about a file name the setting that it was given as, where that is not `checkpoint`."""
    try:
        yield
    except UsageError as error:
        raise error.with_message(str(error).replace("`checkpoint`", f"`{setting}`", 1)) from error


def is_safetensors(start: bytes) -> bool:
    """Whether a file that starts so is safetensors: the length of the header, then a JSON object."""
    return len(start) > 8 and start[8:9] == b"{" and int.from_bytes(start[:8], "little") < 2**30


def checked_file(path: str | PathLike[str]) -> Path:
    """The path, if a file is there; else FileNotFoundError or ValueError."""
    file = Path(path)
    if not file.exists():
        raise MissingFileError(f"{os.fspath(path)}: No such file")
    if not file.is_file():
        raise UsageError(f"`checkpoint` must be a file, got the folder or device {os.fspath(path)!r}")
    return file


def _refuse_text(start: bytes, file: Path) -> None:
    """Name what arrives instead of weights when a download goes wrong."""
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not text:
        raise UsageError(f"`checkpoint` must hold weights, got a file that is empty or blank: {str(file)!r}")
    if text.startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
        raise UsageError(
            f"`checkpoint` must hold weights, got a web page in {str(file)!r}, as Google Drive sends in place of a "
            f"large file; open the link in a browser and confirm the download"
        )
    if text.startswith(b"version https://git-lfs"):
        raise UsageError(
            f"`checkpoint` must hold weights, got a pointer of Git LFS in {str(file)!r}; fetch the file: git lfs pull"
        )


def _read_safetensors(file: Path) -> dict[str, torch.Tensor]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="pt") as stored:
            for name in stored.keys():  # noqa: SIM118  # it is no mapping
                if (kind := stored.get_slice(name).get_dtype()) not in _NUMBERS:
                    raise UsageError(
                        f"`checkpoint` must hold numbers of the types {', '.join(_NUMBERS)}, got {kind} under {name!r} "
                        f"in {str(file)!r}; save it as float32"
                    )
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise UsageError(_broken(file, error)) from error
    known_tensors.refuse_not_finite(tensors, str(file))
    return tensors


def _check_members(file: Path) -> None:
    """Check that no member of a zip archive unpacks to more bytes than the file has.

    Raises:
        ValueError: If members are compressed or share bytes. `torch.save` writes neither.
    """
    if not zipfile.is_zipfile(file):
        return
    end = 0
    with zipfile.ZipFile(file) as archive:
        for info in sorted(archive.infolist(), key=lambda info: info.header_offset):
            own = info.compress_type == zipfile.ZIP_STORED and info.file_size == info.compress_size
            if not own or info.header_offset < end:
                raise UsageError(f"the member {info.filename!r}, which is packed or shares bytes with another")
            end = info.header_offset + _MEMBER_HEADER + info.compress_size


def _is_torchscript(file: Path) -> bool:
    """Whether this is a program with weights rather than weights alone."""
    try:
        if not zipfile.is_zipfile(file):
            return False
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise UsageError(_broken(file, error)) from error
    return any(name.partition("/")[2].startswith(("code/", "constants.pkl")) for name in names)


def _read_archive(file: Path, known: Collection[str]) -> dict[str, torch.Tensor]:
    """The tensors of a TorchScript archive; opening it may run its program, so it must be a published one."""
    import torch

    digest = sha256_of(file)
    if digest not in known:
        raise UsageError(
            f"`checkpoint` must be weights without a program, got an unknown TorchScript archive (sha256 "
            f"{digest[:16]}) in {str(file)!r}; only OpenAI's published archives are opened; give safetensors"
        )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*torch.jit.load")
        state = torch.jit.load(file, map_location="cpu").state_dict()
    return state_dict_in(state, file)


def _broken(file: Path, error: Exception) -> str:
    text = " ".join(str(error).split())
    reason = _TORCH_REASON.search(text)
    kind = "" if isinstance(error, UsageError) else f"{type(error).__name__}: "
    why = (reason[1] if reason else f"{kind}{text}")[:200]
    return f"`checkpoint` must be safetensors or a file of torch.save, got {str(file)!r}, which fails with: {why}"

"""Files that are not weights raise an error with their name, and nothing in them is executed."""

import argparse
import pickle
import re
import zipfile

import pytest
import torch
from safetensors.torch import save_file

from vlgauge.checkpoints.reading import read_tensors, read_torch_object


def saved(content, path):
    torch.save(content, path)
    return path


WRITERS = {
    "torch": saved,
    "old torch": lambda content, path: torch.save(content, path, _use_new_zipfile_serialization=False),
    "safetensors": save_file,
}


# -- files that are not weights ---------------------------------------------------------------------------------------
class Touching:
    """Object whose pickle creates a file when it is executed."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("zipped", [True, False, None])
def test_pickles_with_code_are_refused_and_not_executed(tmp_path, zipped):
    content = {"state_dict": {"visual.proj": torch.ones(1), "note": Touching(tmp_path / "executed")}}
    path = tmp_path / "evil.pth"
    if zipped is None:
        path.write_bytes(pickle.dumps(Touching(tmp_path / "executed")))
    else:
        torch.save(content, path, _use_new_zipfile_serialization=zipped)
    with pytest.raises(ValueError, match="`checkpoint` must") as raised:
        read_tensors(path)
    assert not (tmp_path / "executed").exists()
    assert "weights_only" not in str(raised.value)  # torch's advice to load it anyway
    if zipped is not None:
        assert re.search(r"refers to _?io\.open", str(raised.value))
        assert "executed" in str(raised.value)


def test_settings_of_a_training_run_are_refused_with_a_hint(tmp_path):
    content = {"model": {"w": torch.ones(2)}, "opt": argparse.Namespace(lr=1e-4)}
    path = saved(content, tmp_path / "run.pth.tar")
    message = r"argparse\.Namespace.*run\.pth\.tar.*torch\.save"
    with pytest.raises(ValueError, match=message):
        read_tensors(path)
    assert read_torch_object(path, allowed=[argparse.Namespace])["opt"].lr == 1e-4
    with pytest.raises(ValueError, match=r"refers to argparse\.Namespace"):
        read_torch_object(path)  # objects that were allowed once remain forbidden


def wrapped(pickled, path, zipped=True):
    """Write a file like torch.save, with this pickle in place of the tensors."""
    if zipped:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", pickled)
            archive.writestr("archive/version", "3\n")
            archive.writestr("archive/byteorder", "little")
        return path
    machine = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}
    parts = [pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, machine)]
    path.write_bytes(b"".join([*parts, pickled, pickle.dumps([], 2)]))
    return path


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("module", ["posix", "os", "builtins", "torch.hub", "numpy"])
def test_functions_are_refused_by_name(tmp_path, module, zipped):
    name = {"posix": "system", "os": "system", "builtins": "eval", "torch.hub": "load", "numpy": "load"}[module]
    call = f"c{module}\n{name}\nX".encode() + (4).to_bytes(4, "little") + b"true\x85R"
    path = wrapped(b"\x80\x02}X\x01\0\0\0w" + call + b"s.", tmp_path / "x.pt", zipped)
    named = re.escape(f"{module}.{name}".removeprefix("builtins."))
    with pytest.raises(ValueError, match=f"{named}"):
        read_torch_object(path)


def test_what_torch_writes_with_tensors_is_read(tmp_path):
    kinds = [torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int8, torch.bool, torch.complex64]
    content = {str(kind): torch.ones(2, 3).to(kind) for kind in kinds}
    content |= {"parameter": torch.nn.Parameter(torch.ones(2)), "facts": [torch.Size([1, 2]), torch.float32, None, 1.5]}
    content["model"] = torch.nn.BatchNorm1d(3).state_dict()
    content["device"] = torch.device("cpu")
    optimizer = torch.optim.Adam([torch.nn.Parameter(torch.ones(2))])
    content["scheduler"] = torch.optim.lr_scheduler.MultiStepLR(optimizer, [30, 80]).state_dict()
    for write in (WRITERS["torch"], WRITERS["old torch"]):
        path = tmp_path / "x.pt"
        write(content, path)
        found = read_torch_object(path)
        assert all(torch.equal(found[str(kind)], content[str(kind)]) for kind in kinds)
        assert found["facts"] == content["facts"]
        assert found["scheduler"]["milestones"] == {30: 1, 80: 1}
        assert list(found["model"]) == list(content["model"])


@pytest.mark.parametrize("zipped", [True, False])
def test_tuples_that_repeat_within_each_other_are_refused(tmp_path, zipped):
    # The hash of such a key would take years.
    levels = b"".join(b"h" + bytes([level]) + b"\x86q" + bytes([level + 1]) for level in range(60))
    path = wrapped(b"\x80\x02}K\0q\0h\0" + levels + b"K\1s.", tmp_path / "x.pt", zipped)
    with pytest.raises(ValueError, match="UnpicklingError"):
        read_torch_object(path)


def test_pickles_are_found_by_any_case_of_their_names(tmp_path):
    path = tmp_path / "x.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.PKL", b"\x80\x02cposix\nsystem\nX\x04\0\0\0true\x85R.")
        archive.writestr("archive/version", "3\n")
    with pytest.raises(ValueError, match=r"refers to posix\.system"):
        read_torch_object(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<!DOCTYPE html><html><head><title>Google Drive", "Google Drive"),
        (b"\n <HTML>", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "LFS"),
        (b"", "empty or whitespace"),
        (b" \n" * 9, "empty or whitespace"),
        (b"just words", r"safetensors.*torch\.save"),
        (bytes(range(256)) * 9, r"safetensors.*torch\.save"),
        ((20).to_bytes(8, "little") + b'{"a": 1', r"safetensors.*torch\.save"),
        (b"PK\x03\x04" + bytes(99), r"safetensors.*torch\.save"),
    ],
)
def test_files_that_are_not_weights_are_named(tmp_path, content, message):
    path = tmp_path / "weights.pth"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_tensors(path)


@pytest.mark.parametrize("layout", list(WRITERS))
@pytest.mark.parametrize("share", [0.05, 0.5, 0.99])
def test_cut_files_are_refused(tmp_path, layout, share):
    path = tmp_path / "cut"
    WRITERS[layout]({"visual.proj": torch.ones(999), "text_projection": torch.ones(99)}, path)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(ValueError, match=r"torch\.save.*cut"):
        read_tensors(path)


def test_archives_with_a_broken_table_of_contents_are_refused(tmp_path):
    path = saved({"visual.proj": torch.ones(9)}, tmp_path / "broken.pth")
    path.write_bytes(path.read_bytes().replace(b"PK\x01\x02", b"PK\x01\x09"))
    with pytest.raises(ValueError, match=r"torch\.save.*broken\.pth"):
        read_tensors(path)


def test_other_archives_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as opened:
        opened.writestr("a.jpg", b"x")
    with pytest.raises(ValueError, match=r"safetensors.*torch\.save"):
        read_tensors(tmp_path / "photos.zip")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"weights": {"w": torch.ones(1)}, "epoch": 1},
            r"'state_dict' or 'model'.*epoch",
        ),
        ([torch.ones(1)], "got list in"),
        (torch.ones(1), "got Tensor in"),
        ({}, "got dict in"),
        ({"visual.proj": torch.ones(1), "name": "x"}, r"got str.*'name'"),
        ({"state_dict": {"w": torch.ones(1), 3: 4}}, r"got int.*'3'"),
        ({"state_dict": {"w": torch.ones(1)}, "model": {"w": torch.ones(1)}}, "'state_dict' and 'model'"),
    ],
)
def test_other_contents_are_named(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        read_tensors(saved(content, tmp_path / "x.pth"))


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match="No such file"):
        read_tensors(tmp_path / "none.pth")
    with pytest.raises(ValueError, match="folder or device"):
        read_tensors(tmp_path)

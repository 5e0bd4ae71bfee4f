"""The training loop alone: contents of a checkpoint, and errors."""

import signal
import subprocess
import sys

import numpy as np
import pytest
import torch

from vlgauge.core.run_locks import exclusive_run
from vlgauge.core.writing import PART
from vlgauge.research.training.loop import Progressed, TrainingCheckpoint, train


def parts(folder, identity="this"):
    """Return a weight, its optimizer, and the checkpoint of both."""
    weight = torch.nn.Parameter(torch.tensor([4.0, -3.0]))
    optimizer = torch.optim.Adam([weight], lr=0.5)
    return (
        weight,
        optimizer,
        TrainingCheckpoint(folder / "state.pt", identity, {"w": weight.detach()}, optimizer),
    )


def run(folder, rounds, keep=lambda: None):
    """Run gradient descent with noise from torch's generator, and return weight and state."""
    weight, optimizer, checkpoint = parts(folder)

    def one_round(state):
        loss = (weight**2).sum() + 0.1 * torch.rand(())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return {"validation_loss": loss.item() + float(torch.rand(()))}

    torch.manual_seed(0)
    return weight, train(checkpoint, one_round, rounds=rounds, patience=99, keep=keep, report=lambda state: None)


def test_a_run_in_two_parts_is_that_in_one(tmp_path):
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    expected, whole = run(tmp_path / "whole", 6)
    assert len(run(tmp_path / "parts", 2)[1].rounds) == 2
    torch.rand(5)
    found, state = run(tmp_path / "parts", 6)
    assert torch.equal(found, expected)
    assert state == whole


@pytest.mark.parametrize("loss", [np.nan, np.inf])
def test_a_loss_that_is_no_number_ends_the_training(tmp_path, loss):
    _, _, checkpoint = parts(tmp_path)
    message = rf"^`--learning-rate`.*{loss}"
    with pytest.raises(ValueError, match=message):
        train(checkpoint, lambda state: {"validation_loss": loss}, rounds=9, patience=9, keep=print, report=print)
    assert not checkpoint.file.exists()


def test_other_states_are_refused(tmp_path):
    weight, optimizer, checkpoint = parts(tmp_path)
    run(tmp_path, 1)
    other = r"state\.pt.*base"
    with pytest.raises(ValueError, match=other):
        parts(tmp_path, "that")[2].resume()
    wide = TrainingCheckpoint(checkpoint.file, "this", {"w": torch.zeros(3)}, optimizer)
    with pytest.raises(ValueError, match=other):
        wide.resume()
    assert weight.tolist() == [4.0, -3.0]
    checkpoint.file.write_bytes(checkpoint.file.read_bytes()[:99])
    with pytest.raises(ValueError, match="complete and unmodified"):
        checkpoint.resume()
    checkpoint.file.unlink()
    assert checkpoint.resume() == Progressed()


def test_every_byte_that_turns_over_is_noticed(tmp_path):
    weight, _, checkpoint = parts(tmp_path)
    run(tmp_path, 2)
    whole = checkpoint.file.read_bytes()
    for at in range(0, len(whole), 17):
        checkpoint.file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(ValueError, match="must be a complete and unmodified state of a training"):
            checkpoint.resume()
    assert weight.tolist() == [4.0, -3.0]
    checkpoint.file.write_bytes(whole)
    assert len(checkpoint.resume().rounds) == 2


KILLED_IN_THE_MIDDLE = """
import os, signal, sys, threading, time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
import torch
from vlgauge.research.training.loop import TrainingCheckpoint, Progressed

folder = Path(sys.argv[1])
weight = torch.nn.Parameter(torch.zeros(4_000_000))
def kill():
    while True:
        with suppress(FileNotFoundError):
            if any(path.stat().st_size for path in folder.glob(".*.part")):
                os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.0005)
threading.Thread(target=kill, daemon=True).start()
fresh = SimpleNamespace(state_dict=lambda: {"state": {}})  # for a real one torch would import its compiler
while True:
    TrainingCheckpoint(folder / "state", "this", {"w": weight.detach()}, fresh).save(Progressed())
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_what_a_killed_training_leaves_goes_with_the_next(tmp_path):
    finished = subprocess.run([sys.executable, "-c", KILLED_IN_THE_MIDDLE, str(tmp_path)], check=False, timeout=120)
    assert finished.returncode == -signal.SIGKILL
    assert all(PART.fullmatch(path.name) for path in tmp_path.iterdir() if path.name != "state")
    assert len([path for path in tmp_path.glob(".*.part") if path.stat().st_size]) == 1
    (tmp_path / "state").unlink(missing_ok=True)
    with exclusive_run(tmp_path, "OUT"):
        assert [path.name for path in tmp_path.iterdir()] == [".run.lock"]

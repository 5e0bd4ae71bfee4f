"""The training loop by itself: what a checkpoint holds, and what is refused."""

import json

import numpy as np
import pytest
import torch
from safetensors import safe_open

from vlgauge.training.loop import Checkpoint, Plan, Progressed, train


def parts(folder, identity="this"):
    """A weight, its optimizer, and the checkpoint of both."""
    weight = torch.nn.Parameter(torch.tensor([4.0, -3.0]))
    optimizer = torch.optim.Adam([weight], lr=0.5)
    return weight, optimizer, Checkpoint(folder / "state.safetensors", identity, {"w": weight.detach()}, optimizer)


def run(folder, rounds, keep=lambda: None):
    """Gradient descent with noise from torch's generator; returns weight and state."""
    weight, optimizer, checkpoint = parts(folder)

    def one_round(state):
        loss = (weight**2).sum() + 0.1 * torch.rand(())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return {"validation_loss": loss.item() + float(torch.rand(()))}

    torch.manual_seed(0)
    return weight, train(checkpoint, Plan(rounds, 99), one_round, keep=keep, report=lambda state: None)


def test_a_run_in_two_parts_is_that_in_one(tmp_path):
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    expected, whole = run(tmp_path / "whole", 6)
    assert len(run(tmp_path / "parts", 2)[1].rounds) == 2
    torch.rand(5)
    found, state = run(tmp_path / "parts", 6)
    assert torch.equal(found, expected)
    assert state == whole


def test_the_checkpoint_is_tensors_and_json(tmp_path):
    _, state = run(tmp_path, 3)
    with safe_open(tmp_path / "state.safetensors", framework="pt") as file:
        names = set(file.keys())
        metadata = file.metadata()
    assert names >= {"tensors/w", "optimizer/0/step", "optimizer/0/exp_avg", "optimizer/0/exp_avg_sq", "random/cpu"}
    assert json.loads(metadata["progressed"]) == {"rounds": state.rounds, "best": state.best}


@pytest.mark.parametrize("loss", [np.nan, np.inf])
def test_a_loss_that_is_no_number_ends_the_training(tmp_path, loss):
    _, _, checkpoint = parts(tmp_path)
    message = rf"`--learning-rate` must keep the loss finite, got a validation loss of {loss} in round 1; try a smaller"
    with pytest.raises(ValueError, match=message):
        train(checkpoint, Plan(9, 9), lambda state: {"validation_loss": loss}, keep=print, report=print)
    assert not checkpoint.file.exists()


def test_other_states_are_refused(tmp_path):
    weight, optimizer, checkpoint = parts(tmp_path)
    run(tmp_path, 1)
    other = r"state.safetensors` must be the state of this training, got that of one with other data, base or settings"
    with pytest.raises(ValueError, match=other):
        parts(tmp_path, "that")[2].resumed()
    wide = Checkpoint(checkpoint.file, "this", {"w": torch.zeros(3)}, optimizer)
    with pytest.raises(ValueError, match=other):
        wide.resumed()
    assert weight.tolist() == [4.0, -3.0]
    checkpoint.file.write_bytes(checkpoint.file.read_bytes()[:99])
    with pytest.raises(ValueError, match=r"must be the state of an interrupted training, got a file that cannot be re"):
        checkpoint.resumed()
    checkpoint.file.unlink()
    assert checkpoint.resumed() == Progressed()

"""The head in tensors: loss, gradients and one step of Adam of the authors' trainer, and the formula of the metric."""

import numpy as np
import pytest
import torch
from polos_oracle import ROW, Oracle
from safetensors.numpy import load_file

from vlgauge.inputs.images.cells import image_cell
from vlgauge.inputs.images.lazy_images import unique_rgb_images
from vlgauge.models.clip.loading import clip_encoder
from vlgauge.models.rated import head as polos
from vlgauge.models.rated import models as polos_models
from vlgauge.models.rated.files import head_of
from vlgauge.research.training.polos.network import (
    ReferenceBatch,
    compute_squared_error,
    new_network,
    normalize_batch,
    scores_of,
    tensors_of,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("polos")


@pytest.fixture
def oracle(shared_folder, folder):
    return Oracle(shared_folder / "oracles" / "polos", folder)


def network_of(tensors):
    """Return a network with the weights of the oracle's head."""
    head = head_of(tensors, {}, "the test")
    network = new_network(len(head.scalars), head.matrices[0].shape[1], [len(bias) for bias in head.biases[:2]])
    with torch.no_grad():
        network.scalars.copy_(torch.from_numpy(head.scalars))
        network.gamma.fill_(head.gamma)
        for linear, matrix, bias in zip(network.linear, head.matrices, head.biases, strict=True):
            linear.weight.copy_(torch.from_numpy(matrix))
            linear.bias.copy_(torch.from_numpy(bias))
    return network


@pytest.fixture
def network(oracle):
    return network_of(load_file(oracle.source / "weights" / "head.safetensors"))


def given(oracle, ids):
    """Return candidates, references, images and captions of a batch, as the authors' code collates them."""
    clip = clip_encoder(ROW, weights=oracle.clip, device="cpu")
    text = polos_models.text_encoder_of(str(oracle.text_encoder), profile="paper", device="cpu")
    rows = oracle.columns(ids)
    images, image_of = unique_rgb_images([[image_cell(image, "i")] for image in rows["images"]])

    def layers(texts):
        found = polos.normalize_layers(text.layers(texts), np.zeros(len(texts), dtype=np.intp))
        return torch.from_numpy(found.astype(np.float32))

    def read(texts):
        return torch.from_numpy(polos_models.clip_texts(clip, texts))

    groups = []
    for number in range(min(map(len, rows["references"]))):
        texts = [references[number] for references in rows["references"]]
        groups.append(ReferenceBatch(torch.arange(len(ids)), layers(texts), read(texts)))
    v = torch.from_numpy(clip.project(clip.image_hidden(images), "image")[image_of])
    return layers(rows["predictions"]), groups, v, read(rows["predictions"])


def names(network):
    """Return the gradients by the names of the authors' checkpoint."""
    found = {f"scalar_mix.scalar_parameters.{i}": value for i, value in enumerate(network.scalars.grad[:, None])}
    found["scalar_mix.gamma"] = network.gamma.grad
    for number, linear in enumerate(network.linear, 1):
        found[f"ff.0.ff.linear_{number}.weight"] = linear.weight.grad
        found[f"ff.0.ff.linear_{number}.bias"] = linear.bias.grad
    return {name: value.numpy() for name, value in found.items()}


def check_gradients(network, arrays, prefix):
    found = names(network)
    wanted = {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
    checked = [name for name in wanted if name in found]
    assert len(checked) >= 9
    for name in checked:
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-4, atol=1e-4, err_msg=name)


def targets(oracle, ids):
    return torch.tensor([oracle.loss["targets"][number] for number in ids])


def test_loss_and_gradients(oracle, network):
    told, ids = oracle.loss["eval_batch16"], list(range(16))
    scores = scores_of(network, *given(oracle, ids))
    np.testing.assert_allclose(scores.detach().numpy(), told["scores"], rtol=0, atol=1e-5)
    loss = compute_squared_error(scores, targets(oracle, ids))
    assert loss.item() == pytest.approx(told["loss"], abs=1e-5)
    loss.backward()
    check_gradients(network, oracle.arrays("loss.npz"), "eval_batch16.")


class RecordedDropout(torch.nn.Module):
    """Dropout of units with the masks of the authors' code in one batch."""

    def __init__(self, arrays):
        super().__init__()
        pairs = zip(arrays["train_batch16.keep_drop_1"], arrays["train_batch16.keep_drop_2"], strict=True)
        self.masks = iter([mask for pair in pairs for mask in pair])

    def forward(self, values):
        return values * torch.from_numpy(next(self.masks).astype(np.float32)) / 0.9


def test_loss_and_gradients_with_dropout(oracle, network, monkeypatch):
    told, ids, arrays = oracle.loss["train_batch16"], list(range(16)), oracle.arrays("loss.npz")
    network.layer_dropout, network.dropout = 0.1, RecordedDropout(arrays)
    batch, mixes = given(oracle, ids), iter(arrays["train_batch16.keep_mix"].astype(np.float32))
    monkeypatch.setattr(torch, "rand", lambda n: torch.from_numpy(next(mixes)))
    scores = scores_of(network, *batch)
    np.testing.assert_allclose(scores.detach().numpy(), told["scores"], rtol=0, atol=1e-5)
    loss = compute_squared_error(scores, targets(oracle, ids))
    assert loss.item() == pytest.approx(told["loss"], abs=1e-5)
    loss.backward()
    check_gradients(network, arrays, "train_batch16.")


def test_a_step_of_adam(oracle, network):
    told = oracle.loss["adam_step"]
    optimizer = torch.optim.Adam(network.parameters(), lr=told["lr"], betas=told["betas"], eps=told["eps"])
    for ids, wanted in zip(told["batches"], told["losses"], strict=True):
        loss = compute_squared_error(scores_of(network, *given(oracle, ids)), targets(oracle, ids))
        assert loss.item() == pytest.approx(wanted, abs=1e-5)
        (loss / told["loss_divided_by"]).backward()
    norm = torch.nn.utils.clip_grad_norm_(network.parameters(), told["clip"])
    assert norm.item() == pytest.approx(told["grad_norm_before_clip"], rel=1e-4)
    optimizer.step()
    found = tensors_of(network)
    prefix = "adam_step.after."
    for name, wanted in oracle.arrays("loss.npz").items():
        if name.startswith(prefix):
            np.testing.assert_allclose(found[name.removeprefix(prefix)], wanted, rtol=0, atol=1e-6, err_msg=name)


def test_normalised_batch_is_that_of_the_metric(oracle):
    text = polos_models.text_encoder_of(str(oracle.text_encoder), profile="paper", device="cpu")
    texts = [oracle.rows[number]["cand"] for number in range(6)]
    hidden, there = text.hidden([np.array(ids) for ids in text.token_ids(texts)[0]])
    wanted = polos.normalize_layers(text.layers(texts), np.zeros(6, dtype=np.intp))
    np.testing.assert_allclose(normalize_batch(hidden, there).numpy(), wanted, rtol=0, atol=2e-5)

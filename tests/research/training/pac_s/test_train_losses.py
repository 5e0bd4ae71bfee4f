"""Losses, batches and low-rank updates of the training of PAC-S."""

import math
from itertools import islice

import numpy as np
import pytest
import torch
from tiny_clip import golden_json

from vlgauge.research.training.pac_s import data, learners, losses


def features(n, d, seed):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((n, d)))


def all_rows(values):
    return losses.Generated(values, torch.arange(len(values)))


def reference_loss(image, text, scale):
    """Compute Eq. 2 with loops."""
    image, text = image.numpy(), text.numpy()
    n, loss = len(image), 0.0

    def term(i, j):
        return math.exp(scale * image[i] @ text[j] / np.linalg.norm(image[i]) / np.linalg.norm(text[j]))

    for i in range(n):
        loss -= math.log(term(i, i) / sum(term(i, j) for j in range(n))) / n
        loss -= math.log(term(i, i) / sum(term(j, i) for j in range(n))) / n
    return loss


# -- the losses -------------------------------------------------------------------------------------------------------
def test_loss_by_hand():
    """Check cosines [[1, 0], [0.6, 0.8]] with tau = 1."""
    image, text = torch.tensor([[2.0, 0.0], [0.6, 0.8]]), torch.tensor([[1.0, 0.0], [0.0, 3.0]])
    rows = math.log(1 + math.exp(-1.0)) + math.log(1 + math.exp(-0.2))
    columns = math.log(1 + math.exp(-0.4)) + math.log(1 + math.exp(-0.8))
    assert losses.contrastive_loss(image, text, 1.0).item() == pytest.approx((rows + columns) / 2, rel=1e-6)


@pytest.mark.parametrize(("n", "d", "scale"), [(2, 3, 1.0), (5, 4, 14.3), (9, 2, 0.3)])
def test_loss_is_the_formula(n, d, scale):
    image, text = features(n, d, n), features(n, d, n + 1)
    expected = reference_loss(image, text, scale)
    assert losses.contrastive_loss(image, text, scale).item() == pytest.approx(expected, rel=1e-10)
    assert losses.contrastive_loss(3 * image, 0.1 * text, scale).item() == pytest.approx(expected, rel=1e-10)
    order = torch.from_numpy(np.random.default_rng(0).permutation(n))
    assert losses.contrastive_loss(image[order], text[order], scale).item() == pytest.approx(expected, rel=1e-10)


def test_one_pair_or_none_costs_nothing():
    one = features(1, 3, 0)
    assert losses.contrastive_loss(one, 2 * one, 100.0).item() == 0.0
    assert losses.contrastive_loss(one[:0], one[:0], 100.0).item() == 0.0


def test_oracle_with_gradients():
    golden = golden_json("loss.json")
    inputs = {name: torch.tensor(values, dtype=torch.float64) for name, values in golden["inputs"].items()}
    visual, textual = inputs["visual_proj"].requires_grad_(), inputs["text_projection"].requires_grad_()
    found = losses.pac_s_losses(
        inputs["image_hidden"] @ visual,
        inputs["text_hidden"] @ textual,
        all_rows(inputs["generated_image_hidden"] @ visual),
        all_rows(inputs["generated_text_hidden"] @ textual),
        1 / golden["meta"]["tau"],
        image_weight=golden["meta"]["lambda_v"],
        text_weight=golden["meta"]["lambda_t"],
    )
    found.total.backward()
    terms = [found.real, found.generated_image, found.generated_text, found.total]
    names = ["L_real", "L_generated_image", "L_generated_text", "total"]
    np.testing.assert_allclose([term.item() for term in terms], [golden[name] for name in names], rtol=1e-9)
    np.testing.assert_allclose(visual.grad.numpy(), golden["grad_visual_proj"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(textual.grad.numpy(), golden["grad_text_projection"], rtol=1e-9, atol=1e-12)


def test_rows_without_generated_parts_are_left_out_of_their_terms():
    image, text, drawn, told = (features(6, 4, seed) for seed in range(4))
    rows = torch.tensor([1, 2, 5])
    found = losses.pac_s_losses(
        image, text, losses.Generated(drawn[rows], rows), losses.Generated(told[:0], rows[:0]), 5.0
    )
    assert found.real.item() == losses.contrastive_loss(image, text, 5.0).item()
    assert found.generated_image.item() == pytest.approx(reference_loss(drawn[rows], text[rows], 5.0), rel=1e-10)
    assert found.generated_text.item() == 0.0
    assert found.total.item() == pytest.approx((found.real + 0.05 * found.generated_image).item(), rel=1e-12)
    swapped = losses.pac_s_losses(
        image, text, losses.Generated(told[:0], rows[:0]), losses.Generated(told[rows], rows), 5.0
    )
    expected = found.real.item() + 0.1 * reference_loss(image[rows], told[rows], 5.0)
    assert swapped.total.item() == pytest.approx(expected, rel=1e-10)


def test_heads_see_what_belongs_to_a_row():
    """Check three rows of two images and three texts, of which one lacks V' and two lack T'."""
    hidden = [features(n, 4, n).float().numpy() for n in (5, 6)]
    state = {"visual.proj": features(4, 3, 1), "text_projection": features(4, 3, 2), "logit_scale": torch.tensor(0.7)}
    places = ([0, 1, 0], [2, 0, 1], [3, -1, 4], [-1, 5, -1])
    of_rows = data.CaptionMaterial([], [], *map(np.array, (*places, [0, 1, 2])), n_train=3)
    learner = learners.HeadLearner(of_rows, *hidden, state, weights=(0.2, 0.3))
    found = learner.losses(np.array([2, 1]))
    image, text = (
        torch.from_numpy(values) @ state[name].float()
        for values, name in zip(hidden, ("visual.proj", "text_projection"), strict=True)
    )
    scale = math.exp(0.7)
    real = losses.contrastive_loss(image[[0, 1]], text[[1, 0]], scale)
    # A term of a single pair is 0.
    assert found.generated_image.item() == found.generated_text.item() == 0.0
    assert found.total.item() == pytest.approx(real.item(), rel=1e-6)
    found = learner.losses(np.array([0, 1, 2]))
    assert found.generated_image.item() == pytest.approx(
        losses.contrastive_loss(image[[3, 4]], text[[2, 1]], scale).item(), rel=1e-6
    )
    found.total.backward()
    assert all(tensor.grad.abs().sum() > 0 for tensor in learner.parameters.values())


# -- batches ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("keep_rest", [False, True])
def test_no_image_twice_in_a_batch(keep_rest):
    images = np.random.default_rng(1).integers(0, 40, 200)
    dealt = data.epoch_batches(images, np.arange(200), 16, np.random.default_rng(0), keep_rest=keep_rest)
    rows = np.concatenate(dealt)
    assert len(set(rows.tolist())) == len(rows)
    assert all(len(set(images[batch].tolist())) == len(batch) for batch in dealt)
    counts = np.bincount(images)
    if keep_rest:
        # Only a round with a single remaining image cannot be used.
        assert len(rows) >= 200 - (counts.max() + 1)
    else:
        assert {len(batch) for batch in dealt if len(batch) < 16} <= {(counts > r).sum() for r in range(counts.max())}


def test_every_round_is_shuffled_anew():
    images = np.repeat(np.arange(64), 5)
    first = [
        set(batch.tolist()) for batch in data.epoch_batches(images, np.arange(320), 32, np.random.default_rng([0, 0]))
    ]
    second = [
        set(batch.tolist()) for batch in data.epoch_batches(images, np.arange(320), 32, np.random.default_rng([0, 1]))
    ]
    assert len(first) == len(second) == 10
    assert not any(batch in second for batch in first)
    assert sum(map(len, first)) == 320
    small = data.epoch_batches(np.arange(5), np.arange(5), 32, np.random.default_rng(0))
    assert [sorted(batch.tolist()) for batch in small] == [[0, 1, 2, 3, 4]]


def test_groups_stay_together():
    groups = np.random.default_rng(0).permutation(np.repeat(np.arange(12), 4))
    dealt = data.epoch_batches(np.arange(48), groups, 16, np.random.default_rng(0))
    assert [sorted(np.unique(groups[batch], return_counts=True)[1].tolist()) for batch in dealt] == [[4] * 4] * 3
    first = {groups[batch].tolist()[0] for batch in dealt}
    again = data.epoch_batches(np.arange(48), groups, 16, np.random.default_rng(1))
    assert first != {groups[batch].tolist()[0] for batch in again}
    # An image that occurs twice is never paired with itself.
    images = np.repeat(np.arange(24), 2)
    dealt = data.epoch_batches(images, np.arange(48) // 4, 8, np.random.default_rng(0))
    assert all(len(set(images[batch].tolist())) == 8 for batch in dealt)


def test_the_batch_of_an_iteration_is_the_same_wherever_one_begins():
    rows, images = 100 + np.arange(50), np.arange(50) // 2
    epochs = [data.epoch_batches(images, rows, 8, np.random.default_rng([3, epoch])) for epoch in range(5)]
    expected = [rows[batch].tolist() for epoch in epochs for batch in epoch]
    assert len(expected) == 30
    found = data.all_batches(rows, images, rows, 8, seed=3)
    assert [batch.tolist() for batch in islice(found, 30)] == expected
    for iteration in (0, 3, 17, 29):
        later = next(islice(data.all_batches(rows, images, rows, 8, seed=3), iteration, None))
        assert later.tolist() == expected[iteration]
        assert later.min() >= 100


# -- low-rank updates -------------------------------------------------------------------------------------------------
def test_updates_start_from_the_base_and_have_the_stated_rank():
    state = {
        "visual.conv1.weight": torch.randn(6, 3, 4, 4),
        "visual.transformer.resblocks.0.attn.in_proj_weight": torch.randn(18, 6),
        "transformer.resblocks.0.mlp.c_fc.weight": torch.randn(24, 6),
        "transformer.resblocks.0.mlp.c_fc.bias": torch.randn(24),
        "text_projection": torch.randn(6, 5),
    }
    updates = learners.new_updates(state, 2, seed=0)
    shapes = {name: tuple(tensor.shape) for name, tensor in updates.items()}
    assert shapes["visual.conv1.weight.lora_A"] == (8, 12)
    assert shapes["visual.conv1.weight.lora_B"] == (24, 8)
    assert shapes["transformer.resblocks.0.mlp.c_fc.weight.lora_A"] == (2, 6)
    assert shapes["transformer.resblocks.0.mlp.c_fc.weight.lora_B"] == (24, 2)
    assert len(shapes) == 6
    start = learners.merge_weights(state, updates, 2)
    assert set(start) == {name for name in state if name != "text_projection" and not name.endswith("bias")}
    assert all(torch.equal(start[name], state[name]) for name in start)
    with torch.no_grad():
        for tensor in updates.values():
            tensor += torch.randn(tensor.shape)
    after = learners.merge_weights(state, updates, 2)
    name = "transformer.resblocks.0.mlp.c_fc.weight"
    change = (after[name] - state[name]).detach()
    expected = updates[f"{name}.lora_B"] @ updates[f"{name}.lora_A"] / 2
    assert torch.allclose(change, expected, atol=1e-6)
    assert torch.linalg.matrix_rank(change).item() == 2
    again = learners.new_updates(state, 2, seed=0)
    assert torch.equal(again[f"{name}.lora_A"], learners.new_updates(state, 2, seed=0)[f"{name}.lora_A"])
    assert not torch.equal(again[f"{name}.lora_A"], learners.new_updates(state, 2, seed=1)[f"{name}.lora_A"])

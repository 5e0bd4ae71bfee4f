"""Parameters that a file fills are built without random values, and all others are computed."""

import torch

from vlgauge.checkpoints.first_values import without_first_values


def test_nothing_is_drawn():
    with without_first_values():
        before = torch.random.get_rng_state()
        for kind, sizes in (("Conv2d", (3, 4, 2)), ("Embedding", (5, 4)), ("Linear", (3, 4))):
            getattr(torch.nn, kind)(*sizes)
        torch.nn.init.normal_(tensor=torch.zeros(3))
        assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.nn.init.normal_(torch.zeros(3)).all()


def test_models_of_transformers_draw_nothing():
    from transformers import BertConfig, BertModel

    config = BertConfig(vocab_size=5, hidden_size=4, num_hidden_layers=1, num_attention_heads=1, intermediate_size=4)
    with without_first_values():
        before = torch.random.get_rng_state()
        model = BertModel(config)
        assert torch.equal(torch.random.get_rng_state(), before)
    assert model.embeddings.LayerNorm.weight.tolist() == [1, 1, 1, 1]


def test_tables_are_computed():
    with without_first_values():
        norm, mask = torch.nn.BatchNorm2d(3), torch.full((2, 2), 5.0).triu_(1)
    assert norm.running_var.tolist() == [1, 1, 1]
    assert mask.tolist() == [[0, 5], [0, 0]]


def test_other_draws_of_a_building_move_no_number_of_the_caller():
    before = torch.random.get_rng_state()
    with without_first_values():
        torch.randn(3)
    assert torch.equal(torch.random.get_rng_state(), before)

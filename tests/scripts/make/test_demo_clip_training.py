"""The training of the demo CLIP: codes and labels of its material, batches, losses, and the same file from a seed."""

import itertools
import json

import numpy as np
import pytest
import torch
from claims import true_of

from vlgauge import scenes
from vlgauge.models.clip import demo


@pytest.fixture(scope="module")
def state():
    return demo.demo_state()


@pytest.fixture(scope="module")
def small():
    """Return a small part of the training material."""
    from demo_clip.material import material

    return material(40, 0)


def test_codes_decide_the_truth_as_claims_do():
    from demo_clip.codes import claim_row, scene_row, truth

    rng = np.random.default_rng(0)
    # Few properties, so that many claims are true of many scenes.
    chosen = [s for s in scenes.scenes(6000, 0) if {t.shape for t in s.objects} <= {"star", "ring"}]
    chosen = [s for s in chosen if {t.colour for t in s.objects} <= {"red", "blue", "green"}][:60]
    claims = [scenes.statement(scene, rng, complete=False).claim for scene in chosen]
    claims += [scenes.Claim(), scenes.Claim((scenes.ObjectMention(), scenes.ObjectMention("star")), "above")]
    expected = [[true_of(claim, scene) for claim in claims] for scene in chosen]
    rows = (np.array([make(each) for each in values]) for make, values in ((scene_row, chosen), (claim_row, claims)))
    np.testing.assert_array_equal(truth(*rows), expected)
    assert len(chosen) > 20
    assert 0.05 < np.mean(expected) < 0.5


def test_of_a_crop_and_of_an_empty_cell_little_is_known():
    from demo_clip.codes import claim_row, ground_row, scene_row, truth

    star = scenes.Scene((scenes.SceneObject("star", "red", "small"),), None, "black")
    seen = np.array([scene_row(star, sized=False), scene_row(star), ground_row("black")])
    mentions = [
        scenes.ObjectMention("star", "red", "large"),
        scenes.ObjectMention("star", None, "small"),
        scenes.ObjectMention(),
    ]
    claims = [*(scenes.Claim((mention,)) for mention in mentions), scenes.Claim(background="black"), scenes.Claim()]
    found = truth(seen, np.array([claim_row(claim) for claim in claims]))
    assert found.tolist() == [[1, 1, 1, 1, 1], [0, 1, 1, 1, 1], [0, 0, 0, 1, 1]]


def test_targets_do_not_depend_on_the_order_of_naming():
    from demo_clip.codes import IGNORED, N_VALUES, claim_row, ground_row, said_targets, scene_row, targets

    star, ring = scenes.SceneObject("star", "red", "small"), scenes.SceneObject("ring", "blue", "large")
    below = scenes.Scene((star, ring), "below", "black")
    alone = scenes.Scene((star,), None, "grey")
    rows = np.array(
        [scene_row(below), scene_row(below.reverse_order()), scene_row(alone, sized=False), ground_row("white")]
    )
    n_shapes, n_colours, n_sizes = (n - 1 for n in N_VALUES[:3])
    expected = [
        [5, 4, 1, 3, 0, 0, 2, 2],
        [5, 4, 1, 3, 0, 0, 2, 2],
        [3, 0, IGNORED, n_shapes, n_colours, n_sizes, 0, 1],
        [n_shapes, n_colours, n_sizes, n_shapes, n_colours, n_sizes, 0, 0],
    ]
    assert targets(rows).tolist() == expected
    complete = scenes.statement(below, np.random.default_rng(0)).claim
    loose = scenes.Claim((scenes.ObjectMention("ring"), scenes.ObjectMention()), "above")
    one = scenes.Claim((scenes.ObjectMention("star", "red"),))
    both = scenes.Claim((scenes.ObjectMention("star"), scenes.ObjectMention("ring")), None, "black")
    ground = scenes.Claim(background="grey")
    claims = np.array([claim_row(claim) for claim in (complete, loose, one, one, both, ground)])
    seen = rows[[0, 0, 0, 2, 0, 2]]
    left_out = [IGNORED] * 6
    assert said_targets(claims, seen).tolist() == [
        expected[0],
        [5, *left_out[:5], 2, IGNORED],
        [*left_out, IGNORED, IGNORED],
        [3, 0, *left_out[:4], IGNORED, IGNORED],
        [*left_out, IGNORED, 2],
        [*left_out, IGNORED, 1],
    ]


def test_token_ids_are_those_of_open_clip():
    import open_clip
    from demo_clip.codes import token_ids

    texts = [text for scene in scenes.scenes(20, 0) for text in scenes.captions(scene, 0, 3)]
    texts += [sentence for story in scenes.stories(10, 0) for sentence in story.sentences]
    texts = [f"A photo depicts {text}" for text in texts]
    for text, row in zip(texts, open_clip.tokenize(texts).tolist(), strict=True):
        assert [49406, *token_ids(text), 49407] == row[: row.index(49407) + 1]


def test_first_texts_are_true_and_the_others_have_a_changed_fact(small):
    from demo_clip.codes import truth
    from demo_clip.material import KINDS

    n = len(small.kinds)
    assert set(small.kinds) == set(range(len(KINDS)))
    for text in range(small.claims.shape[1]):
        right, *wrong = (np.diagonal(truth(small.seen, small.claims[:, text, v])) for v in range(3))
        assert right.all()
        # Texts that leave the changed fact out are still true.
        assert np.mean(wrong) < 0.5
    assert small.pixels.shape == (n, 64, 64, 3)
    assert small.lengths.max() <= small.tokens.shape[-1]
    assert (small.lengths > 0).all()


def test_a_batch_has_its_right_texts_on_the_diagonal(small):
    from demo_clip.codes import truth
    from demo_clip.training import Batches

    batches = Batches(small, 24, 0)
    pixels, ids, omitted, facts = batches.batch()
    assert facts.shape == (72, 8)
    assert pixels.shape == (24, 3, 64, 64)
    assert omitted.shape == (24, len(ids)) == (24, 48)
    assert not omitted.diagonal().any()
    end = len(batches.ids)
    assert ((ids == end).sum(dim=1) == 1).all()
    assert ids.max() == end
    known = set(itertools.chain(*truth(small.seen, small.claims[:, 0, 0]).tolist()))
    assert known == {True, False}
    prompted = [tuple(row[1:4].tolist()) == tuple(batches._compact[batches.prompt]) for row in ids]
    assert prompted[:24] == prompted[24:] or 0 in ids[:, :5]
    assert 0 < sum(prompted) < 48


def test_texts_cut_short_have_the_features_of_whole_ones(state):
    from demo_clip.training import new_model, text_features

    model = new_model(demo.DEMO_MODEL["text_cfg"]["vocab_size"]).eval()
    model.load_state_dict(state)
    ids = torch.zeros(3, 77, dtype=torch.long)
    ids[:, :4] = torch.tensor([[49406, 320, 736, 49407], [49406, 736, 49407, 0], [49406, 320, 320, 49407]])
    with torch.no_grad():
        torch.testing.assert_close(text_features(model, ids[:, :4]), model.encode_text(ids), rtol=1e-5, atol=1e-5)


def test_the_loss_is_that_of_its_definition():
    from demo_clip.training import contrastive_loss

    rng = np.random.default_rng(0)
    image, text = rng.normal(size=(3, 5)), rng.normal(size=(7, 5))
    omitted = np.zeros((3, 7), bool)
    omitted[0, 1] = omitted[2, 5] = True
    units = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (image, text)]
    weights = np.where(omitted, 0.0, np.exp(4.0 * units[0] @ units[1].T))
    rows = np.mean([-np.log(weights[i, i] / weights[i].sum()) for i in range(3)])
    columns = np.mean([-np.log(weights[i, i] / weights[:, i].sum()) for i in range(3)])
    tensors = (torch.from_numpy(image), torch.from_numpy(text), torch.tensor(4.0), torch.from_numpy(omitted))
    assert contrastive_loss(*tensors).item() == pytest.approx((rows + columns) / 2, rel=1e-10)


def test_the_reader_is_asked_only_for_what_is_said():
    from demo_clip.codes import IGNORED, N_VALUES
    from demo_clip.training import reading_loss

    rng = np.random.default_rng(0)
    reader = torch.nn.Linear(4, sum(N_VALUES)).double()
    vectors = torch.from_numpy(rng.normal(size=(3, 4)))
    facts = np.full((3, 8), IGNORED)
    facts[0, 0], facts[2, 0], facts[1, 7] = 2, 5, 3
    scores = (10 * vectors @ reader.weight.T + reader.bias).detach().numpy()

    def surprise(row, values, right):
        return np.log(np.exp(scores[row, values]).sum()) - scores[row, values][right]

    shapes, grounds = slice(0, N_VALUES[0]), slice(sum(N_VALUES[:-1]), None)
    expected = ((surprise(0, shapes, 2) + surprise(2, shapes, 5)) / 2 + surprise(1, grounds, 3)) / 2
    assert reading_loss(vectors, torch.from_numpy(facts), reader).item() == pytest.approx(expected, rel=1e-10)


def test_training_gives_both_files_and_the_same_ones_again(monkeypatch, tmp_path, capsys):
    import train_demo_clip

    monkeypatch.setattr(train_demo_clip, "figures", lambda state: {"mean cosine of right pairs": float(len(state))})
    threads = torch.get_num_threads()
    before = torch.random.get_rng_state()
    written = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        small = ["--scenes", "20", "--steps", "3", "--batch", "8", "--threads", str(threads)]
        train_demo_clip.main(["--folder", str(folder), *small])
        record = json.loads((folder / "demo_clip.json").read_text("utf-8"))
        assert record["sha256"] == demo.sha256_of(folder / "demo_clip.safetensors")
        assert record["training"]["steps"] == 3
        written.append((folder / "demo_clip.safetensors").read_bytes())
    assert written[0] == written[1]
    assert torch.equal(before, torch.random.get_rng_state())
    capsys.readouterr()
    train_demo_clip.main(["--evaluate", "--folder", str(tmp_path / "one"), "--threads", str(threads)])
    assert capsys.readouterr().out.startswith("mean cosine of right pairs")
    anew = ["--folder", str(tmp_path / "one"), "--seed", "1", *small]
    with pytest.raises(SystemExit) as caught:
        train_demo_clip.main(anew)
    assert caught.value.code == 2
    told = f"must be a new path, got {str(tmp_path / 'one' / 'demo_clip.safetensors')!r}, which exists; choose"
    assert told in capsys.readouterr().err
    assert (tmp_path / "one" / "demo_clip.safetensors").read_bytes() == written[0]
    train_demo_clip.main([*anew, "--overwrite"])
    assert (tmp_path / "one" / "demo_clip.safetensors").read_bytes() != written[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--steps", "0"], "`--steps` must be at least 1, got 0"),
        (["--batch", "1"], "`--batch` must be at least 2, got 1"),
        (["--rate", "nan"], "`--rate` must be a positive number, got nan"),
        (["--folder", "no/where"], "`--folder` must be a folder or be in one, got 'no/where'"),
        (["--folder", "nowhere", "--evaluate"], "`--folder` must be a folder or be in one, got 'nowhere'"),
        (
            ["--steps", "6001"],
            "`--folder` must be given with --steps, or the shipped demo model would be replaced by another",
        ),
        ([], "demo_clip.safetensors', which exists; choose another name, or pass --overwrite to replace it"),
        (["--seed", "1", "--threads", "2"], "`--folder` must be given with --seed, or the shipped demo model would be"),
    ],
)
def test_options_that_cannot_work_or_would_replace_the_demo_model(options, message, capsys, monkeypatch, tmp_path):
    import train_demo_clip

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(train_demo_clip, "train_clip", lambda options: pytest.fail("it trains"))
    with pytest.raises(SystemExit) as caught:
        train_demo_clip.main(options)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err

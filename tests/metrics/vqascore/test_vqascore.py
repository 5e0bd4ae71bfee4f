"""VQAScore: two definitions by hand, the question, parity on tiny models, and the module that is trained through."""

import math
from functools import cache

import numpy as np
import pytest
import tiny_judges
import torch

import vlgauge
from vlgauge import scenes
from vlgauge.core.catalog import folder_module
from vlgauge.families import judged
from vlgauge.integrations.vqascore import VqaScore
from vlgauge.models.judges.loading import judge_of

GREY = np.full((8, 8, 3), 128, dtype=np.uint8)
CAPTIONS = ["a dog", "two cats on a long bench", "x"]
IMAGES = [tiny_judges.png(40, 28, 1), tiny_judges.png(30, 50, 2), tiny_judges.png(28, 28, 3)]


class Scripted:
    """Judge model with given token probabilities, which records the requests."""

    identity, dtype, preparation, reads_digits = "scripted", "float32", "own", True

    def __init__(self, *chances):
        self.found, self.asked = [np.log(one) for one in chances], []

    def opening(self, opening):
        return "none"

    def find_altered(self, questions):
        return [False] * len(questions)

    def answers(self, questions, opening, *, longest, batch_size=1, progress=None):
        raise NotImplementedError

    def chances(self, questions, answers, opening, *, batch_size=1, progress=None):
        self.asked += [(question.text(), answer) for question, answer in zip(questions, answers, strict=True)]
        return self.found[: len(questions)]


def scored(judge, n=1, **settings):
    metric = vlgauge.load("vqascore", model=judge, **settings)
    return metric.compute(predictions=["a dog", "a cat"][:n], images=[GREY] * n, return_details=True)


def test_both_definitions_by_hand():
    assert scored(Scripted([0.64, 0.25]))["vqascore"] == pytest.approx(0.4)  # sqrt(0.64 * 0.25)
    assert scored(Scripted([0.64, 0.25]), definition="v3.1")["vqascore"] == pytest.approx(0.64)
    three = Scripted([0.5, 0.25, 0.125])
    assert scored(three)["vqascore"] == pytest.approx(0.25)
    assert scored(three, definition="v3.1")["vqascore"] == pytest.approx(math.sqrt(0.125))


def test_definition_as_plain_loops():
    rng = np.random.default_rng(3)
    formula = folder_module("vqascore", "formula")
    for _ in range(50):
        chances = rng.uniform(0.01, 1, size=rng.integers(2, 6)).tolist()
        for definition, kept in (("v3.0", chances), ("v3.1", chances[:-1])):
            product = 1.0
            for one in kept:
                product *= one
            found = math.exp(formula.mean_log_chance(np.log(chances), definition))
            assert found == pytest.approx(product ** (1 / len(kept)), rel=1e-12)
            assert min(kept) - 1e-12 <= found <= max(kept) + 1e-12


def test_questions_are_those_of_the_authors():
    judge = Scripted([0.5, 0.5], [0.5, 0.5])
    scored(judge, 2)
    scored(judge, 1, definition="v3.1")
    scored(judge, 1, template="", answer="{}")
    assert judge.asked == [
        ('Does this figure show "a dog"? Please answer yes or no.', "Yes"),
        ('Does this figure show "a cat"? Please answer yes or no.', "Yes"),
        ('Does this figure show "a dog"? Please answer Yes or No.', "Yes"),
        ("", "a dog"),
    ]


def test_details_have_question_and_chances():
    result = scored(Scripted([0.64, 0.25]))
    assert result["vqascore_details"][0]["chances"] == pytest.approx([0.64, 0.25])
    assert result["vqascore_details"][0]["answer"] == "Yes"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"definition": "v4"}, r"^`definition`"),
        ({"template": "What?"}, r"^`template`.*got 'What\?'"),
        ({"template": 3}, r"^`template`.*got int"),
        ({"answer": " "}, r"^`answer`"),
    ],
)
def test_wrong_settings(settings, told):
    with pytest.raises(ValueError, match=told):
        vlgauge.load("vqascore", **settings)


# -- through models ----------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    """Function that returns settings of a tiny model of a family, each model written at its first use."""
    folder = tmp_path_factory.mktemp("judges")

    @cache
    def settings(kind):
        if kind == "clip_t5":
            t5, tower, _ = tiny_judges.clip_t5(folder / kind)
            return {"model": str(t5), "tower": str(tower)}
        return {"model": str(tiny_judges.SEEING[kind](folder / kind))}

    return settings


def released(kind, judge, metric, caption, image, definition):
    """Compute the score from the logits of one forward pass over question and answer, with softmax and product."""

    question = metric.question(caption, judged.lazy_images_of([[{"bytes": image, "path": None}]])[0])
    prepared = judge._prepare(question, metric.opening, "Yes")
    ids = torch.tensor([prepared.answer])
    end = judge._stops[0]
    with torch.no_grad():
        if "inputs_embeds" in prepared.inputs:
            labels = torch.tensor([[*prepared.answer, end]])
            inputs = {name: value for name, value in prepared.inputs.items()}
            logits = judge.model(**inputs, labels=labels).logits[0]
        else:
            # In PaliGemma the question must not attend to the tokens after it.
            ones = ("attention_mask", "token_type_ids") if kind == "paligemma" else ("attention_mask",)
            whole = {
                name: torch.cat([value, ids if name == "input_ids" else torch.full_like(ids, name in ones)], 1)
                if name in ("input_ids", "attention_mask", "mm_token_type_ids", "token_type_ids")
                else value
                for name, value in prepared.inputs.items()
            }
            logits = judge.model(**whole).logits[0, -len(prepared.answer) - 1 :]
    chances = torch.softmax(logits.double(), dim=-1)
    told = [float(chances[i, token]) for i, token in enumerate([*prepared.answer, end])]
    kept = told if definition == "v3.0" else told[:-1]
    return math.prod(kept) ** (1 / len(kept))


# The terms that a definition omits do not depend on the model.
@pytest.mark.parametrize(
    ("kind", "definition"),
    [*((kind, "v3.0") for kind in (*tiny_judges.SEEING, "clip_t5")), ("llava", "v3.1"), ("clip_t5", "v3.1")],
)
def test_scores_of_tiny_models_are_products_of_softmaxes(chosen, kind, definition):
    settings = {**chosen(kind), "device": "cpu", "definition": definition}
    metric = vlgauge.load("vqascore", batch_size=3, **settings)
    result = metric.compute(predictions=CAPTIONS, images=IMAGES)
    judge = judge_of(metric.model, tower=metric.tower, device="cpu")
    expected = [
        released(kind, judge, metric, text, image, definition) for text, image in zip(CAPTIONS, IMAGES, strict=True)
    ]
    assert result["vqascore_scores"] == pytest.approx(expected, rel=1e-5)
    assert f"|definition:{definition}|" in result["vqascore_signature"]


@pytest.mark.parametrize("kind", ["llava", "clip_t5"])
def test_the_module_gives_the_scores_and_gradients(chosen, kind):
    settings = {**chosen(kind), "device": "cpu"}
    module = VqaScore(**settings)
    metric = vlgauge.load("vqascore", **settings)
    expected = metric.compute(predictions=CAPTIONS, images=IMAGES)["vqascore_scores"]
    found = module(CAPTIONS, IMAGES)
    assert found.detach().tolist() == pytest.approx(expected, rel=1e-5)
    found.sum().backward()
    assert module.model.get_input_embeddings().weight.grad.abs().max() > 0
    module.zero_grad()
    module.requires_grad_(False)
    pixels = torch.randn(3, 3, 28, 28, generator=torch.Generator().manual_seed(0), requires_grad=True)
    module(CAPTIONS, pixels=pixels).sum().backward()
    assert (pixels.grad.abs().amax(dim=(1, 2, 3)) > 0).all()


def test_metrics_go_on_with_untrained_weights(chosen):
    settings = {**chosen("llava"), "device": "cpu"}
    metric = vlgauge.load("vqascore", **settings)
    before = metric.compute(predictions=CAPTIONS, images=IMAGES)
    module = VqaScore(**settings)
    with torch.no_grad():
        module.model.get_output_embeddings().weight.mul_(2)
    after = metric.compute(predictions=CAPTIONS, images=IMAGES)
    assert after["vqascore_scores"] == pytest.approx(before["vqascore_scores"], rel=1e-6)
    assert module(CAPTIONS, IMAGES).tolist() != pytest.approx(before["vqascore_scores"], rel=1e-2)


def test_what_the_module_refuses(chosen):
    module = VqaScore(**chosen("qwen2"), device="cpu")
    with pytest.raises(ValueError, match=r"^`images`.*`pixels`"):
        module(CAPTIONS)
    with pytest.raises(ValueError, match=r"^`captions`.*got 3"):
        module(CAPTIONS, IMAGES[:1])
    with pytest.raises(ValueError, match=r"^`pixels`"):
        module(CAPTIONS[:1], pixels=torch.zeros(1, 3, 28, 28))
    with pytest.raises(ValueError, match=r"^`model`"):
        VqaScore(profile="embedded", device="cpu")


def test_the_demo_model_prefers_the_right_caption():
    demo = vlgauge.load("vqascore", profile="embedded", device="cpu")
    kept = [(one, scenes.change_fact(one, "colour", seed=1)) for one in scenes.scenes(20, seed=7, split="test")]
    pairs = [(one, other) for one, other in kept if other is not None]
    images = [scenes.draw_scene(one).image for one, _ in pairs]
    right, wrong = (
        np.array(demo.compute(predictions=texts, images=images)["vqascore_scores"])
        for texts in ([scenes.captions(pair[k], seed=1)[0] for pair in pairs] for k in (0, 1))
    )
    assert (right > wrong).all()

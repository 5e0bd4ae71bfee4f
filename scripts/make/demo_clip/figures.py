"""Figures of the demo CLIP on held-out scenes, stories and videos: shares of right comparisons."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.nn import functional

from demo_clip.codes import token_ids
from demo_clip.material import pixels_of
from demo_clip.training import PROMPT, new_model, normalize_pixels, text_features
from vlgauge.models.clip.demo import DEMO_MODEL
from vlgauge.scenes.clips import clips
from vlgauge.scenes.content import Scene, change_fact, scenes
from vlgauge.scenes.drawing import draw_scene
from vlgauge.scenes.stories import SceneStory, stories
from vlgauge.scenes.wording import captions

N_SCENES = 1024
N_STORIES = 300
N_CLIPS = 100
# Minimum values. Swapped positions have none, because a model of this size may be at chance level.
REQUIRED = {
    "image to text, top 1 of 32": 0.95,
    "right above another scene's caption": 0.98,
    "right above wrong colour": 0.95,
    "right above wrong shape": 0.95,
    "right above wrong size": 0.90,
    "right above wrong background": 0.95,
    "phrase: right crop above the other crop": 0.95,
    "absent object lowest among the objects of a story": 0.85,
    "right story above another": 0.97,
}

_CHUNK = 256


class DemoTowers:
    """Model as a function from images and from texts to L2-normalized embeddings."""

    def __init__(self, state: Mapping[str, torch.Tensor]) -> None:
        self.model: Any = new_model(DEMO_MODEL["text_cfg"]["vocab_size"])
        self.model.load_state_dict(state, strict=True)
        self.model.eval()

    def images(self, pil_images: Sequence[Image.Image]) -> np.ndarray:
        """Compute L2-normalized embeddings of images, shape ``(n, 64)``."""
        parts = [np.stack([pixels_of(each) for each in part]) for part in _parts(pil_images)]
        with torch.no_grad():
            rows = [functional.normalize(self.model.encode_image(normalize_pixels(part)), dim=-1) for part in parts]
        return torch.cat(rows).numpy()

    def texts(self, texts: Sequence[str], prompt: str = "") -> np.ndarray:
        """Compute L2-normalized embeddings of plain texts, shape ``(n, 64)``."""
        distinct = sorted(set(texts), key=lambda text: (len(text), text))
        rows = []
        for part in _parts(distinct):
            ids = [torch.tensor([49406, *token_ids(prompt + text), 49407]) for text in part]
            with torch.no_grad():
                padded = torch.nn.utils.rnn.pad_sequence(ids, batch_first=True)
                rows.append(functional.normalize(text_features(self.model, padded), dim=-1))
        indices = {text: index for index, text in enumerate(distinct)}
        return torch.cat(rows).numpy()[[indices[text] for text in texts]]


def _parts(values: Sequence[Any]) -> list[Sequence[Any]]:
    return [values[start : start + _CHUNK] for start in range(0, len(values), _CHUNK)]


def figures(
    state: Mapping[str, torch.Tensor], n_scenes: int = N_SCENES, n_stories: int = N_STORIES, n_clips: int = N_CLIPS
) -> dict[str, float]:
    """Compute shares between 0 and 1 on the test split."""
    towers = DemoTowers(state)
    chosen = scenes(n_scenes, 1, "test")
    values = {**scene_figures(towers, chosen), **region_figures(towers, chosen)}
    values |= {**story_figures(towers, stories(n_stories, 2, "test")), **clip_figures(towers, n_clips)}
    return {name: round(float(value), 4) for name, value in values.items()}


def scene_figures(towers: DemoTowers, chosen: Sequence[Scene]) -> dict[str, float]:
    """Compare whole images with captions after the prompt. Ties are wrong."""
    images = {
        style: towers.images([draw_scene(scene, seed=3, style=style).image for scene in chosen])
        for style in ("flat", "outlined")
    }
    seeds = range(len(chosen))
    texts = towers.texts([captions(scene, seed)[0] for scene, seed in zip(chosen, seeds, strict=True)], PROMPT)
    own = (images["flat"] * texts).sum(axis=1)
    values = {
        "image to text, top 1 of 32": top_1(images["flat"], texts),
        "image to text, top 1 of 32, other style": top_1(images["outlined"], texts),
        "text to image, top 1 of 32": top_1(texts, images["flat"]),
        "right above another scene's caption": np.mean(own > (images["flat"] * np.roll(texts, 1, axis=0)).sum(axis=1)),
    }
    for what in ("colour", "shape", "size", "background", "place"):
        wrong = [change_fact(scene, what, seed) for scene, seed in zip(chosen, seeds, strict=True)]
        indices = [index for index, scene in enumerate(wrong) if scene is not None]
        # The same seed yields the same wording for the wrong caption.
        altered = towers.texts([captions(wrong[index], index)[0] for index in indices], PROMPT)  # type: ignore[arg-type]
        better = own[indices] > (images["flat"][indices] * altered).sum(axis=1)
        if what != "place":
            values[f"right above wrong {what}"] = np.mean(better)
            continue
        level = np.array([chosen[index].relation in ("left of", "right of") for index in indices])
        values |= {
            "right above left and right swapped": np.mean(better[level]),
            "right above above and below swapped": np.mean(better[~level]),
        }
    return {**values, "mean cosine of right pairs": np.mean(own)}


def top_1(queries: np.ndarray, targets: np.ndarray) -> float:
    """Compute the share of queries whose own target is the nearest of 32."""
    hits = [
        (queries[start : start + 32] @ targets[start : start + 32].T).argmax(axis=1) == np.arange(32)
        for start in range(0, len(queries), 32)
    ]
    return float(np.mean(hits))


def region_figures(towers: DemoTowers, chosen: Sequence[Scene]) -> dict[str, float]:
    """Compare bare phrases with crops of the objects of the same image, for each object of a pair."""
    pairs = [scene for scene in chosen if len(scene.objects) == 2]
    crops, phrases = [], []
    for scene in pairs:
        drawing = draw_scene(scene, seed=4)
        crops += [drawing.image.crop(box) for box in drawing.boxes]
        phrases += [f"a {thing.colour} {thing.shape}" for thing in scene.objects]
    cosines = np.einsum(
        "nid,njd->nij",
        towers.texts(phrases).reshape(len(pairs), 2, -1),
        towers.images(crops).reshape(len(pairs), 2, -1),
    )
    right = np.diagonal(cosines, axis1=1, axis2=2)
    return {"phrase: right crop above the other crop": np.mean(right > cosines[:, [0, 1], [1, 0]])}


def story_figures(towers: DemoTowers, stories_scored: Sequence[SceneStory]) -> dict[str, float]:
    """Compare phrases of a story with the boxes of its five images, and with whole images and 3 x 3 cells."""
    values: dict[str, float] = {}
    for source in ("boxes", "grid"):
        regions = [towers.images(_regions(story, source)) for story in stories_scored]
        outcomes = [_absent_is_lowest(towers, stories_scored[i], crops, i) for i, crops in enumerate(regions)]
        right = [_story_score(towers, stories_scored[i], crops) for i, crops in enumerate(regions)]
        wrong = [_story_score(towers, stories_scored[i - 1], crops) for i, crops in enumerate(regions)]
        suffix = "" if source == "boxes" else ", grid regions"
        values |= {
            f"absent object lowest among the objects of a story{suffix}": float(
                np.mean([each[0] for each in outcomes])
            ),
            f"absent object below the mean of the objects{suffix}": float(np.mean([each[1] for each in outcomes])),
            f"right story above another{suffix}": float(np.mean(np.array(right) > np.array(wrong))),
        }
    return values


def _regions(story: SceneStory, source: str) -> list[Image.Image]:
    drawings = story.drawings()
    if source == "boxes":
        return [drawing.image.crop(box) for drawing in drawings for box in drawing.boxes]
    cells = []
    for drawing in drawings:
        edges = [round(drawing.image.width * third / 3) for third in range(4)]
        boxes = [(edges[x], edges[y], edges[x + 1], edges[y + 1]) for y in range(3) for x in range(3)]
        cells += [drawing.image, *(drawing.image.crop(box) for box in boxes)]
    return cells


def _absent_is_lowest(towers: DemoTowers, story: SceneStory, crops: np.ndarray, seed: int) -> tuple[bool, bool]:
    """Return whether the phrase of an absent object scores below all objects, and below their mean."""
    present = [f"a {label}" for label in dict.fromkeys(label for labels in story.labels for label in labels)]
    _, absent = story.with_hallucination(seed)
    *seen, wrong = (towers.texts([*present, absent]) @ crops.T).max(axis=1)
    return bool(wrong < min(seen)), bool(wrong < np.mean(seen))


def _story_score(towers: DemoTowers, story: SceneStory, crops: np.ndarray) -> float:
    """Compute the mean over the noun phrases of the highest cosine with a region. Pronouns are left out."""
    phrases = dict.fromkeys(phrase for row in story.noun_phrases for phrase in row if phrase != "it")
    return float((towers.texts(list(phrases)) @ crops.T).max(axis=1).mean())


def clip_figures(towers: DemoTowers, n: int) -> dict[str, float]:
    """Compare the mean embedding of the frames with the caption of the video and with another video's."""
    chosen = clips(n, 5, "test")
    videos = np.stack([towers.images(clip.frames()).mean(axis=0) for clip in chosen])
    texts = towers.texts([clip.caption for clip in chosen])
    other = np.roll(texts, 1, axis=0)
    return {"clip: right above another's caption": np.mean((videos * texts).sum(axis=1) > (videos * other).sum(axis=1))}


def table(values: Mapping[str, float]) -> str:
    """Format the figures in lines, with the required values."""
    lines = []
    for name, value in values.items():
        floor = REQUIRED.get(name)
        note = "" if floor is None else f"  required {floor:.2f}{'' if value >= floor else ', MISSED'}"
        lines.append(f"{name:<68}{value:7.4f}{note}")
    return "\n".join(lines)

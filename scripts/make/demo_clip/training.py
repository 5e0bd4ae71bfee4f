"""Contrastive training of the demo CLIP, with wrong texts in addition to correct ones and without false negatives."""

import copy
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from demo_clip.codes import IGNORED, N_VALUES, said_targets, targets, token_ids, truth
from demo_clip.material import KINDS, TrainingMaterial
from vlgauge.models.clip.demo import DEMO_MODEL, DEMO_ROW

PROMPT = "A photo depicts "
SHARES = {"scene": 0.68, "crop": 0.17, "empty": 0.03, "story": 0.08, "clip": 0.04}
# Share of tokens replaced by the shared row of all unknown tokens, which thereby represents an arbitrary word.
_UNKNOWN = 0.01
_START, _END = 49406, 49407
_WARM_UP = 200
_READER_SCALE = 10.0


class Batches:
    """Seeded batches of images, compact token ids, and a mask of pairs.

    The compact ids are 0 for the shared row, followed by the known tokens in their order, so that the end token still
    has the largest id.
    """

    def __init__(self, material: TrainingMaterial, size: int, seed: int) -> None:
        self.material = material
        self.size = size
        self.rng = np.random.default_rng(seed)
        self.prompt = token_ids(PROMPT)
        used = np.unique(material.tokens[np.arange(material.tokens.shape[-1]) < material.lengths[..., None]])
        self.ids = np.unique([*used, *self.prompt, _START, _END])
        self._compact = np.zeros(_END + 1, np.int64)
        self._compact[self.ids] = 1 + np.arange(len(self.ids))
        self._places = [np.flatnonzero(material.kinds == kind) for kind in range(len(KINDS))]

    def batch(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Sample a batch.

        The first m texts are correct, and the others have one fact changed. Pairs that are true by chance are omitted.
        The targets are in the order images, texts.

        Returns:
            Pixels (m, 3, 64, 64), token ids (2 m, n), mask of omitted pairs (m, 2 m), and targets (3 m, 8).
        """
        shares = np.array([SHARES[kind] for kind in KINDS])
        counts = self.rng.multinomial(self.size, shares / shares.sum())
        chosen = np.concatenate([self.rng.choice(p, n) for p, n in zip(self._places, counts, strict=True) if len(p)])
        n_texts, n_versions = self.material.lengths.shape[1:]
        text = self.rng.integers(n_texts, size=len(chosen))
        wrong = self.rng.integers(1, n_versions, size=len(chosen))
        indices = (np.tile(chosen, 2), np.tile(text, 2), np.concatenate([np.zeros_like(wrong), wrong]))
        claims = self.material.claims[indices]
        omitted = truth(self.material.seen[chosen], claims)
        omitted[np.arange(len(chosen)), np.arange(len(chosen))] = False
        prompted = self.rng.random(len(chosen)) < 0.5
        pixels = normalize_pixels(self.material.pixels[chosen])
        seen = self.material.seen[chosen]
        facts = np.concatenate([targets(seen), said_targets(claims, np.tile(seen, (2, 1)))])
        texts = self._texts(indices, np.tile(prompted, 2))
        return pixels, torch.from_numpy(texts), torch.from_numpy(omitted), torch.from_numpy(facts)

    def _texts(self, indices: tuple[np.ndarray, ...], prompted: np.ndarray) -> np.ndarray:
        tokens, lengths = self.material.tokens[indices], self.material.lengths[indices]
        rows = np.zeros((len(tokens), 2 + len(self.prompt) + int(lengths.max())), np.int64)
        for row, words, length, with_prompt in zip(rows, tokens, lengths, prompted, strict=True):
            ids = [_START, *(self.prompt if with_prompt else []), *words[:length], _END]
            row[: len(ids)] = self._compact[ids]
        unknown = (self.rng.random(rows.shape) < _UNKNOWN) & (rows < len(self.ids))
        rows[unknown] = 0
        return rows


def normalize_pixels(pixels: np.ndarray) -> torch.Tensor:
    """Convert pixels (n, 64, 64, 3), uint8, to normalized inputs of the image tower, (n, 3, 64, 64)."""
    values = torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 255
    mean, std = (torch.tensor(numbers).view(1, 3, 1, 1) for numbers in (DEMO_ROW.mean, DEMO_ROW.std))
    return (values - mean) / std


def new_model(n_tokens: int) -> Any:
    """Create an untrained demo CLIP with a table of `n_tokens` tokens."""
    from open_clip.model import CLIP

    config = copy.deepcopy(DEMO_MODEL)
    config["text_cfg"]["vocab_size"] = n_tokens
    return CLIP(**config)


def text_features(model: Any, ids: torch.Tensor) -> torch.Tensor:
    """Compute projected features of texts (n, length). Fewer than 77 columns save most of the work."""
    length = ids.shape[1]
    x = model.token_embedding(ids) + model.positional_embedding[:length]
    x = model.ln_final(model.transformer(x, attn_mask=model.attn_mask[:length, :length]))
    return x[torch.arange(len(ids)), ids.argmax(dim=-1)] @ model.text_projection


def compute_bucketed_features(model: Any, ids: torch.Tensor, n_buckets: int = 3) -> torch.Tensor:
    """Compute projected features in groups of similar length, each cut to its longest text."""
    lengths = ids.argmax(dim=-1) + 1
    order = lengths.argsort(stable=True)
    rows = [text_features(model, ids[part, : int(lengths[part].max())]) for part in order.chunk(n_buckets)]
    return torch.cat(rows)[order.argsort()]


def contrastive_loss(
    image: torch.Tensor, text: torch.Tensor, scale: torch.Tensor, omitted: torch.Tensor
) -> torch.Tensor:
    """Compute the mean loss of both directions. Wrong texts are negatives for the images only.

    Args:
        image: Features, shape ``(m, d)``.
        text: Features, shape ``(n, d)``, n >= m. Row i < m is the correct text of image i.
        scale: Factor of the cosines.
        omitted: Mask of omitted pairs, shape ``(m, n)``.
    """
    logits = scale * functional.normalize(image, dim=-1) @ functional.normalize(text, dim=-1).T
    logits = logits.masked_fill(omitted, -math.inf)
    right = torch.arange(len(image))
    return (functional.cross_entropy(logits, right) + functional.cross_entropy(logits[:, : len(image)].T, right)) / 2


def reading_loss(vectors: torch.Tensor, facts: torch.Tensor, reader: torch.nn.Linear) -> torch.Tensor:
    """Compute the loss of one linear map that predicts the facts from embeddings of images and texts alike.

    Args:
        vectors: L2-normalized embeddings, shape ``(n, d)``.
        facts: Targets, shape ``(n, 8)``.
        reader: Linear map from d to the sum of `N_VALUES`, used in training only.
    """
    parts = reader(_READER_SCALE * vectors).split(N_VALUES, dim=-1)
    asked = [(part, fact) for part, fact in zip(parts, facts.T, strict=True) if (fact != IGNORED).any()]
    return torch.stack([functional.cross_entropy(part, fact, ignore_index=IGNORED) for part, fact in asked]).mean()


def train(
    batches: Batches, steps: int, rate: float, report: Callable[[int, float, float], None]
) -> dict[str, torch.Tensor]:
    """Train, and return the tensors of the model by the names of open_clip, with the compact token table."""
    model = new_model(len(batches.ids) + 1)
    model.train()
    # One map for both kinds of embeddings aligns them, and speeds up learning of shapes and positions.
    reader = torch.nn.Linear(DEMO_MODEL["embed_dim"], sum(N_VALUES))
    parameters = [*model.parameters(), *reader.parameters()]
    matrices = [p for p in parameters if p.ndim >= 2]
    others = [p for p in parameters if p.ndim < 2]
    groups = [{"params": matrices, "weight_decay": 0.05}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98))
    started, losses = time.monotonic(), []
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * min((step + 1) / _WARM_UP, 0.5 * (1 + math.cos(math.pi * step / steps)))
        pixels, ids, omitted, facts = batches.batch()
        image, text = model.encode_image(pixels), compute_bucketed_features(model, ids)
        loss = contrastive_loss(image, text, model.logit_scale.exp().clamp(max=100), omitted)
        for vectors, said in ((image, facts[: len(image)]), (text, facts[len(image) :])):
            loss = loss + reading_loss(functional.normalize(vectors, dim=-1), said, reader)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        losses.append(loss.item())
        if (step + 1) % 100 == 0:
            report(step + 1, float(np.mean(losses)), time.monotonic() - started)
            losses = []
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}

"""An epoch of the training of rovist_c, and what is measured after it."""

from typing import Any

import numpy as np
import numpy.typing as npt

from vlgauge.encoders.pairs.classifier import class_probabilities
from vlgauge.progress import progress_bar
from vlgauge.training.loop import Recipe
from vlgauge.training.rovist_c.pairs import IN_ORDER, Encoded, batches, by_length

SCORING_BATCH = 128


def run_epoch(
    model: Any,
    data: Encoded,
    optimizer: Any,
    recipe: Recipe,
    epoch: int,
    *,
    pad: int,
    device: str,
) -> dict[str, float]:
    """One pass over the samples in a random order; mean cross-entropy (Eq. 6) and accuracy on the way."""
    import torch

    model.train()
    # From seed and epoch alone, so that a resumed run sees the same order.
    order = np.random.default_rng([recipe.seed, epoch]).permutation(len(data))
    total, right = 0.0, 0
    with progress_bar(len(data), f"Epoch {epoch + 1}") as advance:
        for batch in batches(data, recipe.batch_size, order, pad):
            labels = batch["labels"]
            tensors = {name: torch.from_numpy(values).to(device) for name, values in batch.items()}
            target = tensors.pop("labels")
            logits = model(**tensors).logits
            loss = torch.nn.functional.cross_entropy(logits, target)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
            right += int((logits.argmax(dim=1) == target).sum())
            advance(len(labels))
    return {"training_loss": total / len(data), "training_accuracy": right / len(data)}


def logits_of(model: Any, data: Encoded, *, pad: int, device: str) -> npt.NDArray[np.float64]:
    """Logits of all samples in their order, shape ``(n, 2)``."""
    import torch

    model.eval()
    order = by_length(data)
    found = []
    with torch.no_grad():
        for batch in batches(data, SCORING_BATCH, order, pad):
            tensors = {name: torch.from_numpy(batch[name]).to(device) for name in batch if name != "labels"}
            found.append(model(**tensors).logits.float().cpu().numpy())
    logits = np.empty((len(data), 2))
    logits[order] = np.concatenate(found)
    return logits


def evaluated(model: Any, data: Encoded, *, pad: int, device: str) -> tuple[float, float]:
    """Mean cross-entropy and accuracy, without dropout."""
    logits = logits_of(model, data, pad=pad, device=device)
    margin = np.where(data.labels == IN_ORDER, 1.0, -1.0) * (logits[:, 1] - logits[:, 0])
    return float(np.logaddexp(0.0, -margin).mean()), float((margin > 0).mean())


def ordered_above_swapped(model: Any, data: Encoded, *, pad: int, device: str) -> float:
    """Share of the pairs whose probability in order is above that of the same two sentences swapped.

    The samples alternate between the two, as `samples` makes them.
    """
    probabilities = class_probabilities(logits_of(model, data, pad=pad, device=device), IN_ORDER)
    return float((probabilities[0::2] > probabilities[1::2]).mean())

"""Models and functions that estimate whether the second text of a pair follows the first."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vlgauge.checkpoints.preflight import Preflight
from vlgauge.checkpoints.torch_runtime import PAIR_PACKAGES, check_torch, resolve_device
from vlgauge.core.errors import UsageError
from vlgauge.core.pool import pool
from vlgauge.core.progress import Progress, progress_bar
from vlgauge.core.signatures import signature_value
from vlgauge.models.clip.demo import warn_of_demo
from vlgauge.models.pairs.classifier import LoadedScorer, Pair, PairProbabilities, PairTooLongError
from vlgauge.models.pairs.models import EMBEDDED, find_pair_model, look_for_base, look_for_model

__all__ = ["GivenScorer", "PairProbabilities", "PairTooLongError", "look_for_scorer", "pair_scorer"]


def pair_scorer(
    model: Any = None, base: Any = None, *, profile: str = "paper", device: str = "auto"
) -> "LoadedScorer | GivenScorer":
    """Return the scorer of a setting, either the user's function from pairs to probabilities or a model from the pool.

    See `find_pair_model`.

    Raises:
        UsageError: If `base` is passed together with a function, or missing for a checkpoint file.
        MissingExtraError: If a package is missing.
        WeightsNotFoundError: If the model cannot be found.

    Warns:
        UserWarning: If this is the demo model of the embedded profile, at its first use in the process.
    """
    if callable(model):
        if base is not None:
            raise UsageError.about("base", f"cannot be combined with a function as `model`, got {os.fspath(base)!r}")
        return GivenScorer(model)
    model, base = (value if value is None else os.fspath(value) for value in (model, base))
    check_torch("a classifier of sentence pairs", PAIR_PACKAGES, "rovist-c")
    found = find_pair_model(model, base, profile)
    if found.folder == EMBEDDED:
        warn_of_demo("sentence-order model")
    device = resolve_device(device)
    return pool.get(
        ("pair", found.identity, found.digest, device),
        lambda: LoadedScorer(found, device),
        f"the classifier {found.name}",
    )


def look_for_scorer(preflight: Preflight, model: Any, base: Any, *, profile: str) -> None:
    """Make a preflight check the requirements of `pair_scorer`."""
    if not callable(model):
        model, base = (value if value is None else os.fspath(value) for value in (model, base))
        preflight.need(PAIR_PACKAGES)
        preflight.look(lambda: look_for_model(model, profile))
        preflight.look(lambda: look_for_base(model, base, profile))


class GivenScorer:
    """Scorer based on a function of the user, which receives each distinct pair once per call."""

    def __init__(self, function: Callable[[list[Pair]], Any]) -> None:
        self._function = function
        self.identity = str(signature_value(function))

    def probabilities(
        self,
        pairs: Sequence[Pair],
        *,
        label: int | str = 1,
        cut: str | None = "longest",
        batch_size: int = 32,
        progress: Progress = None,
    ) -> PairProbabilities:
        """Call the function with batches of distinct pairs, and check its results. `label` and `cut` have no effect.

        Returns:
            Probability for each pair, shape ``(n_pairs,)``, of which none is truncated.

        Raises:
            ValueError: If the function does not return one probability per pair.
        """
        distinct = sorted(set(pairs), key=lambda pair: (len(pair[0]) + len(pair[1]), pair))
        found: dict[Pair, float] = {}
        with progress_bar(len(distinct), "Scoring sentence pairs", progress) as advance:
            for start in range(0, len(distinct), batch_size):
                batch = distinct[start : start + batch_size]
                found_here = self._function(batch)
                try:
                    values = np.asarray(found_here, dtype=np.float64)
                except (TypeError, ValueError):
                    raise UsageError.about(
                        "model",
                        f"must return one probability per pair, got {type(found_here).__name__} with other values",
                    ) from None
                if values.shape != (len(batch),) or not ((values >= 0) & (values <= 1)).all():
                    raise UsageError.about(
                        "model",
                        f"must return one probability per pair, got an array of shape {values.shape} for "
                        f"{len(batch)} pairs, or numbers outside [0, 1]",
                    )
                found.update(zip(batch, values.tolist(), strict=True))
                advance(len(batch))
        return PairProbabilities(np.array([found[pair] for pair in pairs]), np.zeros(len(pairs), dtype=bool))

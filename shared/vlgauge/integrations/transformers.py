"""Metrics for the trainers of transformers: `compute_metrics` for generated captions, and a callback that generates."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from transformers import EvalPrediction, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from vlgauge.base import Metric
from vlgauge.errors import UsageError, UsageTypeError
from vlgauge.integrations.processes import on_first_process, several_processes
from vlgauge.integrations.rows import RowMetrics
from vlgauge.integrations.scalars import greater_is_better
from vlgauge.settings import one_of, warn, whole_number

_PADDED = -100  # what the trainers fill up rows with


class GenerationMetrics(TrainerCallback):
    """`compute_metrics` of a `Seq2SeqTrainer` that generates, with and without ``batch_eval_metrics``.

    Captions are joined with the rows of the data set by position, as the trainer keeps their order. Of several
    processes the first one scores, and all get the numbers; what the sampler repeated to fill up the last batches is
    known by its labels and left out.

    It is a callback, too: given to the trainer in ``callbacks`` as well, it lets a training go on at whose first
    evaluations the metric of the best checkpoint is still undefined; the trainer would stop there.

    Args:
        metrics: Names of metrics, or metrics from `vlgauge.load`, whose settings may differ.
        tokenizer: What decodes the predictions, a tokenizer or a processor.
        rows: The data set of the evaluation, or its rows in the same order.
        columns: Column of a metric -> column of the data set, such as ``{"images": "image"}``.
        groups: Column of the data set whose equal values make one set of captions, for trm, mmd_bert and frechet_bert;
            each row is there once per caption, and generation draws.
        **settings: Of the metrics given by name, such as ``profile="embedded"``.

    Raises:
        TypeError: If the data set has no length.
        ValueError: If a metric or a column cannot be used.
    """

    def __init__(
        self,
        metrics: Sequence[str | Metric],
        *,
        tokenizer: Any,
        rows: Any,
        columns: Mapping[str, str] | None = None,
        groups: str | None = None,
        **settings: Any,
    ) -> None:
        self._scored = RowMetrics(metrics, rows=rows, columns=columns, groups=groups, **settings)
        self._tokenizer = tokenizer
        self._texts: list[str] = []
        self._labels: list[str] = []
        self._best: str | None = None
        self._training = False

    def arguments(self, best: str | None = None, **own: Any) -> dict[str, Any]:
        """What `Seq2SeqTrainingArguments` needs for these metrics: to evaluate, and to keep the best checkpoint.

        Args:
            best: The metric that chooses the best checkpoint, such as ``"trm"`` or ``"ref_pac_s"``, by its direction.
            **own: Arguments of yours, which count: by default a training evaluates, and next to ``best`` saves, after
                each epoch; with ``eval_strategy="steps"`` it saves when it evaluates.

        Raises:
            ValueError: If no such score will be logged, or a training with ``own`` could not keep the best checkpoint.
        """
        arguments: dict[str, Any] = {"predict_with_generate": True, "eval_strategy": "epoch"}
        if best is None:
            return arguments | own
        self._best = one_of("best", best, self._scored.keys)
        if self._scored.rewards_silence(best):
            warn(
                f"`best` should be a metric that falls when a caption says less, got {best}, which looks only at what "
                "is said: a model that says next to nothing can be the best; choose by another one, such as 'spice', "
                f"and log {best} next to it"
            )
        when = getattr(own.get("eval_strategy"), "value", own.get("eval_strategy", "epoch"))
        if when == "no":
            raise UsageError('`eval_strategy` must be "epoch" or "steps" next to `best`, got "no"')
        arguments |= {"metric_for_best_model": best, "greater_is_better": greater_is_better(best)}
        arguments |= {"load_best_model_at_end": True, "save_strategy": when}
        if when == "steps" and "eval_steps" in own:
            arguments["save_steps"] = own["eval_steps"]
        return arguments | own

    def __call__(self, prediction: EvalPrediction, compute_result: bool = True) -> dict[str, float]:
        """Scalars of all captions; nothing for the batches before the last.

        Args:
            prediction: Of all rows, or of one batch.
            compute_result: Whether this is the last batch.

        Raises:
            ValueError: If the predictions are no generated token ids, or not as many as the rows.
        """
        self._texts += decoded(prediction.predictions, self._tokenizer)
        if several_processes():
            self._labels += decoded(prediction.label_ids, self._tokenizer)
        if not compute_result:
            return {}
        texts, self._texts = self._texts, []
        labels, self._labels = self._labels, []
        return on_first_process(lambda: self._scored.score(without_repeated(texts, labels, len(self._scored))))

    def on_train_begin(self, *args: Any, **kwargs: Any) -> None:
        """From here on the trainer looks for the best checkpoint."""
        self._training = True

    def on_train_end(self, *args: Any, **kwargs: Any) -> None:
        """From here on it does not."""
        self._training = False

    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Let an undefined metric be no better than what there was; the numbers are logged already."""
        metrics = kwargs["metrics"]
        if self._training and self._best is not None and f"eval_{self._best}" not in metrics:
            # The trainer begins with an infinity, which would stand in its state and is no JSON.
            if state.best_metric is None:
                state.best_metric = (-1 if greater_is_better(self._best) else 1) * sys.float_info.max
            metrics[f"eval_{self._best}"] = state.best_metric


class CaptionEvaluation(TrainerCallback):
    """Captions from a function of yours, scored and logged during a training with any `Trainer`.

    For models that a `Seq2SeqTrainer` cannot generate with, such as vision-language models whose prompt holds the
    picture. The first process generates and scores, the others wait. Call `attach`, which adds it to the trainer.

    Args:
        metrics: Names of metrics, or metrics from `vlgauge.load`, whose settings may differ.
        rows: The rows to caption.
        generate: Called with the model, in evaluation mode and without gradients, and the rows; returns one caption
            per row.
        every: Number of steps between two evaluations; None for those of the trainer only, in which its numbers take
            part in the choice of the best checkpoint.
        columns: Column of a metric -> column of the rows, such as ``{"images": "image"}``.
        groups: Column whose equal values make one set of captions; see `GenerationMetrics`.
        **settings: Of the metrics given by name.

    Raises:
        TypeError: If the rows have no length.
        ValueError: If a metric, a column or a number cannot be used.
    """

    def __init__(
        self,
        metrics: Sequence[str | Metric],
        *,
        rows: Any,
        generate: Callable[[Any, Any], Sequence[str]],
        every: int | None = None,
        columns: Mapping[str, str] | None = None,
        groups: str | None = None,
        **settings: Any,
    ) -> None:
        if not callable(generate):
            raise UsageTypeError(f"`generate` must be a function of model and rows, got {type(generate).__name__}")
        self._scored = RowMetrics(metrics, rows=rows, columns=columns, groups=groups, **settings)
        self._rows, self._generate = rows, generate
        self._every = None if every is None else whole_number("every", every, 1)
        self._trainer: Any = None
        self._found: dict[str, float] = {}
        self._step = -1  # of what was found

    def attach(self, trainer: Any) -> None:
        """Take part in the training of a trainer, and log with it."""
        self._trainer = trainer
        trainer.add_callback(self)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Score after every so many steps."""
        if self._every is not None and state.global_step % self._every == 0:
            self._evaluate(state, kwargs["model"])

    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Add the numbers to those of the trainer's own evaluation."""
        if self._step != state.global_step:
            self._evaluate(state, kwargs["model"])
        kwargs["metrics"].update(self._found)
        # The next evaluation may be of other weights at this step, those of the best checkpoint.
        self._step = -1

    def _evaluate(self, state: TrainerState, model: Any) -> None:
        if self._trainer is None:
            raise RuntimeError("`CaptionEvaluation` logs with its trainer, got none; add it by its `attach`")
        self._found = {f"eval_{key}": value for key, value in on_first_process(lambda: self._score(model)).items()}
        self._step = state.global_step
        self._trainer.log(dict(self._found))

    def _score(self, model: Any) -> dict[str, float]:
        import torch

        trained = model.training
        model.eval()
        try:
            with torch.no_grad():
                return self._scored.score(list(self._generate(model, self._rows)))
        finally:
            model.train(trained)


def without_repeated(texts: list[str], labels: list[str], n_rows: int) -> list[str]:
    """The captions of the rows, without those by which the last batches of several processes were filled up.

    A `Seq2SeqTrainer` leaves them in. They are of the first rows again, whose labels they have; generation may draw
    another caption. With any other label, all captions come back.

    Args:
        texts: Captions, in the order of the rows.
        labels: The label of each, as text; none in one process.
        n_rows: Number of rows of the data set.
    """
    again = labels[n_rows:]
    repeated = all(label == labels[i % n_rows] for i, label in enumerate(again))
    return texts[:n_rows] if again and repeated else texts


def decoded(ids: Any, tokenizer: Any) -> list[str]:
    """Texts of generated token ids, each up to its first end token.

    Args:
        ids: Array or tensor of shape ``(n, n_tokens)``, filled up with the pad token or -100.
        tokenizer: A tokenizer or a processor.

    Raises:
        ValueError: If these are no token ids, such as the logits of a trainer that does not generate.
    """
    tokens: Any = np.empty(0) if isinstance(ids, tuple) else np.asarray(ids.cpu() if hasattr(ids, "cpu") else ids)
    if tokens.ndim != 2 or not np.issubdtype(tokens.dtype, np.integer):
        raise UsageError(
            "`predictions` must be token ids of shape (n, n_tokens), got "
            f"{'several arrays' if isinstance(ids, tuple) else f'{tokens.dtype} of shape {tokens.shape}'}; set "
            "`predict_with_generate=True` of a Seq2SeqTrainer, as `arguments()` does"
        )
    own = getattr(tokenizer, "tokenizer", tokenizer)
    end = own.eos_token_id
    texts: list[str] = []
    for row in tokens:
        row = row[row != _PADDED]
        # The first token starts the decoder, with some models by the end token.
        ends = np.flatnonzero(row[1:] == (_PADDED if end is None else end))
        texts.append(own.decode(row[: ends[0] + 1] if len(ends) else row, skip_special_tokens=True).strip())
    return texts

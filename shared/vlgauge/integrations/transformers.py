"""Metrics for transformers trainers: `compute_metrics` for generated captions, and a callback that generates them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from transformers import EvalPrediction, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from vlgauge.core.errors import UsageError, UsageTypeError
from vlgauge.core.validation import check_choice, check_int, warn
from vlgauge.families.base import Metric
from vlgauge.integrations.processes import on_first_process, several_processes
from vlgauge.integrations.rows import RowMetrics
from vlgauge.integrations.scalars import greater_is_better

_PADDED = -100  # padding value of the trainers


class GenerationMetrics(TrainerCallback):
    """`compute_metrics` function of a `Seq2SeqTrainer` that generates, with and without ``batch_eval_metrics``.

    Captions are joined with the rows of the dataset by position, because the trainer keeps their order. In distributed
    runs, the first process scores and all processes receive the values. Rows that the sampler repeats to fill the last
    batches are recognized by their labels and dropped.

    The object is also a callback. Add it to ``callbacks`` of the trainer to continue a training while the metric of the
    best checkpoint is undefined in the first evaluations. Otherwise the trainer would stop.

    Args:
        metrics: Names of metrics, or metrics from `vlgauge.load`, whose settings may differ.
        tokenizer: Tokenizer or processor that decodes the predictions.
        rows: Dataset of the evaluation, or its rows in the same order.
        columns: Column of the dataset by column of the metrics, such as ``{"images": "image"}``.
        groups: Column of the dataset whose equal values define a caption set, for trm, mmd_bert and frechet_bert. Each
            row occurs once per caption, and generation samples.
        **settings: Settings of the metrics specified by name, such as ``profile="embedded"``.

    Raises:
        TypeError: If the dataset has no length.
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
        """Return the `Seq2SeqTrainingArguments` for these metrics, to evaluate and to keep the best checkpoint.

        Args:
            best: Score that selects the best checkpoint, such as ``"trm"`` or ``"ref_pac_s"``, by its direction.
            **own: Your arguments, which take precedence. By default the training evaluates, and with ``best`` saves,
                after each epoch. With ``eval_strategy="steps"`` it saves when it evaluates.

        Raises:
            ValueError: If no such score will be logged, or a training with ``own`` could not keep the best checkpoint.
        """
        arguments: dict[str, Any] = {"predict_with_generate": True, "eval_strategy": "epoch"}
        if best is None:
            return arguments | own
        self._best = check_choice("best", best, self._scored.keys)
        if self._scored.rewards_silence(best):
            warn(
                f"`best` should be a metric that penalizes omissions, got {best}, which evaluates only the content of "
                "the caption, so very short captions can get the best score; select by another metric, such as "
                f"'spice', and log {best} as well"
            )
        when = getattr(own.get("eval_strategy"), "value", own.get("eval_strategy", "epoch"))
        if when == "no":
            raise UsageError.about("eval_strategy", 'must be "epoch" or "steps" with `best`, got "no"')
        arguments |= {"metric_for_best_model": best, "greater_is_better": greater_is_better(best)}
        arguments |= {"load_best_model_at_end": True, "save_strategy": when}
        if when == "steps" and "eval_steps" in own:
            arguments["save_steps"] = own["eval_steps"]
        return arguments | own

    def __call__(self, prediction: EvalPrediction, compute_result: bool = True) -> dict[str, float]:
        """Compute the scalars of all captions. Return an empty dictionary for all batches before the last one.

        Args:
            prediction: Predictions of all rows, or of one batch.
            compute_result: Whether this is the last batch.

        Raises:
            ValueError: If the predictions are not generated token ids, or their number differs from the number of rows.
        """
        self._texts += decode_texts(prediction.predictions, self._tokenizer)
        if several_processes():
            self._labels += decode_texts(prediction.label_ids, self._tokenizer)
        if not compute_result:
            return {}
        texts, self._texts = self._texts, []
        labels, self._labels = self._labels, []
        return on_first_process(lambda: self._scored.score(without_repeated(texts, labels, len(self._scored))))

    def on_train_begin(self, *args: Any, **kwargs: Any) -> None:
        """Record that the trainer now selects a best checkpoint."""
        self._training = True

    def on_train_end(self, *args: Any, **kwargs: Any) -> None:
        """Record that the trainer no longer selects a best checkpoint."""
        self._training = False

    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Replace an undefined score, after it was logged, with the best one so far, so that it does not improve it."""
        metrics = kwargs["metrics"]
        if self._training and self._best is not None and f"eval_{self._best}" not in metrics:
            # Use the largest float, because the trainer's initial infinity would be written to its state, which JSON
            # cannot represent.
            if state.best_metric is None:
                state.best_metric = (-1 if greater_is_better(self._best) else 1) * sys.float_info.max
            metrics[f"eval_{self._best}"] = state.best_metric


class CaptionEvaluation(TrainerCallback):
    """Callback that scores and logs captions of a user-supplied function, during a training with any `Trainer`.

    Use it for models with which a `Seq2SeqTrainer` cannot generate, such as vision-language models whose prompt
    contains the image. The first process generates and scores while the others wait. Call `attach` to add it to the
    trainer.

    Args:
        metrics: Names of metrics, or metrics from `vlgauge.load`, whose settings may differ.
        rows: Rows to caption.
        generate: Function that is called with the model, in evaluation mode and without gradients, and the rows. It
            returns one caption per row.
        every: Number of steps between two evaluations. None to evaluate only with the trainer, whose selection of the
            best checkpoint can then use the scores.
        columns: Column of the rows by column of the metrics, such as ``{"images": "image"}``.
        groups: Column whose equal values define a caption set. See `GenerationMetrics`.
        **settings: Settings of the metrics specified by name.

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
            raise UsageTypeError.about(
                "generate", f"must be a function of model and rows, got {type(generate).__name__}"
            )
        self._scored = RowMetrics(metrics, rows=rows, columns=columns, groups=groups, **settings)
        self._rows, self._generate = rows, generate
        self._every = None if every is None else check_int("every", every, 1)
        self._trainer: Any = None
        self._found: dict[str, float] = {}
        self._step = -1  # step of the scores

    def attach(self, trainer: Any) -> None:
        """Add this callback to a trainer and log with it."""
        self._trainer = trainer
        trainer.add_callback(self)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Score every `every` steps."""
        if self._every is not None and state.global_step % self._every == 0:
            self._evaluate(state, kwargs["model"])

    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Add the scores to the metrics of the trainer's evaluation."""
        if self._step != state.global_step:
            self._evaluate(state, kwargs["model"])
        kwargs["metrics"].update(self._found)
        # The next evaluation may use other weights at this step, such as the best checkpoint.
        self._step = -1

    def _evaluate(self, state: TrainerState, model: Any) -> None:
        if self._trainer is None:
            raise RuntimeError("`CaptionEvaluation` requires a trainer; add it with `attach`")
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
    """Remove the captions of rows that a sampler repeated to fill the last batches of several processes.

    A `Seq2SeqTrainer` does not remove them. They belong to the first rows and have the same labels, but sampling may
    have generated other captions. If a label differs, all captions are returned.

    Args:
        texts: Captions, in the order of the rows.
        labels: Label of each caption, as text. Empty in a single process.
        n_rows: Number of rows of the dataset.
    """
    again = labels[n_rows:]
    repeated = all(label == labels[i % n_rows] for i, label in enumerate(again))
    return texts[:n_rows] if again and repeated else texts


def decode_texts(ids: Any, tokenizer: Any) -> list[str]:
    """Decode generated token ids, each up to its first end token.

    Args:
        ids: Array or tensor of shape ``(n, n_tokens)``, padded with the pad token or -100.
        tokenizer: Tokenizer or processor.

    Raises:
        ValueError: If the values are not token ids, such as logits of a trainer that does not generate.
    """
    tokens: Any = np.empty(0) if isinstance(ids, tuple) else np.asarray(ids.cpu() if hasattr(ids, "cpu") else ids)
    if tokens.ndim != 2 or not np.issubdtype(tokens.dtype, np.integer):
        raise UsageError.about(
            "predictions",
            "must be token ids of shape (n, n_tokens), got "
            f"{'several arrays' if isinstance(ids, tuple) else f'{tokens.dtype} of shape {tokens.shape}'}",
            "set `predict_with_generate=True` of a Seq2SeqTrainer, as `arguments()` does",
        )
    own = getattr(tokenizer, "tokenizer", tokenizer)
    end = own.eos_token_id
    texts: list[str] = []
    for row in tokens:
        row = row[row != _PADDED]
        # The first token starts the decoder. In some models it is the end token.
        ends = np.flatnonzero(row[1:] == (_PADDED if end is None else end))
        texts.append(own.decode(row[: ends[0] + 1] if len(ends) else row, skip_special_tokens=True).strip())
    return texts

"""Classifier of sentence order in training: a published base or a small new model, epochs, and storage."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import transformers
from tokenizers import ByteLevelBPETokenizer, Tokenizer, processors

from vlgauge.checkpoints.known_tensors import check_finite_tensors
from vlgauge.checkpoints.tensors import write_tensors
from vlgauge.core.errors import UsageError
from vlgauge.core.progress import progress_bar, quiet_transformers
from vlgauge.core.writing import write
from vlgauge.models.model_folders import FolderSource
from vlgauge.models.pairs.classifier import class_probabilities
from vlgauge.research.training.options import Recipe
from vlgauge.research.training.rovist_c.stories import IN_ORDER, LABELS, Encoded, batches, by_length

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_FILES = ("*.json", "*.model", "*.txt", "*.safetensors")

# Configuration of the new model, which has 250,000 parameters because its layers share their weights.
FRESH: dict[str, Any] = {
    "embedding_size": 64,
    "hidden_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "intermediate_size": 256,
    "max_position_embeddings": 512,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "classifier_dropout_prob": 0.1,
}
FRESH_VOCABULARY = 512


def base_model(name: str) -> tuple[Any, Any, str]:
    """Load a base from a folder or a Hub id (``owner/name[@commit]``).

    Returns:
        Tokenizer, model with a new classification head, and name of the loaded base.

    Raises:
        ValueError: If weights other than the head are missing, or not finite.
    """
    source = FolderSource(name, "--base", _FILES, "or pass a folder as --base, or --fresh")
    folder = source.find()
    loaded = folder.name if source.local else f"{source.repository}@{folder.name}"
    with quiet_transformers():
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
        model, report = transformers.AutoModelForSequenceClassification.from_pretrained(
            str(folder),
            num_labels=2,
            id2label=LABELS,
            label2id={word: label for label, word in LABELS.items()},
            use_safetensors=True,
            local_files_only=True,
            output_loading_info=True,
        )
    lacking = [key for key in report["missing_keys"] if not key.startswith(("classifier", "score", "pre_classifier"))]
    if lacking:
        raise UsageError.about("--base", f"must have all weights except those of the head, lacks {sorted(lacking)[0]}")
    check_finite_tensors(model.state_dict(), name, "--base")
    return tokenizer, model, loaded


def fresh_model(sentences: Iterable[str]) -> tuple[Any, Any, str]:
    """Create a tokenizer from the sentences, and a small ALBERT with random weights.

    The tokenizer merges bytes to frequent pieces of the sentences, so it accepts any text. Unseen text is split into
    bytes, and there are no unknown tokens.

    Returns:
        Tokenizer, model, and the name "fresh".
    """
    tokenizer = fresh_tokenizer(sentences)
    config = transformers.AlbertConfig(
        vocab_size=len(tokenizer),
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.cls_token_id,
        eos_token_id=tokenizer.sep_token_id,
        id2label=LABELS,
        label2id={word: label for label, word in LABELS.items()},
        **FRESH,
    )
    return tokenizer, transformers.AlbertForSequenceClassification(config), "fresh"


def fresh_tokenizer(sentences: Iterable[str]) -> Any:
    """Train lowercased byte pairs, with the pair encoding ``[CLS] A [SEP] B [SEP]`` and segments 0 and 1.

    Returns:
        A `transformers.PreTrainedTokenizerFast`.
    """
    made = ByteLevelBPETokenizer(lowercase=True, unicode_normalizer="nfc", add_prefix_space=True)
    made.train_from_iterator(
        sentences, FRESH_VOCABULARY, min_frequency=0, special_tokens=list(SPECIAL), show_progress=False
    )
    made.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[(word, made.token_to_id(word)) for word in ("[CLS]", "[SEP]")],
    )
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(made.to_str()),
        model_max_length=FRESH["max_position_embeddings"],
        **dict(zip(names, SPECIAL, strict=True)),
    )


# -- Epochs -----------------------------------------------------------------------------------------------------------
SCORING_BATCH = 128


def run_epoch(model: Any, data: Encoded, optimizer: Any, recipe: Recipe, epoch: int) -> dict[str, float]:
    """Train on all samples in a random order, and return mean cross-entropy (Eq. 6) and accuracy during the epoch."""
    model.train()
    # The order depends on seed and epoch alone, so that a resumed run uses the same order.
    order = np.random.default_rng([recipe.seed, epoch]).permutation(len(data))
    total, right = 0.0, 0
    with progress_bar(len(data), f"Epoch {epoch + 1}") as advance:
        for rows, inputs in batches(data, recipe.batch_size, order):
            target = torch.from_numpy(data.labels[rows]).to(model.device)
            logits = model(**{name: values.to(model.device) for name, values in inputs.items()}).logits
            loss = torch.nn.functional.cross_entropy(logits, target)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(target)
            right += int((logits.argmax(dim=1) == target).sum())
            advance(len(target))
    return {"training_loss": total / len(data), "training_accuracy": right / len(data)}


def logits_of(model: Any, data: Encoded) -> npt.NDArray[np.float64]:
    """Compute the logits of all samples in input order, shape ``(n, 2)``."""
    model.eval()
    order = by_length(data)
    found = []
    with torch.no_grad():
        for _, inputs in batches(data, SCORING_BATCH, order):
            logits = model(**{name: values.to(model.device) for name, values in inputs.items()}).logits
            found.append(logits.float().cpu().numpy())
    return np.concatenate(found)[np.argsort(order)].astype(np.float64)


def evaluate_model(model: Any, data: Encoded) -> dict[str, float]:
    """Evaluate the model without dropout.

    The samples must alternate between both orders, as in the output of `samples`.

    Returns:
        ``loss``, mean cross-entropy in nats, ``accuracy``, from 0 to 1, and ``ordered_above_swapped``, the share of
        pairs with a higher probability in order than with the two sentences swapped.
    """
    logits = logits_of(model, data)
    margin = np.where(data.labels == IN_ORDER, 1.0, -1.0) * (logits[:, 1] - logits[:, 0])
    probabilities = class_probabilities(logits, IN_ORDER)
    return {
        "loss": float(np.logaddexp(0.0, -margin).mean()),
        "accuracy": float((margin > 0).mean()),
        "ordered_above_swapped": float((probabilities[0::2] > probabilities[1::2]).mean()),
    }


def save_model(folder: Path, tokenizer: Any, model: Any, *, half: bool) -> None:
    """Write weights as safetensors, configuration, label names and tokenizer.

    Raises:
        NotWritableError: If the file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    config = model.config.to_diff_dict() | {"architectures": [type(model).__name__]}
    config["dtype"] = "float16" if half else "float32"
    tokenizer.save_pretrained(str(folder))
    write(folder / "config.json", json.dumps(config, indent=2, sort_keys=True) + "\n")
    write_tensors(folder / "model.safetensors", model.state_dict(), {"format": "pt"}, half=half)

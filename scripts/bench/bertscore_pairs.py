"""Measure pairs per second of bertscore, next to bert-score's own loop if that package is installed.

The weights are generated: a small BERT by default, or with --large the layout of roberta-large (24 layers, width 1024).
Only torch, transformers, numpy and vlgauge are needed. Both sides load the same folder, and the scores are compared.
"""

import argparse
import importlib.util
import json
import string
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from generated import generate_captions

from vlgauge.models.hidden_layers import AllLayersEncoder
from vlgauge.models.token_encoders import token_encoder
from vlgauge.models.token_matches import token_matches

LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}
SMALL = {"hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 256}


def write_model(folder: Path, sizes: dict[str, Any], *, device: str) -> None:
    """Write a BERT with generated weights, whose tokenizer knows the words of the captions and all letters."""
    import torch
    from transformers import BertConfig, BertModel

    words = sorted({word for own in generate_captions(2_000, 3) for caption in own for word in caption})
    letters = string.ascii_lowercase + string.digits
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{one}" for one in letters)]
    pieces += [word for word in words if word not in pieces]
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", "utf-8")
    about = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 512}
    (folder / "tokenizer_config.json").write_text(json.dumps(about), "utf-8")
    torch.manual_seed(0)
    with torch.device(device):
        model = BertModel(BertConfig(vocab_size=len(pieces), **sizes))
    model.cpu().save_pretrained(str(folder))


def time_call(score: Callable[[], Any], device: str) -> tuple[float, Any]:
    """Return the seconds of a call, and its result."""
    import torch

    start = time.perf_counter()
    found = score()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter() - start, found


def f_scores(
    encoder: AllLayersEncoder, predictions: list[str], references: list[list[str]], batch_size: int
) -> npt.NDArray[np.float64]:
    """Compute F of each row by the parts of the metric that do not need `evaluate`, with even weights."""
    texts = list(dict.fromkeys([*predictions, *(text for own in references for text in own)]))
    ids = [np.array(row, dtype=np.int32) for row in encoder.token_ids(texts)[0]]
    number = {text: i for i, text in enumerate(texts)}
    sizes = np.array([len(own) for own in references])
    first = np.repeat([number[text] for text in predictions], sizes)
    second = np.array([number[text] for own in references for text in own])
    matches = token_matches(encoder, ids, (first, second), batch_size=batch_size, progress=False)
    ends = (encoder.tokenizer.cls_token_id, encoder.tokenizer.sep_token_id)
    means = []
    for values, side in ((matches.first, first), (matches.second, second)):
        weights = ~np.isin(np.concatenate([ids[i] for i in side]), ends)
        lengths = np.array([len(ids[i]) for i in side])
        starts = np.cumsum(lengths) - lengths
        means.append(np.add.reduceat(values * weights, starts) / np.add.reduceat(weights.astype(float), starts))
    scores = 2 * means[0] * means[1] / (means[0] + means[1])
    return np.maximum.reduceat(scores, np.cumsum(sizes) - sizes)


def main(arguments: list[str] | None = None) -> int:
    """Measure and print.

    Returns:
        0, or 1 if the scores of the two differ by more than 1e-4.
    """
    import torch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="little data, to see that it runs")
    parser.add_argument("--large", action="store_true", help="a model of the size of roberta-large, layer 17")
    parser.add_argument("--rows", type=int, help="captions (default: 400; with --large 5000)")
    parser.add_argument("--references", type=int, default=5, help="references per caption")
    parser.add_argument("--device", help="device of torch (default: cuda if there is one)")
    parser.add_argument("--batch-size", type=int, default=64, help="batch size of both")
    options = parser.parse_args(arguments)
    device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    n_rows = options.rows or (40 if options.smoke else 5_000 if options.large else 400)
    layer, sizes = (17, LARGE) if options.large else (3, SMALL)
    texts = [[" ".join(words) for words in own] for own in generate_captions(n_rows, 1 + options.references)]
    predictions, references = [own[0] for own in texts], [own[1:] for own in texts]
    n_pairs = n_rows * options.references
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        write_model(model, sizes, device=device)
        encoder = token_encoder(str(model), layer, profile="paper", device=device, dtype="float32")
        f_scores(encoder, predictions[:2], references[:2], options.batch_size)  # the first call of a device is slow
        seconds, found = time_call(lambda: f_scores(encoder, predictions, references, options.batch_size), device)
        print(f"{device}, width {sizes['hidden_size']}, layer {layer}, {n_rows} rows, {n_pairs} pairs")
        print(f"vlgauge     {seconds:8.2f} s  {n_pairs / seconds:10.0f} pairs/s")
        if importlib.util.find_spec("bert_score") is None:
            print("bert-score  not installed")
            return 0
        from bert_score import BERTScorer

        scorer = BERTScorer(model_type=str(model), num_layers=layer, device=device, batch_size=options.batch_size)
        scorer.score(predictions[:2], references[:2])
        other, parts = time_call(lambda: scorer.score(predictions, references), device)
        print(f"bert-score  {other:8.2f} s  {n_pairs / other:10.0f} pairs/s, {other / seconds:.1f} times as long")
        furthest = float(np.abs(found - parts[2].cpu().numpy()).max())
        print(f"largest difference of F: {furthest:.1e}")
        return int(furthest > 1e-4)


if __name__ == "__main__":
    sys.exit(main())

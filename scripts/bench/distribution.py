"""Time the metrics of caption sets as in Table 2 of Chan et al. (2024): ten captions against five.

The output has examples per second and the time of the whole corpus.
"""

# Every row is one call with exact p-values and the stratified test. mmd_bert and frechet_bert use random embeddings, so
# the time of an encoder is not included.

import argparse
import hashlib
import os
import sys
import time
import warnings
from collections.abc import Sequence
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported
os.environ.setdefault("HF_EVALUATE_OFFLINE", "1")

import numpy as np
from generated import generate_captions

import vlgauge

WIDTH = 384
N_CANDIDATES, N_REFERENCES = 10, 5


def random_vectors(texts: Sequence[str]) -> np.ndarray:
    """Return a unit vector for each text, equal for equal texts."""
    seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") for text in texts]
    vectors = np.stack([np.random.default_rng(seed).standard_normal(WIDTH) for seed in seeds])
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


# Metric and settings of each row, by name.
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "trm, CIDEr-D": ("trm", {"distance": "cider_d", "workers": 1}),
    "trm, METEOR": ("trm", {"distance": "meteor", "workers": 2}),
    "mmd_bert": ("mmd_bert", {"encoder": random_vectors}),
    "frechet_bert": ("frechet_bert", {"encoder": random_vectors}),
}


def main(arguments: list[str] | None = None) -> int:
    """Run the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=5_000, metavar="N", help="images (default: 5000)")
    parser.add_argument("--smoke", action="store_true", help="few examples, to see that it runs")
    options = parser.parse_args(arguments)
    n = 20 if options.smoke else options.examples
    captions = [[" ".join(one) for one in each] for each in generate_captions(n, N_CANDIDATES + N_REFERENCES)]
    predictions = [each[:N_CANDIDATES] for each in captions]
    references = [each[N_CANDIDATES:] for each in captions]
    warnings.simplefilter("ignore")  # warnings that functions have no digest
    for row, (name, settings) in ROWS.items():
        metric = vlgauge.load(name, keep_in_memory=True, progress=False, pvalue="exact", **settings)
        start = time.perf_counter()
        result = metric.compute(predictions=predictions, references=references) or {}
        seconds = time.perf_counter() - start
        print(
            f"{row}: {n / seconds:.0f} examples per second, {seconds:.2f} s for {n}, value {result[name]:.4f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""CIDEr-D of two captions by its definition (Vedantam et al., 2015), in plain loops, for comparison in tests.

With an end token (Rennie et al., 2017), the last token of both is "<eos>".
"""

import math
from collections import Counter
from collections.abc import Mapping
from collections.abc import Sequence


def cider_d(
    hypothesis: Sequence[str], reference: Sequence[str], df: Mapping[tuple[str, ...], int], n_documents: int
) -> float:
    """Compute CIDEr-D of a tokenized hypothesis against one reference, in [0, 10].

    Args:
        hypothesis: Tokens.
        reference: Tokens.
        df: Number of documents with an n-gram, if it is more than one.
        n_documents: Number of documents.
    """
    similarities = []
    for n in (1, 2, 3, 4):
        h, r = (tf_idf(tokens, n, df, n_documents) for tokens in (hypothesis, reference))
        product = math.fsum(min(h[ngram], r[ngram]) * r[ngram] for ngram in h if ngram in r)
        norms = math.hypot(*h.values()) * math.hypot(*r.values())
        similarities.append(product / norms if norms else 0.0)
    difference = max(len(hypothesis) - 1, 0) - max(len(reference) - 1, 0)
    return 10 * math.exp(-(difference**2) / (2 * 6.0**2)) * math.fsum(similarities) / 4


def tf_idf(
    tokens: Sequence[str], n: int, df: Mapping[tuple[str, ...], int], n_documents: int
) -> dict[tuple[str, ...], float]:
    """Compute the weights of the n-grams of a caption (Eq. 1), with counts as in the COCO code, not frequencies."""
    counts = Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))
    return {
        ngram: count * (math.log(n_documents) - math.log(max(1, df.get(ngram, 0)))) for ngram, count in counts.items()
    }

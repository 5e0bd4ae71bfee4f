"""The penalties of CIDEr-R (Santos et al., 2021), which replace the length penalty of CIDEr-D."""

import math
import re
from collections import Counter
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from vlgauge.inputs.text.ngrams import Ints
from vlgauge.inputs.text.ngrams import TokenIds

Floats = npt.NDArray[np.float64]

# Exponents of the penalties.
REPETITION, LENGTH = 0.8, 0.2


def cider_r_penalties(texts: TokenIds, hypotheses: Ints, references: Ints) -> Floats:
    """Compute the penalties rep^0.8 len^0.2 of CIDEr-R (Santos et al., 2021).

    Args:
        texts: Tokens of all texts.
        hypotheses: Index of the hypothesis of each pair, shape ``(P,)``.
        references: Index of the reference of each pair, shape ``(P,)``.

    Returns:
        Shape ``(P,)``, float64, in (0, 1].
    """
    counts = [
        Counter(re.findall(r"\w+", " ".join(tokens))) for (tokens,) in texts.iter_groups(np.arange(len(texts.lengths)))
    ]
    pairs = zip(hypotheses.tolist(), references.tolist(), strict=True)
    repetitions = np.array([repetition_penalty(counts[h], counts[r]) for h, r in pairs])
    return repetitions**REPETITION * length_penalties(texts.lengths[hypotheses], texts.lengths[references]) ** LENGTH


def repetition_penalty(hypothesis: Mapping[str, int], reference: Mapping[str, int]) -> float:
    """Compute rep, the geometric mean over the words of the hypothesis of 1 / (1 + |f_r - f_h|).

    A word that the reference lacks has f_r = 1. The penalty of a hypothesis without words is 1.

    Args:
        hypothesis: Number of occurrences f_h of each word.
        reference: Number of occurrences f_r of each word.
    """
    logs = [math.log1p(abs(reference.get(word, 1) - count)) for word, count in hypothesis.items()]
    return math.exp(-math.fsum(logs) / len(logs)) if logs else 1.0


def length_penalties(hypotheses: Ints, references: Ints) -> Floats:
    """Compute len = exp(-(l_h - l_r)^2 / l_r^2) with l the number of bigrams plus 1.

    Args:
        hypotheses: Numbers of tokens, shape ``(P,)``.
        references: Numbers of tokens, shape ``(P,)``.
    """
    ours, theirs = np.maximum(hypotheses, 1), np.maximum(references, 1)
    penalties: Floats = np.exp(-(((ours - theirs) / theirs) ** 2))
    return penalties

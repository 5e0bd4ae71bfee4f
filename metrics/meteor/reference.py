"""METEOR 1.5 by its definition (Denkowski and Lavie, 2014), in plain loops, for comparison in tests."""

from collections.abc import Sequence

WEIGHTS = (1.0, 0.6, 0.8, 0.6)  # exact, stem, synonym, paraphrase


def meteor(own: Sequence[int], reference: Sequence[int], matches: Sequence[tuple[int, int, int, int, int]]) -> float:
    """Compute METEOR 1.5 of a hypothesis, in [0, 1].

    Args:
        own: 1 for each function word of the hypothesis, 0 for each content word.
        reference: 1 or 0 for each word of the reference, likewise.
        matches: Start and length in the reference, start and length in the hypothesis, stage; sorted by start.
    """
    share = {0: 0.75, 1: 0.25}
    found = {"own": 0.0, "reference": 0.0}
    n_own = n_reference = chunks = 0
    ends = None
    for j, n, i, m, stage in matches:
        found["own"] += sum(WEIGHTS[stage] * share[word] for word in own[i : i + m])
        found["reference"] += sum(WEIGHTS[stage] * share[word] for word in reference[j : j + n])
        n_own, n_reference = n_own + m, n_reference + n
        chunks += (j, i) != ends
        ends = (j + n, i + m)
    if not matches:
        return 0.0
    precision = found["own"] / sum(share[word] for word in own)
    recall = found["reference"] / sum(share[word] for word in reference)
    mean = 1 / (0.15 / precision + 0.85 / recall)
    if (n_own, n_reference, chunks) == (len(own), len(reference), 1):
        return mean
    return mean * (1 - 0.6 * (chunks / ((n_own + n_reference) / 2)) ** 0.2)

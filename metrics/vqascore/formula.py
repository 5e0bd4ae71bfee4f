"""VQAScore from the probabilities of the tokens of an answer, by its two published definitions."""

from typing import Any

DEFINITIONS = ("v3.0", "v3.1")


def mean_log_chance(log_chances: Any, definition: str = "v3.0") -> Any:
    """Compute the logarithm of VQAScore, the mean log-probability of the tokens of the answer (Lin et al., 2024).

    Its exponential is ``P(answer | image, question)`` as a geometric mean over the tokens.

    Args:
        log_chances: Log-probabilities of the tokens of the answer and of the end token after them, array or tensor of
            shape ``(n_tokens + 1,)``.
        definition: "v3.0" includes the end token, as in the paper's code. "v3.1" excludes it, as in the code of 2026,
            which uses the probability of a one-token answer at the first position.

    Returns:
        Scalar of the same library, at most 0.
    """
    return (log_chances if definition == "v3.0" else log_chances[:-1]).mean()

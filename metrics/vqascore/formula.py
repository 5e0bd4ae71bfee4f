"""From the probabilities of an answer's tokens to the score, by the two definitions that go by one name."""

from typing import Any

DEFINITIONS = ("v3.0", "v3.1")


def mean_log_chance(log_chances: Any, definition: str = "v3.0") -> Any:
    """Logarithm of VQAScore: the mean log-probability of the tokens of the answer (Lin et al., 2024).

    Its exponential is ``P(answer | picture, question)`` as a geometric mean over the tokens.

    Args:
        log_chances: Of the tokens of the answer and of the end token behind them, array or tensor of shape
            ``(n_tokens + 1,)``.
        definition: "v3.0": with the end token, as the paper's code; "v3.1": without, as the code of 2026, which reads
            the probability of an answer of one token off the first place.
    """
    return (log_chances if definition == "v3.0" else log_chances[:-1]).mean()

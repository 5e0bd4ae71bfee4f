"""Model cards of the Hub, merged in the sandbox because their YAML is untrusted."""

from vlgauge.inputs.sandbox import run

_MOST_BYTES = 2**24


def merge_card(new: str, card: bytes, repository: str) -> str:
    """Return a card with the results of another card added to its own results.

    Args:
        new: Text of the card with the new results.
        card: Content of the card on the Hub.
        repository: Repository of the card, for messages.

    Raises:
        ValueError: If the card has a different value for the same result, or cannot be parsed.
    """
    settings, subject = {"new": new, "repository": repository}, f"the card of {repository}"
    (found,) = run("vlgauge.inputs.card_tasks:merge", settings, card, subject=subject, most_bytes=_MOST_BYTES)
    return found.body.decode("utf-8")

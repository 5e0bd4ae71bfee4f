"""A sibling of the script, which the host copies along with it."""


def count_letters(text: str) -> int:
    """Number of letters in a text."""
    return sum(map(str.isalpha, text))

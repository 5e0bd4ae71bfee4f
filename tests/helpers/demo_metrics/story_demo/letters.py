"""A sibling of the script, which `evaluate` copies with it."""


def count_letters(text: str) -> int:
    """Return the number of letters in a text."""
    return sum(map(str.isalpha, text))

"""OnlyStyle by its definition (Li and Harrison, 2022, Eqs. 1 to 6), in plain loops, for comparison in tests."""

from collections import Counter
from collections.abc import Iterable
from collections.abc import Sequence
from fractions import Fraction


def ngrams(tokens: Sequence[str], n: int) -> set[tuple[str, ...]]:
    """Return M_n, the distinct n-grams of a caption."""
    return {tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)}


class StyleCorpus:
    """Captions (tokens, style), which determine the weights of n-grams in each style."""

    def __init__(self, rows: Iterable[tuple[Sequence[str], str]], styles: Iterable[str]) -> None:
        self.styles = set(styles)
        found = [(style, ngram) for tokens, style in rows for n in (1, 2, 3, 4) for ngram in ngrams(tokens, n)]
        self.f = Counter(found)  # captions of a style that contain an n-gram (Eq. 1)

    def ecdf(self, t: tuple[str, ...], p: str) -> Fraction:
        """Compute E_p(t) (Eq. 2)."""
        values = [f for (q, u), f in self.f.items() if q == p and len(u) == len(t)]
        return Fraction(sum(x <= self.f[p, t] for x in values), len(values) or 1)

    def cng(self, t: tuple[str, ...], p: str, variant: str = "paper") -> Fraction:
        """Compute CNG_p(t) (Eq. 4), with the number of styles with t (Eq. 3)."""
        occurrences = sum(self.f[q, t] > 0 for q in self.styles)
        if not occurrences or (variant == "released" and not self.f[p, t]):
            return Fraction(0)
        total = sum((self.ecdf(t, p) - self.ecdf(t, q) for q in self.styles), Fraction(0))
        return total / occurrences / (len(self.styles) - (variant == "released"))

    def onlystyle(self, tokens: Sequence[str], p: str, variant: str = "paper", orders: str = "available") -> Fraction:
        """Compute the mean over the orders (Eq. 5) of the mean weight of the n-grams of an order (Eq. 6)."""
        sets = [found for n in (1, 2, 3, 4) if (found := ngrams(tokens, n))]
        means = [sum((self.cng(t, p, variant) for t in found), Fraction(0)) / len(found) for found in sets]
        return sum(means, Fraction(0)) / ((len(means) or 1) if orders == "available" else 4)

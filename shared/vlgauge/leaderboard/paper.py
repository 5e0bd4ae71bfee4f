"""The table of a paper: a row per system, a column per metric, and a caption that says what its marks mean."""

from vlgauge.catalog import score_title
from vlgauge.leaderboard.comparison import Comparison, MetricComparison
from vlgauge.leaderboard.table import (
    ARROWS,
    SIGN_FLIPS,
    SWAPS,
    Cell,
    Numbers,
    Table,
    alpha_text,
    latex_lines,
    latex_text,
)
from vlgauge.results import printable
from vlgauge.signatures import TOY_NUMBERS, made_by_toy
from vlgauge.statistics import FEW, FEW_MARK

PERCENT = Numbers(digits=1, scale=100.0)
"""Numbers as papers have them."""


def paper_table(comparison: Comparison, numbers: Numbers = PERCENT) -> Table:
    """The table, the best system by the first metric first.

    Bold are the systems of the first rank group, see `vlgauge.leaderboard.table.systems_table`.
    """
    header = ["System", *(paper_title(compared) for compared in comparison.metrics)]
    rows = []
    for first in comparison.metrics[0].systems:
        cells = [Cell(first.name)]
        for compared in comparison.metrics:
            one = next(own for own in compared.systems if own.name == first.name)
            cells.append(Cell(numbers.text(one.value, one.low, one.high, few=one.few), one.bold, right=True))
        rows.append(cells)
    return Table(header, rows, notes=[*_sentences(comparison, numbers), *signatures(comparison)])


def paper_title(compared: MetricComparison) -> str:
    """What the field calls a metric, whether a toy made its scores, and the arrow that points to the better ones."""
    toy = " (toy)" if made_by_toy(compared.signature) else ""
    return f"{score_title(compared.metric)}{toy} {ARROWS[compared.higher_is_better]}"


def signatures(comparison: Comparison) -> list[str]:
    """How the scores were made, a line per metric, for the appendix."""
    return [compared.signature for compared in comparison.metrics]


def _sentences(comparison: Comparison, numbers: Numbers) -> list[str]:
    """What the caption says: of what the numbers are, and what bold and the marks mean."""
    every = [system for compared in comparison.metrics for system in compared.systems]
    times = "" if numbers.scale == 1 else f" \N{MULTIPLICATION SIGN} {numbers.scale:g}"
    corpus = [score_title(one.metric) for one in comparison.metrics if one.value == "corpus"]
    counts = sorted({one.n for one in comparison.metrics})
    n_rows = f"{counts[0]} rows" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} rows"
    what = "Means" if not corpus else f"Means, of {', '.join(corpus)} values of the corpus,"
    what = "Values of the corpus" if len(corpus) == len(comparison.metrics) else what
    drawn = "" if comparison.n_groups is None else f" in {comparison.n_groups} groups, which are drawn whole"
    ends = f" with {100 * comparison.level:g} % bootstrap intervals" if numbers.intervals else ""
    sentences = [f"{what}{times} of {n_rows}{drawn}{ends}."]
    if any(system.bold for system in every):
        tests = SWAPS if len(corpus) == len(comparison.metrics) else SIGN_FLIPS
        tests += f", of {', '.join(corpus)} {SWAPS}," if corpus and tests == SIGN_FLIPS else ""
        sentences.append(
            f"Bold: the best system and others of which no two are told apart by {tests} with Holm's correction "
            f"({alpha_text(comparison.level)})."
        )
    else:
        sentences.append("Nothing is bold, as the rows that differ are too few to tell systems apart.")
    if numbers.intervals and any(system.few for system in every):
        sentences.append(
            f"{FEW_MARK}: of fewer than {FEW} rows or groups of rows; such an interval misses more often than its "
            "level says."
        )
    if toys := [score_title(one.metric) for one in comparison.metrics if made_by_toy(one.signature)]:
        sentences.append(f"{', '.join(toys)}: scores of toys, which {TOY_NUMBERS}.")
    return sentences


def paper_latex(
    comparison: Comparison,
    numbers: Numbers = PERCENT,
    *,
    booktabs: bool = True,
    caption: str = "",
    label: str = "",
) -> str:
    """The table as a float of LaTeX; below it the signatures as comments, ready for an appendix.

    What the marks mean stands behind the given caption. With `booktabs`, the rules are those of that package.
    """
    table = paper_table(comparison, numbers)
    told = " ".join(latex_text(one) for one in _sentences(comparison, numbers))
    lines = ["\\begin{table}", "\\centering", *latex_lines(table, booktabs=booktabs)]
    lines += [f"\\caption{{{f'{caption.rstrip()} ' if caption else ''}{told}}}"]
    lines += [f"\\label{{{label}}}"] if label else []
    needs = ["% \\usepackage{booktabs}"] if booktabs else []
    # A signature is one long word without them.
    texts = [
        latex_text(printable(one)).replace("\\textbar{}", "\\textbar\\allowbreak{}") for one in signatures(comparison)
    ]
    own = [f"% {{\\footnotesize\\raggedright\\texttt{{{one}}}\\par}}" for one in texts]
    return "\n".join([*needs, *lines, "\\end{table}", "% Signatures, for the appendix:", *own])

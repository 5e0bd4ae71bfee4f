"""The table of a paper: a row per system, a column per metric, and a caption that says what its marks mean."""

from vlgauge.core.catalog import score_title
from vlgauge.core.results import printable
from vlgauge.families.aggregation import values_told
from vlgauge.leaderboard.comparison import Comparison
from vlgauge.leaderboard.table import (
    Cell,
    Numbers,
    Table,
    caveats,
    drawn_told,
    family_caveat,
    intervals_told,
    lack_others,
    latex_lines,
    latex_text,
    own_values,
    title,
    told_by_tests,
)

PERCENT = Numbers(digits=1, scale=100.0)
"""Numbers as papers have them."""


def paper_table(comparison: Comparison, numbers: Numbers = PERCENT) -> Table:
    """The table, the best system by the first metric first.

    Bold are the systems of the first rank group, see `vlgauge.leaderboard.table.systems_table`.
    """
    header = ["System", *(title(compared, spoken=True) for compared in comparison.metrics)]
    rows = []
    for first in comparison.metrics[0].systems:
        cells = [Cell(first.name)]
        for compared in comparison.metrics:
            one = next(own for own in compared.systems if own.name == first.name)
            cells.append(Cell(numbers.text(one.value, one.low, one.high, few=one.few), one.bold, right=True))
        rows.append(cells)
    return Table(header, rows, notes=[*_sentences(comparison, numbers), *signatures(comparison)])


def signatures(comparison: Comparison) -> list[str]:
    """How the scores were made, a line per metric, for the appendix."""
    return [compared.signature for compared in comparison.metrics]


def _sentences(comparison: Comparison, numbers: Numbers) -> list[str]:
    """Return what the caption says: what the numbers are, what bold and the marks mean, and every caveat."""
    every = [system for compared in comparison.metrics for system in compared.systems]
    times = "" if numbers.scale == 1 else f" \N{MULTIPLICATION SIGN} {numbers.scale:g}"
    values = values_told(
        {one.metric: score_title(one.metric) for one in comparison.metrics},
        {one.metric: one.signature for one in comparison.metrics},
    )
    scored = {score_title(one.metric): one.n for one in comparison.metrics if not lack_others(one)}
    n_rows = len(comparison.ids)
    tests = told_by_tests(comparison, spoken=True)
    bold = f"Bold: the best system and others of which no two are told apart by {tests}."
    if not any(system.bold for system in every):
        bold = "Nothing is bold, as the rows that differ are too few to tell systems apart."
    return [
        f"{values}{times}{intervals_told(comparison, numbers)}; {drawn_told(comparison)}.",
        bold,
        *(f"{n} of {n_rows} rows have a score by {name}." for name, n in scored.items() if n < n_rows),
        *family_caveat(comparison),
        *caveats(comparison, numbers),
        *own_values(comparison, numbers),
    ]


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

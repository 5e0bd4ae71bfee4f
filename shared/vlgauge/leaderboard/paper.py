"""Table for a paper: a row per system, a column per metric, and a caption that explains its marks."""

from vlgauge.core.catalog import score_title
from vlgauge.core.results import printable
from vlgauge.leaderboard.comparison import RunComparison
from vlgauge.leaderboard.table import (
    Cell,
    Numbers,
    Table,
    caveats,
    describe_tests,
    describe_values,
    family_caveat,
    lack_others,
    latex_lines,
    latex_text,
    own_values,
    title,
    value_cell,
)

PERCENT = Numbers(digits=1, scale=100.0)
"""Number format that is common in papers: percent with one decimal."""


def paper_table(comparison: RunComparison, numbers: Numbers = PERCENT) -> Table:
    """Return the table with systems sorted by the first metric, best first.

    Systems of the first rank group are bold. See `vlgauge.leaderboard.table.systems_table`.
    """
    header = ["System", *(title(compared, spoken=True) for compared in comparison.metrics)]
    rows = {system.name: [Cell(system.name)] for system in comparison.metrics[0].systems}
    for compared in comparison.metrics:
        for system in compared.systems:
            rows[system.name].append(value_cell(system, numbers))
    return Table(header, [*rows.values()], notes=[*_sentences(comparison, numbers), *signatures(comparison)])


def signatures(comparison: RunComparison) -> list[str]:
    """Return the signature of each metric, for the appendix."""
    return [compared.signature for compared in comparison.metrics]


def _sentences(comparison: RunComparison, numbers: Numbers) -> list[str]:
    """Return the sentences of the caption, which explain the values, bold cells and marks, and contain every caveat."""
    every = [system for compared in comparison.metrics for system in compared.systems]
    times = "" if numbers.scale == 1 else f" \N{MULTIPLICATION SIGN} {numbers.scale:g}"
    scored = {score_title(one.metric): one.n for one in comparison.metrics if not lack_others(one)}
    n_rows = len(comparison.ids)
    tests = describe_tests(comparison, spoken=True)
    bold = f"Bold: the best system and all systems that do not differ significantly in {tests}."
    if not any(system.bold for system in every):
        bold = "Nothing is bold, because too few rows differ for a significant difference."
    return [
        describe_values(comparison, numbers, spoken=True, factor=times),
        bold,
        *(f"{n} of {n_rows} rows have a score by {name}." for name, n in scored.items() if n < n_rows),
        *family_caveat(comparison),
        *caveats(comparison, numbers),
        *own_values(comparison, numbers),
    ]


def paper_latex(
    comparison: RunComparison,
    numbers: Numbers = PERCENT,
    *,
    booktabs: bool = True,
    caption: str = "",
    label: str = "",
) -> str:
    """Return the table as a LaTeX float, followed by the signatures as comments for an appendix.

    Args:
        comparison: Comparison of the systems.
        numbers: Number format.
        booktabs: Whether to use the rules of the package booktabs.
        caption: Beginning of the caption, followed by the explanation of the marks.
        label: Label of the float. Empty for no label.
    """
    table = paper_table(comparison, numbers)
    sentences = " ".join(latex_text(one) for one in _sentences(comparison, numbers))
    lines = ["\\begin{table}", "\\centering", *latex_lines(table, booktabs=booktabs)]
    lines += [f"\\caption{{{f'{caption.rstrip()} ' if caption else ''}{sentences}}}"]
    lines += [f"\\label{{{label}}}"] if label else []
    needs = ["% \\usepackage{booktabs}"] if booktabs else []
    # Allow line breaks inside of a signature.
    texts = [
        latex_text(printable(one)).replace("\\textbar{}", "\\textbar\\allowbreak{}") for one in signatures(comparison)
    ]
    own = [f"% {{\\footnotesize\\raggedright\\texttt{{{one}}}\\par}}" for one in texts]
    return "\n".join([*needs, *lines, "\\end{table}", "% Signatures, for the appendix:", *own])

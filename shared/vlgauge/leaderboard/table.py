"""Tables of systems, rendered as Markdown for cards, HTML for pages, LaTeX for papers and text for terminals."""

import html
import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from vlgauge.core.catalog import score_title
from vlgauge.core.results import AT_MOST, align_columns, printable, pvalue_text
from vlgauge.core.signatures import describe_demo_models
from vlgauge.core.validation import check_choice
from vlgauge.families.aggregation import ARROWS, COUNTED, describe_silent_rows, number_title, values_told
from vlgauge.leaderboard.comparison import MetricComparison, RunComparison, System, SystemPair, rows_that_differ
from vlgauge.stats import FEW_MARK, FEW_NOTE, alpha

SIGN_FLIPS = "paired sign-flip tests"
SWAPS = "tests that swap rows"
CORRECTED = "p (Holm)"  # column name, used only if more than one p-value was corrected
TOO_FEW = "too few differing rows for a test"
# Signature field of a metric that weights words by the references of all rows.
_WEIGHED = "|df:references@"
# Signature fields of reference implementations in which the score of a row depends on the other rows of its batch.
_DEPENDENT = ("|released_batch:", "|emscore_batch:")
_DEPENDENT_NOTE = "row scores depend on other rows, but intervals and tests treat rows as independent"


@dataclass(frozen=True)
class Numbers:
    """Number format of tables of systems.

    Attributes:
        digits: Number of decimals.
        scale: Factor of all values, such as 100.
        intervals: Whether to include the intervals.
    """

    digits: int = 4
    scale: float = 1.0
    intervals: bool = True

    def text(self, value: float, low: float | None = None, high: float | None = None, *, few: bool = False) -> str:
        """Return a number with its interval as text, with a mark if the interval has few rows."""
        has_ends = low is not None and high is not None and self.intervals
        shown = [number for number in (value, low, high) if number is not None] if has_ends else [value]
        text, *ends = (f"{self.scale * number:z.{self.digits}f}" for number in shown)
        return f"{text} [{', '.join(ends)}]{FEW_MARK if few else ''}" if ends else text

    @property
    def notes(self) -> list[str]:
        """Note about the factor of all values. Empty if the factor is 1."""
        return [] if self.scale == 1 else [f"All values are multiplied by {self.scale:g}."]


PLAIN = Numbers()


@dataclass(frozen=True)
class Cell:
    """Cell of a table.

    Attributes:
        text: Text without escapes, which each format adds.
        bold: Whether the cell is one of the best.
        right: Whether the cell is aligned to the right, as numbers are.
        link: URL with more information. HTML contains a link if the URL begins with https.
    """

    text: str
    bold: bool = False
    right: bool = False
    link: str = ""


@dataclass(frozen=True)
class Table:
    """Table with a caption and notes.

    Attributes:
        header: Column names.
        rows: Cells of each row.
        caption: Line above the table. Empty for no caption.
        notes: Lines below the table.
        bold: Meaning of the bold cells, shown below the table. Formats without bold mark these cells with a star. Empty
            if bold only repeats the text of the cells.
        link: URL of the subject of the caption. HTML contains a link if the URL begins with https.
        unranked: Names of the columns by which a page must not rank the rows.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    notes: Sequence[str] = ()
    bold: str = ""
    link: str = ""
    unranked: Collection[str] = ()


def systems_table(comparison: RunComparison, numbers: Numbers = PLAIN) -> Table:
    """Return the leaderboard: a row per system, sorted by the first metric, with means and rank groups per metric.

    Means are over the rows that every system defines. If systems lack rows, their number and the mean over all rows of
    each system are added. The means of the first rank group are bold: the best system and other systems without a
    significant difference within the group, if a test could have been significant. A system may differ significantly
    from a member of this group, but not from the best system. It is then in a later group together with the best
    system, and is not bold.
    """
    header = ["system"]
    rows = {system.name: [Cell(system.name)] for system in comparison.metrics[0].systems}
    counts = [_count_text(comparison, compared) for compared in comparison.metrics]
    for number, (compared, count) in enumerate(zip(comparison.metrics, counts, strict=True), 1):
        # Equal numbers of rows are in one column at the end.
        n = {"n": count} if len(set(counts)) > 1 or number == len(counts) else {}
        further: dict[str, str] = {}
        for system in compared.systems:
            further = {"group": groups_text(system), **_describe_missing(compared, system, numbers), **n}
            rows[system.name] += [value_cell(system, numbers), *(Cell(text, right=True) for text in further.values())]
        header += [title(compared), *further]
    bold = "the first group" if any(cell.bold for row in rows.values() for cell in row) else ""
    return Table(header, [*rows.values()], notes=[*numbers.notes, *_notes(comparison, numbers)], bold=bold)


def value_cell(system: System, numbers: Numbers) -> Cell:
    """Return the cell with the value of a system and its interval, which is bold in the first rank group."""
    return Cell(numbers.text(system.value, system.low, system.high, few=system.few), system.bold, right=True)


def _count_text(comparison: RunComparison, compared: MetricComparison) -> str:
    n_rows = len(comparison.ids)
    if compared.n == n_rows:
        return str(n_rows)
    return f"{compared.n} of {n_rows}" if lack_others(compared) else f"{compared.n} (+{n_rows - compared.n} undefined)"


def lack_others(compared: MetricComparison) -> bool:
    """Return whether a system lacks rows that another system defines."""
    n_rows = len(next(iter(compared.scores.values())))
    return any(one.undefined != n_rows - compared.n for one in compared.systems)


def _describe_missing(compared: MetricComparison, system: System, numbers: Numbers) -> dict[str, str]:
    """Return the additional cells of a system by column name if rows lack a score.

    They are the mean over its rows, the number of undefined rows, and the mean with the worst score.
    """
    own = {}
    if lack_others(compared):
        own = {"own rows": numbers.text(system.own_value), "undefined": str(system.undefined)}
    return own if system.worst_value is None else {**own, "worst for missing": numbers.text(system.worst_value)}


def pairs_table(comparison: RunComparison, numbers: Numbers = PLAIN) -> Table:
    """Return the table of the tested pairs: differences, p-values, wins, losses, ties, and the better system."""
    corrected = [CORRECTED] if comparison.n_tests > 1 else []
    header = ["metric", "systems", "difference", "p", *corrected, "wins", "losses", "ties", "better"]
    rows = [
        [Cell(title(compared)), Cell(f"{pair.first} - {pair.second}"), *_pair_cells(comparison, pair, numbers)]
        for compared in comparison.metrics
        for pair in compared.pairs
    ]
    notes = [*numbers.notes, *_correction(comparison), *family_caveat(comparison)]
    notes += _unlike_groups(comparison)
    if numbers.intervals:
        notes.append(
            "Intervals are not corrected for multiple comparisons and may disagree with the tests: an interval may "
            'exclude 0 for a pair that is "not significant".'
        )
    if any(pair.too_few for compared in comparison.metrics for pair in compared.pairs):
        rows_or_groups = "rows" if comparison.n_groups is None else "groups of rows"
        notes.append(
            f"{TOO_FEW}: with so few differing {rows_or_groups}, no outcome is significant; such pairs make nothing "
            "bold."
        )
    notes += [
        f"{compared.metric}: wins, losses and ties count single rows, all other values are corpus-level."
        + (f" A row in which {noise} ties." if (noise := COUNTED[compared.metric].noise) else "")
        for compared in comparison.metrics
        if compared.value == "corpus"
    ]
    if numbers.intervals:
        notes += few_notes(pair.few for compared in comparison.metrics for pair in compared.pairs)
    return Table(header, rows, notes=notes)


def _correction(comparison: RunComparison) -> list[str]:
    """Return a sentence about the correction of p-values, or nothing for a single test."""
    n_pairs, n_tests = len(comparison.metrics[0].pairs), comparison.n_tests
    if n_tests < 2:
        return []
    pairs = _count_pairs(n_pairs)
    if n_tests > n_pairs:
        pairs = f"the {pairs} of all {len(comparison.metrics)} metrics together, {n_tests} tests"
    return [f"{CORRECTED} corrects for {pairs}."]


def family_caveat(comparison: RunComparison) -> list[str]:
    """Return a caveat if the pairs of several metrics are corrected separately, otherwise nothing."""
    n_metrics = len(comparison.metrics)
    if n_metrics < 2 or comparison.family == "all":
        return []
    n_tests = n_metrics * len(comparison.metrics[0].pairs)
    return [f"{each_by_itself(n_metrics, comparison.level)}; the family `all` has {n_tests} tests."]


def each_by_itself(n_metrics: int, level: float) -> str:
    """Return a sentence, without a period, about the error rate of several metrics that are tested separately."""
    return (
        f"Each metric is tested separately: the probability of an error in any of the {n_metrics} metrics exceeds "
        f"{alpha_text(level)}"
    )


def _count_pairs(n_pairs: int) -> str:
    return f"{n_pairs} {'pairs' if n_pairs > 1 else 'pair'}"


def _unlike_groups(comparison: RunComparison) -> list[str]:
    """Return a note if the groups are corrected for other pairs than the table of pairs, otherwise nothing."""
    n_pairs, every = len(comparison.metrics[0].pairs), math.comb(len(comparison.metrics[0].systems), 2)
    if n_pairs == every:
        return []
    of_each = " of each metric" if comparison.family == "all" and len(comparison.metrics) > 1 else ""
    return [
        f"The groups correct for all {every} pairs{of_each}: a pair may differ significantly here and still share a "
        "group."
    ]


def pair_pvalue_text(comparison: RunComparison, pair: SystemPair) -> str:
    """Return the text of the decisive p-value of a pair: the corrected one, if several p-values were corrected."""
    return pvalue_text(pair.adjusted_pvalue, least=least_pvalue(comparison), raw=pair.pvalue)


def verdict(pair: SystemPair) -> str:
    """Return the better system of a pair, or the reason why there is none."""
    return pair.better or (TOO_FEW if pair.too_few else "not significant")


def _pair_cells(comparison: RunComparison, pair: SystemPair, numbers: Numbers) -> list[Cell]:
    texts = [numbers.text(pair.difference, pair.low, pair.high, few=pair.few)]
    texts.append(pvalue_text(pair.pvalue, least=least_pvalue(comparison)))
    texts += [pair_pvalue_text(comparison, pair)] if comparison.n_tests > 1 else []
    texts += map(str, (pair.wins, pair.losses, pair.ties))
    return [*(Cell(text, right=True) for text in texts), Cell(verdict(pair), bold=bool(pair.better))]


def differences_table(
    comparison: RunComparison,
    compared: MetricComparison,
    pair: SystemPair,
    limit: int,
    texts: Mapping[str, Mapping[str, str]],
) -> Table:
    """Return the table of the rows in which two systems differ most.

    Args:
        comparison: Comparison of the systems.
        compared: Comparison by one of the metrics.
        pair: Pair of systems.
        limit: Maximum number of rows.
        texts: Texts by id, by name of the system. Systems without texts get no column.
    """
    names = (pair.first, pair.second)
    columns = [name for name in names if name in texts]
    rows = []
    for row in rows_that_differ(compared, pair, limit):
        key = comparison.ids[row]
        first, second = (compared.scores[name][row] for name in names)
        better = pair.first if (first > second) == compared.higher_is_better else pair.second
        scores = [Cell(PLAIN.text(value), right=True) for value in (first, second, first - second)]
        rows.append([Cell(key), *scores, Cell(better), *(Cell(texts[name][key]) for name in columns)])
    what = f"Rows in which {pair.first} and {pair.second} differ most by {title(compared, of_row=True)}"
    header = ["id", *names, "difference", "better", *(f"text of {name}" for name in columns)]
    return Table(header, rows, what if rows else f"{what}: none, because all rows tie")


def title(compared: MetricComparison, *, spoken: bool = False, of_row: bool = False) -> str:
    """Return the name of a compared value. See `number_title`.

    Args:
        compared: Comparison by the metric.
        spoken: Whether to use the common name of the metric, such as "TRM" for `trm`.
        of_row: Whether the value is the score of a single row.
    """
    called = score_title(compared.metric) if spoken else ""
    higher, signature = compared.higher_is_better, compared.signature
    return number_title(compared.metric, called=called, signature=signature, of_row=of_row, higher_is_better=higher)


def few_notes(few: Iterable[bool]) -> list[str]:
    """Return the explanation of the mark for intervals with few rows, if at least one has it."""
    return [f"{FEW_MARK} {FEW_NOTE}."] if any(few) else []


def least_pvalue(comparison: RunComparison) -> float:
    """Return the smallest p-value of random assignments.

    P-values of all assignments, whose number is at most the same, are larger.
    """
    return 1 / (comparison.test_resamples + 1)


def groups_text(system: System) -> str:
    """Return the numbers of the rank groups of a system as text."""
    return ",".join(map(str, system.groups))


def several_groups(systems: Iterable[System]) -> list[str]:
    """Return an explanation of several groups, if a system is in more than one."""
    found = next((groups_text(system) for system in systems if len(system.groups) > 1), "")
    note = f"Group {found}: member of each of these groups, without significant differences within each."
    return [note] if found else []


def describe_tests(comparison: RunComparison, *, spoken: bool = False) -> str:
    """Return the tests that separate systems, with their correction and level, as text.

    Args:
        comparison: Comparison of the systems.
        spoken: Whether to use the common names of the metrics.
    """
    n_pairs = math.comb(len(comparison.metrics[0].systems), 2)
    n_metrics = len(comparison.metrics) if comparison.family == "all" else 1
    together = f" by each of {n_metrics} metrics" if n_metrics > 1 else ""
    corrected = f"Holm's correction for {_count_pairs(n_pairs)}{together}, " if n_pairs * n_metrics > 1 else ""
    added = [one.metric for one in comparison.metrics if one.value == "corpus"]
    added = [score_title(name) for name in added] if spoken else added
    tests = SWAPS if len(added) == len(comparison.metrics) else SIGN_FLIPS
    tests += f", for {', '.join(added)} {SWAPS}" if added and tests == SIGN_FLIPS else ""
    return f"{tests} ({corrected}{alpha_text(comparison.level)})"


def describe_groups(comparison: RunComparison) -> str:
    """Return the explanation of rank groups."""
    return f"Systems that share a group do not differ significantly in {describe_tests(comparison)}."


def the_test(comparison: RunComparison) -> str:
    """Return the name of the test of pairs for figures."""
    return f"the test with Holm's correction for {comparison.n_tests} tests" if comparison.n_tests > 1 else "the test"


def alpha_text(level: float) -> str:
    """Return the significance level of tests as text."""
    return f"{float(alpha(level)):.2g}"


def describe_draws(comparison: RunComparison) -> str:
    """Return the number of rows and groups, the numbers of samples, and the seed, as text."""
    drawn = f"{len(comparison.ids)} rows"
    if comparison.n_groups is not None:
        drawn += f" in {comparison.n_groups} groups, which are resampled as a whole"
    samples = f"{comparison.resamples} samples"
    if comparison.test_resamples != comparison.resamples:
        samples += f", {comparison.test_resamples} for tests"
    return f"{drawn}, {samples}, seed {comparison.seed}"


def caveats(comparison: RunComparison, numbers: Numbers = PLAIN) -> list[str]:
    """Return the caveats about the values, which every format of a table contains."""
    systems = [system for compared in comparison.metrics for system in compared.systems]
    weighed = [compared.metric for compared in comparison.metrics if _WEIGHED in compared.signature]
    dependent = [one.metric for one in comparison.metrics if any(field in one.signature for field in _DEPENDENT)]
    signatures = {compared.metric: compared.signature for compared in comparison.metrics}
    return [
        *(f"{note}." for note in describe_demo_models(signatures)),
        *few_notes(system.few and numbers.intervals for system in systems),
        *(f"{one}." for compared in comparison.metrics for one in compared.notes),
        *(
            f"{describe_silent_rows(compared.metric, n_rows, of=name)}."
            for compared in comparison.metrics
            for name, n_rows in compared.silent.items()
            if n_rows
        ),
        *([f"{', '.join(weighed)}: resampled rows keep the document frequencies of all rows."] if weighed else []),
        *([f"{', '.join(dependent)}: {_DEPENDENT_NOTE}."] if dependent else []),
    ]


def own_values(comparison: RunComparison, numbers: Numbers = PLAIN) -> list[str]:
    """Return sentences with the values over all rows of each system, for a table that has no columns for them."""
    notes = []
    for compared in comparison.metrics:
        if lack_others(compared):
            own = [f"{one.name} {numbers.text(one.own_value)} ({one.undefined} undefined)" for one in compared.systems]
            notes.append(f"{compared.metric} over all its rows: {', '.join(own)}.")
        if compared.systems[0].worst_value is not None:
            worst = [f"{one.name} {numbers.text(one.worst_value or 0.0)}" for one in compared.systems]
            notes.append(f"{compared.metric} with the worst score for missing scores: {', '.join(worst)}.")
    return notes


def describe_values(comparison: RunComparison, numbers: Numbers, *, spoken: bool = False, factor: str = "") -> str:
    """Return a sentence about the values, their intervals and the samples.

    Args:
        comparison: Comparison of the systems.
        numbers: Number format.
        spoken: Whether to use the common names of the metrics.
        factor: Factor of the values.
    """
    signatures = {compared.metric: compared.signature for compared in comparison.metrics}
    values = values_told({name: score_title(name) if spoken else name for name in signatures}, signatures)
    intervals = f" with {100 * comparison.level:g}% bootstrap intervals" if numbers.intervals else ""
    return f"{values}{factor}{intervals}; {describe_draws(comparison)}."


def _notes(comparison: RunComparison, numbers: Numbers = PLAIN) -> list[str]:
    return [
        describe_values(comparison, numbers),
        describe_groups(comparison),
        *several_groups(system for compared in comparison.metrics for system in compared.systems),
        *caveats(comparison, numbers),
        *(compared.signature for compared in comparison.metrics),
    ]


# -- Formats ----------------------------------------------------------------------------------------------------------
def render(table: Table, form: str) -> str:
    """Return the table in one of the formats.

    Raises:
        ValueError: If the format is unknown.
    """
    return FORMS[check_choice("form", form, tuple(FORMS))](table)


def notes_of(table: Table, mark: str = "bold") -> list[str]:
    """Return the lines below a table. The first one explains the mark of the bold cells, if there is an explanation."""
    return [*([f"{mark}: {table.bold}"] if table.bold else []), *table.notes]


def _text(table: Table) -> str:
    star = "* " if table.bold else ""
    rows = [[(star if cell.bold else "") + printable(cell.text) for cell in row] for row in table.rows]
    lines = align_columns([printable(one) for one in table.header], rows, _right(table))
    caption = [printable(table.caption), ""] if table.caption else []
    return "\n".join([*caption, lines, *(["", *map(printable, notes)] if (notes := notes_of(table, "*")) else [])])


def _markdown(table: Table) -> str:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cells)} |"

    def bold(cell: Cell) -> str:
        text = _markdown_text(cell.text)
        return f"**{text}**" if cell.bold else text

    rule = ["---:" if right else "---" for right in _right(table)]
    lines = [line([_markdown_text(one) for one in table.header]), line(rule)]
    lines += [line([bold(cell) for cell in row]) for row in table.rows]
    caption = [_markdown_text(table.caption), ""] if table.caption else []
    return "\n".join([*caption, *lines, *(part for note in notes_of(table) for part in ("", _markdown_text(note)))])


def _markdown_text(text: str) -> str:
    """Escape markup in a line of text.

    A signature contains stars and bars, and a name may contain any character.
    """
    return re.sub(r"([\\`*_<>|~$&]|\](?=[(\[:]))", r"\\\1", printable(text))


def _latex(table: Table) -> str:
    notes = [f"% {printable(note)}" for note in notes_of(table)]
    caption = [f"% {printable(table.caption)}"] if table.caption else []
    return "\n".join([*caption, *latex_lines(table), *notes])


def latex_lines(table: Table, *, booktabs: bool = False) -> list[str]:
    """Return header and rows of a table as the lines of a LaTeX tabular."""
    top, middle, bottom = ("\\toprule", "\\midrule", "\\bottomrule") if booktabs else ("\\hline",) * 3

    def line(cells: Sequence[str]) -> str:
        return f"{' & '.join(cells)} \\\\"

    def bold(cell: Cell) -> str:
        text = latex_text(cell.text)
        # Use the minus sign of math mode for numbers.
        text = text.replace("-", "$-$") if cell.right else text
        return f"\\textbf{{{text}}}" if cell.bold else text

    columns = "".join("r" if right else "l" for right in _right(table))
    lines = [f"\\begin{{tabular}}{{{columns}}}", top, line([latex_text(one) for one in table.header]), middle]
    return [*lines, *(line([bold(cell) for cell in row]) for row in table.rows), bottom, "\\end{tabular}"]


_LATEX = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    **{"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"},
    # In the default font encoding OT1, these characters are printed as others.
    **{"<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}"},
    **{ARROWS[True]: "$\\uparrow$", ARROWS[False]: "$\\downarrow$", AT_MOST: "$\\le$"},
    **{FEW_MARK: "$^{\\dagger}$", "\N{MULTIPLICATION SIGN}": "$\\times$"},
}


def latex_text(text: str) -> str:
    """Escape text for LaTeX."""
    # A bracket or a star at the start of a row would be parsed as an option of the preceding line break. Format
    # characters such as U+200B make LaTeX stop with an error.
    seen = "".join(letter for letter in printable(text) if unicodedata.category(letter) != "Cf")
    escaped = "".join(_LATEX.get(letter, letter) for letter in seen)
    return f"{{}}{escaped}" if escaped.startswith(("[", "*")) else escaped


def _html(table: Table) -> str:
    """Return the table as HTML. Cells contain their column names, so that a narrow page can show rows as blocks."""

    def linked(text: str, address: str) -> str:
        if not address.startswith("https://"):
            return text
        return f'<a href="{html.escape(address)}" target="_blank" rel="noopener noreferrer nofollow">{text}</a>'

    def cell(name: str, one: Cell, right: bool, title: str = "") -> str:
        text = html.escape(printable(one.text))
        text = linked(f"<strong>{text}</strong>" if one.bold else text, one.link)
        label = f' data-label="{html.escape(printable(title))}"' if title else ""
        side = ' style="text-align: right"' if right else ""
        unranked = " data-unranked" if name == "th" and one.text in table.unranked else ""
        return f"<{name}{label}{side}{unranked}>{text}</{name}>"

    right = _right(table)
    head = "".join(cell("th", Cell(one), side) for one, side in zip(table.header, right, strict=True))
    caption = (
        [f"<caption>{linked(html.escape(printable(table.caption)), table.link)}</caption>"] if table.caption else []
    )
    lines = ["<table>", *caption, f"<thead><tr>{head}</tr></thead>", "<tbody>"]
    for row in table.rows:
        cells = [cell("td", one, one.right, title) for one, title in zip(row, table.header, strict=True)]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    notes = [f"<p>{html.escape(printable(note))}</p>" for note in notes_of(table)]
    return "\n".join([*lines, "</tbody>", "</table>", *notes])


def _right(table: Table) -> list[bool]:
    return [all(row[i].right for row in table.rows) for i in range(len(table.header))]


FORMS: dict[str, Callable[[Table], str]] = {"text": _text, "markdown": _markdown, "latex": _latex, "html": _html}

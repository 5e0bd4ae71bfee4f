"""List the metrics, their purposes, and whether their requirements are installed."""

import argparse
from dataclasses import asdict

from vlgauge.core.catalog import MetricFacts, metric_facts, metric_names
from vlgauge.core.results import to_json, to_table

HEADINGS = ["metric", "measures", "range", "better", "languages", "needs the extra"]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = __doc__
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(options: argparse.Namespace) -> None:
    """Print all metrics."""
    facts = [metric_facts(name) for name in metric_names()]
    if options.json:
        print(to_json({"metrics": [asdict(fact) | {"missing": fact.missing} for fact in facts]}))
    else:
        print(to_table(HEADINGS, [row(fact) for fact in facts]))


def row(facts: MetricFacts) -> list[str]:
    """Return the cells of a metric in the table."""
    if not facts.needs:
        needs = "nothing more"
    elif facts.missing:
        needs = f'missing: pip install "vlgauge[{",".join(facts.missing)}]"'
    else:
        needs = f"{', '.join(facts.needs)} (present)"
    return [facts.name, facts.measures, facts.score_range, facts.better, ", ".join(facts.languages), needs]

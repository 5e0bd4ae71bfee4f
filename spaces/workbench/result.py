"""Page of the result of one example: score, findings, rank among the bundled examples, and explanation."""

from collections.abc import Mapping
from typing import Any

from vlgauge.core.catalog import metric_title
from vlgauge.core.signatures import DEMO_NUMBERS
from vlgauge.explain.examples import Example
from vlgauge.explain.scale import NAMES, scale, show_among
from vlgauge_workbench.bundled_scores import list_bundled, place_of, rank_bundled
from vlgauge_workbench.picker import part_of_page
from vlgauge_workbench.scoring import ScoredTable
from vlgauge_workbench.snippets import link, snippets

_OWN = "Your own example"
_NO_LINK = "A link cannot contain your images, nor so much text"


def deck(name: str, profile: str, config: str, chosen: int | None, tokenizer: str = "") -> str:
    """Return the bundled examples as buttons with scores, as HTML."""
    examples = list_bundled(name, profile, config, tokenizer)
    return part_of_page("deck", examples=examples, names=NAMES, chosen=chosen)


def page_of_one(
    scored: ScoredTable,
    profile: str,
    config: str,
    cells: Mapping[str, Any],
    chosen: int | None,
    base: int = 0,
    tokenizer: str = "",
) -> str:
    """Return the page of the result of one example."""
    metric = scored.explanation
    every = list_bundled(metric.name, profile, config, tokenizer)
    others = rank_bundled(metric.name, profile, config, tokenizer)
    metric.is_large = True
    show_among(metric, [score for _, score in others])
    example = every[chosen if chosen is not None else base].example
    return part_of_page(
        "result",
        metric=metric,
        row=0,
        title=metric_title(metric.name),
        eyebrow=_OWN if chosen is None else _describe(example),
        why="" if chosen is None else example.why,
        scale=scale(metric, 0, [(one.example.shows, one.score) for one in every], chosen),
        notes=[note for note in scored.notes if not (metric.is_demo and DEMO_NUMBERS in note)],
        place=place_of(metric, others),
        snippets=snippets(metric.name, profile, config, cells, tokenizer),
        link=link(metric.name, profile, config, cells, example, tokenizer),
        why_no_link=_NO_LINK,
    )


def page_without_score(example: Example, missing: str = "") -> str:
    """Return the page of an example that was not scored.

    Args:
        example: The example.
        missing: Sentence about the missing models, because of which the example cannot be scored.
    """
    return part_of_page("not_scored", eyebrow=_describe(example), missing=missing)


def _describe(example: Example) -> str:
    kind = "Limitation" if example.shows == "missed" else f"{NAMES[example.shows]} example"
    return f"{kind}: {example.title}"

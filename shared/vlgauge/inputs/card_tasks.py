"""Task of a sandbox worker that merges model cards, because their YAML is untrusted."""

from collections.abc import Iterator
from typing import Any, cast

import yaml
from huggingface_hub import ModelCard

from vlgauge.core.errors import UsageError, short_reason


def merge(content: bytes, new: str, repository: str) -> Iterator[tuple[None, bytes]]:
    """Yield None and the merged card, a text in UTF-8.

    Args:
        content: The present card.
        new: Content of the card with the new results.
        repository: Repository of the card in messages.

    Raises:
        UsageError: If a card cannot be read.
    """
    added = cast(Any, ModelCard(new).data)
    try:
        card = ModelCard(content.decode("utf-8"))
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        why = short_reason(error)
        raise UsageError(f"the card of {repository} must be readable, got one that fails with: {why}") from None
    own = cast(Any, card.data)
    results = list(own.eval_results or [])
    for result in added.eval_results or []:
        same = next((other for other in results if other.is_equal_except_value(result)), None)
        if same is None:
            results.append(result)
        elif same.metric_value != result.metric_value:
            raise UsageError(
                f"the card of {repository} has {same.metric_value} for {result.metric_type} on "
                f"{result.dataset_type}, not {result.metric_value}; take that out there first"
            )
    own.eval_results, own.model_name = results, own.model_name or added.model_name
    yield None, str(card).encode()

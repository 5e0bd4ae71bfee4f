"""Stories as lists of sentences, from the published files, from JSON lines, or drawn."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vlgauge import scenes
from vlgauge.errors import UsageError
from vlgauge.files import read_text

Stories = list[list[str]]

ROC_SENTENCES = tuple(f"sentence{number}" for number in range(1, 6))


def read_vist(path: str | Path) -> Stories:
    """Stories of a VIST file of stories in sequence (``train.story-in-sequence.json``).

    Each annotation is a list of one record with `story_id`, `worker_arranged_photo_order` and `text`; the texts of a
    story come in the order of the photos. `original_text` is taken where a record has it, as it is not tokenised.
    """
    try:
        content = json.loads(Path(path).read_text("utf-8"))
        records = [record for records in content["annotations"] for record in records]
        parts = [
            (
                str(record["story_id"]),
                int(record["worker_arranged_photo_order"]),
                str(record.get("original_text") or record["text"]),
            )
            for record in records
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"`{path}` must be VIST's stories in sequence, with story_id, worker_arranged_photo_order and text in "
            f"every annotation, got {type(error).__name__}: {error}"
        ) from error
    stories: dict[str, list[tuple[int, str]]] = {}
    for story, position, text in parts:
        stories.setdefault(story, []).append((position, text))
    return cleaned([text for _, text in sorted(story, key=lambda part: part[0])] for story in stories.values())


def read_rocstories(path: str | Path) -> Stories:
    """Stories of a ROCStories file, CSV with the columns sentence1 to sentence5."""
    rows = csv.DictReader(io.StringIO(read_text(path, f"`{path}`"), newline=""))
    missing = set(ROC_SENTENCES) - set(rows.fieldnames or ())
    if missing:
        raise UsageError(f"`{path}` must have the columns {', '.join(ROC_SENTENCES)}, lacks {sorted(missing)[0]}")
    return cleaned([row[title] or "" for title in ROC_SENTENCES] for row in rows)


def read_jsonl(path: str | Path) -> Stories:
    """Stories of a file with one JSON value per line: a list of sentences, or an object with one under "story"."""
    stories = []
    for number, line in enumerate(read_text(path, f"`{path}`").split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise UsageError(f"`{path}` must hold JSON, got {error} in line {number}") from None
        sentences = value.get("story", value.get("sentences")) if isinstance(value, dict) else value
        if not isinstance(sentences, list) or not all(isinstance(sentence, str) for sentence in sentences):
            raise UsageError(
                f"`{path}` must have a list of sentences in every line, got something else in line {number}"
            )
        stories.append(sentences)
    return cleaned(stories)


def drawn_stories(n: int, seed: int, split: str) -> Stories:
    """Sentences of stories about drawn scenes, see `vlgauge.scenes`."""
    return cleaned(story.sentences for story in scenes.stories(n, seed=seed, split=split))


def cleaned(stories: Any) -> Stories:
    """Stories with stripped sentences, without empty ones, and of at least two."""
    kept = ([sentence.strip() for sentence in story if sentence.strip()] for story in stories)
    return [story for story in kept if len(story) > 1]


READERS: dict[str, Callable[[str | Path], Stories]] = {
    "vist": read_vist,
    "rocstories": read_rocstories,
    "jsonl": read_jsonl,
}

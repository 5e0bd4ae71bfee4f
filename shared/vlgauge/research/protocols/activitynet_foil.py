"""ActivityNet-FOIL (Shi et al., 2022): paragraphs about videos, correct and with one phrase replaced.

The reader uses the files of EMScore's folder: ``final_right_video_sentences.json`` and
``final_foil_video_sentences.json``, ``{"results": {id: [{"sentence"}]}}``, and ``anet_entities_test_1.json`` and
``anet_entities_test_2.json`` of two annotators, ``{id: {"timestamps": [[start, end]], "sentences": [texts]}}``.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.research.protocols.files import (
    FilePath,
    Folder,
    columns_of,
    entry,
    find_named_files,
    read_json,
    texts,
    tidy,
)
from vlgauge.research.protocols.pairs import RIGHT, CaptionPairs

RIGHT_FILE, FOIL_FILE = "final_right_video_sentences.json", "final_foil_video_sentences.json"
SEGMENTS_FILE, REFERENCES_FILE = "anet_entities_test_1.json", "anet_entities_test_2.json"

Segment = tuple[float, float]

# Minimum share of a reference segment, exclusive, that must overlap with the segment of the sentence.
OVERLAP = 0.4


def read_activitynet_foil(
    files: Sequence[FilePath], *, videos: FilePath | None = None, references: int | None = None
) -> CaptionPairs:
    """Read ActivityNet-FOIL: 1,900 pairs of paragraphs.

    A decision is right if the mean score of the correct sentences is strictly higher. Every sentence is scored on its
    video segment, as annotated by the first annotator. References are the second annotator's sentences of `overlapping`
    segments, or all of them if none overlaps enough.

    Args:
        files: The four files, or a folder with them. Three files are enough without references.
        videos: Folder of the videos, named by their ids.
        references: Number of references per row, from the first one. None for all, 0 for none.

    Raises:
        ValueError: If a file is missing or has another layout, or a video is not in every file.
        OSError: If a file cannot be read.
    """
    needed = [REFERENCES_FILE] if references != 0 else []
    paths = find_named_files(
        files, [RIGHT_FILE, FOIL_FILE, SEGMENTS_FILE, *needed], optional=[] if needed else [REFERENCES_FILE]
    )
    right, foil = (_paragraphs(paths[name]) for name in (RIGHT_FILE, FOIL_FILE))
    cut = read_json(paths[SEGMENTS_FILE])
    all_references = read_json(paths[REFERENCES_FILE]) if needed else {}
    if set(right) != set(foil):
        raise UsageError.about(str(paths[FOIL_FILE]), f"must have the same videos as `{RIGHT_FILE}`")
    folder = Folder(videos, paths[SEGMENTS_FILE])
    predictions, known, seen, lengths = [], [], [], []
    for name, sentences in right.items():
        segments = _segments(cut, name, paths[SEGMENTS_FILE])
        if not len(sentences) == len(foil[name]) <= len(segments):
            counts = f"{len(sentences)}, {len(foil[name])} and {len(segments)}"
            raise UsageError(f"video {name!r} must have as many right as foil sentences and segments, got {counts}")
        segments = segments[: len(sentences)]
        chosen = (
            _references(all_references, name, segments, paths[REFERENCES_FILE]) if needed else [[] for _ in segments]
        )
        video = folder.video(name)
        for paragraph in (sentences, foil[name]):
            predictions += paragraph
            known += chosen
            seen += [{"path": video, "start": start, "end": end} for start, end in segments]
            lengths.append(len(paragraph))
    columns = columns_of(predictions, known, references, videos=seen)
    votes = np.tile(np.array(RIGHT), (len(right), 1))
    rules = {"references": "all" if references is None else references, "paragraphs": "mean", "ties": "wrong"}
    groups = list(right)
    return CaptionPairs("activitynet_foil", columns, groups, rules, votes, ["foil"] * len(groups), lengths)


def overlapping(segment: Segment, others: Sequence[Segment]) -> list[int]:
    """Return the indices of the other segments of which more than 40% overlaps with this one.

    Overlaps are counted in whole seconds, including both ends.
    """
    start, end = (int(second) for second in segment)
    found = []
    for number, (first, last) in enumerate(others):
        length = int(last) - int(first) + 1
        common = max(min(end, int(last)) - max(start, int(first)) + 1, 0)
        if common / length > OVERLAP:
            found.append(number)
    return found


def _paragraphs(path: Path) -> dict[str, list[str]]:
    found = {}
    for name, sentences in entry(read_json(path), "results", dict, f"`{path}`").items():
        place = f"video {name!r} of `{path}`"
        if not isinstance(sentences, list) or not sentences:
            raise UsageError(f"{place} must have a list of sentences, got {sentences!r}")
        found[name] = [tidy(entry(sentence, "sentence", str, place)) for sentence in sentences]
    return found


def _segments(content: Mapping[str, Any], name: str, path: Path) -> list[Segment]:
    """Return the segments of a video. Reversed ends are swapped, and an empty segment contains its first frame."""
    place = f"video {name!r} of `{path}`"
    found = []
    for segment in entry(entry(content, name, dict, f"`{path}`"), "timestamps", list, place):
        try:
            start, end = map(float, segment)
        except (TypeError, ValueError):
            raise UsageError(f"{place} must have [start, end] as timestamps, got {segment!r}") from None
        start, end = min(start, end), max(start, end)
        found.append((start, end if end > start else math.nextafter(start, math.inf)))
    return found


def _references(content: Mapping[str, Any], name: str, segments: Sequence[Segment], path: Path) -> list[list[str]]:
    """Return the second annotator's sentences for each segment."""
    place = f"video {name!r} of `{path}`"
    sentences = texts(entry(entry(content, name, dict, f"`{path}`"), "sentences", list, place), place)
    others = _segments(content, name, path)
    if len(others) != len(sentences):
        raise UsageError(f"{place} must have as many sentences as timestamps, got {len(sentences)} and {len(others)}")
    return [[sentences[i] for i in overlapping(segment, others) or range(len(sentences))] for segment in segments]

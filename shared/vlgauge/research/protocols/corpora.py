"""Corpora for the IDF weights of the published video results."""

from collections.abc import Mapping

from vlgauge.core.errors import UsageError
from vlgauge.research.protocols.files import FilePath, read_json

# Maximum sentence length of ActivityNet in the published table.
MAX_WORDS = 66


def read_corpus(path: FilePath) -> list[str]:
    """Read the sentences for the setting ``idf`` of clip_s and pac_s on videos.

    Args:
        path: ``vatex_train_en_annotations.json``, ``{id: [texts]}``, or ActivityNet's ``train.json``, ``{id:
            {"sentences": [texts]}}``. Sentences of the latter with more than 66 words, split at spaces, are left out.

    Raises:
        ValueError: If the file has another layout, or no sentence.
        OSError: If the file cannot be read.
    """
    sentences: list[str] = []
    for name, record in read_json(path).items():
        is_video = isinstance(record, Mapping)
        found = record.get("sentences") if is_video else record
        if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
            raise UsageError.about(str(path), f"must have a list of texts, or one as 'sentences', for {name!r}")
        sentences += [text for text in found if not is_video or len(text.split(" ")) <= MAX_WORDS]
    if not sentences:
        raise UsageError.about(str(path), "must have at least one sentence, got none")
    return sentences

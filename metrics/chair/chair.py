"""CHAIR: How many of the objects in a caption are hallucinated?"""

import math
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from functools import cache
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from vlgauge.core import signatures  # From: "vlgauge[chair]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core import validation  # From: "vlgauge[chair]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.errors import UsageError  # From: "vlgauge[chair]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core.errors import UsageTypeError  # From: "vlgauge[chair]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import base  # From: "vlgauge[chair]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import scene_graphs  # From: "vlgauge[chair]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.inputs.text.language import words  # From: "vlgauge[chair]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

from .formula import COUNTS
from .formula import chair_i
from .formula import counts_of
from .formula import f1
from .formula import precision
from .formula import recall
from .objects import VARIANTS
from .objects import Mention
from .objects import Table
from .objects import find_mentions
from .objects import forms_2018
from .objects import forms_fixed
from .objects import mscoco_table
from .objects import names_in
from .objects import object_table


class Chair(scene_graphs.ObjectMetric):
    """Proportion of hallucinated objects among the mentioned objects.

    CHAIR counts hallucinated objects, which a caption mentions although they are not in the image, among the 80 objects
    of MS-COCO and their synonyms or a custom list. CHAIR_i is the proportion of hallucinated objects among the
    mentioned objects, and CHAIR_s is the proportion of captions with a hallucinated object. Lower is better. A caption
    that mentions no objects hallucinates nothing, so report recall as well.

    Only the variant "opera" requires a model, NLTK's tagger.

    Args:
        predictions: Captions, one string per row.
        references: References, a string or a list of strings per row, whose objects count as present in the image.
            Optional if `objects` is passed.
        objects: List of the objects in each image, such as its annotated instances, in addition to the objects in its
            references. An empty list means that the image contains no object of the table, and None that its objects
            are unknown.
        return_details: Whether to add the words of each caption and the objects in them.

    Returns:
        chair: Number of hallucinated objects divided by the number of mentioned objects in all captions (CHAIR_i), in
            [0, 1], lower is better. NaN if no objects are mentioned.
        chair_scores: CHAIR_i of each caption. NaN if it mentions no objects, or has neither references nor `objects`.
        chair_undefined: Number of undefined scores.
        chair_s: Proportion of captions with a hallucinated object (CHAIR_s), with its own _scores, _undefined and
            _signature.
        chair_recall, chair_precision, chair_f1, chair_length: Values over all captions: recall of the objects in the
            images, precision of the mentioned objects, their F1 score, and words per caption.
        chair_invented, chair_mentions, chair_found, chair_present, chair_named, chair_words: Counts of each caption.
            NaN without references and `objects`. The corpus scores ignore such captions.
        chair_signature: Settings and versions that the scores depend on.

    Examples:
        >>> import evaluate
        >>> chair = evaluate.load("vlgauge/chair")
        >>> result = chair.compute(
        ...     predictions=["a puppy and a horse on a couch"], references=[["a dog on a sofa", "a brown dog"]]
        ... )
        >>> print(round(result["chair"], 3), result["chair_s"], result["chair_recall"])
        0.333 1.0 1.0
    """

    papers = ("https://aclanthology.org/D18-1437",)
    rewards_silence = True

    def __init__(
        self, *args: Any, variant: str = "fixed", table: Sequence[Sequence[str]] | None = None, **host: Any
    ) -> None:
        self.variant = base.check_choice("variant", variant, VARIANTS)
        self.table = None if table is None else _check_table(table)
        super().__init__(*args, **host)

    def signature_fields(self) -> dict[str, Any]:
        """Return the settings that belong in the signature, by name.

        The MS-COCO table is left out. A custom table is identified by a hash of its words.
        """
        fields = super().signature_fields()
        table = fields.pop("table")
        return fields if table is None else fields | {"table": signatures.name_of_content(table)}

    def _compute(
        self,
        predictions: list[str],
        references: list[list[str] | None] | None = None,
        objects: Sequence[Sequence[str] | None] | None = None,
        return_details: bool = False,
    ) -> dict[str, Any]:
        texts = [own or [] for own in references] if references is not None else [[] for _ in predictions]
        given = _check_objects(objects, len(predictions))
        if objects is None and (references is None or all(own is None for own in references)):
            raise UsageError("`references` or `objects` is required, got neither")
        table = object_table(self.table) if self.table is not None else mscoco_table(self.variant == "fixed")
        find, tagger = self._finder(table)
        if strange := sorted({name for names in given for name in names or ()} - table.keys()):
            validation.warn(
                f"`objects` has {len(strange)} names that are not in the table of objects, such as "
                f"{strange[0]!r}, and are never found in captions, which lowers recall; use the singular names "
                "of the table"
            )
        if self.table is None:  # the MS-COCO table is in English
            captions = dict.fromkeys(chain(predictions, *texts))
            scene_graphs.warn_of_strange(captions, self.name, self.remedy_for_other_languages)

        @cache  # references may occur in many rows, so only their objects are cached
        def objects_of(text: str) -> frozenset[str]:
            return frozenset(mention.node for mention in find(text)[0])

        counts, details = np.full((len(predictions), len(COUNTS)), np.nan), []
        pairs = zip(predictions, given, strict=True)
        reported = base.report_progress(pairs, len(predictions), "Scoring captions", self.progress, block=100)
        for row, (caption, own) in enumerate(reported):
            present = None
            mentions, tokens = find(caption)
            if texts[row] or own is not None:
                present = frozenset(table.get(name, name) for name in own or ()).union(*map(objects_of, texts[row]))
                counts[row] = counts_of([one.node for one in mentions], present, len(tokens))
            if return_details:
                details.append(_detail(caption, mentions, present))
        extra: dict[str, Any] = {
            name: [math.nan if math.isnan(count) else int(count) for count in column]
            for name, column in zip(COUNTS, counts.T, strict=True)
        }
        signature_extra = {"tagger": tagger} if tagger else {}
        # Passed objects change the scores of the same captions, so they belong in the signature.
        signature_extra |= {"objects": scene_graphs.GIVEN} if any(own is not None for own in given) else {}
        row_details = details if return_details else None
        record = self.result(chair_i(counts).tolist(), signature_extra=signature_extra, details=row_details, **extra)
        return self._with_corpus(record, counts)

    def score_batch(self, columns: Mapping[str, Sequence[Any]], keys: Sequence[int]) -> Any:
        """Score a batch of rows, as in the base class, but allow a batch without any references.

        Returns:
            The `PartialResult` of the batch.
        """
        return super().score_batch({**columns, "references": [own or [] for own in columns["references"]]}, keys)

    def combine(self, partial: Any) -> dict[str, Any]:
        """Combine the partial results of all rows, with the corpus scores computed from the summed counts.

        Returns:
            Values by key, as returned by `compute`.

        Raises:
            UsageError: If rows were scored with different settings.
        """
        record = super().combine(partial)
        counts = np.array([record[f"{self.name}_{name}"] for name in COUNTS], dtype=np.float64).T
        return self._with_corpus(record, counts)

    def _with_corpus(self, record: dict[str, Any], counts: Any) -> dict[str, Any]:
        """Add the corpus scores to a result. They are not means of the row scores."""
        known = counts[~np.isnan(counts).any(axis=1)]
        total = known.sum(axis=0)
        invented = np.where(np.isnan(counts[:, 0]), np.nan, counts[:, 0] > 0)
        record = self.with_score(record, f"{self.name}_s", invented.tolist())
        corpus = {
            "recall": recall(total),
            "precision": precision(total),
            "f1": f1(total),
            "length": known[:, 5].mean() if len(known) else math.nan,
        }
        record |= {f"{self.name}_{name}": float(value) for name, value in corpus.items()}
        return record | {self.name: float(chair_i(total))}

    def _finder(self, table: Table) -> tuple[Callable[..., tuple[list[Mention], list[str]]], str | None]:
        """Return the function that finds the objects of a caption, and the name of its tagger, if it uses one."""
        forms: Any = forms_2018 if self.variant == "2018" else partial(forms_fixed, table=table)
        if self.variant == "opera":
            forms = scene_graphs.NltkLemmas()
        # The variant determines which names of the MS-COCO table are found.
        own = {} if self.table is None else names_in(table, forms)
        find = partial(find_mentions, table=table, forms=forms, own=own, mended=self.variant == "fixed")
        return find, getattr(forms, "identity", None)


def _check_table(table: Any) -> tuple[tuple[str, ...], ...]:
    """Validate a table and return its rows of synonyms in lowercase."""
    if isinstance(table, str) or not isinstance(table, Sequence) or not table:
        raise UsageTypeError.about(
            "table", f"must be a list of lists of synonyms, the object first, got {type(table).__name__}"
        )
    rows = []
    known: dict[str, str] = {}
    for index, row in enumerate(table):
        if isinstance(row, str) or not isinstance(row, Sequence) or not row or not all(isinstance(w, str) for w in row):
            raise UsageTypeError.about(f"table[{index}]", f"must be a list of words, the object first, got {row!r:.60}")
        names = tuple(" ".join(word.lower().split()) for word in row)
        if not all(names):
            raise UsageError.about(f"table[{index}]", f"must not contain an empty word, got {list(row)!r:.60}")
        for word in names:
            if known.setdefault(word, names[0]) != names[0]:
                raise UsageError.about(
                    "table", f"must assign each word to one object, got {word!r} for {known[word]!r} and {names[0]!r}"
                )
        rows.append(names)
    return tuple(rows)


def _check_objects(objects: Any, n_rows: int) -> list[list[str] | None]:
    """Validate the objects of each image and return them in lowercase. None if the objects are unknown."""
    if objects is None:
        return [None] * n_rows
    validation.check_one_each("objects", objects, n_rows, "list of names per row")
    for index, names in enumerate(objects):
        if names is None:
            continue
        if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(one, str) for one in names):
            raise UsageTypeError.about(f"objects[{index}]", f"must be a list of names, got {names!r:.60}")
    return [None if names is None else [" ".join(name.lower().split()) for name in names] for names in objects]


def _detail(caption: str, mentions: Sequence[Mention], present: frozenset[str] | None) -> dict[str, Any]:
    """Return the details of a row.

    If the objects of the image are unknown, ``invented``, ``present`` and ``missed`` are None.
    """
    found = [{"word": one.word, "object": one.node, "start": one.start, "end": one.end} for one in mentions]
    named = {one.node for one in mentions}
    return {
        "words": words(caption.lower()),
        "objects": [one | {"invented": None if present is None else one["object"] not in present} for one in found],
        "present": None if present is None else sorted(present),
        "missed": None if present is None else sorted(present - named),
    }

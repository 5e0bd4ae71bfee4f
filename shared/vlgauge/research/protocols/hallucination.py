"""HAT and nocaps-FOIL (Petryk et al., 2024): detection of captions with hallucinated objects.

Both are lists of objects in the repository DavidMChan/aloha. ``hat-trainval.json`` has ``caption``, ``references``,
``image_path`` and the human annotation ``contains_hallucination``. ``nocaps-val-foil.json`` has the caption
``baseline``, ``foil`` with one object replaced, ``references``, ``image_path`` and ``domain``.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from vlgauge.core.errors import UsageError
from vlgauge.research.protocols.evaluation import Floats, Ints, Sampled
from vlgauge.research.protocols.files import FilePath, Folder, entry, one_file, placed_rows, texts, tidy
from vlgauge.research.protocols.ratings import RatedCaptions, RatedRow, RatingRule, rated_captions
from vlgauge.stats.rank_correlation import RankTable

HAT_FILE, NOCAPS_FILE = "hat-trainval.json", "nocaps-val-foil.json"
DOMAINS = ("in-domain", "near-domain", "out-domain")


def average_precision(counts: Ints) -> float:
    """Compute the average precision of detecting wrong captions by low scores, times 100.

    AP is the sum of (R_k - R_(k-1)) P_k over the distinct scores in ascending order, with the recall R_k and precision
    P_k of all captions up to a score. Ties count together. NaN if there is no wrong caption.

    Args:
        counts: Numbers of wrong and right captions with each score, ascending, shape ``(n_scores, 2)``.
    """
    wrong, all_of = counts[:, 0], counts.sum(axis=1)
    if not wrong.sum():
        return math.nan
    with np.errstate(invalid="ignore"):
        precision = np.nan_to_num(np.cumsum(wrong) / np.cumsum(all_of))
    return 100 * float(wrong @ precision) / float(wrong.sum())


def _create_sampler(scores: Floats, labels: Floats, groups: Sequence[object] = ()) -> Sampled:
    """Return a function that computes the average precision of samples, over all captions and by domain, if any."""
    # Add a wrong and a right caption, which are never sampled, so that the table has both columns.
    table = RankTable(np.append(scores, [np.inf, np.inf]), np.append(labels[:, 0], [0.0, 1.0]))
    domains = labels[:, 1:]

    def figures(drawn: Ints) -> list[float]:
        own = domains[drawn]
        parts = [drawn, *(drawn[own[:, 0] == domain] for domain in range(len(DOMAINS)) if own.shape[1])]
        return [average_precision(table.counts(part)) for part in parts]

    return figures


def _exact(scores: Floats, labels: Floats) -> dict[str, float]:
    values = _create_sampler(scores, labels)(np.arange(len(scores)))
    return dict(zip(("AP", *(f"AP, {domain}" for domain in DOMAINS)), values, strict=False))


FOUND = RatingRule(_exact, _create_sampler)


def read_hat(
    files: Sequence[FilePath], *, images: FilePath | None = None, references: int | None = None
) -> RatedCaptions:
    """Read HAT: 400 model captions, 135 of which contain hallucinations. The figure is average precision.

    Localization of the hallucinated object, which the paper also evaluates, is not computed.

    Args:
        files: ``hat-trainval.json``, or a folder with it.
        images: Folder of COCO's val2014.
        references: Number of references per row, from the first one. None for all, 0 for none.

    Raises:
        ValueError: If the file has another layout.
        OSError: If the file cannot be read.
    """
    path = one_file(files, HAT_FILE)
    folder, rows = Folder(images, path), []
    for row, place in placed_rows(path):
        is_right = not entry(row, "contains_hallucination", bool, place)
        rows.append(_labeled_row(row, "caption", [float(is_right)], folder, place))
    return rated_captions("hat", rows, references, {}, FOUND)


def read_nocaps_foil(
    files: Sequence[FilePath], *, images: FilePath | None = None, references: int | None = None
) -> RatedCaptions:
    """Read nocaps-FOIL: 2,500 captions of nocaps, each with a copy in which one object is replaced.

    The figures are average precision over all captions and by domain.

    Args:
        files: ``nocaps-val-foil.json``, or a folder with it.
        images: Folder of the images of nocaps.
        references: Number of references per row, from the first one. None for all, 0 for none.

    Raises:
        ValueError: If the file has another layout, or a domain is not one of `DOMAINS`.
        OSError: If the file cannot be read.
    """
    path = one_file(files, NOCAPS_FILE)
    folder, rows = Folder(images, path), []
    for row, place in placed_rows(path):
        domain = entry(row, "domain", str, place)
        if domain not in DOMAINS:
            raise UsageError(f"{place} must have one of {', '.join(DOMAINS)} as 'domain', got {domain!r}")
        for key, label in (("baseline", 1.0), ("foil", 0.0)):
            rows.append(_labeled_row(row, key, [label, float(DOMAINS.index(domain))], folder, place))
    return rated_captions("nocaps_foil", rows, references, {}, FOUND)


def _labeled_row(row: Any, key: str, labels: list[float], folder: Folder, place: str) -> RatedRow:
    caption, image = tidy(entry(row, key, str, place)), entry(row, "image_path", str, place)
    known = texts(entry(row, "references", list, place), place)
    return RatedRow(caption, known, folder.image(image), image, labels)

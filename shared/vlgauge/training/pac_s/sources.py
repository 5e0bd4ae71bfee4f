"""The rows that the options name: of files, or drawn."""

import argparse
from dataclasses import asdict

from vlgauge.training.pac_s.drawn import scene_foils, scene_rows
from vlgauge.training.pac_s.evaluation import other_captions
from vlgauge.training.pac_s.material import Material, split_by_image
from vlgauge.training.pac_s.options import Columns
from vlgauge.training.pac_s.rows import Foil, Row, read_foils, read_rows

VALIDATION_SHARE = 0.05


def training_rows(options: argparse.Namespace) -> tuple[list[Row], list[Row]]:
    """Rows for training and for validation."""
    if options.scenes is not None:
        n_validation = max(2, min(2_000, round(VALIDATION_SHARE * options.scenes)))
        validation = scene_rows(n_validation, options.seed, "validation", options.variants)
        return scene_rows(options.scenes, options.seed, "train", options.variants), validation
    columns = columns_of(options)
    rows = read_rows(options.train, columns, options.image_folder)
    if options.validation is None:
        return split_by_image(rows, VALIDATION_SHARE, options.seed)
    return rows, read_rows(options.validation, columns, options.image_folder)


def columns_of(options: argparse.Namespace) -> Columns:
    """Names of the columns."""
    return Columns(**{name: getattr(options, f"{name}_column") for name in asdict(Columns())})


def test_pairs(options: argparse.Namespace, material: Material) -> list[Foil]:
    """Pairs of right and wrong captions for the comparison before/after."""
    if options.scenes is not None:
        return scene_foils(options.test_scenes, options.seed, options.test_draws)
    if options.test is not None:
        return read_foils(options.test, columns_of(options), options.image_folder)
    return other_captions(material, options.seed)

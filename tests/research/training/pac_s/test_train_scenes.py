"""Synthetic rows and pairs of the training of PAC-S, and the accuracies on them."""

import numpy as np

from vlgauge.research.training.pac_s import data, report


def test_changed_scenes_stand_next_to_each_scene():
    found = data.scene_rows(20, 0, "train", variants=3)
    contents = [row.image.place for row in found]
    assert len(set(contents)) == len(contents) > 50
    assert {row.group for row in found} == {str(number) for number in range(20)}
    of_one = [row for row in found if row.group == "4"]
    assert 2 <= len(of_one) <= 4
    words = [set(row.caption.split()) for row in of_one]
    assert all(len(words[0] ^ other) <= 6 for other in words[1:])
    assert len({row.image.key for row in of_one}) == len(of_one)
    assert data.scene_rows(20, 0, "train")[4].caption == of_one[0].caption
    assert all(row.group is None for row in data.scene_rows(20, 0, "train"))


def test_test_scenes_are_drawn_anew_and_resampled_together():
    once, twice = data.scene_foils(5, 0), data.scene_foils(5, 0, draws=2)
    assert [(foil.image.key, foil.right, foil.wrong) for foil in twice[: len(once)]] == [
        (foil.image.key, foil.right, foil.wrong) for foil in once
    ]
    assert len({foil.image.key for foil in twice}) == 2 * len({foil.group for foil in twice}) == 10
    ones = np.ones(len(twice))
    assert report.comparisons(twice, ones, ones)[0].n_images == 5


def test_accuracies_by_hand():
    foils = [data.Foil(data.SceneImage(s, 0), "a", "b", k) for s in data.scenes(2, 0) for k in ("x", "y")]
    before, after = np.array([0.1, 0.0, -0.1, 0.2]), np.array([0.1, 0.1, 0.1, -0.2])
    found = report.comparisons(foils, before, after)
    shares = {entry.kind: (entry.n_pairs, entry.n_images, entry.before, entry.after) for entry in found}
    assert shares == {"all": (4, 2, 0.5, 0.75), "x": (2, 2, 0.5, 1.0), "y": (2, 2, 0.5, 0.5)}
    assert (found[0].gain, found[0].low, found[0].high) == (0.25, -1.0, 1.0)  # two images are too few

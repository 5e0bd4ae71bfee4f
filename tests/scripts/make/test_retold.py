"""Synthetic stories that are retold badly."""

from retold import image_columns, retell_stories


def test_every_kind_stands_next_to_the_same_images():
    told, bad = retell_stories(3, 5)
    assert [story.seen for story in bad] == [story.seen for story in told]
    shuffled, repeated, other = (story.sentences for story in bad)
    assert shuffled != told[0].sentences
    assert sorted(shuffled) == sorted(told[0].sentences)
    assert repeated == [told[1].sentences[index] for index in (0, 0, 2, 2, 4)]
    assert other == told[0].sentences


def test_columns_of_images():
    columns = image_columns([retell_stories(1, 5)[0][0].seen])
    ((images,), (regions,)) = columns["images"], columns["regions"]
    assert len(images) == len(regions) == 5
    assert regions[0]["boxes"][-1] == (0, 0, 128, 128)

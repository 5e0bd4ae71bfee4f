"""Synthetic stories that are retold badly."""

from retold import picture_columns, retell_stories


def test_every_kind_stands_beside_the_same_pictures():
    told = retell_stories(3, 5)
    names = [story.name for story in told]
    assert len(set(names)) == len(names) == 12
    assert [story.seen for story in told] == [story.seen for story in told[:3]] * 4
    kinds = {kind: [story for story in told if story.kind == kind] for kind in dict.fromkeys(s.kind for s in told)}
    own = [story.sentences for story in kinds["as told"]]
    assert [sorted(story.sentences) for story in kinds["shuffled"]] == [sorted(sentences) for sentences in own]
    assert all(story.sentences != sentences for story, sentences in zip(kinds["shuffled"], own, strict=True))
    assert [story.sentences for story in kinds["other pictures"]] == [*own[1:], own[0]]
    first = kinds["repeated"][0].sentences
    assert (first[0], first[2]) == (first[1], first[3])


def test_columns_of_pictures():
    columns = picture_columns([retell_stories(1, 5)[0].seen])
    ((images,), (regions,)) = columns["images"], columns["regions"]
    assert len(images) == len(regions) == 5
    assert regions[0]["boxes"][-1] == (0, 0, 128, 128)

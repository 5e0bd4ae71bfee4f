"""Training data of rovist_vg: regions and phrases from a table, Flickr30k Entities, and synthetic scenes."""

import numpy as np
import pytest
from PIL import Image

import vlgauge
from vlgauge import scenes
from vlgauge.cli import main
from vlgauge.research.training.rovist_vg import held_out, pairs

HEADER = "image_id,noun_phrase,bbox\n"
BOX = '"[0, 0, 9, 9]"'
XML = """<annotation><!-- two objects --><filename>7.jpg</filename>
<object><name>11</name><name>12</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>9</xmax><ymax>8</ymax></bndbox></object>
<object><name>11</name><bndbox><xmin>3</xmin><ymin>3</ymin><xmax>99</xmax><ymax>9</ymax></bndbox></object>
<object><name>13</name><nobox>1</nobox></object>
<object><name>14</name><bndbox><xmin>30</xmin><ymin>3</ymin><xmax>40</xmax><ymax>9</ymax></bndbox></object></annotation>"""


# -- tables -----------------------------------------------------------------------------------------------------------
@pytest.fixture
def table(tmp_path):
    """`table(text)`: the pairs of a table with that text, next to a folder with two crops."""
    (tmp_path / "crops").mkdir()
    for name in ("0_[0, 0, 9, 9]", "1_[0.5,0,9,9.25]"):
        Image.new("RGB", (7, 9)).save(tmp_path / "crops" / f"{name}.jpg")

    def read(text):
        (tmp_path / "pairs.csv").write_text(text, encoding="utf-8")
        return pairs.read_csv(tmp_path / "pairs.csv", tmp_path / "crops")

    return read


def test_pairs_of_a_table(table):
    rows = [f"0,a dog,{BOX}", f"0,a dog,{BOX}", f"0, a cat ,{BOX}", '1,ünder,"[0.5,0,9,9.25]"']
    found = table("\ufeff" + HEADER + "\n".join(rows))
    assert [(pair.image, pair.phrase) for pair in found] == [("0", "a dog"), ("0", "a cat"), ("1", "ünder")]
    assert found[0].region.convert == "early"
    assert found[1].region.open().size == (7, 9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("image_id,bbox\n1,2\n", "must have the column 'noun_phrase' in every row"),
        ("", "at least one row"),
        (
            f"{HEADER}0,a dog,{BOX}\n9,a dog,{BOX}\n",
            r"got none named '9_\[0",
        ),
        (f"{HEADER}0,,{BOX}\n", r"pairs\.csv.*box"),
        (f"{HEADER}0,a dog\n", "as many cells as column names, got 2 for 3 in row 0, line 2"),
        (f"{HEADER}0,a dog,[0\n", r"got 'a dog'.*'\[0'"),
        (f"{HEADER}0,a dog,__import__('os')\n", "phrase and a box"),
        (f"{HEADER}../crops/0,a dog,{BOX}\n", "the crop of each row of pairs.csv"),
    ],
)
def test_broken_tables(table, text, message):
    with pytest.raises(ValueError, match=message):
        table(text)


# -- Flickr30k Entities -----------------------------------------------------------------------------------------------
@pytest.fixture
def flickr(tmp_path):
    for name in ("Annotations", "Sentences", "images"):
        (tmp_path / name).mkdir()
    (tmp_path / "Annotations" / "7.xml").write_text(XML)
    (tmp_path / "Sentences" / "7.txt").write_text(
        "[/EN#11/people Two men] hold [/EN#12/other a ball] near [/EN#13/scene a lake] by [/EN#0/notvisual turns] .\n"
        "[/EN#11/people Two men] and [/EN#12/other/toys his red ball] , [/EN#11/people both of them] "
        "[/EN#14/other x] .\n"
    )
    Image.new("RGB", (20, 10)).save(tmp_path / "images" / "7.jpg")
    return tmp_path


def read_flickr(folder):
    return pairs.read_flickr30k(folder / "Annotations", folder / "Sentences", folder / "images")


def test_pairs_of_flickr30k_entities(flickr):
    """Check that every phrase is paired with every box of its entity.

    Phrases without a box, with a box outside the image, or of function words alone are omitted.
    """
    found = read_flickr(flickr)
    assert [(pair.image, pair.phrase, pair.region.box) for pair in found] == [
        ("7", "Two men", (1, 2, 9, 8)),
        ("7", "Two men", (3, 3, 20, 9)),
        ("7", "ball", (1, 2, 9, 8)),
        ("7", "red ball", (1, 2, 9, 8)),
    ]
    assert found[1].region.open().size == (17, 6)


def test_a_turned_image_has_the_boxes_of_what_is_seen(flickr):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (10, 20)).save(flickr / "images" / "7.jpg", exif=exif)
    assert [pair.region.box for pair in read_flickr(flickr)][1] == (3, 3, 20, 9)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("images/7.jpg", None, r"7\.txt.*got none.*'7\.jpg'"),
        ("Annotations/7.xml", None, r"7\.txt.*got none.*'7\.xml'"),
        ("Sentences/7.txt", None, r"got no.*\*\.txt"),
        ("Sentences/7.txt", b"\xff\xfe", r"7\.txt.*UTF-8"),
        ("images/7.jpg", b"GIF89a", r"^`7\.jpg`"),
        ("Annotations/7.xml", b"<annotation><object>", r"7\.xml.*got no"),
        (
            "Annotations/7.xml",
            XML.encode().replace(b">99<", b">wide<"),
            r"7\.xml.*literal",
        ),
        (
            "Annotations/7.xml",
            XML.encode().replace(b"<xmin>3</xmin>", b""),
            r"7\.xml.*literal",
        ),
        (
            "Annotations/7.xml",
            b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><annotation>&x;</annotation>',
            r"7\.xml.*type",
        ),
    ],
)
def test_broken_files_of_flickr30k(flickr, file, content, message):
    (flickr / file).unlink()
    if content is not None:
        (flickr / file).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_flickr(flickr)


def test_the_command_tells_of_broken_files_in_one_line(flickr, capsys):
    (flickr / "Annotations" / "7.xml").write_text("<annotation>")
    arguments = ["--flickr30k", str(flickr), "--images", str(flickr / "images"), "--glove", "none.txt"]
    assert main(["train", "rovist_vg", str(flickr / "out"), *arguments]) == 2
    err = capsys.readouterr().err
    assert err.startswith("vlgauge train: error: 7.xml must be an annotation")
    assert err.count("\n") == 1


def test_content_words():
    assert pairs.content_words("The big dog , of hers") == "big dog"
    assert pairs.content_words("both of them") == ""
    assert pairs.content_words("a 3-legged cat") == "3-legged cat"
    assert all(word == word.lower() for word in pairs.FUNCTION_WORDS)


# -- synthetic scenes -------------------------------------------------------------------------------------------------
def test_pairs_of_drawn_scenes():
    found = list(pairs.draw_pairs(3, 0, "train"))
    phrases = [pair.phrase for pair in found]
    assert phrases == [pair.phrase for pair in pairs.draw_pairs(3, 0, "train")]
    told = scenes.stories(3, 0, "train")
    assert [pair.image for pair in found] == [
        story.key for story in told for scene in story.scenes for _ in range(2 + 4 * len(scene.objects))
    ]
    first = told[0].scenes[0]
    assert phrases[0].split()[-2] in (first.background, "gray")
    assert phrases[1] in ("background", "backdrop")
    assert phrases[3] in held_out.SHAPE_OF
    assert phrases[2].split()[-1] in held_out.SHAPE_OF
    assert held_out.SHAPE_OF[phrases[3]] == held_out.SHAPE_OF[phrases[2].split()[-1]] == first.objects[0].shape
    assert all(pair.region.open().size[0] > 4 for pair in found)


def test_word_vectors_of_drawn_scenes():
    phrases = ["a red circle", "a circle", "star"]
    table = dict(pairs.index_words(phrases, 0))
    assert set(table) == {"a", "red", "circle", "star", "unk"}
    assert table["unk"] == pytest.approx(np.mean([table[word] for word in table if word != "unk"], axis=0))
    random = np.random.default_rng([0, 2]).standard_normal((4, 48))
    own = dict(zip(("a", "circle", "red", "star"), random, strict=True))
    assert table["star"] == pytest.approx(own["star"])
    assert table["red"] == pytest.approx(own["red"] + 0.2 * (own["a"] + own["circle"]) / 2)
    assert table["a"] == pytest.approx(own["a"] + 0.2 * (own["red"] + 2 * own["circle"]) / 3)


def test_surroundings_stay_in_the_image():
    rng = np.random.default_rng(0)
    for _ in range(50):
        left, top, right, bottom = pairs.widen_box((10, 10, 20, 30), (22, 64), rng)
        assert 7 <= left <= 10
        assert 4 <= top <= 10
        assert 20 <= right <= 22
        assert 30 <= bottom <= 36


# -- held-out figures -------------------------------------------------------------------------------------------------
def detail(**idf):
    return {"nouns": [{"text": word, "idf": value, "cosine": 0.0} for word, value in idf.items()]}


@pytest.fixture
def rescore():
    """Function of the metric that scores details with other cosines."""
    return vlgauge.load("rovist_vg", profile="embedded", regions="grid", keep_in_memory=True).rescore


def test_what_heads_that_know_every_shape_find():
    story = scenes.stories(1, seed=3, split="test")[0]
    shown = {thing.shape for scene in story.scenes for thing in scene.objects}
    absent = next(shape for shape in scenes.SHAPES if shape not in shown)
    cosine = held_out.knowing(story)
    assert [cosine(noun) for noun in (min(shown), absent, "backdrop", "left")] == [1.0, -1.0, 1.0, 0.0]


def test_shares_count_the_better_story(rescore):
    right, others = [detail(a=1.0), detail(a=1.0), detail(a=1.0)], [detail(a=0.5, b=0.5), detail(a=2.0), detail(a=1.0)]
    shares = held_out._above("x", rescore, right, others, [lambda noun: 1.0] * 3)
    # ln(2 e^0.5) = 1.19 > 1, and the mean 0.5 < 1; equal scores do not count.
    assert shares == {
        "x: right story above another": 0.0,
        "x: right story above another of as many nouns": 0.0,
        "x: right story above another of more nouns": 0.0,
        "x: right story above another, by the mean": pytest.approx(1 / 3),
        "x: right story above another of as many nouns, by the mean": 0.0,
        "x: right story above another of more nouns, by the mean": 1.0,
    }
    shares = held_out._above("x", rescore, others[:1], right[:1], [lambda noun: 1.0])
    assert shares["x: right story above another of fewer nouns"] == 1.0


def test_lowest_of_the_objects():
    rows = [("star", 0.4), ("left", 0.1), ("background", 0.0), ("ring", 0.3)]
    told = {"nouns": [{"text": word, "cosine": cosine} for word, cosine in rows]}
    assert held_out._is_lowest(told, "ring")
    assert not held_out._is_lowest(told, "star")
    assert not held_out._is_lowest(told, "circle")

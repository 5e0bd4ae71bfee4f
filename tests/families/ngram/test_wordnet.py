"""Synonyms: by hand, the shipped tables and how they were derived, the oracle."""

import gzip
import hashlib
import json
import lzma
import re
import runpy
from pathlib import Path

import folders
import pytest
from folders import ROOT, SCRIPTS

from vlgauge.families.ngram.wordnet import synonyms
from vlgauge.inputs.text.porter import porter_stem

DATA = ROOT / "shared" / "vlgauge" / "data"
TABLES = ("wordnet_synonyms.txt.xz", "wordnet_exceptions.txt.xz")
GOLDEN = json.loads(gzip.decompress((folders.ROOT / "tests" / "golden" / "meteor.json.gz").read_bytes()))
WORDNET = Path("/usr/share/wordnet")  # Debian's package wordnet-base

# A WordNet of six synsets: offset, file number, part, number of names in hexadecimal, names with a number each.
SMALL_WORDNET = {
    "index.noun": "ice_cream n 1 0 1 0 00000003  \ncomic_strip n 1 1 @ 1 0 00000002  \n"
    "paris n 2 1 @ 2 0 00000001 00000002  \nstrip n 1 0 1 0 00000002  \n",
    "data.noun": "00000001 15 n 02 Paris 0 city 1 000 | a city  \n"
    "00000002 10 n 03 comic_strip 0 strip 0 funnies 1 000 | drawings  \n"
    "00000003 13 n 02 ice_cream 0 icecream 0 000 | cold  \n",
    "noun.exc": "zstrips strip strips\nice_creams ice_cream\ncomics comic_strip\n",
    "index.verb": "strip v 1 0 1 0 00000001  \n",
    "data.verb": f"00000001 35 v 0a {' '.join(f'v{i} 0' for i in range(10))} 000 01 + 02 00 | to take off  \n",
    "verb.exc": "",
    "index.adj": "galore a 1 0 1 0 00000001  \n",
    "data.adj": "00000001 00 s 03 galore(ip) 0 plenty(p) 0 rich(a) 0 000 | much  \n",
    "adj.exc": "",
    "index.adv": "  1 This line is of the licence.\nparis r 1 0 1 0 00000001  \n",
    "data.adv": "  1 This line is of the licence.\n00000001 02 r 01 Paris 0 000 | like a city  \n",
    "adv.exc": "better well\n",
}


def lines_of(path):
    return lzma.decompress(path.read_bytes()).decode("ascii").splitlines()


def derive(folder, target):
    runpy.run_path(str(SCRIPTS / "make" / "derive_synonyms.py"))["main"]([str(folder), "--target", str(target)])


# -- by hand ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("word", "found", "not_found"),
    [
        ("bike", "bike bicycle motorcycle cycle pedal wheel", "bikes"),
        ("men", "men man humanity serviceman", "person"),  # an exception
        ("axes", "axes ax axe axis", "Axis"),  # an exception with two lemmas
        ("rides", "rides ride drive", "riding"),  # endings
        ("wolves", "wolves wolf", "wolve"),
        ("hotter", "hotter hot", ""),
        ("better", "better good well improve break", ""),  # from three parts of speech
        ("comics", "comics funnies strip comedian", "comic_strip"),  # through a lemma of two words
        ("paris", "paris", "Paris"),
        ("buse", "buse", "bus"),  # the stem of "buses"
    ],
)
def test_worked_examples(word, found, not_found):
    assert set(found.split()) <= synonyms(word)
    assert not set(not_found.split()) & synonyms(word)


@pytest.mark.parametrize(
    ("words", "lemmas"),
    [
        ("beliefs walruses handkerchieves addaxes topazes", "belief walrus handkerchief addax topaz"),
        ("amphibraches amberfishes firemen abbacies", "amphibrach amberfish fireman abbacy"),
        ("abates acetifies abolishes abated abolished", "abate acetify abolish abate abolish"),
        ("abating abolishing", "abate abolish"),
        ("briefer briefest nicer nicest", "brief brief nice nice"),
    ],
)
def test_each_ending(words, lemmas):
    # "es" of a verb to "e" is what "s" to nothing finds too.
    for word, lemma in zip(words.split(), lemmas.split(), strict=True):
        assert {word, lemma} <= synonyms(word)


@pytest.mark.parametrize(
    "word", ["", "zzz", "3.5", "~", "\x00", "ice_cream", "comic_strip", "Dog", "\U0001f600", "a b"]
)
def test_unknown_words_and_words_with_an_underscore_are_their_only_synonym(word):
    assert synonyms(word) == {word}


# -- the tables -------------------------------------------------------------------------------------------------------
def test_lines_are_in_order_for_the_search():
    lines = lines_of(DATA / TABLES[0])
    lemmas = [line.split("\t")[0] for line in lines]
    assert lines == sorted(lines)
    assert lemmas == sorted(set(lemmas))
    assert all(re.fullmatch(r"[^\sA-Z]+(\t[^\t_A-Z]*){0,4}", line) for line in lines)


@pytest.mark.parametrize("name", [*TABLES, "WORDNET-LICENSE.txt"])
def test_sources_name_the_files_as_they_are(name):
    content = (DATA / name).read_bytes()
    lines = lines_of(DATA / name) if name in TABLES else content.decode("ascii").splitlines()
    row = f"| `{name}` | {len(lines):,} | `{hashlib.sha256(content).hexdigest()}` |\n"
    assert row in (DATA / "SOURCES.md").read_text(encoding="utf-8")


def test_nothing_is_read_before_the_first_word(run_python, tmp_path):
    code = "import vlgauge.families.ngram.wordnet as w\n"
    code += "print(*(f.cache_info().misses for f in (w._synonym_lines, w.exceptions)))"
    assert run_python(code, cwd=tmp_path).split() == ["0", "0"]


def test_derivation_by_hand(tmp_path, capsys):
    for name, content in SMALL_WORDNET.items():
        (tmp_path / name).write_text(content, encoding="ascii")
    derive(tmp_path, tmp_path)
    assert lines_of(tmp_path / TABLES[0]) == [
        "comic_strip\tfunnies strip",
        "galore\t\t\tgalore plenty rich",
        "paris\tcity funnies strip",
        "strip\tfunnies strip\tv0 v1 v2 v3 v4 v5 v6 v7 v8 v9",
    ]
    exceptions = ["noun\tcomics\tcomic_strip", "noun\tzstrips\tstrip strips", "adv\tbetter\twell"]
    assert lines_of(tmp_path / TABLES[1]) == exceptions
    packed = (tmp_path / TABLES[0]).read_bytes()
    said = f"wordnet_synonyms.txt.xz: 4 lines, {len(packed)} bytes, sha256 {hashlib.sha256(packed).hexdigest()}"
    assert capsys.readouterr().out.splitlines()[0] == said


@pytest.mark.skipif(not (WORDNET / "data.noun").is_file(), reason="needs Debian's package wordnet-base")
def test_derivation_gives_the_shipped_tables(tmp_path):
    derive(WORDNET, tmp_path)
    for name in TABLES:
        assert lines_of(tmp_path / name) == lines_of(DATA / name)


# -- oracles ----------------------------------------------------------------------------------------------------------
def test_golden_synonyms():
    assert {word: sorted(synonyms(word)) for word in GOLDEN["meteor_synonyms"]} == GOLDEN["meteor_synonyms"]


@pytest.mark.parametrize(
    ("key", "answer"),
    [("meteor_synonyms_all", lambda word: " ".join(sorted(synonyms(word)))), ("porter_all", porter_stem)],
)
def test_golden_answers_for_every_word_of_wordnet(key, answer):
    lemmas, forms = ([line.split("\t")[column] for line in lines_of(DATA / TABLES[column])] for column in (0, 1))
    words = sorted(word for word in {*lemmas, *forms} if "_" not in word)
    assert len(words) == GOLDEN[key]["words"]
    lines = "".join(f"{word}\t{answer(word)}\n" for word in words)
    assert hashlib.sha256(lines.encode()).hexdigest() == GOLDEN[key]["sha256"]

"""PTB tokens: worked examples, golden rows of the jar, each rule by leaving it out, both roads, long texts."""

import gzip
import json
import random
import re
from collections import Counter
from dataclasses import replace

import folders
import pytest

from vlgauge.inputs.text.ptb import tokens as ptb
from vlgauge.inputs.text.ptb.characters import DIGIT, LETTER, MARK, STAND_INS, SURROGATE, SYMBOL, UNKNOWN
from vlgauge.inputs.text.ptb.far_rules import _RUNS, far_starts
from vlgauge.inputs.text.ptb.rules import RULES
from vlgauge.inputs.text.ptb.tokens import ptb_tokens

GOLDEN = json.loads(gzip.decompress((folders.GOLDEN / "ptb_tokens.json.gz").read_bytes()))
ROWS = [(text, tokens) for _, text, tokens in GOLDEN["rules"]] + [tuple(row) for row in GOLDEN["mixtures"]]
ORACLES = folders.ROOT.parent / "shared" / "oracles"

# Tokens in the output of the jar, separated by "|".
EXAMPLES = [
    ("A man rides a Horse.", "a|man|rides|a|horse"),
    ("well-known, 8-year-old T-shirt", "well-known|8-year-old|t-shirt"),
    ("the dog's ball, the dogs' ball", "the|dog|'s|ball|the|dogs|ball"),
    ("dog\u2019s don\u2019t it&apos;s", "dog|'s|do|n't|it|'s"),
    ("co\xadop's x", "coop|'s|x"),
    ("(a) [b] {c} <d>", "-lrb-|a|-rrb-|-lsb-|b|-rsb-|-lcb-|c|-rcb-|<d>"),
    ('"a" \u201cb\u201d \u2018c\u2019 \xabd\xbb', "a|b|c|d"),
    ("at 5 p.m. on Main St. near Ph.D. x", "at|5|p.m.|on|main|st.|near|ph.d.|x"),
    ("plan B. The man", "plan|b|the|man"),
    ("plan B.  C. The man 5 7", "plan|b.|c|the|man|5|7"),
    ("why'o inn't", "why'o|inn|t"),
    ("plan B.  The man", "plan|b|the|man"),
    ("plan B. the man", "plan|b.|the|man"),
    ("No. 5 no. five", "no.|5|no|five"),
    ("cannot gonna 'tis \u2019tis", "can|not|gon|na|'t|is|tis"),
    ("10:30 1,000.50 -5 50%", "10:30|1,000.50|-5|50|%"),
    ("5 7/8 and 555 123 4567", "5\xa07/8|and|555\xa0123\xa04567"),
    ("\xa320 \u20ac9 US$5 \xbd", "#|20|$|9|us$|5|1/2"),
    ("a & b AT&T R&amp;B &amp;", "a|&|b|at&t|r&b|&"),
    ("wow!! what?! no! ----- ---- ...", "wow|!!|what|?!|no|-----"),
    ("www.A.com/abcdef x.org http://x.com/a,", "www.a.com/abcdef|x.org|http://x.com/a"),
    ("++12.345.678.901", "++12.345.678.901"),
    ("a\xadb-c., x", "ab-c.|x"),
    ("AT&amp;T., x", "at&t.|x"),
    (":) :-D ^_^ (^_^)", ":-rrb-|:-d|^_^|-lrb-^_^-rrb-"),
    ("a.jpg @user #tag <br />", "a.jpg|@user|#tag|<br\xa0/>"),
    ("\u65e5\u672c\u8a9e\u3002\u65e5\u672c", "\u65e5\u672c\u8a9e|\u3002|\u65e5\u672c"),
    ("a\U0001f600b \u2764\ufe0f \u2603", "a|b|\u2764|\u2603"),
    ("http://a\U0001f600b/c", "http://a\U0001f600b/c"),
    ("a\nb\r\nc\u2028d", "a|b|c|d"),
    ("\u07ca\u07fa\u07cb", "\u07ca\u07fa\u07cb"),
    ("a@b\u202f x a@b\u202f ", "a@b\u202f|x|a@b"),
    ("a@b\u202f .", "a@b\u202f"),
    ("\u0391\u03a3-\u03b2 \u0391\u03a35b", "\u03b1\u03c3-\u03b2|\u03b1\u03c35b"),
    ("\u0391\u03a3--\u03b2 \u0391\u03a3-\u65e5", "\u03b1\u03c2|\u03b2|\u03b1\u03c2-\u65e5"),
    ("\u0391\u03a3 \u0130", "\u03b1\u03c2|i\u0307"),
]

ANY_CASE = (
    "Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue Tues Wed Thu Thurs Fri Ala Ariz Calif Colo Conn Ct "
    "Dak Fla Ga Ind Kan Kans Ky Md Mich Minn Mo Mont Neb Nev Okla Penn Tenn Va Vt Wis Wisc Wyo Assn Bancorp Bhd Co "
    "Corp Cos Inc Intl Ltd Plc Rt Sys Univ tel est ext sq Jr Sr Bros Ed.D Ph.D Blvd Rd Esq etc al seq Bldg Adj Adm "
    "Adv Assoc Asst Atty Attys Ave Brig Capt Cmdr Col Comdr Cpl Det Dr Drs Ens Ft Gen Gov Govs Hon Insp Lieut Lt "
    "Maj Messrs Mlle Mme Mr Mrs Ms Msgr Mt Pfc Pres Prof Profs Pvt Rep Reps Rev Sen Sens Sfc Sgt Spc St Ste Supt "
    "Supts vs Alex Wm Jos Cie a.k.a cf Treas Ph Invt Elec Natl Dept U.S p.m"
)
WITH_CAPITAL = "Az Ark Del Ill La Mass Miss Ore Pa Tex Wash"
BEFORE_NUMBER = "ca fig figs prop no nos art pp op"
OPENERS = (
    "About According Additionally After An A As At But Earlier He Her Here However If In It Last Many More Mr. Ms. Now "
    "Once One Other Our She Since So Some Such That The Their Then There These They This We When While What Yet You"
)
EXTENSIONS = (
    "bat bmp c class cgi cpp dll doc docx exe gif gz h htm html jar java jpeg jpg mov mp3 pdf php pl png ppt ps py sql "
    "tar txt wav x xml zip"
)

ASCII_WORDS = (
    "a B. b. St. Dr. no. Fig. fig. PTE. LTD 5 7/8 1/2 555 123 4567 (555) cannot gonna can't dog's dogs' The A Mr. "
    "<b> <a b='c d'> < > . .. ... , ; :) :( x.com www.X.org/a/b a@b.c http://x.y/z, well-known d-e. \"a\" ``b'' 'tis "
    "- -- ----- & AT&T &amp; &eacute; #1 #x @y $5 ^.[^x= <>] [^ non-U.S. U.S. i.e. re.d. a.jpg 10:30 -5 +5 1,000 etc. "
    "etc., *** \\* w/o a/b/c ^_^ >.< c++ F# R+B = ~ | % rock'n'roll O'Neil y'all pt. PTY. Ltd"
)
OTHER_WORDS = (
    "\u2019t \u2018c \u201cd\u201d \u2014 \xa35 \xbd \u0663 \u0663/\u0664 caf\xe9 \u65e5\u672c \U0001f600 \u2603 "
    "e\u0301 co\xadop \u2019red. gathe\u2019red. no.\u0663 \u2153 x\u2010y"
)
WORDS = [
    *ASCII_WORDS.split(),
    *OTHER_WORDS.split(),
    "x\xa0y",
    "5\xa06",
    "\xa0",
    "\u2009",
    "\t",
    "\u2028",
    "\x85",
    "\u202f",
]


def mixtures(seed, count, joints=(" ", " ", " ", "  ", "")):
    rng = random.Random(seed)
    return ["".join(rng.choice(WORDS) + rng.choice(joints) for _ in range(rng.randint(1, 9))) for _ in range(count)]


@pytest.fixture
def forgotten(monkeypatch):
    """No rules and no pieces kept from before, nor kept for later."""
    monkeypatch.setattr(ptb, "_rules_by_start", {})
    ptb._tokens_of_pieces.clear()
    yield
    ptb._tokens_of_pieces.clear()


# -- values -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("text", "expected"), EXAMPLES)
def test_worked_examples(text, expected):
    assert ptb_tokens(text) == expected.split("|")


def test_words_of_the_lists():
    """Check the words in the lists of abbreviations, of words that begin a sentence after a letter, and of files."""
    for word in ANY_CASE.split():
        for spelled in (word, word.lower(), word.upper()):
            assert ptb_tokens(f"{spelled}. x") == [f"{word}.".lower(), "x"], spelled
    for word in WITH_CAPITAL.split():
        assert ptb_tokens(f"{word}. {word.upper()}. {word.lower()}. x") == [f"{word.lower()}."] * 2 + [
            word.lower(),
            "x",
        ]
    for word in BEFORE_NUMBER.split():
        assert ptb_tokens(f"{word}. 5 {word}. x") == [f"{word}.", "5", word, "x"]
    for word in OPENERS.split():
        assert ptb_tokens(f"plan B. {word} x")[:2] == ["plan", "b"], word
        assert ptb_tokens(f"plan B. {word.lower()} x")[:2] == ["plan", "b."], word
    for ending in EXTENSIONS.split():
        assert ptb_tokens(f"5a.{ending} 5a.{ending}, x") == [f"5a.{ending}"] * 2 + ["x"], ending


def test_golden_rows_of_the_jar():
    assert len(ROWS) > 1500
    for text, tokens in ROWS:
        assert ptb_tokens(text) == tokens, ascii(text)


@pytest.mark.parametrize(
    ("kind", "unlike"), [("flickr8k", 0), ("stories", 0), ("detailed", 0), ("lvlm", 0), ("synthetic", 3), ("rules", 0)]
)
def test_the_oracle(kind, unlike):
    """Check that the next line changes a token in three mixtures only."""
    name = "ptb_rules.json.gz" if kind == "rules" else "ptb_tokens.json.gz"
    if not (ORACLES / name).is_file():
        pytest.skip(f"needs shared/oracles/{name}")
    rows = json.loads(gzip.decompress((ORACLES / name).read_bytes()))
    pairs = [(row["text"], row["tokens"]) for row in rows] if kind == "rules" else rows[kind]
    assert len(pairs) > 700
    assert sum(ptb_tokens(text) != tokens for text, tokens in pairs) == unlike


# -- every rule counts ------------------------------------------------------------------------------------------------
def without(index):
    return RULES[:index] + RULES[index + 1 :]


BROKEN = [
    *(pytest.param(without(i), id=f"{i}-{rule.name}-gone") for i, rule in enumerate(RULES)),
    *(
        pytest.param((*RULES[:i], replace(rule, **change), *RULES[i + 1 :]), id=f"{i}-{rule.name}-{name}")
        for i, rule in enumerate(RULES)
        for name, change in (("plain", {"printed": None}), ("uncut", {"cut": 0}))
        if getattr(rule, *change)
    ),
]


@pytest.mark.parametrize("rules", BROKEN)
def test_a_broken_rule_changes_tokens(rules, forgotten, monkeypatch):
    monkeypatch.setattr(ptb, "RULES", rules)
    rows = [(text, expected.split("|")) for text, expected in EXAMPLES] + ROWS
    assert any(ptb_tokens(text) != tokens for text, tokens in rows)


@pytest.mark.parametrize("rule", RULES, ids=[f"{i}-{rule.name}" for i, rule in enumerate(RULES)])
def test_starts_are_those_of_the_pattern(rule):
    regex = pytest.importorskip("regex")
    pattern = regex.compile(rule.pattern or f"[{rule.starts}]", regex.DOTALL)
    alphabet = {*map(STAND_INS.__getitem__, range(0x10000))}
    starts = {character for character in alphabet if pattern.fullmatch(character, partial=True)}
    assert {character for character in alphabet if re.match(f"[{rule.starts}]", character)} == starts


def test_stand_ins():
    kinds = {"\xe9\u0394\u65e5": LETTER, "\u0966\uff15": DIGIT, "\u0300\u02c5": MARK, "\u2603\xa7": SYMBOL}
    kinds |= {"\ud83d\udfff": SURROGATE, "\x81\u2012\uffff\U0001f600": UNKNOWN}
    for characters, stand_in in kinds.items():
        assert {STAND_INS[ord(character)] for character in characters} == {stand_in}
    found = Counter(STAND_INS[code] for code in range(0x80, 0x10000))
    assert [found[kind] for kind in (LETTER, DIGIT, MARK, SYMBOL, SURROGATE)] == [48_406, 340, 500, 2_829, 2_048]
    for character in "a\x85\xa0\u2019\u2028\u212a\xbd\u3000":
        assert STAND_INS[ord(character)] == character


# -- pieces and long texts --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(4))
def test_pieces_give_the_tokens_of_the_whole(seed):
    for text in [*mixtures(seed, 1000), *(text for text, _ in ROWS)]:
        assert ptb_tokens(text) == ptb._scan(text.replace("\n", " "))[0], ascii(text)


@pytest.mark.parametrize("seed", range(4))
def test_far_starts_leave_nothing_out(seed, monkeypatch):
    rng = random.Random(seed)
    texts = [*mixtures(seed, 300, joints=("", "", " ")), *(text for text, _ in rng.sample(ROWS, 300))]
    monkeypatch.setattr(ptb, "_LONG_TEXT", 10**9)
    near = [ptb._scan(text)[0] for text in texts]
    monkeypatch.setattr(ptb, "_LONG_TEXT", 0)
    for text, tokens in zip(texts, near, strict=True):
        assert ptb._scan(text)[0] == tokens, ascii(text)


UNITS = [
    "a,",
    "a.",
    "a-",
    "a@",
    "@",
    "<a ",
    "<a b='",
    "<!a",
    "&eacute;",
    "a.b ",
    ".com",
    "a.com",
    "\U0001f600",
    "x_",
    "'",
]
UNITS += [
    "^.[^x=",
    "a. <",
    "a.py",
    "www.",
    "1.",
    "a\xad",
    "\u65e5",
    "http://",
    "(",
    "$",
    "a/",
    "d'",
    "-",
    " ",
    "\xa0",
    "A&",
]


@pytest.mark.parametrize("end", ["", "-", "-x", "@", "@x", ".com", ".py", "<>]"])
@pytest.mark.parametrize("unit", UNITS)
def test_work_of_far_rules_grows_with_the_length(unit, end, forgotten, monkeypatch):
    """Count the characters that rules of runs may read: up to the next space, over all failed attempts."""
    read = 0
    text = unit * (2000 // len(unit)) + end

    def counted(rule):
        counting = replace(rule)
        plain = rule.match

        def match(stand_ins, position):
            nonlocal read
            found = plain(stand_ins, position)
            if rule.name in _RUNS and found is None:
                read += len(run.match(stand_ins, position)[0])
            return found

        vars(counting)["match"] = match
        return counting

    run = re.compile("[^ \n]*")
    monkeypatch.setattr(ptb, "RULES", tuple(map(counted, RULES)))
    ptb._scan(text)
    assert read <= 40 * len(text)


@pytest.mark.parametrize(
    ("name", "unit", "end"),
    [("tag", "<!a", "x>"), ("asian-smiley", "^.[^x=", "<>]"), ("letter-stop", "a. <!", "x>")],
)
def test_rules_without_their_last_part_are_not_tried(name, unit, end):
    places = range(0, 100 * len(unit), len(unit))
    closed, open_ = (far_starts(unit * 100 + last)[name] for last in (end, ""))
    assert [closed[place] for place in places] == [1] * 100
    assert not any(open_[place] for place in places)


# -- odd input --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "blank", ["", "   ", "\t\n\u2028", ".", "?", "\u2014", "...", "\ud800", "\U0001f600", "\x00", "\xad"]
)
def test_texts_without_a_token(blank):
    assert ptb_tokens(blank) == []


def test_lone_surrogates_part_tokens():
    assert ptb_tokens("a\ud800b \udfffc") == ["a", "b", "c"]
    assert ptb_tokens("a\ud800b \U0001f600 \udfffc") == ["a", "b", "c"]


@pytest.mark.parametrize("seed", range(2))
def test_any_characters(seed):
    rng = random.Random(seed)
    for _ in range(300):
        text = "".join(
            chr(rng.choice((rng.randrange(0x80), rng.randrange(0x3000), rng.randrange(0x110000)))) for _ in range(30)
        )
        for token in ptb_tokens(text):
            assert token
            assert " " not in token
            assert "\n" not in token


def test_memory_is_bounded(forgotten, monkeypatch):
    monkeypatch.setattr(ptb, "_KEPT_PIECES", 10)
    for number in range(100):
        ptb_tokens(f"w{number} {'x' * 41}")
    assert len(ptb._tokens_of_pieces) <= 10
    assert "x" * 41 not in ptb._tokens_of_pieces

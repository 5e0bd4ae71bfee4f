"""METEOR by other programs: choice and messages, a stand-in for Java, NLTK and METEOR 1.5 where they are."""

import gzip
import hashlib
import importlib.util
import json
import re
import runpy
import shutil
import sys
from pathlib import Path

import folders
import numpy as np
import pytest
from folders import SCRIPTS
from metric_files import metric_file
from one_pair import meteor_distances

from vlgauge.distances.meteor_backends import meteor_jar, open_meteor
from vlgauge.errors import WeightsNotFoundError

treebank_tokens = metric_file("trm", "treebank_tokens").treebank_tokens
GOLDEN = json.loads(gzip.decompress((folders.ROOT / "tests" / "golden" / "meteor.json.gz").read_bytes()))
WORDNET = Path("/usr/share/wordnet")  # Debian's package wordnet-base

# Speaks the protocol of METEOR 1.5. Its score is the number of letters of the reference over that of both texts and 1.
FAKE_JAVA = """#!{python}
import os, sys
print(os.getcwd(), *sys.argv[1:], file=open("started.txt", "w"))
for line in sys.stdin:
    print(line, end="", file=open("heard.txt", "a", encoding="utf-8"))
    verb, *fields = line.rstrip("\\n").split(" ||| ")
    if "bomb" in line:
        print("Picked up JAVA_TOOL_OPTIONS: -Xss1m\\n\\nError: no memory", file=sys.stderr)
        print("  at line 7", file=sys.stderr)
        sys.exit(1)
    if verb == "SCORE":
        print(*(str(len(text.replace(" ", ""))) for text in fields), flush=True)
    else:
        pairs = [tuple(map(int, field.split())) for field in fields]
        print(*(long / (long + other + 1) for long, other in pairs), "0.123", sep="\\n", flush=True)
"""


@pytest.fixture
def fake_jar(tmp_path, monkeypatch):
    """A file that is no jar, and a program named java in its folder that takes it for one."""
    java, jar = tmp_path / "java", tmp_path / "meteor-1.5.jar"
    java.write_text(FAKE_JAVA.format(python=sys.executable), encoding="utf-8")
    java.chmod(0o755)
    jar.touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    return jar


# -- choice -----------------------------------------------------------------------------------------------------------
def test_own_is_the_default():
    examples = [["A man.", "a man, a dog"], ["a"]]
    with open_meteor() as ours, open_meteor("own", tokenizer=str.split, workers=2) as split:
        assert ours.variant == split.variant == "meteor-2007+wn3.0"
        for captions, tokens, words in zip(examples, ours.matrices(examples), split.matrices(examples), strict=True):
            assert np.array_equal(tokens, meteor_distances(captions))
            assert np.array_equal(words, meteor_distances(captions, tokenizer=str.split))


# -- METEOR 1.5 with a stand-in ---------------------------------------------------------------------------------------
def test_distances_have_the_reference_first(fake_jar):
    with open_meteor("meteor-1.5", jar=fake_jar) as java:
        assert java.variant == f"meteor-1.5@{hashlib.sha256(fake_jar.read_bytes()).hexdigest()[:8]}"
        first, second, none, one = java.matrices([["A b!", "c", "a b"], ["", "xyz"], [], ["abc"]])
    expected = 1 - np.array([[2 / 5, 2 / 4, 2 / 5], [1 / 4, 1 / 3, 1 / 4], [2 / 5, 2 / 4, 2 / 5]])
    assert first == pytest.approx(expected, rel=1e-15)
    assert second == pytest.approx(1 - np.array([[0, 0], [3 / 4, 3 / 7]]), rel=1e-15)
    assert none.shape == (0, 0)
    assert one == pytest.approx(np.array([[1 - 3 / 7]]))


def test_command_and_lines(fake_jar):
    with open_meteor("meteor-1.5", jar=fake_jar) as java:
        list(java.matrices([["A dog.", "日本"], [], ["A dog.", "a dog!"]]))
    folder = fake_jar.parent
    options = "-Duser.language=en -Duser.country=US -Dfile.encoding=UTF-8 -Xmx2G"
    assert (folder / "started.txt").read_text() == f"{folder} {options} -jar {fake_jar} - - -stdio -l en -norm\n"
    assert (folder / "heard.txt").read_text(encoding="utf-8").splitlines() == [
        "SCORE ||| a dog ||| a dog",
        "SCORE ||| a dog ||| 日本",
        "SCORE ||| 日本 ||| a dog",
        "SCORE ||| 日本 ||| 日本",
        "EVAL ||| 4 4 ||| 4 2 ||| 2 4 ||| 2 2",
        "SCORE ||| a dog ||| a dog",  # one text, once
        "EVAL ||| 4 4",
    ]


def test_what_would_break_the_protocol_is_replaced(fake_jar):
    with open_meteor("meteor-1.5", jar=fake_jar, tokenizer=lambda text: [text]) as java:
        matrix = next(java.matrices([["A\nb\r\nc|||d||||e \ud800"]]))
    heard = (fake_jar.parent / "heard.txt").read_text(encoding="utf-8").splitlines()[0]
    assert heard == "SCORE ||| a b  c d |e ? ||| a b  c d |e ?"
    assert matrix == pytest.approx(np.array([[1 - 7 / 15]]))


def test_many_captions_do_not_block_the_pipes(fake_jar):
    captions = [f"{'word ' * 200}{i}" for i in range(60)]
    with open_meteor("meteor-1.5", jar=fake_jar) as java:
        assert next(java.matrices([captions])).shape == (60, 60)


def test_a_process_that_ends_is_told_in_one_sentence(fake_jar):
    message = "^METEOR 1.5 must answer every pair of captions, but it ended: Error: no memory$"
    with open_meteor("meteor-1.5", jar=fake_jar) as java:
        for _ in range(2):
            with pytest.raises(RuntimeError, match=message):
                list(java.matrices([["a", "a bomb"]]))
            message = "^METEOR 1.5 must answer every pair of captions, but it ended: without a word$"


def test_the_process_ends_with_its_context(fake_jar, monkeypatch):
    started = []
    popen = sys.modules["vlgauge.distances.meteor_backends"].subprocess.Popen
    keep = lambda *args, **kwargs: started.append(popen(*args, **kwargs)) or started[-1]  # noqa: E731
    monkeypatch.setattr("vlgauge.distances.meteor_backends.subprocess.Popen", keep)
    with open_meteor("meteor-1.5", jar=fake_jar) as java:
        next(java.matrices([["a"]]))
        assert started[0].poll() is None
    with pytest.raises(KeyError), open_meteor("meteor-1.5", jar=fake_jar):
        raise KeyError
    assert [process.poll() is None for process in started] == [False, False]
    assert all(pipe.closed for process in started for pipe in (process.stdin, process.stdout, process.stderr))


# -- what is missing --------------------------------------------------------------------------------------------------
def test_no_java(fake_jar):
    (fake_jar.parent / "java").unlink()
    message = "^`backend='meteor-1.5'` needs Java, and no program named java is on the PATH; install a Java runtime$"
    with pytest.raises(FileNotFoundError, match=message), open_meteor("meteor-1.5", jar=fake_jar):
        pass


def test_no_jar(tmp_path):
    missing = tmp_path / "meteor-1.5.jar"
    message = f"`jar` must be the file meteor-1.5.jar, got {str(missing)!r}, which is no file"
    with pytest.raises(FileNotFoundError, match=f"^{re.escape(message)}$"), open_meteor("meteor-1.5", jar=missing):
        pass


def test_jar_of_an_installed_package(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    importlib.invalidate_caches()
    message = (
        r"^`backend='meteor-1.5'` needs the jar of pycocoevalcap, which is not installed here; "
        r"run pip install pycocoevalcap or pass `jar`$"
    )
    with pytest.raises(ImportError, match=message), open_meteor("meteor-1.5"):
        pass
    (tmp_path / "pycocoevalcap" / "meteor").mkdir(parents=True)
    (tmp_path / "pycocoevalcap" / "__init__.py").write_text("raise AssertionError('imported')")
    jar = tmp_path / "pycocoevalcap" / "meteor" / "meteor-1.5.jar"
    jar.touch()
    importlib.invalidate_caches()
    assert meteor_jar() == jar


def test_no_java_and_no_jar_are_said_at_once(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    message = (
        r"METEOR 1\.5 lacks 2 of its sources:\n\(1\) `jar` must be the file meteor-1\.5\.jar, got '.*', which is no "
        r"file\n\(2\) `backend='meteor-1\.5'` needs Java, and no program named java is on the PATH"
    )
    with pytest.raises(FileNotFoundError, match=message), open_meteor("meteor-1.5", jar=tmp_path / "no.jar"):
        pass


def test_no_nltk(monkeypatch):
    for name in ("nltk", "nltk.corpus", "nltk.translate.meteor_score"):
        monkeypatch.setitem(sys.modules, name, None)
    message = "^`backend='nltk'` needs NLTK, which cannot be imported here; run pip install nltk$"
    with pytest.raises(ImportError, match=message), open_meteor("nltk"):
        pass


def test_nltk_without_wordnet(monkeypatch, tmp_path, no_sockets):
    monkeypatch.setattr(pytest.importorskip("nltk.data"), "path", [str(tmp_path)])
    message = (
        r"^`backend='nltk'` needs NLTK's data set wordnet, found in no folder that NLTK searches; "
        r"run python -m nltk.downloader wordnet or set NLTK_DATA to the folder that has it$"
    )
    with pytest.raises(WeightsNotFoundError, match=message) as caught, open_meteor("nltk"):
        pass
    # NLTK's banner is not shown above the message either.
    assert caught.value.__suppress_context__


# -- the programs themselves ------------------------------------------------------------------------------------------
@pytest.mark.skipif(not (WORDNET / "data.noun").is_file(), reason="needs Debian's package wordnet-base")
def test_nltk_gives_the_same_distances(run_python, tmp_path):
    nltk = pytest.importorskip("nltk")
    runpy.run_path(str(SCRIPTS / "bench" / "meteor.py"))["nltk_folder"](WORDNET, tmp_path)
    captions = [[" ".join(treebank_tokens(one)) for one in case["captions"]] for case in GOLDEN["cases"]]
    (tmp_path / "examples.json").write_text(json.dumps(captions))
    code = """
import json
from vlgauge.distances.meteor_backends import open_meteor
with open_meteor("nltk", tokenizer=str.split) as theirs:
    matrices = [matrix.tolist() for matrix in theirs.matrices(json.load(open("examples.json")))]
    json.dump([theirs.variant, matrices], open("result.json", "w"))
"""
    run_python(code, cwd=tmp_path, NLTK_DATA=str(tmp_path))
    variant, matrices = json.loads((tmp_path / "result.json").read_text())
    assert variant == f"meteor-2007+nltk{nltk.__version__}+wn3.0"
    for matrix, case in zip(matrices, GOLDEN["cases"], strict=True):
        assert np.array(matrix) == pytest.approx(np.array(case["meteor"]), abs=1e-12)


@pytest.mark.skipif(shutil.which("java") is None, reason="needs Java")
@pytest.mark.skipif(importlib.util.find_spec("pycocoevalcap") is None, reason="needs pycocoevalcap")
def test_golden_distances_of_meteor_1_5():
    with open_meteor("meteor-1.5", tokenizer=treebank_tokens) as java:
        matrices = java.matrices(case["captions"] for case in GOLDEN["cases"])
        for matrix, case in zip(matrices, GOLDEN["cases"], strict=True):
            assert matrix == pytest.approx(np.array(case["meteor_1.5"]), abs=1e-9)

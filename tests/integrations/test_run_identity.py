"""What a run is known by: content, of large files a sample, and never a time."""

import functools
import json
import os
import threading
from unittest.mock import patch

import numpy as np
import pytest
import spacy
import torch

from vlgauge.encoders.clip.architectures import TABLE
from vlgauge.integrations import run_identity
from vlgauge.integrations.run_identity import content_of, contents_of, digest_of, settings_told
from vlgauge.judges.served import ServedJudge
from vlgauge.style import StyleTable


def test_other_content_of_the_same_size_and_time_is_another_file(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text("a dog")
    before, stat = content_of(file), file.stat()
    file.write_text("a cat")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert content_of(file) != before
    file.write_text("a dog")
    os.utime(file, (1, 1))
    assert content_of(file) == before == {"bytes": 5, "sha256": before["sha256"], "sampled": False}


@pytest.fixture
def small():
    with patch.multiple(run_identity, WHOLE_BYTES=10_000, BLOCK_BYTES=16, N_BLOCKS=64):
        yield


@pytest.mark.usefixtures("small")
def test_a_large_file_is_sampled_and_that_is_said(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_bytes(bytes(10_001))
    with pytest.warns(
        UserWarning, match=r"^1 files of more than 10,000 bytes, such as '.*rows.jsonl', .* sampled digest"
    ):
        found = contents_of([file])
    assert found == {str(file): content_of(file)}
    assert found[str(file)]["sampled"]
    file.write_bytes(bytes(10_000))
    assert not contents_of([file])[str(file)]["sampled"]


@pytest.mark.usefixtures("small")
def test_of_a_large_file_head_tail_blocks_and_size_are_looked_at(tmp_path):
    file, whole = tmp_path / "rows", bytearray(20_000)
    file.write_bytes(whole)
    before = content_of(file)

    def changed(at):
        file.write_bytes(whole[:at] + b"x" + whole[at + 1 :])
        return content_of(file) != before

    assert all(map(changed, [0, 15, len(whole) - 1, len(whole) - 16]))
    # 64 of about 1,250 blocks of 16 bytes: a change somewhere is rarely seen, one everywhere always.
    places = range(16, len(whole) - 16, 17)
    assert 0.03 < sum(map(changed, places)) / len(places) < 0.06
    file.write_bytes(bytes(20_001))
    assert content_of(file) != before
    file.write_bytes(bytes(20_000))
    assert content_of(file) == before


def test_settings_stand_with_the_content_of_what_they_name(tmp_path):
    (tmp_path / "model" / "deep").mkdir(parents=True)
    (tmp_path / "model" / "deep" / "weights").write_text("1")
    (tmp_path / "df").write_text("1")
    given = {"model": str(tmp_path / "model"), "df": tmp_path / "df", "n": 4, "orders": [1, 2], "w": None, "f": len}
    before = settings_told(given)
    assert before["n"] == 4
    assert before["w"] is None
    assert before["f"] == "custom(builtins.len)"
    assert before["orders"] == [1, 2] != settings_told({"orders": [1, 3]})["orders"]
    (tmp_path / "df").write_text("2")
    (tmp_path / "model" / "deep" / "weights").write_text("2")
    after = settings_told(given)
    assert [name for name in given if before[name] != after[name]] == ["model", "df"]
    assert settings_told({"a": "no\0path", "b": "x" * 5_000, "c": "paper"}) == {
        "a": "no\0path",
        "b": "x" * 5_000,
        "c": "paper",
    }


class Parser:
    """Somebody's object, with what has no order, a circle, and a number that it keeps when it is first asked."""

    def __init__(self, words, layers=2):
        self.words, self.shift = set(words), lambda text: text
        self.weights = np.arange(6.0).reshape(layers, -1)
        self.own = [self, self.words]

    @functools.cached_property
    def n_words(self):
        return len(self.words)


URL = "http://127.0.0.1:8000/v1"
SERVERS = [((URL, "a"), (URL, "b")), ((URL, "a"), (URL, "a", None, {})), ((URL, "a"), (f"{URL[:-3]}/v2", "a"))]
TINY_TABLE = StyleTable.fit(["a dog", "a cat"], ["plain", "angry"])


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        (Parser(["a", "dog"]), Parser(["dog", "a"]), Parser(["a", "cat"])),
        (Parser("a", 2), Parser("a", 2), Parser("a", 3)),
        (TINY_TABLE, TINY_TABLE, StyleTable.fit(["a dog", "a sea"], ["plain", "angry"])),
        (TABLE["ViT-B/32"], TABLE["ViT-B/32"], TABLE["ViT-L/14"]),
        *((ServedJudge(*one), ServedJudge(*one), ServedJudge(*other)) for one, other in SERVERS),
        ({"a": np.arange(2)}, {"a": np.arange(2)}, {"a": np.arange(2.0)}),
        (functools.partial(len, np.arange(2)), functools.partial(len, np.arange(2)), functools.partial(len, [0, 1])),
        (torch.arange(4.0), torch.arange(4.0), torch.arange(4.0).reshape(2, 2)),
        (spacy.blank("en"), spacy.blank("en"), spacy.blank("de")),
    ],
)
def test_objects_stand_with_what_they_are_made_of(one, same, other):
    told = settings_told({"given": one})
    assert told == json.loads(json.dumps(told)) == settings_told({"given": same})
    assert told != settings_told({"given": other})


def test_what_an_object_keeps_of_itself_and_what_no_pickle_holds_make_no_difference():
    parser = Parser(["a"])
    before = settings_told({"parser": parser})
    assert parser.n_words == 1
    assert settings_told({"parser": parser}) == before
    assert digest_of(threading.Lock()) is None
    assert settings_told({"parser": threading.Lock()}) == settings_told({"parser": threading.Lock()})


def test_objects_stand_alike_in_every_process(run_python, tmp_path):
    code = (
        "import numpy as np\nfrom vlgauge.integrations.run_identity import digest_of\n"
        "print(digest_of([{'a', 'bc', 'def', 'gh'}, {frozenset({'x', 'y', 'z'})}, np.arange(3), (1, 2.5, None)]))"
    )
    one, other = (run_python(code, cwd=tmp_path, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert one == other

"""Identity of a run: content, without times."""

import functools
import hashlib
import json
import os

import numpy as np
import pytest
import spacy
import torch

from vlgauge.families.style import StyleTable
from vlgauge.integrations.run_identity import contents_of, identify_settings
from vlgauge.models.clip.architectures import TABLE
from vlgauge.models.judges.served import ServedJudge


def test_other_content_of_the_same_size_and_time_is_another_file(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text("a dog")
    before, stat = contents_of([file]), file.stat()
    file.write_text("a cat")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert contents_of([file]) != before
    file.write_text("a dog")
    os.utime(file, (1, 1))
    assert contents_of([file]) == before
    assert before == {str(file): {"bytes": 5, "sha256": hashlib.sha256(b"a dog").hexdigest()}}


def test_settings_stand_with_the_content_of_what_they_name(tmp_path):
    (tmp_path / "model" / "deep").mkdir(parents=True)
    (tmp_path / "model" / "deep" / "weights").write_text("1")
    (tmp_path / "df").write_text("1")
    given = {"model": str(tmp_path / "model"), "df": tmp_path / "df", "n": 4, "orders": [1, 2], "w": None, "f": len}
    before = identify_settings(given)
    assert before["n"] == 4
    assert before["w"] is None
    assert before["f"].startswith("custom(builtins.len) ")
    assert before["orders"] == [1, 2] != identify_settings({"orders": [1, 3]})["orders"]
    (tmp_path / "df").write_text("2")
    (tmp_path / "model" / "deep" / "weights").write_text("2")
    after = identify_settings(given)
    assert [name for name in given if before[name] != after[name]] == ["model", "df"]
    assert identify_settings({"a": "no\0path", "b": "x" * 5_000, "c": "paper"}) == {
        "a": "no\0path",
        "b": "x" * 5_000,
        "c": "paper",
    }


class Parser:
    """User object with unordered contents, a cycle, and a number that it keeps on first access."""

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
    told = identify_settings({"given": one})
    assert told == json.loads(json.dumps(told)) == identify_settings({"given": same})
    assert told != identify_settings({"given": other})


def test_what_an_object_keeps_of_itself_and_what_no_pickle_holds_make_no_difference():
    parser = Parser(["a"])
    parser.own = None
    before = identify_settings({"parser": parser})
    assert parser.n_words == 1
    assert identify_settings({"parser": parser}) == before
    streams = [(value for value in ()) for _ in range(2)]  # cannot be pickled
    assert identify_settings({"parser": streams[0]}) == identify_settings({"parser": streams[1]})


def test_objects_stand_alike_in_every_process(run_python, tmp_path):
    code = (
        "import numpy as np\nfrom vlgauge.integrations.run_identity import identify_settings\n"
        "print(identify_settings({'given': [{'a', 'bc', 'def', 'gh'}, np.arange(3), len, (1, 2.5, None)]}))"
    )
    one, other = (run_python(code, cwd=tmp_path, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert one == other

"""The leaderboard of a results data set of the Hub: its records, whose token opens it, and what is refused."""

import gradio as gr
import pytest
from folders import GOLDEN
from hub_data_sets import TOKEN, Repository, hub_of_data_sets

from vlgauge.leaderboard import read_records
from vlgauge.network import NetworkError
from vlgauge.workbench import leaderboard, results_data_set
from vlgauge.workbench.hosting import SPACE

FILE = GOLDEN / "leaderboard" / "results.jsonl"
OLD, NEW = "a" * 40, "b" * 40


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    told = {"results.jsonl": FILE.read_bytes()}
    with hub_of_data_sets(
        tmp_path_factory.mktemp("home"),
        **{
            "org/results": Repository({OLD: {"results.jsonl": b"not yet\n"}, NEW: told}),
            "org/gated": Repository({NEW: told}, gated=True),
            "org/private": Repository({NEW: told}, private=True),
            "org/rows": Repository({NEW: {"test.jsonl": b"{}\n"}}),
            "org/empty": Repository({NEW: {"results.jsonl": b"\n"}}),
            "org/lines": Repository({NEW: {"results.jsonl": b'{"schema": 1, "value": NaN}\n'}}),
            "org/bytes": Repository({NEW: {"results.jsonl": b"\xff\xfe\x00"}}),
            "org/page": Repository({NEW: {"results.jsonl": b"<!doctype html><title>Sign in</title>"}}),
        },
    ) as served:
        yield served


def test_records_are_those_of_the_newest_commit(hub):
    records, commit = results_data_set.fetched_records("org/results")
    assert (records, commit) == (read_records(FILE), NEW)
    assert hub.asked[-1] == ("GET", f"/datasets/org/results/resolve/{NEW}/results.jsonl")
    assert leaderboard.merged(records, (), records) == records
    assert "GROOViST" in leaderboard.page_of(leaderboard.merged((), (), records))


def test_a_visitors_token_opens_gated_and_private_ones_and_leaves_no_copy(hub, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    for name in ("org/gated", "org/private"):
        assert results_data_set.fetched_records(name, TOKEN)[0] == read_records(FILE)
    assert not list(tmp_path.rglob("*"))


def test_on_a_space_the_token_of_the_machine_is_not_used(hub, monkeypatch):
    monkeypatch.setattr("huggingface_hub.get_token", lambda: TOKEN)
    assert results_data_set.fetched_records("org/gated")[0]
    with pytest.raises(NetworkError, match="wants its terms accepted"):
        results_data_set.fetched_records("org/gated", SPACE.token)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("../etc/passwd", "must be OWNER/NAME of a data set of the Hub"),
        ("https://127.0.0.1/a/b", "must be OWNER/NAME of a data set of the Hub"),
        ("org/unknown", "is unknown or private"),
        ("org/private", "is unknown or private"),
        ("org/gated", "results.jsonl of 'org/gated' cannot be read, because .* wants its terms accepted"),
        ("org/rows", "results.jsonl of 'org/rows' cannot be read, because .* has no such file"),
        ("org/empty", "must have records in its results.jsonl, got 'org/empty', where it is empty"),
        ("org/lines", "FILE must hold .* line 1 of 'org/lines/results.jsonl'"),
        ("org/bytes", "FILE must be UTF-8 text, got byte 0xff in line 1 of 'org/bytes/results.jsonl'"),
        ("org/page", "gave a web page instead of a file"),
    ],
)
def test_what_is_refused_is_told_in_one_sentence(hub, name, said):
    with pytest.raises(gr.Error, match=said) as refused:
        leaderboard._fetcher(SPACE)(name, "")
    assert "\n" not in refused.value.message


def test_a_larger_file_is_not_read_to_its_end(hub, monkeypatch):
    monkeypatch.setattr(results_data_set, "MOST_BYTES", 1000)
    with pytest.raises(NetworkError, match=r"gave results\.jsonl of more than 1000 bytes"):
        results_data_set.fetched_records("org/results")


def test_no_name_is_no_records(hub):
    assert leaderboard._fetcher(SPACE)(" ", "") == ([], "")

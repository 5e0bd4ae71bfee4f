"""Sending: a dry run by default, always a pull request, and readable errors, with a Hub on this machine."""

import json

import pytest
import yaml
from fake_uploads import Uploads
from folders import GOLDEN
from local_hub import be_online
from made_runs import run_of_record
from packaging.version import Version

from vlgauge.cli import main
from vlgauge.core.results import to_json
from vlgauge.inputs.sandbox import workers
from vlgauge.leaderboard import read_records

pytestmark = pytest.mark.sending

RECORDS = str(GOLDEN / "leaderboard" / "results.jsonl")
CARD = b"---\nlicense: mit\n---\r\n# VIST\n<!-- leaderboard:start -->\n<!-- leaderboard:end -->\r\nend"


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A Hub that accepts pull requests with a token."""
    hub = Uploads()
    be_online(monkeypatch, hub.url, tmp_path / "home")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.chdir(tmp_path)
    yield hub
    hub.server.shutdown()
    hub.server.server_close()


def export(form, *words):
    return main(["export", form, RECORDS, "--profile", "paper", *words])


FORMS = [
    ("eval-results", ["--lower-is-better=negate"]),
    ("model-index", []),
    ("eval-yaml", ["--lower-is-better=negate"]),
    ("dataset-card", ["--card", "card.md"]),
    ("results-repository", ["--repository", "org/results"]),
]


@pytest.mark.parametrize(("form", "words"), FORMS)
def test_nothing_is_asked_without_send(hub, tmp_path, capsys, form, words):
    (tmp_path / "card.md").write_bytes(CARD)
    assert export(form, *words) == 0
    out, err = capsys.readouterr()
    assert out
    assert "would be sent with --send: " in err
    assert hub.log == []
    assert export(form, *words, "--output", "exports") == 0
    assert hub.log == []
    written = [path for path in (tmp_path / "exports").rglob("*") if path.is_file()]
    assert len(written) == err.count("would be sent with --send")


def commits(hub):
    return [path for method, path in hub.log if method == "POST" and "/commit/" in path]


def test_eval_results_open_a_pull_request_per_model(hub, capsys):
    assert export("eval-results", "--lower-is-better=negate", "--send") == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [f"{hub.url}/models/org/{name}/discussions/7" for name in ("teller", "other")]
    assert "hf_secret" not in out + err
    assert all(path.endswith("/commit/main?create_pr=1") for path in commits(hub))
    sent = hub.sent["models/org/teller", ".eval_results/vlgauge-VIST-2.yaml"]
    assert sent == (GOLDEN / "leaderboard" / "eval-results.yaml").read_bytes()


def test_model_index_is_merged_with_the_card_of_the_hub(hub, capsys):
    before = {"name": "Teller", "results": [{"task": {"type": "x"}, "dataset": {"name": "B", "type": "b"}}]}
    before["results"][0]["metrics"] = [{"type": "bleu", "value": 0.5, "name": "BLEU"}]
    card = f"---\n{yaml.safe_dump({'license': 'mit', 'model-index': [before]})}---\n# Teller\n"
    hub.files["/org/teller/resolve/main/README.md"] = card.encode()
    assert export("model-index", "--model", "org/teller", "--send") == 0
    assert capsys.readouterr().out == f"{hub.url}/models/org/teller/discussions/7\n"
    sent = hub.sent["models/org/teller", "README.md"].decode()
    assert sent.endswith("# Teller\n")
    matter = yaml.safe_load(sent.split("---\n")[1])
    assert matter["license"] == "mit"
    types = [metric["type"] for result in matter["model-index"][0]["results"] for metric in result["metrics"]]
    assert types == ["bleu", "vlgauge/groovist", "vlgauge/trm"]
    assert all(path.endswith("?create_pr=1") for path in commits(hub))


def test_a_model_without_a_card_gets_one(hub):
    assert export("model-index", "--model", "org/teller", "--send") == 0
    assert hub.sent["models/org/teller", "README.md"] == (GOLDEN / "leaderboard" / "model-index.md").read_bytes()


def test_another_number_in_the_card_of_the_hub_is_not_replaced(hub, capsys):
    assert export("model-index", "--model", "org/other") == 0
    theirs = capsys.readouterr().out.replace("0.9\n", "0.8\n")
    hub.files["/org/other/resolve/main/README.md"] = theirs.encode()
    assert export("model-index", "--model", "org/other", "--send") == 2
    assert "org/other has 0.8" in capsys.readouterr().err
    assert commits(hub) == []


def test_the_card_of_a_data_set_is_that_of_the_hub(hub):
    hub.files["/datasets/org/vist/resolve/main/README.md"] = CARD
    assert export("dataset-card", "--send") == 0
    sent = hub.sent["datasets/org/vist", "README.md"]
    assert sent.startswith(CARD[: CARD.index(b"<!-- leaderboard:end")])
    assert sent.endswith(b"<!-- leaderboard:end -->\r\nend")
    assert b"| - | Other |" in sent


def test_a_results_repository_is_one_pull_request(hub, tmp_path):
    (teller, *_) = read_records(RECORDS)
    (tmp_path / "scores.json").write_text(to_json(run_of_record(teller)), encoding="utf-8")
    words = ["--repository", "org/results", "--scores", "org/teller=scores.json", "--send"]
    assert export("results-repository", *words) == 0
    assert len(commits(hub)) == 1
    assert sorted(path for _, path in hub.sent) == [
        "README.md",
        "data/groovist/org--vist--default--test/org--teller.parquet",
        "results.jsonl",
    ]


def test_scores_that_are_no_longer_there_go_with_the_pull_request(hub, tmp_path):
    (teller, *_) = read_records(RECORDS)
    (tmp_path / "scores.json").write_text(to_json(run_of_record(teller)), encoding="utf-8")
    own = "data/groovist/org--vist--default--test/org--teller.parquet"
    older = own.replace("teller", "gone")
    there = [own, older, "data/notes.md", "README.md", "images/a.parquet"]
    listed = [{"type": "file", "path": path, "size": 1, "oid": "0" * 40} for path in there]
    for asked in ("True", "true"):
        for more in ("", "&expand=False", "&expand=false"):
            address = f"/api/datasets/org/results/tree/main?recursive={asked}{more}"
            hub.files[address] = json.dumps(listed).encode()
    words = ["--repository", "org/results", "--scores", "org/teller=scores.json", "--send"]
    assert export("results-repository", *words) == 0
    assert hub.deleted == [("datasets/org/results", older)]
    assert len(commits(hub)) == 1
    hub.deleted.clear()
    assert export("eval-yaml", "--lower-is-better=negate", "--send") == 0
    assert hub.deleted == []


BOMB = "a0: &a0 {k: 1}\n" + "".join(f"a{i + 1}: &a{i + 1} {{<<: [{', '.join([f'*a{i}'] * 9)}]}}\n" for i in range(12))
# PyYAML 6.0.4 merges duplicate keys once, so that this is not a bomb any more.
TOO_NEW = Version(yaml.__version__) >= Version("6.0.4")
BROKEN = [
    pytest.param(BOMB, marks=pytest.mark.skipif(TOO_NEW, reason="no bomb for this PyYAML")),
    "a: [",
    "[" * 5000,
    "model-index: 3",
    "model-index:\n- name: x\n  results: 3",
]


@pytest.mark.parametrize("matter", BROKEN)
def test_a_card_that_breaks_its_reader_is_one_sentence(hub, capsys, monkeypatch, matter):
    def refuse(*_, **__):
        raise AssertionError("the card was read here")

    monkeypatch.setattr("huggingface_hub.ModelCard.__init__", refuse)
    hub.files["/org/teller/resolve/main/README.md"] = f"---\n{matter}\n---\n# Teller\n".encode()
    monkeypatch.setattr(workers, "SECONDS", 0.3)
    code = export("model-index", "--model", "org/teller", "--send")
    out, err = capsys.readouterr()
    assert (code, out, commits(hub)) == (2, "", [])
    assert err.startswith("vlgauge export: error: the card of org/teller ")
    assert err.count("\n") == 1


def test_an_offline_switch_stops_at_once_and_is_named(hub, monkeypatch, capsys):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert export("eval-yaml", "--lower-is-better=negate", "--send") == 2
    assert "HF_HUB_OFFLINE and HF_EVALUATE_OFFLINE" in capsys.readouterr().err
    assert hub.log == []


def test_a_refusal_is_told_in_words(hub, capsys):
    hub.status = 403
    assert export("eval-yaml", "--lower-is-better=negate", "--send") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "denies access (status 403)" in err
    assert "hf_secret" not in err


@pytest.mark.filterwarnings("ignore:skipped, because the Hub ranks from high to low")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["eval-results", RECORDS], "must be of the paper profile for eval-results, got groovist of org/toy"),
        (
            ["eval-results", RECORDS, "--metric", "trm"],
            "must have a record for eval-results, got no suitable record",
        ),
        (["eval-results", RECORDS, "--model", "org/none"], "must have a record that matches the options, got none"),
        (["dataset-card", RECORDS], "--card is required: the dataset card, such as README.md"),
        (["dataset-card", RECORDS, "--card", "bad.md"], "--card must be UTF-8 text"),
        (["results-repository", RECORDS, "--repository", "o/r", "--scores", "x"], "--scores must be MODEL=FILE with"),
        (["dataset-card", RECORDS, "--card", "bad.md", "--scores", "x"], "--scores must be MODEL=FILE with"),
        (
            ["results-repository", RECORDS, "--repository", "o/r", "--scores", "org/teller=bad.md"],
            "--scores must name a file that `vlgauge score --output` wrote, got 'bad.md'",
        ),
    ],
)
def test_what_cannot_be_exported(tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.md").write_bytes(b"\xff\xfe")
    assert main(["export", *words]) == 2
    assert message in capsys.readouterr().err

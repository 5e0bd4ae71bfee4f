"""Uploads of Spaces: dry by default, one commit each, and uploaded Spaces load. The Hub is on this machine."""

import os
import re
import subprocess

import push
import pytest
from fake_uploads import Uploads
from local_hub import be_online

import vlgauge
from vlgauge.families.base.metric import REPOSITORY

VERSION = vlgauge.__version__
TAG = f"release-{VERSION}"
HINT = f'from vlgauge.families import base  # From: "vlgauge[x]@git+{REPOSITORY}@v{VERSION}"\n'


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A Hub that is used with a token."""
    hub = Uploads()
    be_online(monkeypatch, hub.url, tmp_path / "home")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    yield hub
    hub.server.shutdown()
    hub.server.server_close()


@pytest.fixture
def ready(hub, monkeypatch):
    """A Hub and a checkout without errors."""
    monkeypatch.setattr(push, "check_checkout", lambda ref, root: None)
    return hub


@pytest.fixture
def small(monkeypatch):
    """A few Spaces with one file each."""

    def assembled(name, **chosen):
        if name == "trm":
            raise ValueError("`trm` must be whole, got half")
        return {"README.md": f"---\ntitle: {name}\nsdk: {chosen['kind']}\n---\n".encode()}

    monkeypatch.setattr(push, "assemble_space", assembled)
    monkeypatch.setattr("assemble.space_names", lambda: ["bleu", "cider", "trm", "workbench"])


def commits(hub):
    return [path for method, path in hub.log if method == "POST" and "/commit/" in path]


# -- uploads only on request ------------------------------------------------------------------------------------------
def test_a_dry_run_asks_nobody_and_shows_everything(hub, capsys):
    assert push.main(["clip_s", "--org", "people"]) == 0
    assert hub.log == []
    out = capsys.readouterr().out
    assert out.startswith(f"people/clip_s (gradio) at v{VERSION}\n")
    assert re.search(r"^  clip_s\.py  [\d,]+ bytes  sha256 [0-9a-f]{64}$", out, re.MULTILINE)
    assert '  README.md: sdk: "gradio"\n' in out
    assert '  README.md: models: ["timm/vit_base_patch32_clip_224.openai"]\n' in out
    assert f"  requirements.txt: vlgauge[clip-s,workbench] @ git+{REPOSITORY}@v{VERSION}\n" in out
    assert f'  # From: "vlgauge[clip-s]@git+{REPOSITORY}@v{VERSION}"\n' in out


def test_a_dry_run_of_all_asks_nobody(hub, small, capsys):
    assert push.main(["--all"]) == 1  # half of trm is missing
    assert hub.log == []
    assert capsys.readouterr().out.count(f" (gradio) at v{VERSION}\n") == 3


def test_a_checkout_that_is_not_ready_sends_nothing(hub, monkeypatch, capsys):
    def refuse(ref, root):
        raise ValueError("the work tree must be clean, got 3 changed files")

    monkeypatch.setattr(push, "check_checkout", refuse)
    assert push.main(["rovist_nr", "--push"]) == 2
    assert capsys.readouterr().err == "push: error: the work tree must be clean, got 3 changed files\n"
    assert hub.log == []


def test_an_offline_switch_is_named(ready, monkeypatch, capsys):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert push.main(["rovist_nr", "--push"]) == 2
    assert "HF_HUB_OFFLINE and HF_EVALUATE_OFFLINE" in capsys.readouterr().err
    assert ready.log == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "NAME or `--all` must be given, got neither"),
        (["trm", "--all"], "NAME or `--all` must be given, got both"),
        (["nonsense"], "`NAME` must be one of 'aloha', "),
        (["trm", "--ref", "main"], "got 'main'; a branch moves"),
        (["trm", "--org", "a/b"], "`--org` must be the name of a user or organization of the Hub, got 'a/b'"),
    ],
)
def test_what_cannot_be_sent_is_one_sentence(hub, capsys, words, message):
    assert push.main([*words, "--push"]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
    assert hub.log == []


# -- uploads ----------------------------------------------------------------------------------------------------------
def test_one_commit_replaces_all_and_is_tagged(ready, capsys):
    ready.spaces["people/rovist_nr"] = {".gitattributes": b"*", "old.py": b"x", "README.md": b"old"}
    assert push.main(["rovist_nr", "--org", "people", "--push"]) == 0
    out, err = capsys.readouterr()
    assert set(ready.spaces["people/rovist_nr"]) == {
        *(".gitattributes", "README.md", "app.py", "requirements.txt", "thumbnail.png", "rovist_nr.py"),
    }
    assert commits(ready) == ["/api/spaces/people/rovist_nr/commit/main"]
    assert ready.told["/api/spaces/people/rovist_nr/commit/main"]["summary"] == f"Release {VERSION}"
    assert ready.tags == {"people/rovist_nr": [TAG]}
    created = ready.told["/api/repos/create"]
    assert (created["organization"], created["name"], created["sdk"]) == ("people", "rovist_nr", "gradio")
    assert f"  sent: {ready.url}/spaces/people/rovist_nr/commit/" in out
    assert "hf_secret" not in out + err


def test_a_pull_request_has_no_tag(ready, small, capsys):
    assert push.main(["cider", "--org", "people", "--kind", "static", "--push", "--create-pr"]) == 0
    assert commits(ready) == ["/api/spaces/people/cider/commit/main?create_pr=1"]
    assert ready.tags == {}
    assert set(ready.spaces["people/cider"]) == {".gitattributes"}
    assert capsys.readouterr().out.endswith("/discussions/7\n")


def test_a_version_is_sent_once(ready, small, capsys):
    assert push.main(["cider", "--push"]) == 0
    assert push.main(["cider", "--push"]) == 1
    assert "vlgauge/cider" in capsys.readouterr().err
    assert len(commits(ready)) == 1


def test_a_push_that_broke_off_before_its_tag_can_be_made_again(ready, small):
    assert push.main(["cider", "--push"]) == 0
    ready.tags.clear()
    assert push.main(["cider", "--push"]) == 0
    assert ready.tags == {"vlgauge/cider": [TAG]}
    assert len(commits(ready)) == 1  # nothing had changed


def test_all_goes_on_after_a_failure_and_lists_it(ready, small, capsys):
    ready.refused = {"bleu"}
    assert push.main(["--all", "--push"]) == 1
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("push: error: bleu: the Hub: ")
    assert "denies access (status 403)" in told[0]
    assert told[1:] == [
        "push: error: trm: `trm` must be whole, got half",
        "push: 2 of 4 failed: bleu, trm",
    ]
    assert sorted(ready.tags) == ["vlgauge/cider", "vlgauge/workbench"]


def test_all_static_leaves_the_workbench_out():
    assert "workbench" in push.select_names(None, True, "gradio")
    assert "workbench" not in push.select_names(None, True, "static")


@pytest.mark.parametrize(("name", "kind"), [("rovist_nr", "gradio"), ("trm", "static")])
def test_what_was_sent_loads_from_the_hub_and_scores(ready, monkeypatch, tmp_path, capsys, name, kind):
    """Check the program of the card. trm has scripts next to its main script."""
    import evaluate

    assert push.main([name, "--org", "people", "--kind", kind, "--push"]) == 0
    address = ready.url + "/spaces/{path}/resolve/{revision}/{name}"
    monkeypatch.setattr("evaluate.config.HUB_EVALUATE_URL", address)
    monkeypatch.setattr("evaluate.config.HF_EVALUATE_OFFLINE", False)
    monkeypatch.setattr("evaluate.config.HF_EVALUATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("evaluate.config.DOWNLOADED_EVALUATE_PATH", str(tmp_path / "downloads"))
    monkeypatch.chdir(tmp_path)
    card = ready.spaces[f"people/{name}"]["README.md"].decode("utf-8")
    section = card[card.index("### From the Hub") :]
    (program, *_) = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    capsys.readouterr()
    namespace = {}
    exec(program, namespace)
    expected = vlgauge.load(name).compute(**{"return_details": False, **rows_of(program)})
    assert namespace["result"] == expected
    assert capsys.readouterr().out == f"{expected[name]} {expected[f'{name}_signature']}\n"
    asked = [path for method, path in ready.log if method == "GET" and "/resolve/" in path]
    scripts = sorted(path for path in ready.spaces[f"people/{name}"] if path.endswith(".py") and path != "app.py")
    assert sorted(path.rpartition("/")[2] for path in asked) == scripts
    assert evaluate.load(f"people/{name}").name == name
    tags = {path.split("/")[5] for _, path in ready.log if "/resolve/" in path}
    assert tags == {TAG, f"v{evaluate.__version__}", "main"}


def rows_of(program):
    """Return the columns of the call in a program."""
    found = {}
    call = re.search(r"metric\.compute(\(.*?^\))", program, re.DOTALL | re.MULTILINE)[1]
    exec(f"rows = dict{call}", found)
    return found["rows"]


# -- checkouts that may be uploaded -----------------------------------------------------------------------------------
def git(folder, *words):
    found = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return found.stdout.strip()


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A released checkout, and the repository that Spaces install from."""
    settings = tmp_path / "gitconfig"
    remote = tmp_path / "remote.git"
    settings.write_text(
        f'[user]\nname = a\nemail = a@b\n[init]\ndefaultBranch = main\n[url "{remote}"]\ninsteadOf = {REPOSITORY}\n'
    )
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    root = tmp_path / "check out ü"
    (root / "metrics" / "x").mkdir(parents=True)
    (root / "metrics" / "x" / "x.py").write_text(HINT)
    (root / "CHANGELOG.md").write_text(f"# Changelog\n\n## [Unreleased]\n\n## [{VERSION}] - 2026-11-22\n")
    git(tmp_path, "init", "--quiet", "--bare", str(remote))
    git(root, "init", "--quiet")
    committed(root)
    git(root, "tag", "-a", f"v{VERSION}", "-m", "release")
    git(root, "push", "--quiet", str(remote), "main", f"v{VERSION}")
    return root


def committed(root):
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "-m", "work")
    return git(root, "rev-parse", "HEAD")


def test_a_released_checkout_is_taken_by_tag_and_by_commit(checkout):
    before = git(checkout, "for-each-ref"), sorted(os.listdir(checkout / ".git"))
    push.check_checkout(f"v{VERSION}", checkout)
    push.check_checkout(git(checkout, "rev-parse", "HEAD"), checkout)
    git(checkout, "checkout", "--quiet", "--detach")
    push.check_checkout(f"v{VERSION}", checkout)
    assert (git(checkout, "for-each-ref"), sorted(os.listdir(checkout / ".git"))) == before


def test_all_that_is_wrong_with_a_checkout_is_told_at_once(checkout):
    (checkout / "CHANGELOG.md").write_text("## [9.9.9] - 2026-11-22\n")
    (checkout / "metrics" / "x" / "x.py").write_text(HINT.replace(f"v{VERSION}", "v9.9.9"))
    with pytest.raises(ValueError, match="got 2 changed files") as caught:
        push.check_checkout("v9.9.9", checkout)
    for told in (
        f"`--ref` must be v{VERSION} or a commit, as vlgauge is {VERSION}, got v9.9.9",
        f"CHANGELOG.md must have {VERSION} as its newest release, got 9.9.9",
        f"each `# From:` must name git+{REPOSITORY}@v{VERSION}, others are in metrics/x/x.py",
    ):
        assert told in str(caught.value)


def test_a_new_file_is_a_change_too(checkout):
    (checkout / "metrics" / "x" / "helper.py").write_text("")
    with pytest.raises(ValueError, match="got 1 changed files"):
        push.check_checkout(f"v{VERSION}", checkout)


def test_a_changelog_without_a_release_is_told(checkout):
    (checkout / "CHANGELOG.md").write_text("## [Unreleased]\n")
    committed(checkout)
    with pytest.raises(ValueError, match=rf"CHANGELOG\.md.*{VERSION}.*got no release"):
        push.check_checkout(f"v{VERSION}", checkout)


def test_a_tag_of_another_commit_is_refused(checkout):
    committed(checkout)
    with pytest.raises(ValueError, match=f"check out v{VERSION}"):
        push.check_checkout(f"v{VERSION}", checkout)


def test_what_the_repository_lacks_is_refused(checkout, tmp_path):
    commit = committed(checkout)
    with pytest.raises(ValueError, match=f"{REPOSITORY}.*no commit {commit}"):
        push.check_checkout(commit, checkout)
    git(tmp_path / "remote.git", "tag", "-d", f"v{VERSION}")
    with pytest.raises(ValueError, match=f"{REPOSITORY}.*no tag v{VERSION}"):
        push.check_checkout(f"v{VERSION}", checkout)


def test_a_folder_that_is_no_checkout_is_told(checkout, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    (tmp_path / "plain").mkdir()
    with pytest.raises(ValueError, match=r"^git status .*, got: "):
        push.check_checkout(f"v{VERSION}", tmp_path / "plain")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match=r"^git must be installed"):
        push.check_checkout(f"v{VERSION}", checkout)


def test_a_git_that_does_not_answer_is_given_up(checkout, monkeypatch):
    def hang(command, **options):
        raise subprocess.TimeoutExpired(command, options["timeout"])

    monkeypatch.setattr(push.subprocess, "run", hang)
    with pytest.raises(ValueError, match=r"^git status .*two minutes"):
        push.check_checkout(f"v{VERSION}", checkout)

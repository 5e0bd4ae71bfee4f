"""The workflow that uploads the Spaces: all of them, by the script, with the secret in that step only."""

import json
import os
import shlex
import subprocess

import assemble
import push
import yaml
from folders import ROOT


def test_a_tag_sends_every_space_by_the_script(monkeypatch):
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "spaces.yml").read_text("utf-8"))
    # "on" is a bool in YAML 1.1.
    assert workflow[True] == {"workflow_call": None, "workflow_dispatch": None}
    assert workflow["permissions"] == {"contents": "read"}
    job = workflow["jobs"]["push"]
    assert job["strategy"]["matrix"]["name"] == "${{ fromJson(needs.list.outputs.names) }}"
    assert job["strategy"]["fail-fast"] is False
    *before, last = job["steps"]
    assert last["env"] == {"HF_TOKEN": "${{ secrets.HF_TOKEN }}"}
    assert "secrets" not in str(before) + str(job["env"]) + last["run"]
    line = last["run"].replace("${{ matrix.name }}", "trm").replace("$ORG", "people").replace("$KIND", "static")
    program, script, *words = shlex.split(line.replace("$GITHUB_REF_NAME", "v0.1.0"))
    assert program == "python"
    assert (ROOT / script).is_file()
    checked = []
    monkeypatch.setattr(push, "check_online", lambda: None)
    monkeypatch.setattr(push, "check_checkout", lambda ref, root: checked.append(ref))
    monkeypatch.setattr(
        push, "assemble_space", lambda name, **chosen: {"README.md": f"---\nsdk: {chosen['kind']}\n---\n".encode()}
    )
    monkeypatch.setattr(push, "send", lambda *sent, **chosen: checked.append((*sent[:2], chosen)) or "there")
    assert push.main(words) == 0
    assert checked == ["v0.1.0", ("people/trm", "static", {"create_pr": False})]


def test_the_spaces_are_those_of_the_checkout(tmp_path):
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "spaces.yml").read_text("utf-8"))
    line = workflow["jobs"]["list"]["steps"][-1]["run"]
    told = tmp_path / "output"
    subprocess.run(["bash", "-c", line], cwd=ROOT, env={**os.environ, "GITHUB_OUTPUT": str(told)}, check=True)
    key, _, names = told.read_text().partition("=")
    assert key == "names"
    assert json.loads(names) == assemble.space_names()


def test_a_tag_starts_one_workflow_whose_jobs_wait_for_the_tests():
    read = {
        path.stem: yaml.safe_load(path.read_text("utf-8")) for path in (ROOT / ".github" / "workflows").glob("*.yml")
    }
    by_tag = [name for name, one in read.items() if "tags" in str((one[True] or {}).get("push"))]
    assert by_tag == ["release"]
    jobs = read["release"]["jobs"]
    assert [(name, job.get("needs"), job.get("uses")) for name, job in jobs.items()] == [
        ("tests", None, "./.github/workflows/ci.yml"),
        ("package", "tests", None),
        ("spaces", "package", "./.github/workflows/spaces.yml"),
        ("docs", "package", "./.github/workflows/docs.yml"),
    ]
    for job in jobs.values():
        called = read.get(job.get("uses", "").rpartition("/")[2].removesuffix(".yml"))
        assert called is None or "workflow_call" in called[True]
    # The caller of a workflow must grant the permissions of the called one.
    publishing = read["docs"]["jobs"]["publish"]["permissions"]
    assert publishing.items() <= jobs["docs"]["permissions"].items()
    assert jobs["package"]["permissions"]["id-token"] == "write"
    assert any(step.get("run") == "make release RELEASE_ARGS=--dated" for step in jobs["package"]["steps"])

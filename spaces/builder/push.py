"""Send Spaces to the Hub, one commit each. Without --push, everything is printed, but no request is made.

The token is the token of the Hub's client (`hf auth login`, or the variable HF_TOKEN). It cannot be passed as an
argument.
"""

import argparse
import hashlib
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml
from assemble import ROOT, add_options, assemble_space, check_org, check_ref, select_names

import vlgauge
from vlgauge.checkpoints.hub import hub_requests
from vlgauge.checkpoints.hub.proposals import check_online
from vlgauge.cli import plain_warnings
from vlgauge.core.errors import NetworkError
from vlgauge.families.base.metric import REPOSITORY

# Exceptions of one Space, after which the others are still sent.
_ERRORS = (ValueError, OSError, ImportError, RuntimeError)
# Keys of the front matter that differ from the card of the repository.
_STAMPED = ("sdk", "sdk_version", "python_version", "app_file", "models", "preload_from_hub", "hf_oauth")
_HINT = re.compile(r"# From: (.*)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Send or show Spaces.

    Returns:
        0, 1 if some Spaces failed, or 2 if none could be attempted.
    """
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_options(parser)
    parser.add_argument("--push", action="store_true", help="push the Space (default: only list the files)")
    parser.add_argument("--create-pr", action="store_true", help="as a pull request, without a tag")
    options = parser.parse_args(arguments)
    try:
        names = select_names(options.name, options.all, options.kind)
        check_ref(options.ref)
        check_org(options.org)
        if options.push:
            check_online()
            check_checkout(options.ref, ROOT)
    except _ERRORS as error:
        return _print_error(error, 2)
    failed = []
    for name in names:
        try:
            with plain_warnings("push"):
                files = assemble_space(name, kind=options.kind, ref=options.ref, org=options.org)
            print("\n".join(describe_upload(f"{options.org}/{name}", options.kind, options.ref, files)), flush=True)
            if options.push:
                where = send(f"{options.org}/{name}", options.kind, files, create_pr=options.create_pr)
                print(f"  sent: {where}", flush=True)
        except _ERRORS as error:
            _print_error(error, 1, f" {name}:")
            failed.append(name)
    if failed:
        sys.stderr.write(f"push: {len(failed)} of {len(names)} failed: {', '.join(failed)}\n")
    return 1 if failed else 0


# -- Checks before anything is sent -----------------------------------------------------------------------------------
def check_checkout(ref: str, root: Path) -> None:
    """Check that the checkout equals the tag or commit.

    Raises:
        ValueError: If files are changed, versions differ, or the tag or commit in the repository does not exist or is
            not checked out. All local errors are reported together.
    """
    version = vlgauge.__version__
    wrong = []
    if changed := _git(root, "status", "--porcelain"):
        wrong.append(f"the work tree must be clean, got {len(changed.splitlines())} changed files")
    if ref.startswith("v") and ref != f"v{version}":
        wrong.append(f"`--ref` must be v{version} or a commit, as vlgauge is {version}, got {ref}")
    wrong += runpy.run_path(str(ROOT / "scripts" / "check_release.py"))["version_faults"](root)
    if wrong:
        raise ValueError("; ".join(wrong))
    _check_remote(ref, root)


def _check_remote(ref: str, root: Path) -> None:
    """Check that `ref` names the checked out commit in the repository that Spaces install from.

    Raises:
        ValueError: If it does not.
    """
    here = _git(root, "rev-parse", "HEAD")
    there = _commit_of(ref, root) if ref.startswith("v") else ref
    if there != here:
        raise ValueError(f"`--ref` must be the commit that is checked out, {here}, got {there}; check out {ref}")
    if there == ref:
        _check_commit(ref)


def _commit_of(tag: str, root: Path) -> str:
    """Return the commit of a tag in the repository.

    Raises:
        ValueError: If the tag does not exist.
    """
    # An annotated tag is a separate object. The line with ^{} has its commit.
    lines = [line.split("\t") for line in _git(root, "ls-remote", REPOSITORY, f"refs/tags/{tag}*").splitlines()]
    tags = {name.removeprefix("refs/tags/"): commit for commit, name in lines}
    found = tags.get(f"{tag}^{{}}", tags.get(tag))
    if found is None:
        raise ValueError(f"`--ref` must be at {REPOSITORY}, which has no tag {tag}; push the tag first")
    return found


def _check_commit(commit: str) -> None:
    """Check that a commit exists in the repository.

    Raises:
        ValueError: If it does not.
    """
    # Fetch into an empty repository, because git does not request commits that exist locally.
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder)
        _git(empty, "init", "--quiet", "--bare")
        try:
            _git(empty, "fetch", "--quiet", "--no-tags", "--depth=1", REPOSITORY, commit)
        except ValueError as error:
            raise ValueError(f"`--ref` must be at {REPOSITORY}, which has no commit {commit}; push it first") from error


def _git(root: Path, *arguments: str) -> str:
    """Run git and return its output.

    Raises:
        ValueError: If git is not installed, the folder is not a checkout, or git fails.
    """
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        command = ["git", "-C", str(root), *arguments]
        found = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=120)
    except FileNotFoundError as error:
        raise ValueError("git must be installed to send a Space, and was not found") from error
    except subprocess.TimeoutExpired as error:
        raise ValueError(f"git {arguments[0]} must answer within two minutes, and did not") from error
    if found.returncode:
        said = " ".join(found.stderr.split())[:300]
        raise ValueError(f"git {arguments[0]} must succeed in a checkout of the repository, got: {said}")
    return found.stdout.strip()


# -- Output and upload ------------------------------------------------------------------------------------------------
def describe_upload(repository: str, kind: str, ref: str, files: Mapping[str, bytes]) -> list[str]:
    """Return the files of a Space with size and digest, and the lines that differ from the repository."""
    lines = [f"{repository} ({kind}) at {ref}"]
    for path, content in files.items():
        lines.append(f"  {path}  {len(content):,} bytes  sha256 {hashlib.sha256(content).hexdigest()}")
    facts = yaml.safe_load(files["README.md"].decode("utf-8").split("---\n")[1])
    lines += [f"  README.md: {key}: {json.dumps(facts[key])}" for key in _STAMPED if key in facts]
    if "requirements.txt" in files:
        lines.append(f"  requirements.txt: {files['requirements.txt'].decode('utf-8').strip()}")
    hints = {
        found for path, content in files.items() if path.endswith(".py") for found in _HINT.findall(content.decode())
    }
    return lines + [f"  # From: {hint}" for hint in sorted(hints)]


def send(repository: str, kind: str, files: Mapping[str, bytes], *, create_pr: bool = False) -> str:
    """Replace the files of a Space in one commit, tag it, and return the URL of the commit.

    Raises:
        NetworkError: If the Hub rejects the request or does not respond.
        ValueError: If this version was sent before.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    version = vlgauge.__version__
    # `evaluate` looks for the tag of its own version (v0.4.6) in a Space before it uses the newest commit.
    tag = f"release-{version}"
    api = HfApi()
    with hub_requests():
        api.create_repo(repository, repo_type="space", space_sdk=kind, exist_ok=True)
        if tag in [one.name for one in api.list_repo_refs(repository, repo_type="space").tags] and not create_pr:
            raise ValueError(f"{repository} must not have the tag {tag} yet; releases cannot be changed")
        there = api.list_repo_files(repository, repo_type="space")
        gone = [path for path in there if path not in files and path != ".gitattributes"]
        commit = api.create_commit(
            repository,
            # `upload_folder` may split a folder into several commits.
            [
                *(CommitOperationDelete(path_in_repo=path) for path in gone),
                *(CommitOperationAdd(path_in_repo=path, path_or_fileobj=content) for path, content in files.items()),
            ],
            commit_message=f"Release {version}",
            repo_type="space",
            create_pr=create_pr,
        )
        if not create_pr:
            api.create_tag(repository, tag=tag, revision=commit.oid, repo_type="space")
    return str(commit.pr_url or commit.commit_url)


def _print_error(error: Exception, status: int, where: str = "") -> int:
    """Print an error as one line on standard error, and return `status`."""
    text = str(error) if not isinstance(error, NetworkError) else f"the Hub: {error}"
    sys.stderr.write(f"push: error:{where} {' '.join(text.split())}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())

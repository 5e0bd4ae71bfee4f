"""Project files that GitHub shows besides the code, and the page about publishing."""

import re

import pytest
import yaml
from folders import ROOT

import vlgauge

GITHUB = ROOT / ".github"
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
PUBLISHING = (ROOT / "docs" / "publishing.md").read_text("utf-8")


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_for_what_it_needs(path):
    form = yaml.safe_load(path.read_text("utf-8"))
    assert {"name", "description", "labels", "body"} <= set(form)
    parts = [part for part in form["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in parts}) == len(parts)
    assert any(part.get("validations", {}).get("required") for part in parts)
    assert all(part["type"] in ("input", "textarea", "checkboxes") for part in parts)


def test_the_citation_has_the_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == vlgauge.__version__
    assert citation["cff-version"] == "1.2.0"


def test_security_and_conduct_say_where_to_report():
    for name in ("SECURITY.md", "CODE_OF_CONDUCT.md"):
        assert "Report a vulnerability" in (ROOT / name).read_text("utf-8")


def test_the_page_names_every_secret_variable_and_environment_of_the_workflows():
    texts = [path.read_text("utf-8") for path in sorted((GITHUB / "workflows").glob("*.yml"))]
    named = {name for text in texts for name in re.findall(r"\b(?:secrets|vars)\.(\w+)", text)}
    assert named == {"HF_TOKEN", "HF_ORG", "SPACES_KIND"}
    environments = {name for text in texts for name in re.findall(r"^ +environment: (\S+)$", text, re.MULTILINE)}
    assert environments == {"release", "github-pages"}
    assert [name for name in named | environments if f"`{name}`" not in PUBLISHING] == []


def test_the_commands_of_the_page_are_there():
    for script in re.findall(r"python ((?:scripts|spaces/builder)/\w+\.py)", PUBLISHING):
        assert (ROOT / script).is_file(), script
    targets = re.findall(r"`make ([a-z]+)", PUBLISHING)
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert {"release", "lowest", "newest", "check", "test"} <= set(targets)
    assert [target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []

"""Graphs of the Java program of SPICE's authors: the call, with a replacement of the program, and missing files.

No test runs the program, because the models of its parser are not available from a package index.
"""

import json
import os
import pickle
import shutil
import sys

import pytest
import spice_stand_in

import vlgauge
from vlgauge.checkpoints.files import SourcesMissingError
from vlgauge.core.errors import UsageError, UsageTypeError
from vlgauge.families.scene_graphs import SpiceProgram, spice_program

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the stand-in is a script with the name of its interpreter")
CAPTIONS = ["a red bus near a dog", "two dogs"]
REFERENCES = [["a brown dog", "bus on street"], ["a red bus near a dog"]]


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    """Remove the graphs of other tests."""
    monkeypatch.setattr(spice_program, "_GRAPHS", type(spice_program._GRAPHS)(1000))


@pytest.fixture
def java(tmp_path):
    return spice_stand_in.write_java(tmp_path)


@pytest.fixture
def jars(tmp_path):
    return spice_stand_in.write_jars(tmp_path / "spice")


def runs(folder):
    """Return the command lines of the program so far."""
    path = folder / "runs"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []


def loaded(java, jars, **settings):
    return vlgauge.load(
        "spice", parser="spice-1.0", java=java, jars=jars, keep_in_memory=True, progress=False, **settings
    )


def test_graphs_are_what_the_program_writes(java, jars):
    graph, other = SpiceProgram(java, jars).graphs(["red bus near café", "brown dog/cat"])
    assert set(graph.tuples) == {("bus",), ("café",), ("bus", "red"), ("bus", "near", "café")}
    assert set(other.tuples) == {("dog/cat",), ("dog/cat", "brown")}


def test_one_run_for_all_captions_and_none_for_known_ones(java, jars, tmp_path):
    metric = loaded(java, jars)
    first = metric.compute(predictions=CAPTIONS, references=REFERENCES)
    assert len(runs(tmp_path)) == 1
    assert metric.compute(predictions=CAPTIONS, references=REFERENCES) == first
    # Nor by another instance, nor for a caption without words.
    assert loaded(java, jars).compute(predictions=["two dogs", " "], references=[["a brown dog"], ["two dogs"]])
    assert len(runs(tmp_path)) == 1
    metric.compute(predictions=["a cat"], references=[["two dogs"]])
    assert len(runs(tmp_path)) == 2
    given = runs(tmp_path)[0]
    assert given[:3] == ["-Dfile.encoding=UTF-8", "-Xmx8G", "-jar"]
    assert not os.path.exists(given[4])


def test_scores_are_those_of_the_same_graphs_given(java, jars):
    own = SpiceProgram(java, jars)
    graphs = {"predictions": own.graphs(CAPTIONS), "references": [own.graphs(one) for one in REFERENCES]}
    metric = loaded(java, jars)
    found = metric.compute(predictions=CAPTIONS, references=REFERENCES)
    wanted = metric.compute(predictions=CAPTIONS, references=REFERENCES, graphs=graphs)
    assert found["spice_scores"] == wanted["spice_scores"]
    assert 0 < found["spice"] < 1


def test_the_signature_names_the_program_and_its_models(java, jars, tmp_path):
    signatures = [
        loaded(java, folder, profile=profile).compute(predictions=["a dog"], references=[["a dog"]])["spice_signature"]
        for folder in (jars, spice_stand_in.write_jars(tmp_path / "other", "2"))
        for profile in ("paper", "embedded")
    ]
    assert signatures[0] == signatures[1] != signatures[2] == signatures[3]
    digest = spice_program.sha256_of(jars / "spice-1.0.jar")[:8]
    assert f"|profile:paper|parser:spice-1.0@{digest}+corenlp-3.6.0@" in signatures[0]


def test_a_metric_survives_pickling(java, jars):
    metric = pickle.loads(pickle.dumps(loaded(java, jars)))
    assert metric.compute(predictions=["a dog"], references=[["a dog"]])["spice"] == 1.0


@pytest.mark.parametrize(
    ("caption", "message"),
    [
        (
            "fail",
            r"spice-1\.0\.jar.*OutOfMemoryError",
        ),
        ("lose a", r"spice-1\.0\.jar.*2 captions.*KeyError"),
    ],
)
def test_a_program_that_fails(java, jars, caption, message):
    with pytest.raises(UsageError, match=message):
        SpiceProgram(java, jars).graphs(["a dog", caption])


# -- Missing files -----------------------------------------------------------------------------------------------------
def refused(metric, message):
    with pytest.raises(SourcesMissingError, match=message):
        metric.compute(predictions=["a dog"], references=[["a dog"]])


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ('openjdk version "17.0.15" 2025-04-15', r".*Java 8 to 14.*Java 17"),
        ('java version "1.7.0_80"', r".*Java 8 to 14.*Java 7"),
        ("nothing", r".*Java 8 to 14"),
    ],
)
def test_other_versions_of_java(tmp_path, jars, version, message):
    refused(loaded(spice_stand_in.write_java(tmp_path, version), jars), f"^`java` {message}")
    assert not runs(tmp_path)


@pytest.mark.parametrize("version", ['java version "1.8.0_301"', 'openjdk version "14" 2020-03-17'])
def test_versions_of_java_that_do(tmp_path, version):
    assert spice_program.find_java(spice_stand_in.write_java(tmp_path, version))


def test_everything_is_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(spice_program, "find_spec", lambda name: None)
    metric = loaded(tmp_path / "no_java", None)
    refused(metric, r"(?s)`java`.*spice-1\.0\.jar.*1\.2")  # fmt: skip


def test_jars_without_what_is_downloaded(java, jars):
    (jars / "lib/stanford-corenlp-3.6.0-models.jar").unlink()
    refused(loaded(java, jars), r'^`parser="spice-1\.0"`.*lib/stanford-corenlp-3\.6\.0-models\.jar')


def test_jars_without_a_library(java, jars):
    (jars / "lib/Meteor-1.5.jar").unlink()
    refused(loaded(java, jars), r"^`jars`.*spice-1\.0\.jar.*lib/Meteor")


def test_the_installed_package_is_found_without_importing_it(java, jars, tmp_path, monkeypatch):
    package = tmp_path / "site" / "pycocoevalcap"
    shutil.copytree(jars, package / "spice")
    (package / "__init__.py").write_text("raise AssertionError('imported')", "utf-8")
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.delitem(sys.modules, "pycocoevalcap", raising=False)
    assert loaded(java, None).compute(predictions=["a dog"], references=[["a dog"]])["spice"] == 1.0


@pytest.mark.parametrize("path", ["x" * 5000, "\0", "~nobody/here", ""])
def test_paths_that_no_system_takes(path):
    refused(
        loaded(path, path),
        r"(?s)`java`.*`jars`",
    )


def test_given_graphs_need_no_java(tmp_path):
    graphs = {"predictions": ["( dog )"], "references": [["( dog )"]]}
    found = loaded(tmp_path / "no_java", None).compute(predictions=["a"], references=[["b"]], graphs=graphs)
    assert found["spice"] == 1.0


def test_settings_that_do_not_fit():
    with pytest.raises(UsageError, match=r'^`jars`.*`parser`.*"spice-1\.0"'):
        vlgauge.load("spice", jars="folder")
    with pytest.raises(UsageTypeError, match=r"^`java`.*got None"):
        vlgauge.load("spice", parser="spice-1.0", java=None)
    with pytest.raises(UsageError, match=r'^`parser`.*"rules".*"spice-1\.0"'):
        vlgauge.load("spice", parser="spice")
    for other in ("soft_spice", "capture"):
        with pytest.raises(UsageError, match=r'`parser` must be "rules", "factual", .*, got'):
            vlgauge.load(other, parser="spice-1.0")

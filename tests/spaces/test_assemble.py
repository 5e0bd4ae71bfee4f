"""Contents of a Space: every metric in both kinds, the same bytes each time, and no references to missing files."""

import hashlib
import io
import json
import re
import shutil

import assemble
import pytest
import static_page
import yaml
from axe import violations
from browser import FAINT, NAMELESS, check_layout, opened
from demo_page import Elements
from folders import BUILDER, ROOT
from metric_checks import EXTRAS
from packaging.requirements import Requirement
from PIL import Image

import vlgauge
from vlgauge.api.prefetch.assets import HubFiles, hub_files_of
from vlgauge.core.catalog import metric_folder, metric_names
from vlgauge.explain.examples import ROLES
from vlgauge.families.base.metric import REPOSITORY
from vlgauge.inputs.tables.files import read_rows

COMMIT = "0123456789abcdef0123456789abcdef01234567"
# The others require models, and several minutes.
CHEAP = ("rovist_nr", "trm", "clip_s")
KINDS = {
    "gradio": {"README.md", "app.py", "requirements.txt", "thumbnail.png"},
    "static": {"README.md", "index.html", "thumbnail.png"},
}

DIGESTS = """
import hashlib, runpy
sys.path.insert(0, {builder!r})
import assemble
for name in {probes!r}:
    for path, content in assemble.assemble_space(name).items():
        print(name, path, hashlib.sha256(content).hexdigest())
assert assemble.main(["rovist_nr", "--kind", "static", "--out", "a room/für rovist"]) == 0
"""


@pytest.fixture(scope="module")
def spaces():
    return {name: assemble.assemble_space(name) for name in assemble.space_names()}


@pytest.fixture(scope="module")
def static():
    """Return a function that assembles static Spaces on request."""
    made = {}

    def of(name):
        if name not in made:
            made[name] = assemble.assemble_space(name, kind="static")
        return made[name]

    return of


def front(files):
    _, matter, body = files["README.md"].decode("utf-8").split("---\n", 2)
    return yaml.safe_load(matter), body


STATIC = [pytest.param(name, marks=() if name in CHEAP else pytest.mark.slow) for name in metric_names()]


# -- a Space that runs the app ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", metric_names())
def test_a_gradio_space_has_the_scripts_of_the_metric_and_the_app(spaces, name):
    files = spaces[name]
    # Its explanation and the reference code of tests come with the package.
    scripts = {path.name for path in metric_folder(name).glob("*.py") if not path.stem.startswith("reference")}
    scripts -= {"__init__.py", "corpus_counts.py", "explanation.py"}
    assert set(files) == KINDS["gradio"] | scripts
    for script in scripts:
        assert files[script] == (metric_folder(name) / script).read_bytes()
    assert files["app.py"] == assemble.app_of(name).encode()


def test_the_workbench_has_no_scripts(spaces):
    assert set(spaces["workbench"]) == KINDS["gradio"]


@pytest.mark.parametrize("name", [*metric_names(), "workbench"])
def test_front_matter_has_what_the_hub_wants(spaces, name):
    facts, body = front(spaces[name])
    assert (facts["sdk"], facts["app_file"], facts["pinned"]) == ("gradio", "app.py", False)
    assert f"\ngradio=={facts['sdk_version']}\n" in (ROOT / "constraints.txt").read_text()
    assert facts["python_version"] == "3.12"
    assert facts["suggested_hardware"] == "cpu-basic"
    assert facts["hf_oauth"] is True
    assert facts["hf_oauth_scopes"] == ["gated-repos"]
    assert len(facts["short_description"]) <= 60
    assert facts["license"] == "apache-2.0"
    assert facts["tags"][:2] == ["evaluate", "metric"]
    assert list(facts) == sorted(facts, key=assemble.card.KEYS.index)
    assert "## Limitations and Bias" in body


@pytest.mark.parametrize("name", metric_names())
def test_models_are_those_of_the_asset_manifest(spaces, name):
    facts, _ = front(spaces[name])
    needed = hub_files_of(name)
    assert facts["models"][: len(needed)] == [one.repository for one in needed]
    for line in facts.get("preload_from_hub", ()):
        repository, files, commit = line.split(" ")
        assert [(one.repository, ",".join(one.patterns), one.revision) for one in needed].count(
            (repository, files, commit)
        ) == 1
        assert re.fullmatch(r"[0-9a-f]{40}", commit)
        assert "*" not in files


def test_what_is_not_pinned_or_not_named_is_not_fetched_beforehand():
    files = [
        HubFiles("o/newest", None, ("a.json",), ()),
        HubFiles("o/some", COMMIT, ("*.json",), ()),
        HubFiles("o/known", COMMIT, ("a.json", "b.bin"), ()),
    ]
    assert assemble.card.preloads(files) == [f"o/known a.json,b.bin {COMMIT}"]


def test_what_is_fetched_beforehand(spaces):
    found = {name: front(files)[0].get("preload_from_hub", []) for name, files in spaces.items()}
    assert {name for name, lines in found.items() if lines} == {"bertscore", "clip_s", "pac_s", "polos", "groovist"}
    assert found["groovist"][0].startswith("timm/vit_base_patch32_clip_224.openai open_clip_model.safetensors ")


@pytest.mark.parametrize("name", [*metric_names(), "workbench"])
def test_the_requirement_is_one_line_whose_extras_exist(spaces, name):
    (line,) = spaces[name]["requirements.txt"].decode().splitlines()
    requirement = Requirement(line)
    assert requirement.extras == {name.replace("_", "-") if name != "workbench" else "all", "workbench"}
    assert requirement.extras <= EXTRAS
    assert requirement.url == f"git+{REPOSITORY}@v{vlgauge.__version__}"


def test_another_ref_and_another_organisation_are_everywhere(spaces):
    files = assemble.assemble_space("rovist_nr", ref=COMMIT, org="my-people")
    text = b"".join(content for path, content in files.items() if path != "thumbnail.png").decode()
    assert f"@{COMMIT}" in files["rovist_nr.py"].decode()
    assert f"git+{REPOSITORY}@v" not in text
    assert 'evaluate.load("my-people/rovist_nr"' in text
    assert "vlgauge/rovist_nr" not in text
    assert set(files) == set(spaces["rovist_nr"])


# -- the card ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", metric_names())
def test_the_card_stands_by_itself(spaces, name):
    _, body = front(spaces[name])
    assert [link for link in re.findall(r"\]\(([^)]+)\)", body) if not link.startswith(("https://", "#"))] == []
    assert "/README.md)" not in body
    assert '"metrics/' not in body
    assert "vlgauge.load(" not in body
    assert "evaluate.load(" not in body or re.search(r"^import evaluate$", body, re.MULTILINE)
    assert "from the Hub" not in body.replace("from the Hub,", "").replace("from the Hub;", "") or name in body
    assert body.count("### From the Hub") == body.count("### Through the API") == 1
    assert body.index("## How to Use") < body.index("### From the Hub") < body.index("### Inputs")


@pytest.mark.filterwarnings("ignore:CIDEr-D takes document frequencies")
@pytest.mark.parametrize("name", metric_names())
def test_the_calls_of_the_card_are_python_and_score(spaces, name):
    """Check that the row is valid for the metric, with a file name in place of an image."""
    _, body = front(spaces[name])
    section = body[body.index("### From the Hub") : body.index("### Inputs")]
    load, call = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    compile(load, name, "exec")
    compile(call, name, "exec")
    row = {}
    exec("dict = dict\nrow = dict" + re.search(r"metric\.compute(\(.*?^\))", load, re.DOTALL | re.MULTILINE)[1], row)
    metric = vlgauge.load(name, "demo" if '"demo"' in load else None)
    assert set(row["row"]) <= {column.name for column in metric.columns}
    assert {column.name for column in metric.columns if not column.optional} - {"videos"} <= set(row["row"])
    if "images" not in row["row"] and "prefetch" not in section:
        result = metric.compute(**row["row"])
        assert result[f"{name}_undefined"] == 0


def test_a_static_space_is_called_through_the_workbench():
    section = assemble.calls.section("rovist_nr", "static", "people", "v0.1.0")
    assert section.count("https://people-workbench.hf.space/") == 3
    own = assemble.calls.section("rovist_nr", "gradio", "people", "v0.1.0")
    assert own.count("https://people-rovist-nr.hf.space/") == 3
    assert "workbench" not in own


def test_front_matter_that_the_hub_would_refuse_is_told_at_once(tmp_path):
    path = tmp_path / "README.md"
    good = (metric_folder("rovist_nr") / "README.md").read_text("utf-8")
    bad = good.replace("colorFrom: blue", "colorFrom: mauve").replace("emoji: 🔁", "emoji: ab")
    bad = re.sub("short_description: .*", f"short_description: {'x' * 61}", bad).replace("- evaluate\n", "")
    path.write_text(bad, encoding="utf-8")
    with pytest.raises(ValueError, match="front matter of") as caught:
        assemble.card.read_card(path)
    for told in ("`colorFrom`, one of", "`emoji`, a single one", "at most 60 characters, got 61", "`tags` that begin"):
        assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# No front matter\n", "begin with front matter"),
        ("---\ntitle: x\n", "begin with front matter"),
        ("---\ntitle: [x\n---\n", "must be YAML: "),
        ("---\n- title\n---\n", "got list"),
        ("---\ntitle: x\n---\n", r"`emoji`.*`tags`"),
    ],
)
def test_a_card_without_proper_front_matter_is_refused(tmp_path, text, message):
    (tmp_path / "README.md").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        assemble.card.read_card(tmp_path / "README.md")


def test_a_card_without_headings_has_no_place_for_the_section():
    with pytest.raises(ValueError, match=r"Inputs.*Limitations and Bias"):
        assemble.card.insert_section("# Card\n", "### From the Hub\n")


def test_constraints_without_gradio_are_refused(tmp_path):
    (tmp_path / "constraints.txt").write_text("gradio_client==2\n")
    with pytest.raises(ValueError, match="gradio==VERSION, got none"):
        assemble.card.gradio_version(tmp_path / "constraints.txt")


def test_an_extra_that_does_not_exist_is_refused(tmp_path):
    (tmp_path / "setup.cfg").write_text("[options.extras_require]\nworkbench =\n")
    with pytest.raises(ValueError, match=r"rovist-nr, lacks it"):
        assemble.requirement("rovist_nr", "v0.1.0", tmp_path)


# -- a Space that shows a page ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", STATIC)
def test_a_static_space_has_a_page_that_asks_for_nothing(static, name):
    files = static(name)
    scripts = {path.name for path in metric_folder(name).glob("*.py")} - {
        "__init__.py",
        "corpus_counts.py",
        "explanation.py",
        "reference.py",
        "reference_2007.py",
    }
    assert {path for path in files if not path.startswith("examples/")} == KINDS["static"] | scripts
    facts, _ = front(files)
    assert (facts["sdk"], facts["app_file"]) == ("static", "index.html")
    assert not {"sdk_version", "python_version", "preload_from_hub", "suggested_hardware", "hf_oauth"} & set(facts)
    page = files["index.html"].decode("utf-8")
    elements = Elements(page)
    assert {tag for tag, _ in elements.found}.isdisjoint({"script", "link", "iframe", "object", "embed", "base"})
    for tag, attributes in elements.found:
        assert not any(key.startswith("on") for key in attributes)
        assert attributes.get("src", "data:image/").startswith("data:image/")
        if tag == "a" and not attributes["href"].startswith("#"):
            assert attributes["href"].startswith("https://")
            assert (attributes["target"], attributes["rel"]) == ("_blank", "noopener")
    assert "@import" not in page
    assert "url(" not in page
    assert len(page) < 500_000


@pytest.mark.parametrize("name", STATIC)
def test_the_page_has_four_examples_the_card_and_the_ways_on(static, name):
    page = static(name)["index.html"].decode("utf-8")
    shown = re.findall(r'<article class="res (\w+)"', page)
    assert shown == re.findall(r'name="example" value="(\w+)"', page) == list(ROLES)
    assert page.count('<h2 class="finding">') == page.count('<figure class="scale">') == 4
    assert f'evaluate.load("vlgauge/{name}")' in page
    assert f'href="https://huggingface.co/spaces/vlgauge/workbench?metric={name}"' in page
    assert page.count("<h1>") == 1
    assert "<h3>Limitations and Bias</h3>" in page
    ids = [attributes["id"] for _, attributes in Elements(page).found if "id" in attributes]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", STATIC)
def test_the_rows_of_the_page_are_there_with_their_scores(static, name, tmp_path):
    files = static(name)
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(content)
    rows = read_rows(str(tmp_path / "examples" / "examples.jsonl"))
    assert len(rows) == 4
    named = {
        path
        for row in rows
        for path in ([row["images"]] if isinstance(row.get("images"), str) else row.get("images", []))
    }
    assert named == {path.name for path in (tmp_path / "examples").glob("*.png")}
    for row in rows:
        assert row["signature"].startswith(f"{name}|v:{vlgauge.__version__}|")
        assert isinstance(row["score"], float)


def test_rows_without_images_score_again_as_they_did(static):
    rows = [json.loads(line) for line in static("rovist_nr")["examples/examples.jsonl"].splitlines()]
    result = vlgauge.load("rovist_nr", profile="embedded").compute(predictions=[row["predictions"] for row in rows])
    assert [row["score"] for row in rows] == pytest.approx(result["rovist_nr_scores"], rel=1e-5)
    assert result["rovist_nr_signature"] == rows[0]["signature"]


def test_a_demo_model_is_named_next_to_its_numbers(static):
    assert "A small demo model replaces the published model" in static("clip_s")["index.html"].decode("utf-8")
    assert 'class="demo-tag"' not in static("rovist_nr")["index.html"].decode("utf-8")


def test_markup_in_a_card_is_shown_and_not_obeyed():
    found = static_page.as_html(
        '<script>alert(1)</script> [x](javascript:alert(1)) <img src="http://x/y.png">\n\n| a |\n|---|\n| b |\n'
    )
    assert "<script" not in found
    assert "<img" not in found
    assert 'href="javascript' not in found
    assert '<div class="scroll" tabindex="0"><table>' in found


@pytest.mark.parametrize("name", [*metric_names(), "workbench"])
def test_the_thumbnail_is_where_the_front_matter_says(spaces, name):
    facts, _ = front(spaces[name])
    assert facts["thumbnail"] == f"https://huggingface.co/spaces/vlgauge/{name}/resolve/main/thumbnail.png"
    with Image.open(io.BytesIO(spaces[name]["thumbnail.png"])) as image:
        assert image.size == (1200, 630)
    assert len(spaces[name]["thumbnail.png"]) < 50_000


def test_long_titles_and_questions_stay_on_the_thumbnail():
    with Image.open(io.BytesIO(assemble.thumbnail.thumbnail("Very long title " * 2, "word " * 30))) as image:
        grey = image.convert("L")
    # The margins are free of ink.
    assert grey.crop((1130, 0, 1200, 630)).getextrema()[0] > 250
    assert grey.crop((0, 0, 80, 630)).getextrema()[0] > 250
    assert grey.crop((90, 200, 1100, 400)).getextrema()[0] < 100


@pytest.mark.browser
def test_examples_are_chosen_from_the_keyboard(static, chromium, tmp_path):
    path = tmp_path / "trm.html"
    path.write_bytes(static("trm")["index.html"])
    with opened(chromium, path, 1280) as (page, _):
        for _ in range(10):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.type") == "radio":
                break
        outline = "getComputedStyle(document.activeElement.closest('.card')).outlineStyle"
        assert page.evaluate(outline) == "solid"
        for key, shows in (("ArrowRight", "wrong"), ("ArrowRight", "missed"), ("ArrowLeft", "wrong")):
            page.keyboard.press(key)
            assert page.evaluate(
                "[...document.querySelectorAll('.res')].filter(one => one.offsetHeight).map(one => one.classList[1])"
            ) == [shows]
        # On paper all four are below each other.
        page.emulate_media(media="print")
        assert page.evaluate("[...document.querySelectorAll('.res')].filter(one => one.offsetHeight).length") == 4


@pytest.mark.browser
def test_the_page_fits_wide_and_narrow(static, chromium, tmp_path):
    for name, width, scheme in (("trm", 390, "light"), ("clip_s", 1280, "dark")):
        path = tmp_path / f"{name}.html"
        path.write_bytes(static(name)["index.html"])
        with opened(chromium, path, width, scheme) as (page, asked):
            assert page.evaluate(FAINT) == []
            assert page.evaluate(NAMELESS) == []
            assert violations(page) == []
            check_layout(page, asked, path, width)


# -- folders and arguments --------------------------------------------------------------------------------------------
def test_another_process_makes_the_same_bytes(spaces, static, run_python, tmp_path):
    # One without models, one with the most models, one with two configurations, and one without a metric.
    probes = ("rovist_nr", "groovist", "onlystyle", "workbench")
    printed = run_python(DIGESTS.format(builder=str(BUILDER), probes=probes), cwd=tmp_path, PYTHONHASHSEED="7")
    for name in probes:
        for path, content in spaces[name].items():
            assert f"{name} {path} {hashlib.sha256(content).hexdigest()}\n" in printed
    made = {path.relative_to(tmp_path / "a room" / "für rovist").as_posix(): path for path in tmp_path.rglob("*.*")}
    assert {name: path.read_bytes() for name, path in made.items() if path.is_file()} == static("rovist_nr")


def test_a_folder_is_filled_and_filled_again_by_the_other_kind(static, tmp_path, capsys):
    out = tmp_path / "space"
    assemble.write_folder(static("clip_s"), out)
    assert assemble.main(["clip_s", "--out", str(out)]) == 0
    assert {path.name for path in out.iterdir()} == KINDS["gradio"] | {"clip_s.py"}
    assert capsys.readouterr().out.startswith(f"{out}: 5 files, ")


@pytest.mark.parametrize(("kind", "names"), [("gradio", ["cider", "trm", "workbench"]), ("static", ["cider", "trm"])])
def test_all_spaces_are_assembled_below_build(monkeypatch, tmp_path, kind, names):
    monkeypatch.setattr(assemble, "ROOT", tmp_path)
    monkeypatch.setattr(assemble, "metrics_of", lambda root: ["cider", "trm"])
    monkeypatch.setattr(
        assemble, "assemble_space", lambda name, **given: {"README.md": f"{name}: {given['kind']}".encode()}
    )
    out = tmp_path / "build" / "spaces" / "cider"
    out.mkdir(parents=True)
    (out / "module_of_an_older_checkout.py").write_text("")
    assert assemble.main(["--all", "--kind", kind]) == 0
    found = {path.parent.name: path.read_text() for path in (tmp_path / "build" / "spaces").rglob("*.*")}
    assert found == {name: f"{name}: {kind}" for name in names}


def test_a_folder_with_other_files_stays_as_it_is(tmp_path, capsys):
    (tmp_path / "thesis.tex").write_text("years of work")
    assert assemble.main(["rovist_nr", "--out", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert told.startswith("assemble: error: `--out` must be a new folder, or one with a Space")
    assert "got thesis.tex" in told
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    assert assemble.main(["rovist_nr", "--out", str(tmp_path / "thesis.tex")]) == 2
    assert "got a file" in capsys.readouterr().err


def test_a_link_in_the_folder_is_not_followed(tmp_path):
    (tmp_path / "notes.md").write_text("mine")
    for name, target in (("README.md", "notes.md"), ("examples", ".")):
        out = tmp_path / f"with {name}"
        out.mkdir()
        (out / name).symlink_to(tmp_path / target)
        with pytest.raises(ValueError, match=f"got {name} in it"):
            assemble.write_folder({"README.md": b"new", "examples/examples.jsonl": b""}, out)
    assert (tmp_path / "notes.md").read_text() == "mine"
    assert not (tmp_path / "examples.jsonl").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "NAME or `--all` must be given, got neither"),
        (["--all"], "--out cannot be combined with --all"),
        (["nonsense"], "`NAME` must be one of 'aloha', "),
        (["rovist_nr", "--ref", "main"], "commit of 40 hexadecimal digits, got 'main'; a branch moves"),
        (["rovist_nr", "--ref", "0123abc"], "got '0123abc'; a branch moves"),
        (["rovist_nr", "--ref", "v1/../x"], "got 'v1/../x'; a branch moves"),
        (["rovist_nr", "--org", "a/b"], "`--org` must be the name of a user or organization of the Hub, got 'a/b'"),
        (["rovist_nr", "--org", "größe"], "`--org` must be the name"),
        (["rovist_nr", "--org", ""], "`--org` must be the name"),
        (["workbench", "--kind", "static"], "`--kind` must be gradio for workbench, got static"),
    ],
)
def test_what_cannot_be_assembled_is_one_sentence(tmp_path, capsys, words, message):
    assert assemble.main([*words, "--out", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_checkout_may_lie_anywhere(tmp_path, spaces):
    """Check a path with spaces and other letters, without git."""
    root = tmp_path / "my checkout ü"
    shutil.copytree(ROOT / "metrics", root / "metrics", ignore=shutil.ignore_patterns("__pycache__"))
    for path in ("setup.cfg", "constraints.txt"):
        shutil.copy(ROOT / path, root / path)
    assert assemble.assemble_space("rovist_nr", root=root) == spaces["rovist_nr"]

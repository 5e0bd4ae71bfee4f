"""`vlgauge protocol` with several metrics: one pass, the published rows, differences, numbers of references."""

import json
import math
import re
import warnings

import protocol_files as made
import pytest

import vlgauge
from vlgauge import scenes
from vlgauge.api import computing
from vlgauge.cli import main
from vlgauge.core.pool import pool
from vlgauge.families.aggregation import corpus_interval
from vlgauge.models.clip.towers import ClipTowers
from vlgauge.research.protocols import read_flickr8k_expert

pytestmark = pytest.mark.usefixtures("no_sockets", "few_documents")
N = 6


@pytest.fixture(autouse=True)
def few_documents():
    """Ignore the warning of CIDEr-D for a small number of rows."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "CIDEr-D takes document frequencies")
        yield


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Return a folder with Flickr8k-Expert of synthetic scenes.

    Each correct caption has two ratings, and a caption of another scene has one.
    """
    folder = tmp_path_factory.mktemp("drawn")
    shown = scenes.scenes(N, seed=5, split="test")
    content = {}
    for i, scene in enumerate(shown):
        scenes.draw_scene(scene).image.save(folder / f"{i}.png")
        own, *others = scenes.captions(scene, seed=i, n=4)
        other = scenes.captions(shown[(i + 1) % N], seed=i)[0]
        judged = [{"caption": own, "rating": 4}, {"caption": own, "rating": 3}, {"caption": other, "rating": 1}]
        content[str(i)] = {"image_path": f"{i}.png", "ground_truth": others, "human_judgement": judged}
    made.write(folder / "flickr8k.json", content)
    return folder


@pytest.fixture
def protocol(drawn, capsys, monkeypatch, tmp_path):
    """`protocol(*words)`: the output of the command for the synthetic data."""
    monkeypatch.chdir(tmp_path)

    def call(*words, code=0, name="flickr8k_expert", data=drawn):
        assert main(["protocol", name, str(data), *map(str, words)]) == code
        out, err = capsys.readouterr()
        return err if code else out

    return call


def test_six_metrics_have_the_scores_of_each_alone_and_one_pass_over_the_images(drawn, protocol, monkeypatch):
    image, passes = ClipTowers.image, []
    monkeypatch.setattr(ClipTowers, "image", lambda self, *a: passes.append(len(a[0])) or image(self, *a))
    pool.unload()
    words = ("--metric", "clip_s,pac_s", "--baselines", "--profile", "embedded", "--resamples", 0, "--format", "json")
    record = json.loads(protocol(*words))
    assert sum(passes) == N
    families = [
        "length",
        "clip_s",
        "ref_clip_s",
        "pac_s",
        "ref_pac_s",
        "bleu_1",
        "bleu_4",
        "rouge_l",
        "meteor",
        "cider",
    ]
    assert list(record) == [*families, "differences", "unscored", "left_out"]
    task = read_flickr8k_expert([drawn])
    texts = {name: task.columns[name] for name in ("predictions", "references")}
    for name in ("rouge_l", "meteor", "cider"):
        assert record[name]["scores"] == vlgauge.load(name).compute(**texts)[f"{name}_scores"]
    bleu = vlgauge.load("bleu")
    assert record["bleu_4"]["scores"] == pytest.approx(bleu.compute(**texts)["bleu_scores"], rel=1e-12)
    rows = zip(*texts.values(), strict=True)
    alone = [bleu.compute(predictions=[caption], references=[known])["bleu_1"] for caption, known in rows]
    assert record["bleu_1"]["scores"] == pytest.approx(alone, rel=1e-12)
    assert record["length"]["scores"] == [float(len(caption.split())) for caption in texts["predictions"]]
    assert len(record["differences"]) == 2 * 45


def test_parts_of_a_metric_are_no_metrics_of_their_own(protocol, tmp_path):
    words = ("--metric", "spice,capture,meteor,cider", "--profile", "embedded", "--resamples", 239, "--format")
    record = json.loads(protocol(*words, "json"))
    families = ["spice", "capture", "meteor", "cider"]
    assert list(record) == [*families, "differences", "unscored", "left_out"]
    assert len(record["differences"]) == 2 * 6
    assert "p (Holm) corrects for 6 pairs of metrics, separately" in protocol(*words, "text")
    names = ["spice", "spice_objects", "clip_s", "ref_clip_s", "ours", "ours_x"]
    made.write(tmp_path / "file.json", {f"{name}_scores": list(range(3 * N)) for name in names})
    record = json.loads(protocol("--scores", tmp_path / "file.json", "--resamples", 0, "--format", "json"))
    assert list(record)[:-3] == ["spice", "clip_s", "ref_clip_s", "ours", "ours_x"]


def test_many_pairs_take_as_many_samples_as_they_need(protocol):
    words = ("--metric", "length,meteor,cider,rouge_l,bleu")
    # With 500 samples, no p-value of 15 pairs could be below 0.05.
    told = protocol(*words, "--resamples", 500, code=2)
    assert "`resamples` must be at least 599 for 15 tests at level 0.95" in told
    assert "got 500; omit it for 1198" in told
    out = protocol("--metric", "length,cider,rouge_l", "--resamples", 119)
    assert "Differences between metrics, in 119 paired bootstrap samples" in out
    told = "p (Holm) corrects for 3 pairs of metrics, separately for each of the 2 figures; significant at 0.05."
    assert told in out.splitlines()


def test_the_published_row_stands_below_ours(protocol):
    lines = protocol("--metric", "length,meteor,cider", "--against", "cider", "--resamples", 79).splitlines()
    cider = next(i for i, line in enumerate(lines) if line.startswith("cider"))
    row = r"published: Sarto et al., 2023, Table 1 +{} \(differs by \+\d+\.\d\d\) +{} \(differs by \+\d+\.\d\d\)"
    assert re.fullmatch(row.format("43.6", "43.9"), lines[cider + 1])
    meteor = next(i for i, line in enumerate(lines) if line.startswith("meteor"))
    assert re.fullmatch(row.format("41.5", "41.8"), lines[meteor + 1])
    assert [line.split()[:4] for line in lines if re.match("tau_b +(length|meteor) - cider", line)] == [
        ["tau_b", "length", "-", "cider"],
        ["tau_b", "meteor", "-", "cider"],
    ]
    assert "length|v:0.1.0|unit:words" in lines


def test_a_pvalue_as_small_as_the_samples_can_show_is_a_bound(protocol):
    words = ("--metric", "cider,length", "--resamples")
    (told,) = [line for line in protocol(*words, 59).splitlines() if line.startswith("tau_b   length - cider")]
    assert "≤ 0.0333  ≤ 0.0333" in told
    (none,) = [line for line in protocol(*words, 0).splitlines() if line.startswith("tau_b   length - cider")]
    assert none.split()[-3:-1] == ["-", "-"]


def test_no_published_row_for_other_rules_or_demo_models(protocol):
    for words in (("--metric", "cider", "--average"), ("--metric", "clip_s", "--profile", "embedded")):
        assert "Sarto" not in protocol(*words, "--resamples", 0)
    record = json.loads(protocol("--metric", "cider", "--resamples", 0, "--format", "json"))
    (published,) = record["cider"]["published"]
    assert published["values"] == {"tau_b": 43.6, "tau_c": 43.9}
    assert all(told.startswith("differs by") for told in published["verdicts"].values())


def test_markdown(protocol):
    out = protocol("--metric", "cider,rouge_l", "--resamples", 0, "--format", "markdown")
    assert out.startswith("| metric | tau\\_b | tau\\_c | rows | images | undefined |\n| --- | ---: |")
    assert "| cider - rouge\\_l |" in out


def test_numbers_of_references(protocol, tmp_path):
    words = ("--metric", "cider,length", "--references", "none,1,all", "--resamples", 39, "--plot", "taus.svg")
    out = protocol(*words, "--output", "all.json")
    captions = [line for line in out.splitlines() if line in ("no references", "references: 1", "references: all")]
    assert captions == ["no references", "references: 1", "references: all"]
    assert out.count("not scored without references: cider") == 1
    runs = json.loads((tmp_path / "all.json").read_text("utf-8"))["by_references"]
    assert {count: run["unscored"] for count, run in runs.items()} == {"none": ["cider"], "1": [], "all": []}
    alone = json.loads(protocol("--metric", "cider", "--references", 1, "--resamples", 39, "--format", "json"))
    assert runs["1"]["cider"]["figures"] == alone["cider"]["figures"]
    assert runs["1"]["cider"]["published"] == []
    image = (tmp_path / "taus.svg").read_text("utf-8")
    assert all(f"<!-- {word} -->" in image for word in ("cider", "length", "references", "none", "tau_b"))
    against = protocol("--metric", "cider,length", "--references", "none,1", "--resamples", 0, "--against", "cider")
    assert against.count("length - cider") == 2


def test_metrics_that_lack_an_image_count_it_and_the_others_do_not(drawn, protocol, tmp_path):
    content = json.loads((drawn / "flickr8k.json").read_text("utf-8"))
    content["0"]["image_path"] = "gone.png"
    made.write(tmp_path / "flickr8k.json", content)
    words = ("--metric", "rouge_l,clip_s", "--profile", "embedded", "--images", drawn, "--resamples", 119)
    error = protocol(*words, data=tmp_path, code=2)
    assert "3 of 18 are missing, such as" in error
    out = protocol(*words, "--missing", "nan", data=tmp_path)
    assert "clip_s: 3 rows have no score and do not count" in out
    assert "rouge_l: " not in out
    assert "figures, intervals and differences are of the 15 rows for which every metric has a score; " in out
    rows = {line.split("  ")[0]: line.split() for line in out.splitlines()}
    alone = json.loads(protocol("--metric", "rouge_l", "--resamples", 0, "--format", "json", data=drawn))["rouge_l"]
    assert (rows["rouge_l"][-3], rows["clip_s (embedded)"][-3]) == ("15", "15")
    tau_b = alone["figures"]["tau_b"]["value"]
    assert rows["rouge_l, on all its own"][-3:] == [f"{tau_b:.2f}", f"{alone['figures']['tau_c']['value']:.2f}", "18"]
    assert "clip_s (embedded), on all its own" not in rows
    difference = next(line for line in out.splitlines() if re.match("tau_b +rouge_l - clip_s", line))
    assert difference.split()[-1] == "15"


def test_captions_whose_references_are_gone_are_undefined_and_counted(protocol, tmp_path):
    made.write_crowd(tmp_path)
    words = ("--metric", "bleu,cider", "--resamples", 0)
    record = json.loads(protocol(*words, "--format", "json", name="flickr8k_cf", data=tmp_path))
    for name in ("bleu_1", "bleu_4", "cider"):
        assert (record[name]["undefined"], record[name]["scores"][-1]) == (1, None)
    out = protocol(*words, name="flickr8k_cf", data=tmp_path)
    assert "bleu_1: 1 rows have no score and do not count" in out


def test_all_that_is_missing_is_told_before_anything_is_scored(protocol, monkeypatch):
    def score(*anything, **everything):
        """Fail in the function to whose errors evaluate adds a prefix."""
        raise AssertionError("scored")

    monkeypatch.setattr("vlgauge.families.base.metric.Metric.compute", score)
    error = protocol("--metric", "rouge_l,clip_s,pac_s", code=2)
    assert "ViT-B/32" in error
    assert "PAC-S" in error


def test_captions_about_which_people_agree(protocol, drawn, tmp_path):
    content = json.loads((drawn / "flickr8k.json").read_text("utf-8"))
    content["0"]["human_judgement"] += [{"caption": "They agree.", "rating": 2}] * 3
    made.write(tmp_path / "flickr8k.json", content)
    words = ("--metric", "length", "--unanimous", "--resamples", 0, "--format", "json")
    record = json.loads(protocol(*words, data=tmp_path))
    assert (record["length"]["n"], record["left_out"]["captions on which the raters disagree"]) == (N + 1, N)
    task = read_flickr8k_expert([tmp_path], unanimous=True)
    assert task.ratings[:, 0].tolist() == [1.0, 2.0, *[1.0] * (N - 1)]
    assert task.rules == {"references": "all", "ratings": "unanimous"}


def test_a_metric_of_stories_looks_at_the_one_image(protocol):
    words = ("--metric", "groovist", "--profile", "embedded", "--set", "regions=grid", "--resamples", 0)
    record = json.loads(protocol(*words, "--format", "json"))
    assert len(record["groovist"]["scores"]) == 3 * N
    assert record["groovist"]["n"] > 0


# -- captioners -------------------------------------------------------------------------------------------------------
CAPTIONS = {
    "images": [{"id": 1, "file_name": "1.png"}, {"id": 2, "file_name": "2.png"}],
    "annotations": [
        {"image_id": 1, "caption": "A dog runs on the grass."},
        {"image_id": 1, "caption": "The dog  plays."},
        {"image_id": 2, "caption": "Two cats sleep."},
        {"image_id": 3, "caption": "Nobody asked."},
    ],
}
RESULTS = {
    "first": [{"image_id": 1, "caption": "A dog runs."}, {"image_id": 2, "caption": "Two cats sleep."}],
    "second": [{"image_id": 2, "caption": "A bus."}, {"image_id": 1, "caption": "A dog plays."}],
}


@pytest.fixture
def systems(tmp_path, drawn, capsys):
    """`systems(*words)` for two captioners of two images."""
    files = [made.write(tmp_path / "captions.json", CAPTIONS)]
    files += [made.write(tmp_path / f"{name}.json", content) for name, content in RESULTS.items()]

    def call(*words, code=0, changed=()):
        for name, content in dict(changed).items():
            made.write(tmp_path / f"{name}.json", content)
        given = ["--images", drawn, "--resamples", 79, *words]
        assert main(["protocol", "coco_systems", *map(str, (*files, *given))]) == code
        out, err = capsys.readouterr()
        return err if code else out

    return call


def test_captioners_have_the_values_of_the_metrics(systems):
    out = systems("--metric", "bleu,cider,clip_s", "--profile", "embedded", "--format", "json")
    found = json.loads(out)["metrics"]
    assert list(found) == ["bleu_1", "bleu_4", "cider", "clip_s", "ref_clip_s"]
    rows = {1: ["A dog runs on the grass.", "The dog plays."], 2: ["Two cats sleep."]}
    for name, results in RESULTS.items():
        texts = {record["image_id"]: record["caption"] for record in results}
        columns = {"predictions": [texts[i] for i in rows], "references": list(rows.values())}
        bleu, cider = (vlgauge.load(metric).compute(**columns) for metric in ("bleu", "cider"))
        assert found["bleu_1"][name]["value"] == pytest.approx(100 * bleu["bleu_1"])
        assert found["bleu_4"][name]["value"] == pytest.approx(100 * bleu["bleu"])
        assert (found["bleu_4"][name]["n"], found["bleu_4"][name]["undefined"]) == (2, 0)
        for one in (found["bleu_1"][name], found["bleu_4"][name]):
            assert one["low"] <= one["value"] <= one["high"]
        assert found["cider"][name]["value"] == pytest.approx(100 * cider["cider"])
        assert found["clip_s"][name]["low"] <= found["clip_s"][name]["value"] <= found["clip_s"][name]["high"]


def test_captioners_have_the_number_of_the_corpus_where_it_is_no_mean(systems):
    found = json.loads(systems("--metric", "chrf", "--format", "json"))["metrics"]
    rows = {1: ["A dog runs on the grass.", "The dog plays."], 2: ["Two cats sleep."]}
    for name, results in RESULTS.items():
        texts = {record["image_id"]: record["caption"] for record in results}
        result = vlgauge.load("chrf").compute(predictions=[texts[i] for i in rows], references=list(rows.values()))
        mean = sum(result["chrf_scores"]) / len(rows)
        assert found["chrf"][name]["value"] == result["chrf"] != pytest.approx(mean)
        interval = corpus_interval("chrf", result, resamples=79)
        assert (found["chrf"][name]["low"], found["chrf"][name]["high"]) == (interval.low, interval.high)


@pytest.mark.parametrize("metric", ["rouge_l", "chrf"])
def test_captioners_are_compared_on_the_images_that_all_have_a_score_for(systems, metric, monkeypatch):
    whole = json.loads(systems("--metric", metric, "--format", "json"))["metrics"][metric]
    alone = vlgauge.load(metric).compute(
        predictions=["A dog runs."], references=[["A dog runs on the grass.", "The dog plays."]]
    )
    load = computing.load_metrics

    class Holed:
        """Metric without a score of the second caption of the second captioner."""

        def __init__(self, real):
            self.real = real

        def __getattr__(self, name):
            return getattr(self.real, name)

        def compute(self, **columns):
            result = self.real.compute(**columns)
            if "A bus." in columns["predictions"]:
                bus = columns["predictions"].index("A bus.")
                for cells in [value for value in result.values() if isinstance(value, list)]:
                    cells[bus] = math.nan
            return result

    monkeypatch.setattr("vlgauge.cli.protocol.load_metrics", lambda *a, **k: [Holed(one) for one in load(*a, **k)])
    holed = json.loads(systems("--metric", metric, "--format", "json"))["metrics"][metric]
    scale = 100 if metric == "rouge_l" else 1
    assert holed["first"]["value"] == pytest.approx(scale * alone[metric]) != whole["first"]["value"]
    assert [(one["n"], one["undefined"]) for one in holed.values()] == [(1, 0), (1, 1)]
    assert f"{metric}: 1 captions of second have no score; the results cover the 1 images" in systems(
        "--metric", metric
    )


def test_captioners_as_a_table(systems):
    lines = systems("--metric", "rouge_l").splitlines()
    assert lines[0].split() == ["captioner", "rouge_l", "x", "100"]
    assert [line.split()[0] for line in lines[2:4]] == ["first", "second"]
    assert lines[-2] == "coco_systems|v:0.1.0|references:all"


def test_captioners_of_one_name(systems, tmp_path, capsys):
    systems("--metric", "rouge_l")
    (tmp_path / "more").mkdir()
    files = [tmp_path / "captions.json", tmp_path / "first.json"]
    files.append(made.write(tmp_path / "more" / "first.json", RESULTS["second"]))
    assert main(["protocol", "coco_systems", *map(str, files), "--metric", "cider"]) == 2
    assert "got first, first" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "changed", "message"),
    [
        (("--metric", "length"), {}, "coco_systems requires --metric of a metric that is not length"),
        (("--metric", "cider", "--references", "1,2"), {}, "requires one number of --references"),
        (("--metric", "cider", "--against", "cider"), {}, "--against is not supported for coco_systems"),
        (("--metric", "cider", "--average"), {}, "--average is not supported for coco_systems, which has --images"),
        (
            ("--metric", "cider"),
            {"first": CAPTIONS},
            "at least one file of results, a list of image_id and caption, got 2",
        ),
        (
            ("--metric", "cider"),
            {"first": []},
            "must have captions of the same images for first and second, which differ in 2",
        ),
        (("--metric", "cider"), {"first": [{"image_id": 1}]}, "must have 'caption', got image_id"),
        (("--metric", "cider"), {"first": RESULTS["first"] * 2}, "must have one caption per image, got several of 1"),
        (("--metric", "cider"), {"captions": {"annotations": []}}, "must have captions of every image, lacks 2"),
        (
            ("--metric", "clip_s", "--profile", "embedded"),
            {"captions": CAPTIONS | {"images": []}},
            "which requires images",
        ),
    ],
)
def test_captioners_that_do_not_fit(systems, words, changed, message):
    assert message in systems(*words, code=2, changed=changed)

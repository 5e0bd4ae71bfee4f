"""Values that the authors' code prints for its example files, and values that the papers print about a corpus."""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from vlgauge.core.results import mean_of_defined
from vlgauge.families.style import StyleTable
from vlgauge.inputs.tables.files import make_paths_absolute, read_rows, take_column
from vlgauge.research.protocols.coco_systems import read_coco_systems, system_values
from vlgauge.research.protocols.files import entry, read_json
from vlgauge.research.studies.component_tables import read_column
from vlgauge.research.studies.published import PublishedRow
from vlgauge.research.studies.style_agreement import in_sample_agreements
from vlgauge.research.studies.style_corpora import read_flickrstyle
from vlgauge.research.verification.findings import (
    TEXT_METRICS,
    Data,
    Finding,
    Tools,
    Unchecked,
    attempt_check,
    compare_values,
    metric_of,
)

EXAMPLE = ("example/good_captions.json", "example/bad_captions.json", "example/refs.json")
COCO_DEMO = ("captions_val2014.json", "captions_val2014_fakecap_results.json")
STORIES = {
    "VIST human": ("vist", "gt_test"),
    "VIST LLaVA": ("vist", "llava_vc_p3"),
    "VWP human": ("vwp", "gt_test"),
    "VWP LLaVA": ("vwp", "llava_vc_p3"),
}
# Files with the inputs of stories that only their authors have, by protocol and row.
STORY_FILES = {
    ("groovist_sample", "GROOViST"): "groovist_sample.jsonl",
    ("rovist_samples", "AREL"): "rovist_vg_arel.jsonl",
    ("rovist_samples", "GLACNet"): "rovist_c_glacnet.jsonl",
    ("rovist_samples", "KG-Story"): "rovist_nr_kg_story.jsonl",
}
FLICKRSTYLE = ("humor/funny_train.txt", "romantic/romantic_train.txt")


def check_example(data: Data, tools: Tools) -> Iterator[Finding | Unchecked]:
    """Check the example of the CLIPScore and PAC-S code: two images, good and bad captions."""
    wanted = tools.select_rows("example")
    for metric in dict.fromkeys(metric_of(row.metric or "") for row in wanted):
        own = [row for row in wanted if metric_of(row.metric or "") == metric]
        how = "they are in the repositories aimagelab/pacscore and jmhessel/clipscore; --data FOLDER"
        how += "" if metric in TEXT_METRICS else f"; vlgauge prefetch {metric}"
        yield from attempt_check(own, how, partial(_example, own, metric, data, tools))


def _example(found: Sequence[PublishedRow], metric: str, data: Data, tools: Tools) -> Iterator[Finding]:
    paths = data.all_of(EXAMPLE)
    good, bad, known = (read_json(path) for path in paths)
    images = {path.stem: str(path) for path in sorted((paths[2].parent / "images").glob("*")) if path.is_file()}
    is_text = metric in TEXT_METRICS
    loaded = tools.load(metric, **({} if is_text else {"backbone": tools.backbone}))
    values: dict[str, dict[str, float]] = {}
    for column, captions in (("good captions", good), ("bad captions", bad)):
        cells: dict[str, list[Any]] = {
            "predictions": [entry(captions, name, str, f"`{column}`") for name in captions],
            "references": [entry(known, name, list, f"`{paths[2]}`") for name in captions],
        }
        if not is_text:
            cells["images"] = [entry(images, name, str, f"`{paths[2].parent / 'images'}`") for name in captions]
        result = loaded.compute(**cells)
        for family in ("bleu_1", "bleu_4") if metric == "bleu" else (metric, f"ref_{metric}"):
            if family in result:
                values.setdefault(family, {})[column] = result[family]
    yield from compare_values(found, values)


def check_coco_demo(data: Data, tools: Tools) -> Iterator[Finding | Unchecked]:
    """Check the demo of the COCO caption evaluation: one captioner on 1,000 images."""
    wanted = tools.select_rows("coco_demo")

    def work() -> Iterator[Finding]:
        systems = read_coco_systems(data.all_of(COCO_DEMO))
        metrics = [tools.load(name) for name in dict.fromkeys(metric_of(row.metric or "") for row in wanted)]
        values = {
            family: {name: 100 * one.value for name, one in own.items()}
            for family, own in system_values(metrics, systems, resamples=0).items()
        }
        yield from compare_values(wanted, values)

    if wanted:
        yield from attempt_check(wanted, "it is in the repository tylin/coco-caption; --data FOLDER", work)


def check_story_means(data: Data, tools: Tools) -> Iterator[Finding | Unchecked]:
    """Check RoViST-NR on the stories that Surikuchi et al. (2024) published with scores: means, and story by story."""
    how = "it is in the repository akskuchi/dHM-visual-storytelling; --data FOLDER; Punkt needs NLTK's data punkt_tab"
    for row in tools.select_rows("rovist_nr_stories"):
        yield from attempt_check([row], how, partial(_story_means, row, data, tools))


def _story_means(row: PublishedRow, data: Data, tools: Tools) -> Iterator[Finding]:
    corpus, stem = STORIES[row.row]
    stories, scores = data.all_of([f"stories/{corpus}/{stem}.json", f"scores/{corpus}/{stem}_R.csv"])
    all_texts, published = read_json(stories), read_column(scores, "R_score", "rovist_nr")
    texts = [entry(all_texts, name, str, f"`{stories}`") for name in published]
    ours = tools.load("rovist_nr", sentences="punkt").compute(predictions=texts)["rovist_nr_scores"]
    gaps = [abs(a - b) for a, b in zip(ours, published.values(), strict=True)]
    largest = math.nan if any(map(math.isnan, gaps)) else max(gaps)
    yield from compare_values([row], {"rovist_nr": {"mean": mean_of_defined(ours), "largest gap": largest}})


def check_stories(data: Data, tools: Tools) -> Iterator[Finding | Unchecked]:
    """Check stories whose crops, features or texts only their authors have, from files that the user made of them."""
    for (protocol, name), ending in STORY_FILES.items():
        for row in [row for row in tools.select_rows(protocol) if row.row == name]:
            how = f"{ending}: rows with id, predictions and, for a metric of images, regions; --data FOLDER; --set"
            yield from attempt_check([row], how, partial(_stories, row, ending, data, tools))


def _stories(row: PublishedRow, ending: str, data: Data, tools: Tools) -> Iterator[Finding]:
    """Compute the mean over the stories of a file, or the score of each story by id."""
    (path,) = data.all_of([ending])
    rows = read_rows(str(path))
    columns = {name: take_column(rows, name) for name in ("predictions", "regions", "noun_phrases") if name in rows[0]}
    if "regions" in columns:
        columns["regions"] = make_paths_absolute({"images": columns["regions"]}, str(path))["images"] or []
    scores = tools.load(str(row.metric)).compute(**columns)[f"{row.metric}_scores"]
    values = {"mean": mean_of_defined(scores)}
    if "mean" not in row.values:
        values = dict(zip(map(str, take_column(rows, "id")), scores, strict=True))
    yield from compare_values([row], {str(row.metric): values})


def check_style_table(data: Data, tools: Tools) -> Iterator[Finding | Unchecked]:
    """Check Table 1 of StyleM: the share of captions whose own style wins, in sample, by the released code."""
    for row in tools.select_rows("style_report"):
        if row.row == "Flickr7k":
            yield from attempt_check(
                [row], "it is FlickrStyle_v0.9; --data FOLDER", partial(_style_table, row, data, tools)
            )
        else:
            how = "vlgauge style-report FILE --kind personality-captions --variant released"
            yield Unchecked([row], "the paper does not state which of its parts were counted", how)


def _style_table(row: PublishedRow, data: Data, tools: Tools) -> Iterator[Finding]:
    corpus = read_flickrstyle(data.all_of(FLICKRSTYLE)[0].parents[1])
    table = StyleTable.fit(corpus.captions, corpus.styles, progress=None)
    found, _ = in_sample_agreements(corpus.captions, corpus.styles, table, "released")
    eq10 = math.nan if found.eq10 is None else found.eq10.share
    yield from compare_values([row], {str(row.metric): {"onlystyle": found.eq9.share, "stylecider": eq10}})

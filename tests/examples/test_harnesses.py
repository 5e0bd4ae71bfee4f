"""The task files for lm-eval and lmms-eval name existing objects. Both ran with lm-eval 0.4.13 and lmms-eval 0.7.3."""

import datasets
import pytest
import yaml
from folders import EXAMPLES, ROOT
from script_modules import example_module

import vlgauge
from vlgauge.integrations.scalars import greater_is_better

TASKS = sorted(EXAMPLES.glob("lm*_eval/*.yaml"))


def task_of(file):
    """Return the settings of a task file, including its functions."""
    functions = example_module(f"{file.parent.name}/utils.py")

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!function", lambda _, node: getattr(functions, node.value.removeprefix("utils.")))
    return yaml.load(file.read_text("utf-8"), Loader)


def rows_of(task):
    rows = datasets.Dataset.from_json(str(ROOT / task["dataset_kwargs"]["data_files"]), keep_in_memory=True)
    return task["process_docs"](rows)


def test_there_are_tasks_of_both():
    assert [str(file.relative_to(EXAMPLES)) for file in TASKS] == [
        "lm_eval/drawn_captions.yaml",
        "lm_eval/reworded_captions.yaml",
        "lmms_eval/drawn_captions.yaml",
    ]


@pytest.mark.parametrize("file", [file for file in TASKS if file.stem == "drawn_captions"], ids=lambda f: f.parent.name)
@pytest.mark.filterwarnings("ignore:.*takes document frequencies from the references of 10 rows")
def test_captions_are_scored_all_at_once(file):
    task = task_of(file)
    rows = rows_of(task)
    assert len(rows) == len(set(rows["picture"])) == 10
    look = task.get("doc_to_image") or task["doc_to_visual"]
    assert look(rows[0])[0].mode == "RGB"
    examples = [task["process_results"](row, [row["predictions"]]) for row in rows]
    images = [str(EXAMPLES / row["images"]) for row in rows]
    for entry in task["metric_list"]:
        name = entry["metric"]
        assert entry["higher_is_better"] is greater_is_better(name)
        metric = vlgauge.load(name, profile="embedded", keep_in_memory=True)
        given = {"images": images} if name == "pac_s" else {"references": list(rows["references"])}
        expected = metric.compute(predictions=list(rows["predictions"]), **given)[name]
        assert entry["aggregation"]([example[name] for example in examples]) == expected


def test_means_of_rows_that_were_scored_one_by_one():
    task = task_of(EXAMPLES / "lm_eval/reworded_captions.yaml")
    (entry,) = task["metric_list"]
    assert entry["hf_evaluate"] is True
    rows = rows_of(task)
    metric = vlgauge.load(entry["metric"].removeprefix("metrics/"), keep_in_memory=True)
    # As in lm-eval: row by row, and every entry of the results by the same aggregation.
    results = [metric.compute(predictions=[row["predictions"]], references=[row["references"][1]]) for row in rows]
    found = {key: entry["aggregation"]([result[key] for result in results]) for key in results[0]}
    whole = metric.compute(predictions=list(rows["predictions"]), references=[row[1] for row in rows["references"]])
    assert found["rouge_l"] == found["rouge_l_scores"] == pytest.approx(whole["rouge_l"])
    assert found["rouge_l_undefined"] == 0
    assert found["rouge_l_signature"] == whole["rouge_l_signature"]

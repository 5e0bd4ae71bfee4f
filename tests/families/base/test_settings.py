"""Settings of a metric: known ones only, checked, and named in the signature."""

import numpy as np
import pytest

import vlgauge
from vlgauge.core.signatures import signature_value
from vlgauge.core.validation import nearest, setting_names
from vlgauge.families import base, caption_sets, grounding


class Tunable(base.StoryMetric):
    """A metric with settings of every kind, and with data given per call."""

    papers = ("u",)
    needs = ("embedded",)

    def __init__(self, *args, n=4, splitter=str.split, batch_size=8, **host):
        self.n = base.check_int("n", n, 1)
        self.splitter = splitter
        self.batch_size = batch_size
        super().__init__(*args, **host)

    def cite(self):
        return "c"

    def _compute(self, predictions, table=None, return_details=False):
        return self.result([len(story) for story in predictions], signature_extra={"table": table or "none"})


def sentences(text):
    return [text]


# -- at load ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weights": 2.0}, r"^`weights`.*story_demo.*`weight`"),
        ({"keep_in_memroy": True}, r"^`keep_in_memroy`.*story_demo.*`keep_in_memory`"),
        ({"zzz": 1}, r"^`zzz`.*story_demo.*cache_dir"),
        ({"n": 4, "weight": 2.0}, r"^`n`.*story_demo"),
    ],
)
def test_unknown_setting_is_refused_with_the_nearest_known_one(load_demo, settings, message):
    with pytest.raises(TypeError, match=message):
        load_demo("story_demo", **settings)


def test_setting_that_only_the_host_uses_is_not_advertised():
    with pytest.raises(TypeError, match="known are") as caught:
        Tunable(zzz=1)
    assert "hash" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "config", "message"),
    [
        ("story_demo", "fast", r"^`config_name`.*demo.*got 'fast'"),
        ("set_demo", "jaccrd", r"^`config_name`.*got 'jaccrd'"),
    ],
)
def test_unknown_config_is_refused(load_demo, name, config, message):
    with pytest.raises(ValueError, match=message):
        load_demo(name, config_name=config)


def test_config_may_be_positional():
    with pytest.raises(ValueError, match=r"^`config_name`.*tunable.*got 'fast'"):
        Tunable("fast")


@pytest.mark.parametrize(("config", "score"), [(None, 0.5), ("default", 0.5), ("jaccard", 0.5), ("overlap", 1.0)])
def test_known_config_is_used_and_signed(load_demo, rows_folder, config, score):
    metric = load_demo("set_demo", config_name=config, cache_dir=str(rows_folder))
    result = metric.compute(predictions=[["a"]], references=[["a", "b"]])
    assert result["set_demo"] == score
    start = f"set_demo|v:{vlgauge.__version__}|profile:paper"
    assert result["set_demo_signature"] == f"{start}|config:{config or 'default'}"


def test_profile_comes_from_the_setting_then_the_environment_then_paper(monkeypatch):
    assert Tunable().profile == "paper"
    monkeypatch.setenv("VLGAUGE_PROFILE", "embedded")
    assert Tunable().profile == "embedded"
    assert Tunable(profile="paper").profile == "paper"
    with pytest.raises(ValueError, match=r"^`profile`.*got ''"):
        Tunable(profile="")


@pytest.mark.parametrize("from_environment", [True, False])
def test_unknown_profile_is_refused(monkeypatch, from_environment):
    if from_environment:
        monkeypatch.setenv("VLGAUGE_PROFILE", "embed")
    message = r"^`profile`.*got 'embed'.*`embedded`"
    with pytest.raises(ValueError, match=message):
        Tunable(**({} if from_environment else {"profile": "embed"}))


def test_script_that_needs_a_newer_package_says_how_to_get_it():
    newer = type("Tunable", (Tunable,), {"requires": "9.1"})
    hint = r'run: pip install --upgrade "vlgauge\[tunable\] @ git\+https://github.com/vlgauge/vlgauge@v9.1.0"'
    with pytest.raises(ImportError, match=rf"9\.1.*got {vlgauge.__version__}.*{hint}"):
        newer()


@pytest.mark.parametrize(
    "family",
    [base.Metric, base.StoryMetric, caption_sets.CaptionSetMetric, grounding.GroundingMetric, base.ImageMetric],
)
def test_bases_are_abstract(family):
    with pytest.raises(TypeError, match="abstract"):
        family()


# -- at compute -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("keyword", "message"),
    [
        ("prediction", r"'prediction'.*`predictions`"),
        ("return_detail", r"'return_detail'.*`return_details`"),
        ("n", r"'n'.*return_details"),
    ],
)
def test_unknown_keyword_of_compute_is_refused_and_the_rows_stay(rows_folder, keyword, message):
    metric = Tunable(cache_dir=str(rows_folder))
    metric.add_batch(predictions=["a"])
    with pytest.raises(TypeError, match=message):
        metric.compute(predictions=["b"], **{keyword: None})
    assert metric.compute(predictions=["cc"])["tunable_scores"] == [1.0, 2.0]


@pytest.mark.parametrize("name", ["add", "add_batch"])
def test_keyword_of_compute_is_refused_by_add(rows_folder, name):
    metric = Tunable(cache_dir=str(rows_folder))
    story = "a" if name == "add" else ["a"]
    with pytest.raises(TypeError, match=r"'table'.*`compute`"):
        getattr(metric, name)(predictions=story, table={})
    with pytest.raises(TypeError, match=r"'tables'.*`table`"):
        getattr(metric, name)(predictions=story, tables={})


def test_data_given_per_call_reach_the_metric(rows_folder):
    result = Tunable(cache_dir=str(rows_folder)).compute(predictions=["a"], table="mine")
    assert result["tunable_signature"].endswith("|table:mine")


def test_data_given_per_call_need_a_single_process(rows_folder):
    metric = Tunable(cache_dir=str(rows_folder), num_process=2, process_id=1, experiment_id="e")
    message = r"^`table`.*`num_process`.*over 1"
    with pytest.raises(ValueError, match=message):
        metric.compute(predictions=["a"], table={})


@pytest.mark.parametrize("experiment_id", [None, ""])
def test_several_processes_need_one_id(experiment_id):
    with pytest.raises(ValueError, match=r"^`experiment_id`.*`num_process`"):
        Tunable(num_process=2, process_id=0, experiment_id=experiment_id)


# -- signature --------------------------------------------------------------------------------------------------------
def test_signature_names_the_settings_that_change_a_number():
    metric = Tunable(n=np.int64(2), splitter=sentences, batch_size=99, progress=False)
    start = f"tunable|v:{vlgauge.__version__}|profile:paper"
    splitter = f"splitter:custom({__name__}.sentences)"
    assert metric.signature(seed=1) == f"{start}|n:2|{splitter}|seed:1"
    # The encoder and its settings come first. None removes fields that a call did not use.
    assert metric.signature(prep="p", dtype="d", enc="e", n=None) == f"{start}|enc:e|dtype:d|prep:p|{splitter}"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "None"),
        (True, "True"),
        (0.5, "0.5"),
        (2.0, "2"),
        (1e-12, "1e-12"),
        (np.float32(0.5), "0.5"),
        (np.int64(3), "3"),
        (2.5000000000000004, "2.5000000000000004"),
        ("a", "a"),
        ((1, 2), "(1, 2)"),
        (sentences, f"custom({__name__}.sentences)"),
        (str.split, "custom(builtins.str.split)"),
        ("a b".split, "custom(builtins.str.split)"),
        (Tunable, f"custom({__name__}.Tunable)"),
        (object(), "custom(builtins.object)"),
    ],
)
def test_settings_are_shown_without_addresses(value, shown):
    assert f"{signature_value(value)}" == shown


# -- checks of values -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("value", ["release", 3, None, ["released"]])
def test_one_of_lists_the_choices(value):
    assert base.check_choice("variant", "released", ["released", "paper"]) == "released"
    with pytest.raises(ValueError, match=r"^`variant`.*'released'.*'paper'"):
        base.check_choice("variant", value, ["released", "paper"])


@pytest.mark.parametrize("value", [0, -1, 1.5, 2.0, "2", None, True, float("nan")])
def test_whole_number_refuses_the_rest(value):
    with pytest.raises(ValueError, match=r"^`n`.*at least 1"):
        base.check_int("n", value, 1)


@pytest.mark.parametrize("value", [1, np.int64(1), np.uint8(1)])
def test_whole_number_is_a_plain_int(value):
    assert type(base.check_int("n", value, 1)) is int


@pytest.mark.parametrize("value", ["False", 1, 0, None])
def test_true_or_false_refuses_the_rest(value):
    assert base.check_bool("x", False) is False
    with pytest.raises(ValueError, match=r"^`x`"):
        base.check_bool("x", value)


@pytest.mark.parametrize(
    ("word", "known", "clause"),
    [
        ("colour", ["color", "size"], "did you mean `color`?"),
        ("zzz", ["b", "a"], "known are a, b"),
        ("zzz", [], "known are none"),
    ],
)
def test_nearest_names_one_or_all(word, known, clause):
    assert nearest(word, known) == clause


def test_progress_is_checked():
    with pytest.raises(ValueError, match=r"^`progress`"):
        Tunable(progress="no")


def test_sandbox_is_checked():
    with pytest.raises(ValueError, match=r"^`sandbox` must be True or False, got 'fast'$"):
        Tunable(sandbox="fast")
    with pytest.raises(ValueError, match=r"^`sandbox` must be True or False, got array"):
        Tunable(sandbox=np.zeros(2))


def test_setting_names_are_the_keyword_only_parameters():
    class Heir(Tunable):
        def __init__(self, *args, m=1, **host):
            super().__init__(*args, **host)

    assert setting_names(Heir) == ["m", "n", "splitter", "batch_size", "profile", "progress", "sandbox"]

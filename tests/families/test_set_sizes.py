"""Equal set sizes of all rows: the sampled captions, and the signature fields."""

from collections import Counter

from vlgauge.cli import main
from vlgauge.families.set_sizes import add_set_sizes, comparable_signature, sample_captions, without_sizes

ROWS = [list("abcde"), list("fghi"), list("jklmn")]


def test_what_is_drawn_of_a_row_does_not_depend_on_the_others():
    drawn = sample_captions(ROWS, ["x", "y", "z"], [3, 2, 5], seed=4)
    assert [len(one) for one in drawn] == [3, 2, 5]
    assert all(own == sorted(own) and set(own) <= set(row) for own, row in zip(drawn, ROWS, strict=True))
    assert drawn[2] == ROWS[2]
    assert sample_captions(ROWS[::-1], ["z", "y", "x"], [5, 2, 3], seed=4) == drawn[::-1]


def test_every_subset_is_as_likely():
    counts = Counter("".join(sample_captions([list("abcd")], [str(key)], [2], 0)[0]) for key in range(1_200))
    assert len(counts) == 6
    assert all(140 < count < 260 for count in counts.values())
    of_seeds = Counter("".join(sample_captions([list("abcd")], ["x"], [2], seed)[0]) for seed in range(1_200))
    assert all(140 < count < 260 for count in of_seeds.values())


def test_signatures_hold_the_sizes():
    result = {"trm_signature": "trm|v:0.1.0|ties:fractional", "cider_signature": "cider|v:0.1.0", "trm": 0.5}
    signed = add_set_sizes(result, [(3, 5)], [0], there=[10, 7], seed=2)["trm_signature"]
    assert signed.endswith("|sets:3v5|drawn_from:7-10|draw_seed:2")
    assert comparable_signature(signed).endswith("|ties:fractional|sets:3v5")
    assert without_sizes(signed) == result["trm_signature"]
    assert add_set_sizes(result, [], []) == {}


def test_signatures_without_references_hold_the_numbers_of_captions_only():
    result = {f"{name}_signature": f"{name}|v:0.1.0" for name in ("trm", "diversity", "diversity_div_1")}
    signed = add_set_sizes(result, [(3, 5), (3, 4)], [0, 1])
    assert signed["trm_signature"].startswith("trm|v:0.1.0|sets:3v4-5@")
    assert signed["diversity_signature"] == "diversity|v:0.1.0|sets:3"
    assert without_sizes(signed["diversity_div_1_signature"]) == result["diversity_div_1_signature"]
    apart = [
        add_set_sizes(result, sizes, [0, 1])["diversity_signature"] for sizes in ([(2, 0), (3, 0)], [(3, 0), (2, 0)])
    ]
    assert apart[0].startswith("diversity|v:0.1.0|sets:2-3@")
    assert apart[0] != apart[1]


def test_signatures_of_mixed_sizes_are_equal_only_if_every_row_has_the_same_sizes():
    def signed(sizes, ids):
        return add_set_sizes({"trm_signature": "trm|v:0.1.0"}, sizes, ids)["trm_signature"]

    few, many = [(2, 5), (2, 5), (10, 5)], [(2, 5), (10, 5), (10, 5)]
    assert signed(few, "abc").startswith("trm|v:0.1.0|sets:2-10v5@")
    assert signed(few, "abc") == signed(few[::-1], "cba") == signed([[10, 5], [2, 5], [2, 5]], "cba")
    assert len({signed(few, "abc"), signed(many, "abc"), signed(few[::-1], "abc")}) == 3
    assert signed(few, [0, 1, 2]) == signed(few, ["0", "1", "2"])


def test_settings_of_the_test_part_no_signatures():
    plain = "trm|v:0.1.0|ties:fractional|sets:3v5"
    tested = plain.replace("|sets", "|pvalue:auto|max_partitions:20000|permutations:9999|seed:3|sets")
    assert comparable_signature(tested) == plain
    assert comparable_signature("clair|v:0.1.0|seed:3") == "clair|v:0.1.0|seed:3"


def test_what_cannot_be_drawn_is_refused(tmp_path, capsys):
    path = tmp_path / "sets.jsonl"
    path.write_text('{"predictions": ["a b", "c d"], "references": ["a b", "e f"]}\n', encoding="utf-8")
    assert main(["score", "trm", str(path), "--captions-per-row", "3"]) == 2
    assert "--captions-per-row" in capsys.readouterr().err
    path.write_text('{"predictions": "a b", "references": ["a b", "e f"]}\n', encoding="utf-8")
    assert main(["score", "rouge_l", str(path), "--captions-per-row", "3"]) == 2
    assert "--captions-per-row" in capsys.readouterr().err

"""The study of size and power prints the tables of the documentation."""

from script_modules import script_module


def test_the_tables_of_size_and_power(capsys):
    script_module("studies/distribution_power.py").main(["--runs", "2"])
    of_sets, of_corpora = (table.splitlines() for table in capsys.readouterr().out.split("\n\n"))
    assert of_sets[0].startswith("| candidates differ by | 5v5 Q / separate Q / MMD / Frechet / base |")
    first = ["| nothing (size)", "| location, +0.6 in every coordinate"]
    assert [line.split(" | ")[0] for line in of_sets[2:4]] == first
    assert len(of_sets) == 8
    assert of_sets[4].split(" | ")[2].startswith("1 1 1 1")  # mode collapse at 10 v 5
    assert of_corpora[0] == "| corpora of 100 images | 5v5 Q / separate Q / MMD / Frechet / base | 10v5 Q / " + (
        "separate Q / MMD / Frechet / base |"
    )
    assert len(of_corpora) == 9
    power, expected = of_corpora[3], of_corpora[8]
    assert power.startswith("| corpus p: 10 images differ by +1 (power) | ")
    assert expected.startswith("| expected mean ln p, no image differs | -.9")

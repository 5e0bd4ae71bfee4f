"""Ten thousand calls in eight threads: no wrong result, and no files are left."""

from concurrent.futures import ThreadPoolExecutor

import pytest

N_THREADS = 8
N_CALLS = 10_000


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False], ids=["one instance", "an instance per thread"])
def test_ten_thousand_calls(load_demo, rows_folder, shared):
    one = load_demo("story_demo", cache_dir=str(rows_folder))

    def work(thread):
        metric = one if shared else load_demo("story_demo", cache_dir=str(rows_folder))
        wrong = 0
        for call in range(N_CALLS // N_THREADS):
            lengths = [thread + 1, call % 13 + 1, call % 7 + 1][: call % 3 + 1]
            stories = ["a" * length for length in lengths]
            wrong += metric.compute(predictions=stories)["story_demo_scores"] != lengths
        return wrong

    with ThreadPoolExecutor(N_THREADS) as pool:
        assert sum(pool.map(work, range(N_THREADS))) == 0

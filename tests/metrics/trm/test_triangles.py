"""Formulas of trm: levels, ranks of the sides of a triangle, pooled and separate Q, and their null distributions."""

import itertools

import numpy as np
import pytest

from vlgauge.core.catalog import folder_module
from vlgauge.stats import partitions

TIES = ("fractional", "paper")
triangles = folder_module("trm", "triangles")
reference = folder_module("trm", "reference")


def identity(n, m):
    return np.arange(n + m)[None] < n


def everything(n, m):
    return partitions(n, m, pvalue="exact", max_partitions=10**6).candidates


def q_of(distances, candidates, ties="fractional", tie_tol=1e-12):
    return triangles.triangle_tests(triangles.levels(np.asarray(distances, float), tie_tol), candidates, ties)


def random_distances(n, m, *, n_examples=1, values=6, seed=0):
    """Return directed distances that are integers, so that there are many ties. The diagonal is not 0."""
    rng = np.random.default_rng([seed, n, m])
    return rng.integers(0, values, (n_examples, n + m, n + m)).astype(float)


# -- by hand ----------------------------------------------------------------------------------------------------------
# d(y,w), d(x,y), d(x,w); sixths of the ranks smallest, middle, largest; indicators of Eq. 3
@pytest.mark.parametrize(
    ("inner", "first", "second", "sixths", "indicators"),
    [
        (1, 2, 3, (6, 0, 0), (1, 0, 0)),
        (2, 3, 1, (0, 6, 0), (0, 1, 0)),
        (3, 1, 2, (0, 0, 6), (0, 0, 1)),
        (1, 2, 2, (6, 0, 0), (1, 0, 0)),
        (2, 1, 1, (0, 0, 6), (0, 0, 1)),
        (1, 1, 2, (3, 3, 0), (1, 1, 0)),
        (2, 1, 2, (0, 3, 3), (0, 1, 1)),
        (1, 1, 1, (2, 2, 2), (1, 1, 1)),
    ],
)
def test_rank_of_one_triangle(inner, first, second, sixths, indicators):
    levels = np.zeros((3, 3, 1), dtype=np.int16)
    levels[1, 2], levels[0, 1], levels[0, 2] = inner, first, second
    smallest, largest = triangles.rank_values(levels, "fractional")[0, 1, 2, :, 0]
    assert (smallest, 6 - smallest - largest, largest) == sixths
    assert tuple(triangles.rank_values(levels, "paper")[0, 1, 2, :, 0]) == indicators


# Candidates 0 and 1, references 2 and 3; row: from, column: to.
WORKED = [
    [0, 1, 5, 6],
    [2, 0, 3, 4],
    [4, 9, 0, 5],
    [8, 7, 4, 0],
]


def test_counts_and_q_of_two_against_two():
    # Lone candidate: (0; 2, 3) has 5 against 5 and 6: smallest and middle; (0; 3, 2) has 4: smallest; (1; 2, 3) has 5
    # against 3 and 4: largest; (1; 3, 2) has 4 against 4 and 3: middle and largest. Lone reference: (2; 0, 1) has 1 and
    # (2; 1, 0) has 2 against 4 and 9, (3; ., .) the same against 8 and 7: smallest.
    found = q_of([WORKED], identity(2, 2))
    assert found.counts.tolist() == [[[1.5, 1.0, 1.5], [4.0, 0.0, 0.0]]]
    pooled = abs(5.5 / 8 - 1 / 3) + abs(1 / 8 - 1 / 3) + abs(1.5 / 8 - 1 / 3)
    separate = abs(1.5 / 4 - 1 / 3) * 2 + abs(1 / 4 - 1 / 3) + abs(4 / 4 - 1 / 3) + 2 / 3
    assert found.q[:, 0, 0] == pytest.approx([pooled, separate], rel=1e-14)


def test_counts_of_the_papers_rule():
    found = q_of([WORKED], identity(2, 2), "paper")
    assert found.counts.tolist() == [[[2.0, 2.0, 2.0], [4.0, 0.0, 0.0]]]
    pooled = abs(6 / 10 - 1 / 3) + 2 * abs(2 / 10 - 1 / 3)
    assert found.q[:, 0, 0] == pytest.approx([pooled, 4 / 3], rel=1e-14)


# -- against the definition -------------------------------------------------------------------------------------------
def counts_by_loops(distances, candidates, ties):
    references = [i for i in range(len(distances)) if i not in candidates]
    return [
        reference.triangle_counts(distances, side, other, ties)
        for side, other in ((candidates, references), (references, candidates))
    ]


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("values", [3, 8, 1000])
@pytest.mark.parametrize(("n", "m"), [(2, 2), (2, 4), (3, 3), (4, 3)])
def test_q_and_p_against_loops_over_triangles_and_partitions(n, m, values, ties):
    matrices = random_distances(n, m, n_examples=2, values=values)
    found = q_of(matrices, everything(n, m), ties)
    for row, distances in enumerate(matrices.astype(int).tolist()):
        null = [counts_by_loops(distances, members, ties) for members in itertools.combinations(range(n + m), n)]
        assert found.counts[row].tolist() == [[float(count) for count in counts] for counts in null[0]]
        null = [reference.q_statistics(*counts) for counts in null]
        for kind in (0, 1):
            values_of_kind = [both[kind] for both in null]
            assert found.q[kind, row] == pytest.approx([float(q) for q in values_of_kind], rel=1e-13, abs=1e-14)
            as_large = sum(q >= values_of_kind[0] for q in values_of_kind)
            assert found.pvalues[kind, row] == as_large / len(null)


def counts_by_arrays(levels, candidates):
    """Return the fractional counts of one partition, computed without sums of +/- signs, shape (2, 3)."""
    sides = np.flatnonzero(candidates), np.flatnonzero(~candidates)
    counts = np.zeros((2, 3))
    for kind, (side, other) in enumerate((sides, sides[::-1])):
        apart = ~np.eye(len(other), dtype=bool)
        inner = levels[np.ix_(other, other)]
        for x in side:
            to = levels[x, other]
            below = (to[:, None] < inner).astype(int) + (to < inner)
            equal = (to[:, None] == inner).astype(int) + (to == inner)
            for rank in range(3):
                shares = (below <= rank) & (rank <= below + equal)
                counts[kind, rank] += (shares / (equal + 1))[apart].sum()
    return counts


@pytest.mark.parametrize(("n", "m"), [(9, 11), (35, 34), (36, 35), (135, 90)])
def test_counts_stay_exact_in_large_sets(n, m):
    distances = random_distances(n, m, values=50)
    candidates = partitions(n, m, pvalue="monte_carlo", draws=1).candidates
    levels = triangles.levels(distances, 0.0)
    alone = [triangles.triangle_tests(levels, row[None]) for row in candidates]
    for row, found in zip(candidates, alone, strict=True):
        assert found.counts[0] == pytest.approx(counts_by_arrays(levels[0], row), rel=1e-14)
    null = triangles.triangle_tests(levels, candidates).q[:, 0]
    assert np.array_equal(null, np.transpose([found.q[:, 0, 0] for found in alone]))


# -- properties -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("ties", TIES)
def test_order_within_a_side_does_not_matter(ties):
    distances = random_distances(4, 5, n_examples=20)
    order = np.array([2, 0, 3, 1, 8, 5, 4, 7, 6])
    ours = q_of(distances, everything(4, 5), ties)
    theirs = q_of(distances[:, order[:, None], order], everything(4, 5), ties)
    assert np.array_equal(ours.q[:, :, 0], theirs.q[:, :, 0])
    assert np.array_equal(ours.pvalues, theirs.pvalues)
    assert np.array_equal(ours.counts, theirs.counts)


@pytest.mark.parametrize("ties", TIES)
def test_swapped_sides_give_the_same_q_and_p_also_for_directed_distances(ties):
    distances = random_distances(3, 5, n_examples=20)
    swapped = np.roll(distances, (-3, -3), axis=(1, 2))
    ours, theirs = q_of(distances, everything(3, 5), ties), q_of(swapped, everything(5, 3), ties)
    assert ours.q[:, :, 0] == pytest.approx(theirs.q[:, :, 0], rel=1e-15)
    assert np.array_equal(ours.pvalues, theirs.pvalues)
    assert np.array_equal(ours.counts, theirs.counts[:, ::-1])


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("transform", [lambda d: d**3, np.expm1, lambda d: 7 - d, lambda d: 1 / (1 + d)])
def test_monotone_transforms_keep_q_and_p(transform, ties):
    distances = random_distances(4, 3, n_examples=20)
    ours, theirs = (q_of(values, everything(4, 3), ties) for values in (distances, transform(distances)))
    assert ours.q == pytest.approx(theirs.q, rel=1e-14)
    assert np.array_equal(ours.pvalues, theirs.pvalues)


def test_direction_matters():
    distances = random_distances(3, 4)
    assert not np.array_equal(q_of(distances, identity(3, 4)).q, q_of(distances.swapaxes(1, 2), identity(3, 4)).q)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 4), (5, 2)])
def test_expected_shares_are_the_mean_counts_over_all_partitions(n, m, ties):
    distances = random_distances(n, m, n_examples=3, seed=4)
    found = q_of(distances, everything(n, m), ties)
    for lone in (0, 1):
        # Each partition as the observed one.
        counts = sum(
            q_of(distances[:, order][:, :, order], identity(n, m), ties).counts[:, lone]
            for order in (np.argsort(~ways, kind="stable") for ways in everything(n, m))
        )
        assert found.expected == pytest.approx(counts / counts.sum(axis=1, keepdims=True))


def test_expected_shares_are_thirds_for_symmetric_distances_alone():
    directed = random_distances(4, 3, values=1000, n_examples=2)
    symmetric = directed + directed.swapaxes(1, 2)
    assert q_of(symmetric, identity(4, 3)).expected == pytest.approx(np.full((2, 3), 1 / 3))
    # From caption 0 the other three are 1 away, from each of them all are 2 away. A triangle (x; y, w) has the sides
    # d(x, y) = d(x, w) and d(y, w); in order there are 24. In the 6 with x = 0 the last is the longest, in the 6 with
    # y = 0 the shortest; in the other 12 all three sides are 2, a third for each rank.
    lone = np.full((1, 4, 4), 2.0)
    lone[:, 0] = 1.0
    assert q_of(lone, identity(2, 2)).expected[0] == pytest.approx([(6 + 4) / 24, 4 / 24, (6 + 4) / 24])


@pytest.mark.parametrize(("n", "m"), [(2, 2), (5, 5), (10, 5), (10, 10)])
def test_fractional_counts_add_up_to_the_number_of_triangles(n, m):
    counts = q_of(random_distances(n, m, n_examples=9), identity(n, m)).counts
    expected = np.tile([n * m * (m - 1), n * m * (n - 1)], (9, 1))
    assert counts.sum(axis=2) == pytest.approx(expected, rel=1e-14)
    assert expected[0].sum() == n * m * (n + m - 2)


def test_the_diagonal_does_not_count():
    distances = random_distances(4, 4, n_examples=5)
    other = distances + 100 * np.eye(8)
    assert np.array_equal(q_of(distances, everything(4, 4)).q, q_of(other, everything(4, 4)).q)


def test_ten_equal_captions_have_q_0_and_p_1():
    found = q_of(np.full((1, 10, 10), 0.3), everything(5, 5))
    assert found.q.max() == 0
    assert found.pvalues.tolist() == [[1.0], [1.0]]


def test_exact_comparison_counts_the_mirror_image_of_every_partition():
    distances = random_distances(4, 4, n_examples=50, values=1000)
    shares = np.rint(q_of(distances, everything(4, 4)).pvalues * 70)
    assert shares.min() >= 2
    assert np.array_equal(shares % 2, np.zeros((2, 50)))


def test_an_example_does_not_depend_on_the_others_or_on_blocks(monkeypatch):
    distances = random_distances(4, 5, n_examples=7)
    whole = q_of(distances, everything(4, 5))
    alone = [q_of(one[None], everything(4, 5)) for one in distances]
    monkeypatch.setattr(triangles, "_EXAMPLES_PER_BLOCK", 2)
    monkeypatch.setattr(triangles, "_VALUES_PER_BLOCK", 10)
    small = q_of(distances, everything(4, 5))
    for one in (triangles.TriangleTests(*(np.concatenate(part, axis) for part, axis in parts_of(alone))), small):
        assert np.array_equal(whole.q, one.q)
        assert np.array_equal(whole.pvalues, one.pvalues)
        assert np.array_equal(whole.counts, one.counts)
        assert np.array_equal(whole.expected, one.expected)


def parts_of(tests):
    axes = {"q": 1, "pvalues": 1, "counts": 0, "expected": 0}
    return (([getattr(test, name) for test in tests], axis) for name, axis in axes.items())


# -- levels -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("values", "tie_tol", "expected"),
    [
        ([3.0, 1.0, 2.0, 1.0], 0.0, [2, 0, 1, 0]),
        ([0.3, 0.3 + 5e-11, 0.3 + 1e-10, 0.4], 6e-11, [0, 0, 0, 1]),
        ([0.3, 0.3 + 5e-11, 0.3 + 1e-10, 0.4], 1e-12, [0, 1, 2, 3]),
        # Rounded to 12 digits, these would fall on two sides of a grid line.
        ([0.9921875000005 - 1e-13, 0.9921875000005 + 1e-13, 0.0, 1.0], 1e-12, [1, 1, 0, 2]),
        ([np.inf, 1.0, np.inf, -np.inf], 1e-12, [2, 1, 2, 0]),
    ],
)
def test_levels_by_hand(values, tie_tol, expected):
    assert triangles.levels(np.reshape(values, (1, 2, 2)), tie_tol).ravel().tolist() == expected


def test_levels_of_many_captions_need_more_than_16_bits():
    distances = np.arange(182.0**2).reshape(1, 182, 182)
    assert np.array_equal(triangles.levels(distances, 0.0), distances)


def test_infinity_is_the_largest_distance():
    distances = random_distances(4, 4, n_examples=5)
    largest = distances == 5
    infinite = np.where(largest, np.inf, distances)
    assert np.array_equal(q_of(distances, everything(4, 4)).q, q_of(infinite, everything(4, 4)).q)


# -- errors -----------------------------------------------------------------------------------------------------------
def test_unknown_ties_are_refused():
    with pytest.raises(ValueError, match=r"^`ties`.*got 'coin'"):
        q_of(random_distances(2, 2), identity(2, 2), "coin")


@pytest.mark.parametrize("n", [0, 1, 3])
def test_fewer_than_two_captions_on_a_side_are_refused(n):
    message = rf"^`candidates`.*at least 2 captions.*got {n}"
    with pytest.raises(ValueError, match=message):
        q_of(random_distances(2, 2), identity(n, 4 - n))

"""Support of a user's own group, against sets of leaves, and all the ways to name it."""

import numpy as np
import pandas as pd
import pytest

import coaltree as ct
from coaltree.model.data.table import INDEX
from tests.posteriors import listed, random_posterior
from tests.reference import summaries


def named(**extra):
    return random_posterior(1, labels=list("abcdefg"), **extra)


# What it is


@pytest.mark.parametrize(("seed", "n"), [(0, 7), (1, 12), (2, 30), (3, 3)])
@pytest.mark.parametrize("weighted", [True, False])
def test_group_support_is_that_of_sets_of_leaves(seed, n, weighted):
    post = random_posterior(seed, n=n, weighted=weighted)
    trees, rng = listed(post), np.random.default_rng(seed)
    for size in {2, 3, n // 2, n - 1} - {1}:
        group = frozenset(rng.permutation(n)[:size].tolist())
        support = post.support(list(group))
        closest = [summaries.closest_clade(group, children) for children, _ in trees]
        similar = [summaries.jaccard(group, clade) for clade in closest]
        assert support.rows == tuple(str(i) for i in sorted(group))
        assert support.exact == pytest.approx(summaries.clade_frequencies(trees, post.weights).get(group, 0.0))
        assert support.similarity == pytest.approx(post.weights @ similar)
        ends = [summaries.quantile(similar, post.weights, q) for q in (0.05, 0.95)]
        np.testing.assert_allclose(support.interval, ends)
        inside = np.array([post.weights @ [i in clade for clade in closest] for i in range(n)])
        np.testing.assert_allclose(support.inside, inside, atol=1e-12)
        wanders = np.array([1 - inside[i] if i in group else inside[i] for i in range(n)])
        both = support.wanders_in | support.wanders_out
        assert both == pytest.approx({str(i): wanders[i] for i in range(n) if wanders[i] >= 0.05 - 1e-12})
        assert set(support.wanders_out) == set(both) & set(support.rows)
        for listing in (support.wanders_in, support.wanders_out):
            assert list(listing.values()) == sorted(listing.values(), reverse=True)


def test_group_support_is_the_stability_of_the_same_cluster():
    post = random_posterior(0, n=9, n_trees=50)
    labels = post.cut(3)
    for cluster, jaccard in enumerate(post.stability(labels).jaccard):
        if np.count_nonzero(labels == cluster) > 1:
            assert post.support(labels == cluster).similarity == pytest.approx(jaccard)


# How it is named


@pytest.mark.parametrize(
    "rows",
    [
        ["b", "d", "e"],
        ("e", "d", "b"),
        {"b", "d", "e"},
        [np.int32(1), 3, 4],
        range(1, 5, 1),
        np.isin(list("abcdefg"), ["b", "d", "e"]),
        pd.Series(["b", "d", "e"], index=[7, 8, 9]),
        pd.Series([True, True, True, False, False, False, False], index=list("edbacgf")),
        pd.Series([False, True, False, True, True, False, False], list("abcdefg"), dtype="boolean"),
    ],
)
def test_read_group_takes_names_positions_and_masks(rows):
    expected = ("b", "c", "d", "e") if isinstance(rows, range) else ("b", "d", "e")
    assert named().support(rows).rows == expected


@pytest.mark.parametrize(
    "index",
    [[30, 10, 20, -1, 7, 8, 9], pd.date_range("2024-02-28", periods=7), np.arange(7) / 2],
    ids=["integers", "dates", "numbers"],
)
def test_read_group_takes_the_index_of_the_table(index):
    frame = pd.DataFrame(np.zeros((7, 2)), index=index)
    about = {"name": None, "is_integer": frame.index.dtype.kind == "i"}
    post = random_posterior(1, labels=map(str, frame.index), info={INDEX: about})
    expected = tuple(str(frame.index[i]) for i in (1, 2, 5))
    assert post.support(frame.index[[5, 2, 1]]).rows == expected
    assert post.support(expected).rows == expected
    mask = pd.Series(frame.index.isin(frame.index[[5, 2, 1]]), index=frame.index)
    assert post.support(mask.sort_index()).rows == expected


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (["a", "x", "b", "y", "z", "v"], "such as a, b, c, not 'x', 'y', 'z' and 1 more."),
        (["a", 1], "not '1'."),
        ([], "at least two different leaves, not 0."),
        ([2, 2], "twice; name each leaf once."),
        ([True] * 6, "a mask of 6 entries, but there are 7 leaves."),
        ([0, 7], "numbers from 0 to 6, not 7."),
        ([0, -1, 10**30], "numbers from 0 to 6, not -1, 1000000000000000000000000000000."),
        (np.zeros((2, 2)), "not ndarray."),
        (pd.DataFrame({"u": [1]}), "an index such as X.index[:3], not DataFrame."),
    ],
)
def test_read_group_refuses_what_is_no_group(rows, words):
    with pytest.raises(ct.InputError) as error:
        named().support(rows)
    assert str(error.value).startswith("rows ") and str(error.value).endswith(words)

"""The report page as text: what it says is what the posterior says. tests/browser looks at what it does."""

import dataclasses
import html
import json
import math
import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import coaltree as ct
from coaltree.plotting import geometry
from coaltree.posterior.clusters.answer import ClusterAnswer, answer_for
from coaltree.posterior.diagnostics.outliers import describe_noise
from coaltree.report import (
    checks,
    drawing,
    figures,
    glance,
    noise,
    offers,
    parameters,
    pixels,
    report_html,
    reproduce,
    verdicts,
    write_report,
)
from coaltree.report.text import count, escape, number, percent, printable
from tests.browser.posteriors import chain_posterior, leaf_names
from tests.posteriors import grouped_posterior, random_posterior, side_branch_posterior
from tests.strategies import random_tree


def content_of(text):
    return json.loads(re.search(r'<script type="application/json" id="content">(.*?)</script>', text, re.DOTALL)[1])


def words_of(text):
    """The page's text without markup, white space made single."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


@pytest.fixture(scope="module")
def posterior():
    return chain_posterior(40, 6, 50, labels=leaf_names(40), noise=0.6)


@pytest.fixture(scope="module")
def page(posterior):
    return report_html(posterior, n_clusters=4)


# Text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1.0, "1"),
        (0.123456, "0.123"),
        (-2.5, "-2.5"),
        (123.456, "123"),
        (1234.5, "1,234"),
        (999999, "999,999"),
        (1e6, "1e6"),
        (1.2345e7, "1.23e7"),
        (0.0001, "0.0001"),
        (0.00001234, "1.23e-5"),
        (math.nan, "–"),
        (math.inf, "–"),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0 %"), (1, "100 %"), (0.999, "over 99 %"), (0.001, "under 1 %"), (0.5, "50 %")]
)
def test_percent_never_rounds_to_all_or_nothing(share, text):
    assert percent(share).replace("\N{NO-BREAK SPACE}", " ") == text


def test_counts():
    assert count(1, "leaf", "leaves") == "1 leaf"
    assert count(2000, "tree") == "2,000 trees"


def test_escaping():
    assert escape("<b> & \"'") == "&lt;b&gt; &amp; &quot;&#x27;"
    assert printable("a\x00b\ud800\u202e") == "a\ufffdb\ufffd\ufffd"
    assert printable("naïve 水\n") == "naïve 水\n"


# Characters for matrices


def decoded(codes):
    return np.array([pixels.ALPHABET.index(c) for c in codes])


def test_shares_come_back_within_a_level():
    shares = np.linspace(0, 1, 200)
    back = decoded(pixels.shares(shares)) / 63
    np.testing.assert_allclose(back, shares, atol=0.5 / 63 + 1e-12)
    assert back[0] == 0
    assert back[-1] == 1


def test_values_come_back_within_a_level_and_nan_is_zero():
    matrix = np.array([[-3.0, 0.0, 1.5], [np.nan, 3.0, 99.0]])
    pairs = decoded(pixels.values(matrix, -3, 3)).reshape(-1, 2)
    levels = pairs[:, 0] * 64 + pairs[:, 1]
    back = np.where(levels == 0, np.nan, -3 + (levels - 1) / 4094 * 6)
    np.testing.assert_allclose(back, np.clip(matrix, -3, 3).ravel(), atol=6 / 4094)


@pytest.mark.parametrize("shape", [(7, 5), (40, 3), (3, 40), (6, 6)])
def test_shrunk_cells_are_means_of_what_is_there(shape):
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=shape)
    matrix[rng.random(shape) < 0.3] = np.nan
    matrix[0] = np.nan
    rows, columns = 4, 3
    small = pixels.shrink(matrix, rows, columns)
    r, c = min(rows, shape[0]), min(columns, shape[1])
    assert small.shape == (r, c)
    for i in range(r):
        for j in range(c):
            block = matrix[i * shape[0] // r : (i + 1) * shape[0] // r, j * shape[1] // c : (j + 1) * shape[1] // c]
            kept = block[~np.isnan(block)]
            expected = kept.mean() if len(kept) else np.nan
            np.testing.assert_allclose(small[i, j], expected)


# What the script is given


def test_the_tree_is_the_posteriors(page, posterior):
    tree = content_of(page)["tree"]
    best = posterior.mean_tree()
    shown = ct.Tree(np.reshape(tree["children"], (-1, 2)), tree["times"], tree["labels"])
    assert {frozenset(clade) for clade in shown.clades()} == {frozenset(clade) for clade in best.clades()}
    np.testing.assert_allclose(shown.times, best.times, rtol=1e-5)
    np.testing.assert_allclose(tree["support"], posterior.clade_support(shown, kind="transfer"), atol=1e-3)
    np.testing.assert_allclose(tree["exact"], posterior.clade_support(shown), atol=1e-3)
    basis = posterior.node_time_basis(shown, 0.9)
    assert tree["closest"] == np.flatnonzero(basis == "closest").tolist()
    np.testing.assert_allclose(
        np.transpose([tree["low"], tree["high"]]).astype(float), posterior.node_times(shown, 0.9), rtol=1e-5
    )
    assert (shown.sizes[shown.children[:, 0]] <= shown.sizes[shown.children[:, 1]]).all()


def test_the_co_clustering_is_the_posteriors(posterior):
    order = figures.tree_figure(posterior).tree.leaf_order()
    levels = figures.together_figure(posterior, order, 9)["levels"]
    assert [level["clusters"] for level in levels] == [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30]
    upper = np.triu_indices(40, 1)
    for level in levels:
        expected = posterior.coclustering(level["clusters"])[np.ix_(order, order)][upper]
        np.testing.assert_allclose(decoded(level["codes"]) / 63, expected, atol=0.5 / 63 + 1e-12)


def test_the_page_has_the_order_of_the_figures(posterior):
    order = figures.tree_figure(posterior).tree.leaf_order()
    np.testing.assert_array_equal(order, geometry.arrange(posterior.mean_tree()).tips)


def test_of_many_leaves_evenly_spaced_ones_are_shown(monkeypatch, posterior):
    monkeypatch.setattr(figures, "_MOST_TOGETHER", 10)
    order = figures.tree_figure(posterior).tree.leaf_order()
    (level,) = (x for x in figures.together_figure(posterior, order, 9)["levels"] if x["clusters"] == 9)
    leaves = order[[2, 6, 10, 14, 18, 22, 26, 30, 34, 38]]
    expected = posterior.coclustering(9)[np.ix_(leaves, leaves)][np.triu_indices(10, 1)]
    np.testing.assert_allclose(decoded(level["codes"]) / 63, expected, atol=0.5 / 63 + 1e-12)


def test_draws_are_taken_evenly_by_weight(monkeypatch):
    monkeypatch.setattr(figures, "_MOST_DRAWS", 10)
    post = chain_posterior(6, 2, 40)
    weighted = ct.Posterior(post.children, post.times, log_weights=np.where(np.arange(40) < 4, 0.0, -50.0))
    _, times, weights = figures._draws(weighted)
    np.testing.assert_allclose(weights, 0.1)
    assert all(any(np.array_equal(row, kept) for kept in post.times[:4]) for row in times)


def test_partitions_are_the_posteriors(page, posterior):
    partitions = content_of(page)["partitions"]
    assert [given["k"] for given in partitions] == list(range(1, 13))
    for given in partitions:
        k = given["k"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ct.ClusterSizeWarning)
            labels = posterior.cut(k)
            stability = posterior.stability(labels)
            membership = posterior.membership(labels)
        np.testing.assert_array_equal(decoded(given["cluster"]), labels)
        assert given["sizes"] == np.bincount(labels).tolist()
        np.testing.assert_allclose(given["jaccard"], stability.jaccard, atol=0.01)
        np.testing.assert_allclose(np.transpose([given["low"], given["high"]]), stability.interval, atol=0.0051)
        assert tuple(given["words"]) == stability.words
        pairs = decoded(given["sure"]).reshape(-1, 2)
        own = membership[np.arange(40), labels]
        np.testing.assert_allclose((pairs[:, 0] * 64 + pairs[:, 1] - 1) / 4094, own, atol=1e-3)
        assert len(given["colours"]) == k
    assert partitions[3]["colours"] == [0, 1, 2, 3]


def test_a_cluster_keeps_its_colour_from_one_number_to_the_next():
    labels = np.repeat([0, 1, 2], 4)
    split = np.array([0, 0, 0, 1, *[2] * 4, *[3] * 4])
    assert offers._colours_after(labels, [5, 1, 2], split) == [5, 0, 1, 2]
    assert offers._colours_after(split, [5, 0, 1, 2], labels) == [5, 1, 2]


def test_other_numbers_are_offered_beside_a_large_one(monkeypatch, posterior):
    start = glance.choose_start(posterior, 33)
    assert list(offers.make_offers(posterior, start)) == [*range(1, 13), 33]
    monkeypatch.setattr(offers, "_MOST_OFFERED", ((39, 12), (np.inf, 5)))
    assert list(offers.make_offers(posterior, start)) == [1, 2, 3, 4, 5, 33]
    assert list(offers.make_offers(posterior[:3], glance.choose_start(posterior, 2))) == [1, 2, 3, 4, 5]


def test_more_clusters_than_characters_are_a_list():
    post = chain_posterior(70, 3, 4)
    (large,) = (x for x in content_of(report_html(post, n_clusters=70))["partitions"] if x["k"] == 70)
    assert large["cluster"] == list(range(70))


def test_a_leaf_between_two_clusters_is_doubtful():
    # (0 1) and (2 3), with leaf 4 with the former in six trees of ten
    left = [[0, 1], [2, 3], [4, 5], [6, 7]]
    right = [[0, 1], [2, 3], [4, 6], [5, 7]]
    post = ct.Posterior(np.array([left] * 6 + [right] * 4), np.tile([1.0, 1.1, 2.0, 5.0], (10, 1)))
    answer = answer_for(post, 2)
    (doubt,) = glance.doubtful_leaves(answer)
    assert doubt == pytest.approx(glance.Doubt(4, 0, 0.6, 1, 0.4))
    assert "4 cluster 1 60 % cluster 2 40 %" in words_of(glance.doubts(post, answer))
    assert glance.doubts(post, answer_for(post, 1)) == ""
    assert "every leaf is at least 90 % sure" in words_of(glance.doubts(post[:6], answer_for(post[:6], 2)))


def test_leaves_that_are_more_probable_in_another_cluster_are_listed_first():
    post = random_posterior(0, n=4, labels=[*"abcd"])
    membership = np.array([[0.9, 0.1, 0.0], [0.4, 0.5, 0.1], [0.3, 0.35, 0.35], [0.1, 0.65, 0.25]])
    answer = ClusterAnswer(np.array([0, 0, 1, 2]), membership, answer_for(post, 3).stability, np.zeros(4, bool))
    assert [doubt.leaf for doubt in glance.doubtful_leaves(answer)] == [3, 1, 2]
    said = words_of(glance.doubts(post, answer))
    assert "2 leaves are more probable in another cluster than in their own, where the mean tree has them." in said
    assert "d cluster 3 25 % more probable in cluster 2 65 % 10 %" in said
    assert "c cluster 2 35 % cluster 3 35 % 30 %" in said
    one = glance.doubts(post, answer._replace(labels=np.array([0, 1, 1, 2])))
    assert "One leaf is more probable in another cluster than in its own" in words_of(one)


def test_side_branches_are_told_to_the_page():
    post = side_branch_posterior()
    partitions = {given["k"]: given for given in content_of(report_html(post, n_clusters=2))["partitions"]}
    assert partitions[1]["sideLeaves"] == []
    assert partitions[2]["sideLeaves"] == [9]
    for k, given in partitions.items():
        assert given["sideLeaves"] == np.flatnonzero(answer_for(post, k, quietly=True).side_branch).tolist()


@pytest.mark.parametrize("n_clusters", [1, 40])
def test_one_cluster_and_one_leaf_each_have_a_page_too(posterior, n_clusters):
    text = report_html(posterior, n_clusters=n_clusters)
    assert content_of(text)["clusters"] == n_clusters


def test_data_in_tree_order(posterior):
    order = figures.tree_figure(posterior).tree.leaf_order()
    content = figures.data_figure(figures.read_data(posterior, None), order)
    pairs = decoded(content["codes"]).reshape(-1, 2)
    back = content["low"] + (pairs[:, 0] * 64 + pairs[:, 1] - 1) / 4094 * (content["high"] - content["low"])
    expected = np.clip(posterior.X[order], content["low"], content["high"])
    np.testing.assert_allclose(back.reshape(40, 6), expected, atol=1e-2)
    assert content["twoSided"]
    assert not content["scaled"]


def test_columns_of_other_scales_are_scaled_and_can_be_read_back(posterior):
    order = figures.tree_figure(posterior).tree.leaf_order()
    X = posterior.X * [1, 10, 100, 1000, 1, 0] + [0, 5, 0, 0, 0, 7]
    X[3, 2] = np.nan
    content = figures.data_figure(figures.read_data(posterior, X), order)
    assert content["scaled"]
    assert content["missing"] == 1
    np.testing.assert_allclose(content["mean"], np.nanmean(X, axis=0), rtol=1e-3)
    np.testing.assert_allclose(content["sd"][:5], np.nanstd(X, axis=0)[:5], rtol=1e-3)
    assert content["sd"][5] == 1
    other = content["other"]  # for the reader who wants them as they are
    assert not other["scaled"]
    pairs = decoded(other["codes"]).reshape(-1, 2)
    back = other["low"] + (pairs[:, 0] * 64 + pairs[:, 1] - 1) / 4094 * (other["high"] - other["low"])
    expected = np.clip(X[order], other["low"], other["high"])
    seen = ~np.isnan(expected)
    np.testing.assert_allclose(
        back.reshape(40, 6)[seen], expected[seen], atol=2 * (other["high"] - other["low"]) / 4094
    )


def test_large_data_are_averaged(monkeypatch, posterior):
    monkeypatch.setattr(figures, "_MOST_COLUMNS", 3)
    monkeypatch.setattr(figures, "_MOST_CELLS", 60)
    text = report_html(posterior, n_clusters=4)
    content = content_of(text)["data"]
    assert (content["rows"], content["columns"]) == (20, 3)
    assert content["names"] == ["0 … 1", "2 … 3", "4 … 5"]
    assert "20 × 3 cells show 40 × 6 values" in words_of(text)


def test_a_frame_is_read_by_its_names(posterior):
    frame = pd.DataFrame(posterior.X, index=posterior.labels, columns=list("abcdef"))
    shuffled = frame.sample(frac=1, random_state=0)
    data = figures.read_data(posterior, shuffled)
    np.testing.assert_array_equal(data.values, posterior.X)
    assert data.names == list("abcdef")


def test_data_of_another_size_are_refused(posterior):
    with pytest.raises(ct.InputError, match="X must have one row per leaf, 40 of them, not 39"):
        report_html(posterior, X=posterior.X[:-1])


# What the page says


def test_the_suggested_number_opens_the_page():
    post = chain_posterior(60, 6, 8)
    suggestion = post.suggest_n_clusters()
    text = report_html(post)
    assert suggestion.n_clusters > 1
    assert content_of(text)["clusters"] == suggestion.n_clusters
    assert html.escape(suggestion.reason) in text
    assert glance.choose_start(post, suggestion) == glance.choose_start(post, None)


def test_where_no_number_stands_out_the_page_shows_one_cluster():
    trees = [random_tree(32, np.random.default_rng(seed)) for seed in range(30)]  # which have nothing in common
    post = ct.Posterior(np.stack([tree.children for tree in trees]), np.stack([tree.times for tree in trees]))
    suggestion = post.suggest_n_clusters()
    assert suggestion.n_clusters == 1
    start = glance.choose_start(post, None)
    assert start == (1, "1 cluster suggested", suggestion.reason)
    assert content_of(report_html(post))["clusters"] == 1


@pytest.mark.parametrize("bad", [0, 41, 2.5, True])
def test_an_impossible_number_of_clusters_is_refused(posterior, bad):
    with pytest.raises(ct.InputError, match="n_clusters must be"):
        report_html(posterior, n_clusters=bad)


def test_the_cards_speak_of_the_clusters_stability():
    same = [[0, 1], [2, 3], [4, 5], [6, 7]]
    other = [[0, 1], [2, 3], [4, 6], [5, 7]]
    times = np.tile([1.0, 1.1, 2.0, 5.0], (10, 1))
    start = glance.Start(2, "2 clusters suggested", "Because.")

    def said(children, k=2):
        post = ct.Posterior(np.array(children), times[: len(children)])
        return glance.cluster_cards(post, start, answer_for(post, k, quietly=True))

    number_card, sure = said([same] * 10)
    assert number_card == ("2 clusters suggested", "Because.", "")
    assert sure[::2] == ("Both clusters are stable", "good")
    assert "0 leaves of 5 are less than 90" in sure.text
    half = said([same] * 5 + [other] * 5)[1]
    assert half[::2] == ("1 of 2 clusters is stable", "fair")  # (1 + 2/3) / 2, and 1
    assert re.match(r"Least stable: cluster \d, 3 leaves, doubtful: similarity 0.83", half.text)
    assert "One leaf of 5 is less than 90" in half.text
    assert said([same] * 10, 5)[0][:2] == ("5 clusters", "The page opened with 2 clusters. Because.")
    start = start._replace(reason="2 clusters: two.")
    assert said([same] * 10, 5)[0].text == "The page opened with 2 clusters: two."
    assert said([same] * 10, 5)[1].heading == "All 5 clusters are stable"
    assert said([same] * 10, 1)[1].heading == "All leaves in one cluster"
    assert said([same], 2)[1].heading == "One tree, no uncertainty"


def settled(**changes):
    rng = np.random.default_rng(0)
    post = chain_posterior(12, 4, 800, amplitude=rng.gamma(30, 0.1, 800))
    options = {"theta": dict(post.theta), "chain": post.chain, "log_joint": post.log_joint} | changes
    return ct.Posterior(post.children, post.times, **options)


def test_a_settled_run_is_said_to_be_settled():
    verdict = verdicts.judge(settled())
    assert {finding.grade for finding in verdict.findings} == {"good"}
    assert verdict.heading == "No sign of poor convergence"
    assert not any(finding.advice for finding in verdict.findings)


def test_chains_that_disagree_are_said_to():
    chain = np.arange(800) % 2
    amplitude = np.random.default_rng(0).normal(size=800) + 10 * chain
    verdict = verdicts.judge(settled(theta={"amplitude": amplitude}, chain=chain))
    by_name = {finding.name: finding for finding in verdict.findings}
    assert by_name["R-hat"].grade == "poor"
    assert "amplitude" in by_name["R-hat"].value
    assert "Run longer" in by_name["R-hat"].advice
    assert by_name["Effective sample size"].grade == "poor"
    assert verdict.heading == "The run has not converged"
    assert "R-hat" in verdict.sentence


def test_trees_that_differ_by_chain_make_supports_rough():
    left, right = [[0, 1], [2, 3], [4, 5]], [[0, 2], [1, 3], [4, 5]]
    children = np.array([left] * 100 + [right] * 100)
    post = ct.Posterior(
        children,
        np.tile([1.0, 2.0, 3.0], (200, 1)),
        chain=np.repeat([0, 1], 100),
        log_joint=np.random.default_rng(0).normal(size=200),
    )
    by_name = {finding.name: finding for finding in verdicts.judge(post).findings}
    finding = by_name["Standard deviation of split frequencies"]
    assert finding.grade == "poor"
    assert "Supports are rough" in finding.advice


def test_one_chain_cannot_show_agreement():
    verdict = verdicts.judge(settled(chain=np.zeros(800, int)))
    by_name = {finding.name: finding for finding in verdict.findings}
    assert by_name["Standard deviation of split frequencies"].grade == "unknown"
    assert "n_chains=2" in by_name["Standard deviation of split frequencies"].advice


def test_particles_one_tree_and_trees_of_unknown_origin():
    post = settled()
    particles = ct.Posterior(post.children, post.times, log_weights=np.linspace(0, 40, 800), log_evidence=-3.0)
    verdict = verdicts.judge(particles)
    assert verdict.findings[0].grade == "fair"
    assert verdict.findings[0].value.startswith(number(particles.ess))
    assert verdicts.judge(post[:1]).grade == "unknown"
    assert "One tree, no uncertainty" in words_of(report_html(post[:1], n_clusters=2))
    unknown = verdicts.judge(ct.Posterior(post.children, post.times))
    assert unknown.grade == "unknown"
    assert "not recorded" in unknown.sentence


def test_scalar_parameters_have_a_row_with_weighted_median_and_interval():
    draws = np.arange(1.0, 102.0)
    post = chain_posterior(8, 2, 101, amplitude=draws)
    section, correlation = parameters.section(post, None, {"amplitude": {"r_hat": 1.01, "ess": 88.0}})
    assert correlation is None
    assert "51 6 to 96" in words_of(section)
    assert "R-hat 1.01, effective sample size 88" in section
    weighted = ct.Posterior(
        post.children, post.times, theta={"amplitude": draws}, log_weights=np.where(draws < 91, -99.0, 0.0)
    )
    assert "96 91 to 101" in words_of(parameters.section(weighted, None, {})[0])


def test_vectors_and_matrices_of_parameters():
    rng = np.random.default_rng(0)
    few = chain_posterior(8, 3, 30, variances=rng.gamma(5, 1, (30, 3)))
    section, _ = parameters.section(few, ["a", "b", "<c>"], {})
    assert section.count("<tr>") == 4
    assert "variances[&lt;c&gt;]" in section
    many = chain_posterior(8, 3, 30, variances=rng.gamma(5, 1, (30, 300)))
    section, _ = parameters.section(many, None, {})
    assert "of 300 columns" in words_of(section)
    assert section.count('<path class="interval"') == 1
    full = np.array([np.cov(rng.normal(size=(4, 40))) for _ in range(30)])
    section, correlation = parameters.section(chain_posterior(8, 4, 30, Phi=full), list("abcd"), {})
    pairs = decoded(correlation["codes"]).reshape(-1, 2)
    back = (-1 + (pairs[:, 0] * 64 + pairs[:, 1] - 1) / 4094 * 2).reshape(4, 4)
    expected = np.mean([c / np.sqrt(np.outer(np.diag(c), np.diag(c))) for c in full], axis=0)
    np.testing.assert_allclose(back, expected, atol=1e-3)
    assert "Strongest: " in section


def test_a_known_covariance_has_nothing_to_estimate():
    post = chain_posterior(8, 2, 10)
    bare = ct.Posterior(post.children, post.times)
    assert "no parameters were estimated" in parameters.section(bare, None, {})[0]


# The model


def test_the_page_shows_every_check_with_its_p_value_and_advice():
    X, tree = ct.simulate(40, 3, noise=1.0, random_state=0)
    post = ct.Posterior(
        tree.children[None], tree.times[None], X=X, covariance=ct.Fixed(np.eye(3)), columns=["<a>", "b", "c"]
    )
    found = post.check()
    assert "noise" in [one.name for one in found.wrong]
    section = checks.section(found)
    words = words_of(section)
    assert words.count("p = ") == len(found) == section.count("<li ")
    assert found.headline in words
    assert 'Try noise="student" (the default of fit) or noise="learn".' in words
    assert section.count("<svg") == len(found) + 2
    assert checks.card(found).grade == "poor"
    assert "See noise" in checks.card(found).text
    of_noise = dataclasses.replace(found, checks=(found["noise"],))
    assert (checks.card(of_noise).heading, checks.card(of_noise).grade) == ("The model is not quite right", "fair")
    assert "Does the model hold?" in words_of(report_html(post, n_clusters=2))


def test_the_page_warns_where_supports_are_likely_to_be_too_high():
    X, tree = ct.simulate(40, 2, random_state=0)
    X = np.column_stack([X, X + 0.1 * np.random.default_rng(0).standard_normal(X.shape)])
    found = ct.Posterior(tree.children[None], tree.times[None], X=X, covariance=ct.Fixed(np.eye(4))).check()
    assert "correlation" in [one.name for one in found.wrong]
    card = checks.card(found)
    assert (card.heading, card.grade) == ("Supports may be too high", "poor")
    assert "too sure" in card.text


def test_a_model_that_cannot_be_checked_says_why_on_the_page():
    post = chain_posterior(8, 2, 10)
    assert "there are 8 different rows, and it takes 10" in checks.section(checks.found(post))
    bare = checks.found(ct.Posterior(post.children, post.times))
    assert checks.card(bare).grade == "unknown"
    assert checks.section(bare).startswith("<p>The model cannot be checked: this posterior does not include its data")


# Reproducing


@pytest.mark.filterwarnings("ignore::coaltree.ConvergenceWarning")
@pytest.mark.parametrize(
    "length", [{"n_samples": 5, "n_warmup": 2}, {"max_iterations": 12}, {"n_warmup": 3, "max_iterations": 9}]
)
def test_the_call_on_the_page_repeats_the_run(length):
    X, _ = ct.simulate(n=10, d=3, random_state=0)
    post = ct.fit(X, "scaled", **length, random_state=3, progress=False)
    names = {"X": X}
    exec(reproduce._call(post), names)
    np.testing.assert_array_equal(names["posterior"].times, post.times)
    np.testing.assert_array_equal(names["posterior"].theta["amplitude"], post.theta["amplitude"])
    assert html.escape(reproduce._call(post)) in report_html(post)


def test_settings_and_versions(posterior, page):
    text = words_of(page)
    for part in ("seed 7", "sampler Regraft()", f"coaltree {ct.__version__}", f"numpy {np.__version__}", "SHA-256"):
        assert part in text
    changed = report_html(posterior, X=posterior.X + 1e-9, n_clusters=4)
    assert "SHA-256" in changed
    assert re.search(r"(\w{16}) \(SHA", text)[1] != re.search(r"(\w{16}) \(SHA", words_of(changed))[1]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "True"),
        (3, "3"),
        (0.25, "0.25"),
        (np.float64(0.5), "0.5"),
        (np.array(2.0), "2"),
        (np.zeros((3, 3)), "array of shape (3, 3)"),
        ({"a": [1, 2]}, "{a: (1, 2)}"),
        (ct.Spherical(amplitude=2.0), "Spherical(amplitude=2, learn=True, priors={})"),
        ("x" * 1000, "x" * 399 + "…"),
    ],
)
def test_settings_are_described(value, text):
    assert reproduce.describe(value) == text


# The file


class Checker(HTMLParser):
    """Sees to it that every element that must be closed is."""

    VOID = frozenset({"meta", "link", "input", "br", "img"})

    def __init__(self):
        super().__init__()
        self.open, self.faults = [], []

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        if "style" in names or any(name.startswith("on") for name in names):
            self.faults.append((tag, names))  # the page's own policy forbids both
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}>")


def test_the_page_is_well_formed(page):
    checker = Checker()
    checker.feed(page)
    assert checker.faults == []
    assert checker.open == []


def test_nothing_points_outside(page):
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?\s*(?:https?:|//)", page)
    assert "@import" not in page
    assert "url(" not in page
    assert "default-src 'none'" in page


def test_hostile_names_stay_text():
    labels = ["</script><b>", "<!--", "{{content}}", "\\g<1>", *map(str, range(8))]
    post = chain_posterior(12, 2, 10, labels=labels, columns=("</style>", "{{style}}"))
    text = report_html(post, n_clusters=3, title="</title><script>alert(1)</script>")
    assert "<b>" not in text
    assert "<script>alert" not in text
    assert text.count("</style>") == 1
    assert content_of(text)["tree"]["labels"] == labels
    checker = Checker()
    checker.feed(text)
    assert checker.faults == []


def test_five_hundred_leaves_fit_a_mail():
    post = chain_posterior(500, 300, 8)
    post.theta["variances"] = np.random.default_rng(0).gamma(3, 1, (8, 300))
    text = report_html(post, n_clusters=5)
    assert content_of(text)["data"]["of"] == [500, 300]
    assert len(text.encode()) < 1_500_000


def test_same_posterior_same_bytes(posterior, page):
    assert report_html(posterior, n_clusters=4) == page


def test_writing(tmp_path, posterior, page):
    path = write_report(posterior, tmp_path / "report.html", n_clusters=4)
    assert path.read_text(encoding="utf-8") == page
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(ct.InputError, match="already exists"):
        write_report(posterior, path)
    assert "Another" in write_report(posterior, path, title="Another", force=True).read_text(encoding="utf-8")
    with pytest.raises(ct.InputError, match="is a folder"):
        write_report(posterior, tmp_path)
    with pytest.raises(ct.InputError, match="does not exist"):
        write_report(posterior, tmp_path / "nowhere" / "report.html")


def test_the_report_needs_no_picture_library():
    import subprocess
    import sys

    code = "import coaltree.report, sys; print('matplotlib' in sys.modules, 'sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


# Noise


def test_the_page_of_leaves_with_several_rows_shows_their_means():
    post = grouped_posterior(n=9, n_trees=40)
    text = report_html(post, n_clusters=2)
    order = figures.tree_figure(post).tree.leaf_order()
    assert content_of(text)["data"] == figures.data_figure(figures.read_data(post, None), order)
    np.testing.assert_allclose(figures.read_data(post, None).values, post.leaf_values())
    assert content_of(text)["data"]["of"] == [9, 3]
    words = words_of(text)
    assert "9 leaves · 18 rows · 3 columns" in words
    assert "shown by the mean of its rows" in words
    assert "Rows: 18, 1 to 3 of each leaf." in words
    assert "leaf 2 3, leaf 5 3, leaf 8 3, leaf 1 2" in words.replace("\N{NO-BREAK SPACE}", " ")


def test_other_data_may_be_of_the_rows_or_of_the_leaves():
    post = grouped_posterior()
    frame = pd.DataFrame(10 * post.X, index=post.row_labels, columns=list("abc"))
    data = figures.read_data(post, frame.sample(frac=1, random_state=0))
    np.testing.assert_allclose(data.values, 10 * post.leaf_values())
    np.testing.assert_array_equal(figures.read_data(post, post.leaf_values()).values, post.leaf_values())
    with pytest.raises(ct.InputError, match="one row per leaf"):
        report_html(post, X=post.X[:-1])


def test_odd_rows_and_noise_are_told():
    post = grouped_posterior(n_trees=40)
    words = words_of(report_html(post))
    assert f"Measurement noise: {describe_noise(post)}." in words
    assert "One row is odd:" in words
    assert f"row 1 {post.labels[post.groups[1]]}" in words
    assert "noise_level Measurement noise of a row" in words
    scales = np.ones((40, 13))
    assert "No row is odd" in words_of(noise.section(grouped_posterior(n_trees=40, tail_scale=scales)))
    scales[:, :3] = 50.0
    assert "3 rows are odd" in words_of(noise.section(grouped_posterior(n_trees=40, tail_scale=scales)))
    assert "standard errors that were given" in noise.section(grouped_posterior(errors=np.ones(13)))


def test_a_model_without_noise_says_so(page):
    assert "The model has no measurement noise" in words_of(page)


def test_the_call_on_the_page_names_errors_and_groups():
    info = {"seed": 7, "sampler": "Regraft()", "n_warmup": 10}
    call = reproduce._call(grouped_posterior(info=info, errors=np.ones(13)))
    assert "    errors=errors,\n    groups=groups,\n)" in call


def test_shares_add_up_for_a_reader():
    assert glance.adding_up((0.6, 0.4)) == ["60\xa0%", "40\xa0%", "0\xa0%"]
    rng = np.random.default_rng(0)
    for _ in range(200):
        shares = rng.dirichlet([1.0, 1.0, 0.3])
        said = [int(text.split("\xa0")[0]) for text in glance.adding_up(tuple(shares[:2]))]
        assert sum(said) == 100
        assert np.abs(np.array(said) - 100 * shares).max() < 1


def test_quantities_far_apart_are_drawn_on_a_logarithmic_scale():
    middles = np.array([0.01, 1.0, 100.0])
    text = drawing.intervals(middles / 2, middles, middles * 2, ["a", "b", "c"], "variances")
    marks = re.search(r'class="mark" d="([^"]*)"', text)[1]
    heights = [float(part.split("h")[0].split(" ")[1]) for part in marks.split("M")[1:]]
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2], abs=0.2)  # equal factors, equal steps
    near = np.array([1.0, 2.0, 3.0])
    text = drawing.intervals(near / 2, near, near * 2, ["a", "b", "c"], "variances")
    assert ">0</text>" in text  # from zero on
    with_negative = drawing.intervals(-middles, middles, 2 * middles, ["a", "b", "c"], "differences")
    assert ">-100</text>" in with_negative

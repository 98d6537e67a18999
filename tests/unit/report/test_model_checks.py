"""Model checks on the page."""

import dataclasses

import numpy as np

import coaltree as ct
from coaltree.posterior.diagnostics.model_checks import check_or_reason
from coaltree.report import model_checks, report_html
from tests.browser.posteriors import chain_posterior
from tests.pages import rendered, words_of


def shown(model):
    """The section of the page."""
    return rendered("model_checks.html", model=model, model_pictures=model_checks.pictures(model))


def test_model_checks_show_p_value_and_advice_of_each():
    X, tree = ct.simulate(40, 3, noise=1.0, random_state=0)
    post = ct.Posterior(
        tree.children[None], tree.times[None], X=X, covariance=ct.Fixed(np.eye(3)), columns=["<a>", "b", "c"]
    )
    found = post.check()
    assert "noise" in [one.name for one in found.wrong]
    section = shown(found)
    words = words_of(section)
    assert words.count("p = ") == len(found) == section.count("<li ")
    assert found.headline in words
    assert f'{model_checks.sentence(found["noise"].advice.why)} Try noise="student".' in words
    assert section.count("<svg") == len(found) + 2
    assert words.count("effect 0.00") >= 1
    of_noise = dataclasses.replace(found, checks=(found["noise"],))
    assert (model_checks.card(of_noise).heading, model_checks.card(of_noise).grade) == (
        "Supports are about right",
        "good",
    )
    assert "Does the model hold?" in words_of(report_html(post, n_clusters=2))


def test_model_checks_card_warns_of_supports_that_are_too_high():
    X, tree = ct.simulate(40, 2, random_state=0)
    X = np.column_stack([X, X + 0.1 * np.random.default_rng(0).standard_normal(X.shape)])
    found = ct.Posterior(tree.children[None], tree.times[None], X=X, covariance=ct.Fixed(np.eye(4))).check()
    assert "correlation" in [one.name for one in found.wrong]
    card = model_checks.card(found)
    assert card.grade == "poor"
    assert card.heading == f"Supports are about {found['correlation'].effect:.2f} too high"
    assert card.text.startswith("Columns vary together along the tree")
    assert card.text.endswith('Try covariance="full".')
    assert "noise" not in card.text


def test_model_checks_card_says_at_least_beyond_what_was_measured():
    X, tree = ct.simulate(40, 1, random_state=0)
    X = X + 0.05 * np.random.default_rng(0).standard_normal((40, 4))
    found = ct.Posterior(tree.children[None], tree.times[None], X=X, covariance=ct.Fixed(np.eye(4))).check()
    card = model_checks.card(found)
    assert card.heading == f"Supports are at least {found['correlation'].effect:.2f} too high"
    assert "On simulated tables with less of this, groups were true that much less often." in card.text
    assert "effect at least 0." in words_of(shown(found))


def test_model_checks_say_why_there_are_none():
    post = chain_posterior(8, 2, 10)
    assert "there are 8 different rows, and it takes 10" in shown(check_or_reason(post))
    bare = check_or_reason(ct.Posterior(post.children, post.times))
    assert model_checks.card(bare).grade == "unknown"
    assert shown(bare).strip().startswith("<p>The model cannot be checked: this posterior does not include its data")

"""Summary cards at the top of the page: how many clusters, how stable they are, and whether the model holds."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._runtime.formatting import count
from .._runtime.validation import check_count
from ..posterior.clusters.answer import ClusterAnswer
from ..posterior.clusters.n_clusters import ClusterSuggestion
from ..posterior.clusters.stability import similarity
from ..posterior.diagnostics.model_checks import ModelCheck
from ..posterior.posterior import Posterior
from .text import percent

MIN_CERTAIN = 0.9  # probability of its cluster, below which a leaf is uncertain


class OpeningNumber(NamedTuple):
    """The number of clusters that the page opens with, and why."""

    n_clusters: int
    heading: str
    reason: str


class Card(NamedTuple):
    """A heading, a sentence or two, and a grade: good, fair, poor, unknown, or none."""

    heading: str
    text: str
    grade: str = ""


def opening_number(posterior: Posterior, n_clusters: int | ClusterSuggestion | None) -> OpeningNumber:
    """Return the number of clusters asked for, or the suggested one."""
    if n_clusters is not None and not isinstance(n_clusters, ClusterSuggestion):
        k = check_count("n_clusters", n_clusters, 1, posterior.n)
        return OpeningNumber(k, count(k, "cluster"), "This number was chosen when the page was made.")
    suggestion = n_clusters or posterior.suggest_n_clusters()
    return OpeningNumber(suggestion.n_clusters, f"{suggestion.numbers} suggested", suggestion.reason)


def cluster_cards(posterior: Posterior, opening: OpeningNumber, answer: ClusterAnswer) -> tuple[Card, Card]:
    """Return the two cards about a partition, which follow the slider: how many clusters and why, and how stable."""
    number_card = Card(opening.heading, opening.reason)
    if answer.n_clusters != opening.n_clusters:
        opened = count(opening.n_clusters, "cluster")
        number_card = Card(count(answer.n_clusters, "cluster"), f"The page opened with {opened}.")
    return number_card, _stability_card(posterior, answer)


def _stability_card(posterior: Posterior, answer: ClusterAnswer) -> Card:
    k, stability = answer.n_clusters, answer.stability
    if len(posterior) == 1:
        return Card("One tree, no uncertainty", "The sampler returned a single tree, so nothing is known of others.")
    if k == 1:
        return Card("All leaves in one cluster", "Move the slider to see more clusters, and how stable they are.")
    n_stable = stability.words.count("stable")
    heading = f"{n_stable} of {k} clusters stable"
    least = int(np.argmin(stability.jaccard))
    n_uncertain = int(np.count_nonzero(answer.probability < MIN_CERTAIN))
    text = (
        f"Least stable: cluster {least + 1} ({count(int(stability.sizes[least]), 'leaf', 'leaves')}), stability "
        f"{similarity(stability.jaccard[least])}. Leaves with a probability below {percent(MIN_CERTAIN)} of being in "
        f"their cluster: {n_uncertain:,} of {posterior.n:,}."
    )
    return Card(heading, text, "good" if n_stable == k else "poor" if "dissolved" in stability.words else "fair")


def model_card(model: ModelCheck, say: Callable[[str], str] = str) -> Card:
    """Return the result of all model checks as a card; `say` puts an argument into the reader's words."""
    if not model.checks:
        return Card("The model was not checked", sentence(model.reason), "unknown")
    concern = model.concern
    if concern is not None:
        text = f"{sentence(concern.sentence)} Try {say(concern.option)}."
        return Card("Supports are likely to be too high", text, "poor")
    return Card("The model fits in part" if model.wrong else "No sign of a wrong model", model.headline, "good")


def sentence(text: object) -> str:
    """Return text with a capital letter and a full stop."""
    words = str(text).rstrip(".")
    return f"{words[:1].upper()}{words[1:]}."

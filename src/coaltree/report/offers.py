"""The partitions that the page can show, each with how sure it is: `posterior.answer` for every number of the slider.

They are made here, not by the page, so that page, files and figures agree. From one number to the next a cluster keeps
its colour where most of its leaves stay together; at the number the page opens with, colours are those of the figures.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..posterior.clusters.answer import ClusterAnswer, answer_for
from ..posterior.clusters.stability import lower_end, similarity
from ..posterior.posterior import Posterior
from . import pixels
from .glance import Start, cluster_cards

N_COLOURS = 10
_MOST_OFFERED = ((1000, 12), (10_000, 8), (np.inf, 5))  # up to so many leaves the numbers 1 … 12, and so on


class Offer(NamedTuple):
    """One partition and its colours."""

    answer: ClusterAnswer
    colours: list[int]


def make_offers(posterior: Posterior, start: Start) -> dict[int, Offer]:
    """The partitions by number of clusters, in order."""
    most = next(most for n, most in _MOST_OFFERED if posterior.n <= n)  # each takes time, and room on the page
    numbers = sorted({start.n_clusters, *range(1, min(most, posterior.n) + 1)})
    answers = {k: answer_for(posterior, k, quietly=k != start.n_clusters) for k in numbers}
    colours = {start.n_clusters: [c % N_COLOURS for c in range(start.n_clusters)]}
    at = numbers.index(start.n_clusters)
    for way in (numbers[at:], numbers[at::-1]):
        for before, k in pairwise(way):
            colours[k] = _colours_after(answers[before].labels, colours[before], answers[k].labels)
    return {k: Offer(answers[k], colours[k]) for k in numbers}


def _colours_after(labels, colours, next_labels):
    """Colours for another partition: those of the clusters that share the most leaves, and rare ones for the others."""
    from scipy.optimize import linear_sum_assignment

    shared = np.zeros((next_labels.max() + 1, labels.max() + 1), dtype=np.int64)
    np.add.at(shared, (next_labels, labels), 1)
    found = [-1] * len(shared)
    for own, other in zip(*linear_sum_assignment(shared, maximize=True), strict=True):
        if shared[own, other]:
            found[own] = colours[other]
    for own, colour in enumerate(found):
        if colour < 0:
            found[own] = min(range(N_COLOURS), key=lambda c: (found.count(c), c))
    return found


def content(posterior: Posterior, start: Start, offers: dict[int, Offer]) -> list[dict[str, Any]]:
    """The partitions for the script: clusters and probabilities of leaves as characters."""
    return [
        {
            "k": k,
            "cluster": pixels.numbers(offer.answer.labels) if k <= pixels.COARSE + 1 else offer.answer.labels.tolist(),
            "sure": pixels.values(offer.answer.probability, 0.0, 1.0),
            "sizes": offer.answer.stability.sizes.tolist(),
            "jaccard": [float(similarity(value)) for value in offer.answer.stability.jaccard],
            "sideLeaves": np.flatnonzero(offer.answer.side_branch).tolist(),
            "low": [float(lower_end(value)) for value in offer.answer.stability.interval[:, 0]],
            "high": offer.answer.stability.interval[:, 1].round(2).tolist(),  # once: 0.4546 is not 0.455, and then 0.46
            "words": list(offer.answer.stability.words),
            "colours": offer.colours,
            "cards": [list(card) for card in cluster_cards(posterior, start, offer.answer)],
        }
        for k, offer in offers.items()
    ]

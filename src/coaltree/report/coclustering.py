"""Co-clustering: how often two leaves are in one clade close to a cluster, and which leaves have an uncertain cluster.

Of many leaves evenly spaced ones are shown, so that the page stays small and no n × n matrix is made.
"""

from typing import Any

import numpy as np

from ..numerics.weighted import pick_evenly
from ..posterior.clusters.answer import ClusterAnswer
from ..posterior.clusters.closest_clades import closest_clades, times_together
from ..posterior.posterior import Posterior
from . import pixels
from .summary_cards import MIN_CERTAIN
from .text import percents_adding_up

MAX_LEAVES_OPENING = 512  # across, at the number of clusters that the page opens with
MAX_LEAVES = 180  # and at others
MAX_DRAWS = 1000
MAX_UNCERTAIN = 8
NUMBERS_OF_CLUSTERS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 50)


def coclustering_figure(posterior: Posterior, order: np.ndarray, n_clusters: int) -> dict[str, Any]:
    """Return the co-clustering in tree order, at the number of clusters that the page opens with and at others."""
    n = posterior.n
    draws, weights = _draws(posterior)
    children = posterior.children[draws]
    levels = []
    for k in sorted({n_clusters, *(k for k in NUMBERS_OF_CLUSTERS if k < n)} - {1, n}):
        m = min(n, MAX_LEAVES_OPENING if k == n_clusters else MAX_LEAVES)
        at = (2 * np.arange(m) + 1) * n // (2 * m)
        nodes = closest_clades(children, np.asarray(posterior.cut(k))).nodes
        together = times_together(children, nodes, weights, order[at])
        levels.append({"clusters": k, "size": m, "codes": pixels.shares(together[np.triu_indices(m, 1)])})
    return {"draws": len(draws), "levels": levels}


def _draws(posterior: Posterior) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and weights of at most `MAX_DRAWS` draws, taken evenly by weight."""
    if len(posterior) <= MAX_DRAWS:
        return np.arange(len(posterior)), posterior.weights
    return pick_evenly(posterior.weights, MAX_DRAWS), np.full(MAX_DRAWS, 1.0 / MAX_DRAWS)


def uncertain_leaves(posterior: Posterior, answer: ClusterAnswer) -> dict[str, Any] | None:
    """Return the leaves whose cluster is least certain, those first that are more probable in another; None of none."""
    if answer.n_clusters == 1 or len(posterior) == 1:
        return None
    own, elsewhere = answer.probability, answer.is_elsewhere
    others = answer.membership.copy()
    others[np.arange(len(own)), answer.labels] = -1.0
    other = others.argmax(axis=1)
    listed = [i for i in np.lexsort((own, ~elsewhere))[:MAX_UNCERTAIN].tolist() if own[i] < MIN_CERTAIN]
    leaves = [
        {
            "label": posterior.labels[i],
            "own": int(answer.labels[i]) + 1,
            "other": int(other[i]) + 1,
            "is_elsewhere": bool(elsewhere[i]),
            "percents": percents_adding_up((float(own[i]), float(others[i, other[i]]), float(answer.none[i]))),
        }
        for i in listed
    ]
    return {"n_clusters": answer.n_clusters, "leaves": leaves, "n_elsewhere": int(np.count_nonzero(elsewhere))}

"""Co-clustering: how often two leaves are in one clade close to a cluster, and which leaves have an uncertain cluster.

Of many leaves evenly spaced ones are shown, so that the page stays small and no n × n matrix is made.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..numerics.weighted import pick_evenly
from ..posterior.clusters.answer import ClusterAnswer
from ..posterior.clusters.closest_clades import closest_clades, times_together
from ..posterior.posterior import Posterior
from . import pixels
from .summary_cards import MIN_CERTAIN
from .text import percent

MAX_LEAVES_OPENING = 512  # across, at the number of clusters that the page opens with
MAX_LEAVES = 180  # and at others


def coclustering_figure(
    posterior: Posterior, order: np.ndarray, shown: Mapping[int, ClusterAnswer], opened: int
) -> dict[str, Any]:
    """Return the co-clustering in tree order of every partition shown, `opened` being the one the page opens with."""
    n = posterior.n
    draws = pick_evenly(posterior.weights, min(len(posterior), 1000))
    children, weights = posterior.draws.children[draws], np.full(len(draws), 1.0 / len(draws))
    levels = []
    for k in sorted(set(shown) - {1, n}):
        m = min(n, MAX_LEAVES_OPENING if k == opened else MAX_LEAVES)
        at = (2 * np.arange(m) + 1) * n // (2 * m)
        together = times_together(children, closest_clades(children, shown[k].labels).nodes, weights, order[at])
        levels.append({"clusters": k, "size": m, "codes": pixels.shares(together[np.triu_indices(m, 1)])})
    return {"draws": len(draws), "levels": levels}


def uncertain_leaves(posterior: Posterior, answer: ClusterAnswer) -> dict[str, Any] | None:
    """Return the leaves whose cluster is least certain, those first that are more probable in another; None of none."""
    if answer.n_clusters == 1 or len(posterior) == 1:
        return None
    own, elsewhere = answer.probability, answer.is_elsewhere
    others = answer.membership.copy()
    others[np.arange(len(own)), answer.labels] = -1.0
    other = others.argmax(axis=1)
    listed = [i for i in np.lexsort((own, ~elsewhere))[:8].tolist() if own[i] < MIN_CERTAIN]
    leaves = [
        {
            "label": posterior.labels[i],
            "own": int(answer.labels[i]) + 1,
            "other": int(other[i]) + 1,
            "is_elsewhere": bool(elsewhere[i]),
            "percents": [percent(float(share)) for share in (own[i], others[i, other[i]], answer.none[i])],
        }
        for i in listed
    ]
    return {"n_clusters": answer.n_clusters, "leaves": leaves, "n_elsewhere": int(np.count_nonzero(elsewhere))}

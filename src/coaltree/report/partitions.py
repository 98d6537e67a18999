"""Partitions that the page can show, with their stability: `answer_for` at every number of the slider.

They are made here, not by the page, so that page, files and figures agree. From one number to the next a cluster keeps
its colour where most of its leaves stay together; at the number the page opens with, colours are those of the figures.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from ..posterior.clusters.answer import ClusterAnswer, answer_for
from ..posterior.clusters.explanation import Explanation, columns_by_cluster, explain_partitions
from ..posterior.clusters.stability import similarity
from ..posterior.leaf_annotations import matched_places
from ..posterior.posterior import Posterior
from . import pixels
from .figures import rounded
from .summary_cards import OpeningNumber, cluster_cards
from .text import printable

N_COLOURS = 20  # those of figures
MAX_COLUMNS = 20  # in which differences are shown
MAX_CLUSTERS = ((1000, 12), (10_000, 8), (np.inf, 5))  # up to so many leaves the numbers 1 … 12, and so on


def make_partitions(posterior: Posterior, opened: int) -> dict[int, ClusterAnswer]:
    """Return the partitions by number of clusters, in order, that of the number the page opens with among them."""
    most = next(k for n, k in MAX_CLUSTERS if posterior.n <= n)  # each takes time, and room on the page
    numbers = sorted({opened, *range(1, min(most, posterior.n) + 1)})
    return {k: answer_for(posterior, k) for k in numbers}


def matched_colours(labels: np.ndarray, colours: list[int], next_labels: np.ndarray) -> list[int]:
    """Colour the clusters of another partition like those that share most leaves; the rest get the rarest colours."""
    places = matched_places(next_labels, labels, int(next_labels.max()) + 1)
    matched = [colours[place] if place < len(colours) else -1 for place in places]
    for own, colour in enumerate(matched):
        if colour < 0:
            matched[own] = min(range(N_COLOURS), key=lambda c: (matched.count(c), c))
    return matched


def content(posterior: Posterior, opening: OpeningNumber, shown: dict[int, ClusterAnswer]) -> list[dict[str, Any]]:
    """Return the partitions for the page's script, clusters and probabilities of leaves as characters."""
    explained = explain_partitions(posterior, [answer.labels for answer in shown.values()])
    values = None if posterior.model.X is None else np.ma.masked_invalid(posterior.model.leaf_values())
    if values is not None and posterior.model.used is not None:
        values = values[:, posterior.model.used]
    numbers, opened = list(shown), opening.n_clusters
    colours, at = {opened: [cluster % N_COLOURS for cluster in range(opened)]}, numbers.index(opened)
    for way in (numbers[at:], numbers[at::-1]):
        for before, k in pairwise(way):
            colours[k] = matched_colours(shown[before].labels, colours[before], shown[k].labels)
    return [
        {
            "k": k,
            "cluster": pixels.numbers(answer.labels) if k <= pixels.COARSE + 1 else answer.labels.tolist(),
            "probability": pixels.values(answer.probability, 0.0, 1.0),
            "sizes": answer.stability.sizes.tolist(),
            "jaccard": [float(similarity(value)) for value in answer.stability.jaccard],
            "sideLeaves": np.flatnonzero(answer.in_no_clade).tolist(),
            "low": [float(similarity(value)) for value in answer.stability.interval[:, 0]],
            "high": answer.stability.interval[:, 1].round(2).tolist(),  # once: 0.4546 is not 0.455, and then 0.46
            "words": list(answer.stability.words),
            "colours": colours[k],
            "cards": [list(card) for card in cluster_cards(posterior, opening, answer)],
            "differences": None if explanation is None else differences(explanation, values),
        }
        for (k, answer), explanation in zip(shown.items(), explained, strict=True)
    ]


def differences(explanation: Explanation, values: Any) -> dict[str, Any]:
    """Return how clusters differ from their sister clades, in words, and of the columns that do most the means, too."""
    columns = columns_by_cluster(explanation.effect[0], MAX_COLUMNS)
    return {
        "words": [printable(explanation.in_words(c)) for c in range(len(explanation.names))],
        "columns": [printable(explanation.columns[j]) for j in columns],
        "of": len(explanation.columns),
        "means": [rounded(values[rows][:, columns].mean(axis=0).filled(np.nan), 4) for rows in explanation.members],
        **{name: getattr(explanation, name)[0][:, columns].T.round(1).tolist() for name in ("effect", "low", "high")},
    }

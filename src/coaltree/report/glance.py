"""The answer first: how many clusters, how certain the tree is, and whether the run has converged."""

from typing import NamedTuple

import numpy as np

from .._runtime.checks import check_count
from .._runtime.text import some
from ..posterior.posterior import Posterior
from .figures import Data, Doubt, TreeFigure
from .text import count, escape, number, percent
from .verdicts import Verdict

SURE = 0.95


class Start(NamedTuple):
    """The number of clusters the page opens with, and why."""

    n_clusters: int
    heading: str
    reason: str


def choose_start(posterior: Posterior, n_clusters: int | None) -> Start:
    """The number asked for, or the suggested one."""
    if n_clusters is not None:
        k = check_count("n_clusters", n_clusters, 1, posterior.n)
        return Start(k, count(k, "cluster"), "This number was chosen when the page was made.")
    suggestion = posterior.suggest_n_clusters()
    return Start(suggestion.n_clusters, f"{count(suggestion.n_clusters, 'cluster')} suggested", suggestion.reason)


def cards(posterior: Posterior, start: Start, figure: TreeFigure, verdict: Verdict) -> str:
    """Three cards at the head of the page."""
    found = [
        ("#tree", start.heading, start.reason, ""),
        ("#tree", *_sureness(figure, len(posterior), start.n_clusters), ""),
        ("#trust", verdict.heading, verdict.sentence, verdict.grade),
    ]
    return "\n".join(
        f'<a class="card {grade}" href="{link}"><strong>{escape(heading)}</strong><span>{escape(text)}</span></a>'
        for link, heading, text, grade in found
    )


def _sureness(figure, n_trees, n_clusters):
    support = figure.support[:-1]  # all leaves together are in every tree
    if n_trees == 1:
        return "One tree, no uncertainty", "The sampler returned a single tree, so support is not defined."
    if len(support) == 0:
        return "A tree of two leaves", "Only the time of its one merge is uncertain."
    n_sure = int(np.count_nonzero(support >= SURE))
    of_groups = (
        f"{n_sure:,} of the {count(len(support), 'group')} in the tree, small ones included, "
        f"{'is' if n_sure == 1 else 'are'} in at least {percent(SURE)} of the sampled trees."
    )
    of_clusters = _cluster_support(figure, n_clusters)
    if len(of_clusters) == 0 or n_clusters == 1:
        return f"{percent(n_sure / len(support))} of groups are nearly certain", of_groups
    m, sure = len(of_clusters), int(np.count_nonzero(of_clusters >= SURE))
    heading = {0: "No cluster is nearly certain", m: "All clusters are nearly certain"}.get(
        sure, f"{sure} of {m} clusters are nearly certain"
    )
    of_two = "" if m == n_clusters else " of two leaves or more"
    least = f"The least certain cluster{of_two} is in {percent(of_clusters.min())} of the sampled trees. "
    return heading, least + of_groups


def _cluster_support(figure, n_clusters):
    """Supports of the clusters of two leaves or more."""
    edge = 2 * figure.tree.n - n_clusters
    node = np.arange(figure.tree.n, edge)
    return figure.support[node[figure.tree.parents[node] >= edge] - figure.tree.n]


def agreement(posterior: Posterior, labels: np.ndarray, best: np.ndarray) -> str:
    """Compare the cut of the tree with the partition that agrees best with all trees."""
    from scipy.optimize import linear_sum_assignment

    joint = np.zeros((int(labels.max()) + 1, int(best.max()) + 1))
    np.add.at(joint, (labels, best), 1)
    a, b = linear_sum_assignment(-joint)
    partner = np.full(len(joint), -1)
    partner[a] = b
    moved = np.flatnonzero(partner[labels] != best)
    k = len(joint)
    call = f"<code>posterior.cut({k})</code>"
    if len(moved) == 0:
        return (
            f"<p>Cutting this tree into {k} clusters gives the partition that agrees best with all sampled trees "
            f"({call}).</p>"
        )
    names = escape(some([posterior.labels[leaf] for leaf in moved]))
    return (
        f"<p>The partition into {k} clusters that agrees best with all sampled trees ({call}) differs from this cut in "
        f"{count(len(moved), 'leaf', 'leaves')} of {posterior.n:,}: {names}.</p>"
    )


def doubts(posterior: Posterior, n_clusters: int, found: list[Doubt] | None) -> str:
    """List the leaves whose cluster is least certain."""
    if found is None:
        return ""
    if not found:
        return f"<p>At {n_clusters} clusters, every leaf clearly belongs to one of them.</p>"
    rows = "\n".join(
        f'<tr><th scope="row"><bdi>{escape(posterior.labels[doubt.leaf])}</bdi></th>'
        f"<td>cluster {doubt.own}</td><td>{percent(doubt.with_own)}</td>"
        f"<td>cluster {doubt.other}</td><td>{percent(doubt.with_other)}</td></tr>"
        for doubt in found
    )
    return (
        f"<p>At {n_clusters} clusters, these leaves have the least certain cluster. Percentages show how often they "
        "are together with the leaves of their own cluster, and with those of the second best:</p>\n"
        '<div class="wide"><table class="grid"><thead><tr><th scope="col">leaf</th><th scope="col" colspan="2">own'
        '</th><th scope="col" colspan="2">second best</th></tr></thead><tbody>\n'
        f"{rows}\n</tbody></table></div>"
    )


def subtitle(posterior: Posterior, data: Data | None) -> str:
    """What the page shows, in one line."""
    parts = [count(posterior.n, "leaf", "leaves")]
    if posterior.groups is not None:
        parts.append(count(len(posterior.groups), "row"))
    if data is not None:
        parts.append(count(data.values.shape[1], "column"))
    parts.append(f"{count(len(posterior), 'sampled tree')}")
    if posterior.log_evidence is not None:
        parts.append(f"log evidence {number(posterior.log_evidence, 6)}")
    return " · ".join(parts)

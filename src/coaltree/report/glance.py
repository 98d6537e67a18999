"""The answer first: how many clusters, how stable they are, and whether the run has converged."""

from typing import NamedTuple

import numpy as np

from .._runtime.validation import check_count
from ..posterior.clusters.answer import LEVEL, ClusterAnswer
from ..posterior.clusters.n_clusters import ClusterSuggestion
from ..posterior.clusters.stability import lower_end, similarity
from ..posterior.posterior import Posterior
from .figures import Data
from .text import count, escape, number, percent
from .verdicts import Verdict

SURE = 0.9  # probability of its cluster from which on a leaf is not in doubt


class Start(NamedTuple):
    """The number of clusters the page opens with, and why."""

    n_clusters: int
    heading: str
    reason: str


class Card(NamedTuple):
    """A heading, a sentence or two, and how good that is: good, fair, poor, unknown, or nothing to grade."""

    heading: str
    text: str
    grade: str = ""


def choose_start(posterior: Posterior, n_clusters: int | ClusterSuggestion | None) -> Start:
    """The number asked for, or the suggested one."""
    if n_clusters is not None and not isinstance(n_clusters, ClusterSuggestion):
        k = check_count("n_clusters", n_clusters, 1, posterior.n)
        return Start(k, count(k, "cluster"), "This number was chosen when the page was made.")
    suggestion = n_clusters or posterior.suggest_n_clusters()
    return Start(suggestion.n_clusters, f"{suggestion.numbers} suggested", suggestion.reason)


def cards(posterior: Posterior, start: Start, answer: ClusterAnswer, verdict: Verdict, model: Card) -> str:
    """Four cards at the head of the page; the first two follow the slider."""
    found = [
        ("#tree", ' id="card-number"'),
        ("#groups-heading", ' id="card-stability"'),
        ("#trust", ""),
        ("#model", ""),
    ]
    said = [*cluster_cards(posterior, start, answer), Card(verdict.heading, verdict.sentence, verdict.grade), model]
    return "\n".join(
        f'<a class="card {card.grade}" href="{link}"{name}><strong>{escape(card.heading)}</strong>'
        f"<span>{escape(card.text)}</span></a>"
        for (link, name), card in zip(found, said, strict=True)
    )


def cluster_cards(posterior: Posterior, start: Start, answer: ClusterAnswer) -> tuple[Card, Card]:
    """What the first two cards say of a partition: how many clusters and why, and how stable they are."""
    k = answer.n_clusters
    if k == start.n_clusters:
        number_card = Card(start.heading, start.reason)
    else:
        opened = count(start.n_clusters, "cluster")
        is_said = start.reason.startswith(f"{opened}: ")
        number_card = Card(
            count(k, "cluster"), f"The page opened with {'' if is_said else f'{opened}. '}{start.reason}"
        )
    return number_card, _stability_card(posterior, answer)


def _stability_card(posterior, answer):
    k, found = answer.n_clusters, answer.stability
    if len(posterior) == 1:
        return Card("One tree, no uncertainty", "The sampler returned a single tree, so nothing is known of others.")
    if k == 1:
        return Card("All leaves in one cluster", "Move the slider to see more clusters, and how stable they are.")
    n_stable = found.words.count("stable")
    if n_stable == k:
        heading = "Both clusters are stable" if k == 2 else f"All {k} clusters are stable"
    else:
        heading = f"{n_stable or 'None'} of {k} clusters {'is' if n_stable == 1 else 'are'} stable"
    least = int(np.argmin(found.jaccard))
    low, high = found.interval[least]
    n_unsure = int(np.count_nonzero(answer.probability < SURE))
    text = (
        f"Least stable: cluster {least + 1}, {count(int(found.sizes[least]), 'leaf', 'leaves')}, "
        f"{found.words[least]}: similarity {similarity(found.jaccard[least])} ({percent(LEVEL)}: {lower_end(low)} to "
        f"{high:.2f}) with the clusters of the sampled trees. {count(n_unsure, 'leaf', 'leaves')} of {posterior.n:,} "
        f"{'is' if n_unsure == 1 else 'are'} less than {percent(SURE)} sure of their cluster."
    )
    grade = "good" if n_stable == k else "poor" if "dissolved" in found.words else "fair"
    return Card(heading, text.replace("1 leaf of", "One leaf of") if n_unsure == 1 else text, grade)


class Doubt(NamedTuple):
    """A leaf that may belong to another cluster, the most probable other one, and the probabilities of both."""

    leaf: int
    own: int
    with_own: float
    other: int
    with_other: float


def doubtful_leaves(answer: ClusterAnswer, most: int = 8) -> list[Doubt]:
    """The leaves whose cluster is least certain, worst first; before others those that are more probable elsewhere."""
    own = answer.probability
    others = answer.membership.copy()
    others[np.arange(len(own)), answer.labels] = -1.0
    other = others.argmax(axis=1)
    chosen = [leaf for leaf in np.lexsort((own, ~answer.is_elsewhere))[:most].tolist() if own[leaf] < SURE]
    return [Doubt(i, int(answer.labels[i]), float(own[i]), int(other[i]), float(others[i, other[i]])) for i in chosen]


def doubts(posterior: Posterior, answer: ClusterAnswer) -> str:
    """List the leaves whose cluster is least certain."""
    k = answer.n_clusters
    if k == 1 or len(posterior) == 1:
        return ""
    found = doubtful_leaves(answer)
    if not found:
        return f"<p>At {k} clusters, every leaf is at least {percent(SURE)} sure of its cluster.</p>"
    elsewhere = answer.is_elsewhere
    n_elsewhere = int(np.count_nonzero(elsewhere))
    rows = "\n".join(
        f'<tr><th scope="row"><bdi>{escape(posterior.labels[doubt.leaf])}</bdi></th>'
        f"<td>cluster\N{NO-BREAK SPACE}{doubt.own + 1}</td><td>{shares[0]}</td>"
        f"<td>{'more probable in ' if elsewhere[doubt.leaf] else ''}cluster\N{NO-BREAK SPACE}{doubt.other + 1}</td>"
        f"<td>{shares[1]}</td>" + (f"<td>{shares[2]}</td></tr>" if k > 2 else "</tr>")
        for doubt in found
        for shares in [adding_up((doubt.with_own, doubt.with_other))]
    )
    others = '<th scope="col">others</th>' if k > 2 else ""
    return (
        f"<p>At {k} clusters, these leaves have the least certain cluster. The probability of a cluster is the share "
        f"of sampled trees that have the leaf in it.{_elsewhere_words(n_elsewhere)}</p>\n"
        '<div class="wide"><table class="grid doubts"><thead><tr><th scope="col">leaf</th>'
        '<th scope="col" colspan="2">own</th><th scope="col" colspan="2">likeliest other</th>'
        f"{others}</tr></thead><tbody>\n"
        f"{rows}\n</tbody></table></div>"
    )


def _elsewhere_words(number):
    if number == 0:
        return ""
    if number == 1:
        return " One leaf is more probable in another cluster than in its own, where the mean tree has it."
    return f" {number:,} leaves are more probable in another cluster than in their own, where the mean tree has them."


def adding_up(shares: tuple[float, ...]) -> list[str]:
    """Shares as whole per cent, with what is left of 100 as the last one, so that a reader who adds gets 100."""
    exact = [100.0 * share for share in (*shares, max(0.0, 1.0 - sum(shares)))]
    whole = [int(value) for value in exact]
    for i in sorted(range(len(exact)), key=lambda i: whole[i] - exact[i])[: 100 - sum(whole)]:
        whole[i] += 1
    return [f"{value}\N{NO-BREAK SPACE}%" for value in whole]


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

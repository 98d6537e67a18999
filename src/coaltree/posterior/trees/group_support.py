"""Support of a group of leaves: how often it is a clade, and which leaves wander in or out.

In each drawn tree the closest clade of the group A is looked for, as in `transfer_support`,

    δ_t = min_C |A| + |C| - 2 |A ∩ C| ,      exact = Σ_t w_t [δ_t = 0] ,     transfer = 1 - E[δ] / min(|A| - 1, n - |A|)

and of the clades that are equally close the one with most leaves of A. Where these are several, as a group in two
halves has them, each counts in equal parts. The leaves on the wrong side of it wander; their probabilities sum to E[δ].
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._runtime.formatting import beside_limit, field_docs, percent, shortened, some
from ..._runtime.validation import is_whole
from ...errors import InputError
from ...numerics.weighted import weighted_quantile
from ...tree.merges import Layout, layout
from ...tree.rooted import default_labels
from ..io import pandas_output
from . import transfer_support
from .node_times import enough_draws

if TYPE_CHECKING:
    from ..posterior import Posterior

MIN_WANDERING = 0.05  # probability from which on a leaf is listed
INTERVAL_LEVEL = 0.9  # of the group's time


@field_docs(
    rows="Names of the leaves in the group.",
    exact="Share of the posterior in which exactly these leaves are a clade.",
    transfer="1 - distance / min(size - 1, n - size), between 0 and 1, as of `Posterior.clade_support`.",
    distance="Expected number of leaves that must move in or out to make the group a clade.",
    wanders_in="Name and probability of other leaves that are in the closest clade of a tree, from 5 % on.",
    wanders_out="Name and probability of leaves of the group that are outside it, from 5 % on.",
    inside="(n,) probability of each leaf to be in the closest clade of a tree.",
    time="Median time of the group, NaN where too few trees have it or a clade close to it.",
    interval="(2,) equal-tailed 90 % credible interval of that time, as of `Posterior.node_times`.",
)
class GroupSupport(NamedTuple):
    """How well a group of leaves is supported by the trees of a posterior; `print` shows it in a few lines."""

    rows: tuple[str, ...]
    exact: float
    transfer: float
    distance: float
    wanders_in: dict[str, float]
    wanders_out: dict[str, float]
    inside: np.ndarray
    time: float
    interval: np.ndarray

    def lines(self, most: int = 8) -> list[tuple[str, str]]:
        """Name and value of each line that is shown, with at most so many leaves in it."""
        size, n = len(self.rows), len(self.inside)
        if size == n:
            return [("group", f"all {n:,} leaves, which are a clade of every tree: the support is 1")]
        low, high = self.interval
        moves = f"{self.distance:.3g} {'leaf' if f'{self.distance:.3g}' == '1' else 'leaves'}"
        when = f"{self.time:.3g}  ({percent(INTERVAL_LEVEL)}: {low:.3g} to {high:.3g})"
        return [
            ("group", f"{size:,} of {n:,} leaves: {some(self.rows, most)}"),
            ("exact", f"{percent(self.exact)} of the trees have exactly this group"),
            ("transfer", f"{beside_limit(self.transfer, 1.0, 2)}: on average {moves} must move"),
            ("wanders in", _listed(self.wanders_in, most)),
            ("wanders out", _listed(self.wanders_out, most)),
            ("time", when if np.isfinite(self.time) else "unknown: too few trees have this group or one close to it"),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{name:<11}  {value}" for name, value in self.lines())


def _listed(wanderers: dict[str, float], most: int) -> str:
    said = [f"{shortened(name, 40)} ({percent(probability)})" for name, probability in wanderers.items()]
    return some(said, most) if said else f"no leaf with {percent(MIN_WANDERING)} or more"


def group_support(posterior: "Posterior", rows: Iterable[Any]) -> GroupSupport:
    """Look for a group of leaves in all trees."""
    member = read_group(posterior, rows)
    n, size, weights = posterior.n, int(member.sum()), posterior.weights
    distance, times, wanders = _closest_clades(posterior.children, posterior.times, weights, member)
    mean = float(weights @ distance)
    time, *interval = np.full(3, np.nan)
    for limit in (0, transfer_support.close(size, n)):
        w = np.where(distance <= limit, weights, 0.0)
        if enough_draws(w.sum(), np.square(w).sum(), INTERVAL_LEVEL):
            time, *interval = weighted_quantile(times, w, [0.5, (1 - INTERVAL_LEVEL) / 2, (1 + INTERVAL_LEVEL) / 2])
            break
    order = np.argsort(-wanders, kind="stable")
    order = order[wanders[order] >= MIN_WANDERING - 1e-12]
    return GroupSupport(
        rows=tuple(posterior.labels[i] for i in np.flatnonzero(member)),
        exact=float(weights[distance == 0].sum() / weights.sum()),
        transfer=float(np.clip(1.0 - mean / transfer_support.greatest(size, n), 0.0, 1.0)),
        distance=mean,
        wanders_in={posterior.labels[i]: float(wanders[i]) for i in order if not member[i]},
        wanders_out={posterior.labels[i]: float(wanders[i]) for i in order if member[i]},
        inside=np.where(member, 1.0 - wanders, wanders),
        time=float(time),
        interval=np.array(interval),
    )


def read_group(posterior: "Posterior", rows: Iterable[Any]) -> np.ndarray:
    """(n,) whether each leaf is in the group, given by names, positions or a mask; pandas' own hold all of these.

    An Index holds names. Whole numbers are refused where the fitted table had an index of such: they may be either.
    """
    n, labels = posterior.n, posterior.labels
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable) or getattr(rows, "ndim", 1) != 1:
        raise InputError(
            "rows must be a list of names or numbers of rows, a mask, or an index such as X.index[:3], "
            f"not {shortened(repr(rows)) if isinstance(rows, str | bytes) else type(rows).__name__}."
        )
    given = list(rows)
    member = np.zeros(n, bool)
    if given and all(isinstance(value, bool | np.bool_) for value in given):
        member = np.array(list(pandas_output.in_order_of(rows if hasattr(rows, "iloc") else given, posterior)), bool)
        if len(member) != n:
            raise InputError(f"rows is a mask of {len(member):,} entries, but there are {n:,} leaves.")
    elif given and all(map(is_whole, given)) and not hasattr(rows, "get_indexer"):  # as an Index has
        index = posterior.info.get(pandas_output.INDEX)
        if isinstance(index, dict) and index.get("is_integer") is True and labels != default_labels(n):
            raise InputError(
                "rows are numbers, which may be positions or names, as the index of the fitted table has numbers too: "
                "give a mask, names as text, or an index such as X.index[:3]."
            )
        wrong = [number for number in given if not 0 <= number < n]
        if wrong:
            raise InputError(f"rows must be numbers from 0 to {n - 1}, not {some(wrong, 3)}.")
        member[np.array(given, np.int64)] = True
    else:
        place = {label: leaf for leaf, label in enumerate(labels)}
        names = [str(name) for name in given]
        unknown = [repr(name) for name in dict.fromkeys(names) if name not in place]
        if unknown:
            raise InputError(f"rows must be names of leaves, such as {some(labels[:3])}, not {some(unknown, 3)}.")
        member[[place[name] for name in names]] = True
    if member.sum() < 2:
        raise InputError(f"rows must be at least two different leaves, not {member.sum()}.")
    return member


def _closest_clades(
    children: np.ndarray, times: np.ndarray, weights: np.ndarray, member: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distance (T,) and time (T,) of the closest clade of each tree, and (n,) how probably each leaf wanders."""
    n = len(member)
    distance, when, wanders = np.zeros(len(children), np.int64), np.zeros(len(children)), np.zeros(n)
    for t in np.flatnonzero(weights).tolist():
        place = layout(children[t])
        nodes, distance[t] = _closest_nodes(place, member)
        when[t] = times[t, nodes[0] - n] if nodes[0] >= n else 0.0
        inside = np.zeros(n)
        for node in nodes.tolist():
            inside[place.leaves(node)] = 1.0 / len(nodes)
        wanders += weights[t] * np.where(member, 1.0 - inside, inside)
    return distance, when, wanders


def _closest_nodes(place: Layout, member: np.ndarray) -> tuple[np.ndarray, int]:
    """Nodes with fewest leaves to move to make them the group, of these those with most of it; and how many move."""
    shared = place.shared(member[None])[:, 0]
    moved = shared[-1] + place.size - 2 * shared
    nodes = np.flatnonzero(moved == moved.min())
    return nodes[shared[nodes] == shared[nodes].max()], int(moved.min())

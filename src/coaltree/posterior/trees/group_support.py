"""Support of a group of leaves: how similar it is to a clade of each tree, and which leaves wander in or out.

With C_t the clade of tree t that is closest to the group A and J_t its Jaccard similarity (`closest_clades`),

    similarity = Σ_t w_t J_t ,     exact = Σ_t w_t [C_t = A] ,     inside_i = Σ_t w_t [i in C_t] .
"""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._runtime.formatting import beside_limit, percent, shortened, shortlist
from ..._runtime.validation import as_array, is_whole
from ...errors import InputError
from ...model.data.table import INDEX
from ...numerics.weighted import weighted_quantile
from ...tree.rooted import default_labels
from ..clusters.closest_clades import closest_clades, times_inside
from ..io import pandas_output

if TYPE_CHECKING:
    from ..posterior import Posterior

MIN_WANDERING = 0.05  # probability from which on a leaf is listed
INTERVAL_LEVEL = 0.9


class GroupSupport(NamedTuple):
    """How well a group of leaves is supported by the trees of a posterior; `print` shows it in a few lines."""

    rows: tuple[str, ...]  #: names of the leaves in the group
    similarity: float  #: posterior mean of the Jaccard similarity with the closest clade of a tree
    interval: np.ndarray  #: (2,) equal-tailed 90 % credible interval of that similarity
    exact: float  #: share of the posterior in which exactly these leaves are a clade
    #: name and probability of other leaves that are in the closest clade of a tree, from 5 % on
    wanders_in: dict[str, float]
    wanders_out: dict[str, float]  #: name and probability of leaves of the group that are outside it, from 5 % on
    inside: np.ndarray  #: (n,) probability of each leaf to be in the closest clade of a tree

    def lines(self, most: int = 8) -> list[tuple[str, str]]:
        """Name and value of each line that is shown, with at most so many leaves in it."""
        size, n = len(self.rows), len(self.inside)
        low, high = self.interval
        similarity = beside_limit(self.similarity, 1.0, 2)
        return [
            ("group", f"{size:,} of {n:,} leaves: {shortlist(self.rows, most)}"),
            ("similarity", f"{similarity} to the closest clade  ({percent(INTERVAL_LEVEL)}: {low:.2f} to {high:.2f})"),
            ("exact", f"{percent(self.exact)} of the trees have exactly this group"),
            ("wanders in", _listed(self.wanders_in, most)),
            ("wanders out", _listed(self.wanders_out, most)),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{name:<11}  {value}" for name, value in self.lines())


def _listed(wanderers: dict[str, float], most: int) -> str:
    each = [f"{shortened(name, 40)} ({percent(probability)})" for name, probability in wanderers.items()]
    return shortlist(each, most) if each else f"no leaf with {percent(MIN_WANDERING)} or more"


def group_support(posterior: "Posterior", rows: Iterable[Any]) -> GroupSupport:
    """Look for a group of leaves in all trees."""
    member, weights, labels = read_group(posterior, rows), posterior.weights, posterior.labels
    similarity, nodes, _ = closest_clades(posterior.draws.children, np.where(member, 0, -1))
    inside = np.minimum(times_inside(posterior.draws.children, nodes, weights)[:, 0], 1.0)
    wanders = np.where(member, 1.0 - inside, inside)
    order = np.argsort(-wanders, kind="stable")
    order = order[wanders[order] >= MIN_WANDERING - 1e-12]
    ends = [(1 - INTERVAL_LEVEL) / 2, (1 + INTERVAL_LEVEL) / 2]
    return GroupSupport(
        rows=tuple(labels[i] for i in np.flatnonzero(member)),
        similarity=float(min(weights @ similarity[:, 0], 1.0)),
        interval=weighted_quantile(similarity[:, 0], weights, ends),
        exact=float(min(weights @ (similarity[:, 0] == 1.0), 1.0)),
        wanders_in={labels[i]: float(wanders[i]) for i in order if not member[i]},
        wanders_out={labels[i]: float(wanders[i]) for i in order if member[i]},
        inside=inside,
    )


def read_group(posterior: "Posterior", rows: Iterable[Any]) -> np.ndarray:
    """(n,) whether each leaf is in the group, members by names, positions or a mask; pandas' own hold all of these.

    An Index holds names. Whole numbers are refused where the fitted table had an index of such: they may be either.
    """
    n, labels = posterior.n, posterior.labels
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable) or getattr(rows, "ndim", 1) != 1:
        raise InputError(
            "rows must be a list of names or numbers of rows, a mask, or an index such as X.index[:3], "
            f"not {shortened(repr(rows)) if isinstance(rows, str | bytes) else type(rows).__name__}."
        )
    members = as_array("rows", list(rows), object).tolist()
    member = np.zeros(n, bool)
    chosen: list[int]
    if members and all(isinstance(value, bool | np.bool_) for value in members):
        mask = list(pandas_output.in_order_of(rows if hasattr(rows, "iloc") else members, posterior))
        if len(mask) != n:
            raise InputError(f"rows is a mask of {len(mask):,} entries, but there are {n:,} leaves.")
        chosen = np.flatnonzero(mask).tolist()
    elif members and all(map(is_whole, members)) and not hasattr(rows, "get_indexer"):  # as an Index has
        index = posterior.info.get(INDEX)
        if isinstance(index, dict) and index.get("is_integer") is True and labels != default_labels(n):
            raise InputError(
                "rows are numbers, which may be positions or names, as the index of the fitted table has numbers too: "
                "give a mask, names as text, or an index such as X.index[:3]."
            )
        if len(members) == n > 2 and set(members) <= {0, 1}:
            raise InputError("rows are 0 and 1, as a mask has them; give a mask of True and False.")
        wrong = [number for number in members if not 0 <= number < n]
        if wrong:
            raise InputError(f"rows must be numbers from 0 to {n - 1}, not {shortlist(wrong, 3)}.")
        chosen = members
    else:
        place = {label: leaf for leaf, label in enumerate(labels)}
        names = [str(name) for name in members]
        unknown = [repr(name) for name in dict.fromkeys(names) if name not in place]
        if unknown:
            raise InputError(
                f"rows must be names of leaves, such as {shortlist(labels[:3])}, not {shortlist(unknown, 3)}."
            )
        chosen = [place[name] for name in names]
    if len(set(chosen)) < len(chosen):
        twice = Counter(chosen).most_common(1)[0][0]
        raise InputError(f"rows names {labels[twice]!r} twice; name each leaf once.")
    member[np.array(chosen, np.int64)] = True
    if member.sum() < 2:
        raise InputError(f"rows must be at least two different leaves, not {member.sum()}.")
    return member

"""Tanglegram: two trees of the same leaves face to face, with a line from each leaf to itself."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from .._runtime.formatting import field_docs
from .._runtime.typing import ArrayLike
from ..errors import InputError
from ..posterior.posterior import Posterior
from ..tree.distances import with_leaves_as
from ..tree.tree import Tree
from .clusters import as_clusters
from .dendrogram import TreeSettings, draw_dendrogram
from .geometry import Folding, arrange, child_lists, inches_across
from .style import INCHES_PER_CHARACTER, PALE, add_legend, color_of, cut_names, divided, new_axes, set_title

_MAX_PASSES = 20  # over both trees, to undo crossings
_MAX_NAME = 24  # characters that a new figure has room for


@field_docs(
    left="The first tree.",
    links="The lines between the leaves.",
    right="The second tree.",
    crossings="How many pairs of lines cross, after the trees have been turned to make them few.",
)
class TanglegramAxes(NamedTuple):
    """The parts of a tanglegram."""

    left: Axes
    links: Axes
    right: Axes
    crossings: int


def tanglegram(
    a: Tree | Posterior,
    b: Tree | Posterior,
    ax: Axes | None = None,
    *,
    titles: tuple[str, str] | None = None,
    clusters: ArrayLike | None = None,
    n_clusters: int | None = None,
    support: bool = True,
    labels: bool = True,
    untangle: bool = True,
    time_scale: str = "auto",
) -> TanglegramAxes:
    """Draw two trees of the same leaves face to face, with a line between the two places of each leaf.

    Parameters
    ----------
    a, b : Tree or Posterior, of which the mean tree is drawn; their leaves have the same names, in any order
    ax : Axes, replaced by three in its place; by default a new figure
    titles : two str, optional, written above the trees
    clusters, n_clusters : array (n,) of labels in the order of the leaves of `a`, or int, optional
        Clusters of `a`, whose colours the lines and both trees have.
    support : bool, whether to show the supports of posteriors
    labels : bool, whether to write the names of the leaves if there is room
    untangle : bool, whether clades are turned around so that few lines cross; otherwise smaller clades come first
    time_scale : as in `dendrogram`
    """
    trees = [given.mean_tree() if isinstance(given, Posterior) else given for given in (a, b)]
    for tree, name in zip(trees, "ab", strict=True):
        if not isinstance(tree, Tree):
            raise InputError(f"{name} must be a Tree or a Posterior, not {type(tree).__name__}.")
    left, right = trees[0], with_leaves_as(trees[1], trees[0].labels)
    number = as_clusters(left, clusters, n_clusters, a).number
    turned = _untangled(left, right) if untangle else (_ladder(left), _ladder(right))
    one, other = (_order(tree, flips) for tree, flips in zip((left, right), turned, strict=True))
    n_crossings = crossings(one, other)
    if ax is None:
        name_length = min(max(map(len, left.labels)), _MAX_NAME) if labels else 0
        ax = new_axes(7.5 + 2 * INCHES_PER_CHARACTER * name_length, inches_across(left.n))
    axes = divided(ax, [1.0, 0.45, 1.0])
    names = cut_names(left.labels, _MAX_NAME) if labels else False
    settings = TreeSettings(labels=names, max_leaves=None, ladder=False, time_scale=time_scale, clusters=number)
    lines: list[Any] = []
    for k, (given, tree) in enumerate(((a, left), (b, right))):
        shown = given if support and isinstance(given, Posterior) else False
        own = settings._replace(orientation=("left", "right")[k], rotate=sorted(turned[k]), support=shown)
        _, explained = draw_dendrogram(tree, axes[2 * k], own)
        lines = lines or explained
        if titles is not None:
            set_title(axes[2 * k], titles[k])
    _draw_links(axes[1], one, other, number)
    share = n_crossings / (left.n * (left.n - 1) / 2)
    axes[1].set_title(f"{100 * share:.0f} % of the pairs\nof lines cross", fontsize=7)
    add_legend(axes[0], lines, axes)
    return TanglegramAxes(axes[0], axes[1], axes[2], n_crossings)


def crossings(one: np.ndarray, other: np.ndarray) -> int:
    """Return how many pairs of lines cross between two orders of the same leaves: what Kendall's τ counts."""
    from scipy.stats import kendalltau

    tau = kendalltau(np.argsort(one), np.argsort(other)).statistic
    return round(0.5 * (1.0 - tau) * len(one) * (len(one) - 1) / 2)


def _order(tree: Tree, flips: frozenset[int]) -> np.ndarray:
    """Return the leaves from top to bottom."""
    return arrange(tree, Folding(rotate=flips), ladder=False).tips


def _untangled(left: Tree, right: Tree) -> tuple[frozenset[int], frozenset[int]]:
    """Return the nodes to turn: tree after tree until no turn takes a crossing away, the better of two beginnings."""
    best: tuple[int, tuple[frozenset[int], frozenset[int]]] | None = None
    for first in (0, 1):
        flips, fewest = [_ladder(left), _ladder(right)], left.n**2
        for step in range(2 * _MAX_PASSES):
            k = (first + step) % 2
            other = _order((left, right)[1 - k], flips[1 - k])
            flips[k], n_crossings = _turned((left, right)[k], np.argsort(other))
            if best is None or n_crossings < best[0]:
                best = (n_crossings, (flips[0], flips[1]))
            if n_crossings >= fewest:
                break
            fewest = n_crossings
    assert best is not None
    return best[1]


def _turned(tree: Tree, place: np.ndarray) -> tuple[frozenset[int], int]:
    """Return the nodes to turn where the other tree's leaves stand at `place`, and how many pairs of lines then cross.

    Two lines cross or not as their leaves' last common merge is turned, whatever the others: each is decided alone.
    """
    below = [place[[leaf]] for leaf in range(tree.n)]
    flips, total = set(), 0
    for k, (first, second) in enumerate(child_lists(tree)):
        one, other = below[first], below[second]
        crossed = len(one) * len(other) - int(np.searchsorted(one, other).sum())
        if 2 * crossed > len(one) * len(other):
            flips.add(tree.n + k)
            crossed = len(one) * len(other) - crossed
        total += crossed
        below.append(np.sort(np.concatenate([one, other])))
        below[first] = below[second] = place[:0]
    return frozenset(flips), total


def _ladder(tree: Tree) -> frozenset[int]:
    """Return the nodes to turn so that smaller clades come first."""
    first, second = tree.sizes[tree.children].T
    return frozenset((tree.n + np.flatnonzero(first > second)).tolist())


def _draw_links(ax: Axes, one: np.ndarray, other: np.ndarray, number: np.ndarray | None) -> None:
    place = np.argsort(other)[one]
    segments = [[(0.0, row), (1.0, to)] for row, to in enumerate(place.tolist())]
    colors = [PALE] * len(one) if number is None else [color_of(c) for c in number[one].tolist()]
    ax.add_collection(LineCollection(segments, colors=colors, linewidths=float(np.clip(80 / len(one), 0.4, 1.2))))
    ax.collections[0].set_label("links")
    ax.set(xlim=(0.0, 1.0), ylim=(len(one) - 0.5, -0.5))
    ax.set_axis_off()

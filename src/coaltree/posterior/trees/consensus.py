"""Trees made of clades that were drawn: of maximum clade credibility, and the majority-rule consensus.

The first is the drawn topology with the highest Σ_k log f(clade of merge k). The second has just the clades with more
than a share `min_support` ≥ 1/2 of the weight: any two of those occur together in some tree, so they nest; where the
posterior is unsure a node has more than two children. A node's time is the weighted median of its clade's time over the
trees that have the clade, raised where needed to the times of its children.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..._runtime.once import once
from ..._runtime.typing import ArrayLike
from ..._runtime.validation import check_number
from ...tree import Tree, merges, newick, unchecked_tree
from ...tree.cut import name_rank
from ...tree.rooted import RootedTree
from . import clades
from .leaf_order import side_by_side
from .stacked import read_only

if TYPE_CHECKING:
    from ..posterior import Posterior


class ConsensusTree(RootedTree):
    """A rooted tree whose nodes may have more than two children, with the support of each clade.

    Leaves are 0 … n-1; inner nodes are n, n + 1, … in order of time, the root last, so a child's number is below its
    parent's. A node with many children says that the posterior does not support any one order of their merging.
    """

    def __init__(
        self, children: Sequence[Sequence[int]], times: ArrayLike, support: ArrayLike, labels: Sequence[str]
    ) -> None:
        self._children = tuple(tuple(int(c) for c in nodes) for nodes in children)
        self._times = read_only(times)
        self._support = read_only(support)
        self._labels = tuple(labels)

    @property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each inner node: `children[k]` are those of node n + k."""
        return self._children

    @property
    def support(self) -> np.ndarray:
        """The share of the posterior that has each inner node's clade."""
        return self._support

    def clades(self) -> list[frozenset[str]]:
        """Return the leaf labels under each inner node."""
        below: list[frozenset[str]] = [frozenset([label]) for label in self._labels]
        for nodes in self._children:
            below.append(frozenset().union(*(below[c] for c in nodes)))
        return below[self.n :]

    def to_newick(self, support: bool = True) -> str:
        """Return one line of Newick; inner nodes are named by their support unless `support` is False."""
        names = [newick.quote(label) for label in self._labels]
        names += [f"{share:.6g}" if support else "" for share in self._support]
        return newick.write(self._children, self._times, names)

    def __repr__(self) -> str:
        inner = len(self._children)
        return f"ConsensusTree(n={self.n}, {inner} of {self.n - 1} possible clades, root time {self._times[-1]:.6g})"


@once
def mcc_tree(posterior: "Posterior") -> Tree:
    """The tree of maximum clade credibility, at median times."""
    table, weights = clades.clade_table(posterior), posterior.weights
    with np.errstate(divide="ignore"):
        log_frequency = np.log(clades.frequencies(table, weights))
    best = int(np.argmax(np.cumsum(log_frequency[table.ids], axis=1)[:, -1]))  # one after the other: equal trees tie
    median = clades.time_medians(table, posterior.draws.times, weights, table.ids[best])
    pairs = side_by_side(posterior.draws.children[best], name_rank(posterior.labels), posterior.model)
    return unchecked_tree(*merges.in_order_of_time(pairs, raised(merges.parents(pairs), median)), posterior.labels)


def raised(parents: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Raise parents to their children's times; inner nodes other than the root, -1, come after their children."""
    n = len(parents) - len(times)
    times = np.array(times)
    for k, above in enumerate(parents[n:]):
        if above >= 0:
            times[above - n] = max(times[above - n], times[k])
    return times


def majority_rule(posterior: "Posterior", min_support: float) -> ConsensusTree:
    """Return the tree of the clades with more than a share `min_support` of the weight (or all of it)."""
    min_support = check_number("min_support", min_support, 0.5, 1.0)  # below 0.5 clades can contradict each other
    n, table, weights = posterior.n, clades.clade_table(posterior), posterior.weights
    frequency = np.minimum(clades.frequencies(table, weights), 1.0)
    frequency[frequency > 1 - 1e-9] = 1.0
    kept = np.flatnonzero((frequency > min_support + 1e-9) | (frequency == 1.0))
    kept = np.roll(kept[np.argsort(table.sizes[kept], kind="stable")], 1)  # the root, then children before parents
    parent, _ = clades.compatible(posterior.draws.children, table.first[kept[1:]])
    median = raised(parent, clades.time_medians(table, posterior.draws.times, weights, kept))
    in_time = np.lexsort((table.sizes[kept], median))
    number = np.arange(n + len(kept))
    number[n + in_time] = np.arange(n, n + len(kept))
    nodes: list[list[int]] = [[] for _ in kept]
    for node in np.lexsort((number, np.append(np.ones(n), table.sizes[kept]))):  # smaller clades first
        if parent[node] >= 0:
            nodes[number[parent[node]] - n].append(int(number[node]))
    return ConsensusTree(nodes, median[in_time], frequency[kept][in_time], posterior.labels)

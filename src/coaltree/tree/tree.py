"""Tree: a rooted binary tree with times, as three immutable arrays.

    children (n-1, 2)   the nodes joined by merge k, which makes node n + k; leaves are 0 … n-1
    times    (n-1,)     when, 0 at the leaves, growing towards the root; non-decreasing, ties allowed
    labels   n strings  names of the leaves, all different

Nothing here is recursive, so a chain of 100,000 leaves is a tree like any other.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._runtime.memory import require_memory
from .._runtime.typing import ArrayLike
from .._runtime.validation import as_array, check_count, check_number
from ..errors import InputError
from . import merges, newick
from .cut import best_cut, join_along_tree, name_rank
from .linkage import from_linkage
from .rooted import RootedTree, as_names, check_labels, default_labels

if TYPE_CHECKING:
    from ..model.covariance import CovarianceLike


class Tree(RootedTree):
    """A coalescent tree, or any other rooted binary ultrametric tree.

    Two trees are equal if their arrays and labels are; to compare topologies alone, compare `clade_keys()`.

    Examples
    --------
    >>> tree = ct.Tree([[0, 1], [3, 2]], [1.0, 2.0], ["a", "b", "c"])
    >>> tree.to_newick()
    '((a:1.0,b:1.0):1.0,c:2.0);'
    """

    __slots__ = ("_children", "_place")
    _children: np.ndarray
    _place: merges.Layout | None

    def __init__(self, children: ArrayLike, times: ArrayLike, labels: Iterable[Any] | None = None) -> None:
        checked = merges.check_children(children)
        heights = merges.check_heights(times, len(checked))
        merges.check_order(heights)
        self._set(checked, heights, check_labels(labels, len(checked) + 1))

    def _set(self, children: np.ndarray, times: np.ndarray, labels: tuple[str, ...]) -> None:
        children.flags.writeable = False
        times.flags.writeable = False
        self._children, self._times, self._labels, self._place = children, times, labels, None

    @property
    def children(self) -> np.ndarray:
        """(n-1, 2) int64: the two nodes joined by merge k, which makes node n + k. Read-only."""
        return self._children

    @property
    def parents(self) -> np.ndarray:
        """(2n-1,) int64: the parent of each node; -1 for the root."""
        return merges.parents(self._children)

    @property
    def sizes(self) -> np.ndarray:
        """(2n-1,) int64: the number of leaves under each node, 1 for a leaf."""
        return self._layout.size.copy()

    @property
    def _layout(self) -> merges.Layout:
        if self._place is None:
            self._place = merges.layout(self._children)
        return self._place

    def leaf_order(self) -> np.ndarray:
        """Return the leaves (n,) from left to right, each merge's first child left of its second.

        Returns
        -------
        ndarray (n,) of int
            Leaf numbers.

        Examples
        --------
        >>> ct.Tree.from_newick("((a:1,b:1):1,c:2);").leaf_order()
        array([0, 1, 2])
        """
        return self._layout.order.copy()

    @property
    def heights(self) -> np.ndarray:
        """(n-1,) the height of each merge, by which `cut` weighs clades: its time. Read-only."""
        return self._times

    def cut(self, n_clusters: int | None = None, *, time: float | None = None, outliers: bool = False) -> np.ndarray:
        """Cut the tree into clusters and return the cluster of each leaf.

        The clusters are the k disjoint clades, of at least two leaves each, whose leaves meet lowest: those with the
        least Σ W(c) + κ (leaves in no clade). W(c) is half the mean height at which two leaves of clade c meet, times
        its size, and κ twice what a leaf costs in one cluster of all. The optimum is exact. k + 1 clusters need not
        refine k clusters. Single leaves are clusters only where the tree has no k clades of two leaves.

        Parameters
        ----------
        n_clusters : int, optional
            How many clusters.
        time : float, optional
            When to cut: leaves that have met by then, `time` included, are together, in clusters of any size.
        outliers : bool
            Whether leaves in none of the clades are labelled -1, which does not make them outliers. Otherwise they join
            the cluster that they meet first, of several the largest; in the mean tree of a posterior, the one that they
            are closest to on average.

        Returns
        -------
        labels : (n,) array of int
            0, 1, …, numbered from top to bottom as the tree is drawn (`leaf_order`); -1 for outliers.

        Examples
        --------
        >>> tree = ct.Tree.from_newick("(((a:1,b:1):4,(c:2,d:2):3):4,e:9);")
        >>> tree.cut(2)
        array([0, 0, 1, 1, 0])
        >>> tree.cut(2, outliers=True)
        array([ 0,  0,  1,  1, -1])
        """
        if not isinstance(outliers, bool | np.bool_):
            raise InputError(f"outliers must be True or False, not {outliers!r}.")
        if (n_clusters is None) == (time is None):
            which = "neither" if time is None else "both"
            raise InputError(f"exactly one of n_clusters and time must be given, not {which}.")
        if n_clusters is not None:
            k, rank = check_count("n_clusters", n_clusters, 1, self.n), name_rank(self._labels)
            cluster = best_cut(self._children, self._layout, self.heights, rank, k)
            places = np.unique(self._layout.start[cluster[cluster >= 0]])
            cluster = cluster if outliers else self._joined(cluster, rank)
            return np.where(cluster < 0, -1, np.searchsorted(places, self._layout.start[cluster]))
        if outliers:
            raise InputError("outliers needs n_clusters: in a cut at a time every leaf is in a cluster.")
        later = self._times[self._layout.gap] > check_number("time", time)
        labels = np.empty(self.n, dtype=np.int64)
        labels[self._layout.order] = np.append(0, np.cumsum(later))
        return labels

    def _joined(self, cluster: np.ndarray, rank: np.ndarray) -> np.ndarray:
        """(n,) the node that is the cluster of each leaf, those in none (-1) having joined one."""
        return join_along_tree(self._children, self._layout, rank, cluster)

    def cophenetic(self, pairs: ArrayLike | None = None) -> np.ndarray:
        """Return the times at which leaves first meet.

        Parameters
        ----------
        pairs : (m, 2) array of int, optional
            Leaves to ask about. Needs O(n + m) memory, where the whole matrix of 100,000 leaves needs 80 GB.

        Returns
        -------
        (n, n) symmetric matrix, 0 on the diagonal; with `pairs`, (m,) times.

        Examples
        --------
        >>> ct.Tree.from_newick("((a:1,b:1):1,c:2);").cophenetic([[0, 1], [0, 2]])
        array([1., 2.])
        """
        if pairs is None:
            from scipy.cluster.hierarchy import cophenet
            from scipy.spatial.distance import squareform

            require_memory(
                12 * self.n**2, f"The cophenetic matrix of {self.n} leaves", "ask for single pairs=… instead"
            )
            return np.asarray(squareform(cophenet(self.to_linkage())))
        asked = as_array("pairs", pairs)
        if asked.ndim != 2 or asked.shape[1] != 2 or (asked.size and not np.issubdtype(asked.dtype, np.integer)):
            raise InputError(f"pairs must be whole numbers of shape (m, 2), not {asked.dtype} of shape {asked.shape}.")
        if asked.size and not (asked.min() >= 0 and asked.max() < self.n):
            raise InputError(f"pairs must name leaves 0 to {self.n - 1}, but has {asked.min()} to {asked.max()}.")
        joined_by = merges.common_ancestors(self._layout, asked.astype(np.int64))
        return np.where(joined_by < 0, 0.0, self._times[joined_by])

    def clade_keys(self) -> np.ndarray:
        """Return 128 bits (n-1, 2) uint64 per merge that name the set of leaves under it.

        Equal sets of leaf numbers have equal keys in every tree of the same n, other sets other keys (two differ
        by chance with probability 1 - 2^-128), so clades are compared and counted without being listed.

        Returns
        -------
        ndarray (n-1, 2) of uint64
            One row for each merge.

        Examples
        --------
        >>> tree, other = (ct.Tree.from_newick(f"((a:{t},b:{t}):1,c:{t + 1});") for t in (1, 2))
        >>> bool((tree.clade_keys() == other.clade_keys()).all())
        True
        """
        return merges.clade_keys(self._layout)

    def clades(self) -> list[frozenset[str]]:
        """Return the leaf labels under each merge; for large trees use `clade_keys`.

        Returns
        -------
        list of frozenset of str
            One set for each merge.

        Examples
        --------
        >>> sorted(ct.Tree.from_newick("((a:1,b:1):1,c:2);").clades()[0])
        ['a', 'b']
        """
        start, size = self._layout.start[self.n :], self._layout.size[self.n :]
        n_bytes = 40 * int(size.sum())  # of a frozenset, on average
        require_memory(n_bytes, f"Listing the clades of {self.n} leaves", "use clade_keys() instead")
        names = [self._labels[leaf] for leaf in self._layout.order]
        return [frozenset(names[a : a + m]) for a, m in zip(start.tolist(), size.tolist(), strict=True)]

    def log_prior(self) -> float:
        """Return the log density of times and topology under Kingman's coalescent, Σ_k -λ_k Δ_k.

        Returns
        -------
        float
            The log density.

        Examples
        --------
        >>> ct.Tree.from_newick("((a:1,b:1):1,c:2);").log_prior()  # three pairs for a time of 1, then one
        -4.0
        """
        from ..model.process import coalescent

        return float(coalescent.log_prior(self._times))

    def log_likelihood(
        self,
        X: ArrayLike,
        covariance: "CovarianceLike" = "spherical",
        noise: float = 0.0,
        errors: ArrayLike | None = None,
    ) -> float:
        """Return log p(X | tree), X (n, d) having diffused along the branches with this covariance.

        Rows of X are in the order of `labels`; the rows of a DataFrame with these names as its index may come in
        any order. `noise` is the variance of measurement noise as a multiple of the covariance, `errors` (n,) are
        relative standard errors of the leaves.

        Parameters
        ----------
        X : array-like (n, d) or DataFrame
            One row for each leaf.
        covariance : Covariance, str or (d, d) array
            Φ, the covariance of the diffusion per unit of time.
        noise : float
            Variance of measurement noise, as a multiple of Φ.
        errors : array-like (n,), optional
            Relative standard errors of the leaves.

        Returns
        -------
        float
            The log density.

        Examples
        --------
        >>> X, tree = ct.simulate(8, 3, random_state=0)
        >>> tree.log_likelihood(X) > tree.log_likelihood(10.0 * X)
        True
        """
        from ..model.covariance import as_covariance
        from ..model.process.diffusion import log_likelihood
        from ..model.process.noise import known_variances

        variances = known_variances(noise, errors, self.n)
        values = self._rows(X)
        values = values - values.mean(axis=0)  # the likelihood is that of differences: do not lose their digits
        d = values.shape[1]
        whitener = as_covariance(covariance, d).whitener(d)
        W = whitener.whiten(values)
        return float(log_likelihood(self._children, self._times, W, d, whitener.log_det, variances))

    def _rows(self, X: ArrayLike) -> np.ndarray:
        """Return X as (n, d) finite numbers, its rows in the order of the leaves."""
        from ..model.data.table import read_table

        values, names, features = read_table(X)
        if len(values) != self.n:
            raise InputError(f"X has {len(values)} rows and the tree {self.n} leaves; give one row per leaf.")
        has_same = set(names) == set(self._labels)
        if features is None or (not has_same and names == default_labels(self.n)):  # an index that nobody gave
            return values
        if not has_same:
            raise InputError("The index of X names other rows than the leaves of the tree; use the tree's labels.")
        row_of = {name: row for row, name in enumerate(names)}
        return values[[row_of[label] for label in self._labels]]

    def relabel(self, labels: Sequence[Any]) -> "Tree":
        """Return the same tree with other names for leaves 0 … n-1.

        Parameters
        ----------
        labels : sequence
            n different names.

        Returns
        -------
        Tree
            With the same merges and times.

        Examples
        --------
        >>> ct.Tree.from_newick("((a:1,b:1):1,c:2);").relabel(["x", "y", "z"]).to_newick()
        '((x:1.0,y:1.0):1.0,z:2.0);'
        """
        return unchecked_tree(self._children, self._times, check_labels(labels, self.n))

    def to_linkage(self) -> np.ndarray:
        """Return SciPy's linkage matrix (n-1, 4), heights being merge times; labels are not part of it.

        Returns
        -------
        ndarray (n-1, 4)
            For `scipy.cluster.hierarchy`.

        Examples
        --------
        >>> ct.Tree.from_newick("((a:1,b:1):1,c:2);").to_linkage()
        array([[0., 1., 1., 2.],
               [3., 2., 2., 3.]])
        """
        return np.column_stack([self._children, self._times, self._layout.size[self.n :]])

    @classmethod
    def from_linkage(cls, Z: ArrayLike, labels: Iterable[Any] | None = None) -> "Tree":
        """Make a tree of a linkage matrix, as SciPy and fastcluster make them; heights become merge times.

        Rows need not be sorted by height. A linkage with inversions (centroid, median) has no such tree and is
        refused.

        Parameters
        ----------
        Z : array-like (n-1, 4)
            Pairs of clusters, heights and sizes, which are not used.
        labels : sequence, optional
            Names of the leaves.

        Returns
        -------
        Tree
            With the heights as times.

        Examples
        --------
        >>> from scipy.cluster.hierarchy import linkage
        >>> ct.Tree.from_linkage(linkage([[0.0], [1.0], [5.0]], "average"), ["a", "b", "c"]).clades()[0] == {"a", "b"}
        True
        """
        children, times = from_linkage(Z)
        return unchecked_tree(children, times, check_labels(labels, len(times) + 1))

    def to_newick(self, node_labels: Sequence[Any] | None = None) -> str:
        """Return the tree as one line of Newick text.

        `node_labels` (n-1 strings or numbers, e.g. supports) name the merges. Branch lengths have all their digits:
        `from_newick` gives the same tree, with times that differ by rounding at most.

        Parameters
        ----------
        node_labels : sequence, optional
            n-1 strings or numbers.

        Returns
        -------
        str
            One line that ends in a semicolon.

        Examples
        --------
        >>> ct.Tree([[0, 1]], [1.0], ["a", "b"]).to_newick([0.5])
        '(a:1.0,b:1.0)0.5;'
        """
        if node_labels is not None:
            node_labels = as_names(node_labels, "node_labels", self.n - 1)
        names = [newick.quote(label) for label in self._labels]
        names += [newick.quote(label) if label else "" for label in node_labels or [""] * (self.n - 1)]
        return newick.write(self._children, self._times, names)

    @classmethod
    def from_newick(
        cls,
        text: str,
        labels: Iterable[Any] | None = None,
        *,
        keep_underscores: bool = True,
        tolerance: float = newick.TOLERANCE,
    ) -> "Tree":
        """Read a rooted, binary, ultrametric tree from Newick text.

        Parameters
        ----------
        text : str
            One tree. [Comments], among them [&R], names of inner nodes and a branch above the root are passed over.
        labels : sequence of str, optional
            The leaves' names in the order wanted; by default leaves are numbered as they come in the text.
        keep_underscores : bool
            Whether an underscore outside quotes is one; with False it means a blank, as in NEXUS files.
        tolerance : float
            By how much leaves may differ in depth, as a share of the root's height.

        Returns
        -------
        Tree
            With the leaves' depths as times.

        Examples
        --------
        >>> ct.Tree.from_newick("((b:1,a:1):1,c:2);", labels=["a", "b", "c"]).labels
        ('a', 'b', 'c')
        """
        if not isinstance(text, str):
            raise InputError(f"from_newick reads text, not {type(text).__name__}.")
        tolerance = check_number("tolerance", tolerance, 0.0)
        children, times, names = newick.read(text, keep_underscores, tolerance)
        tree = unchecked_tree(children, times, check_labels(names, len(names)))
        if labels is None:
            return tree
        wanted = check_labels(labels, tree.n)
        others = set(tree.labels) - set(wanted)
        if others:
            raise InputError(f"The tree has a leaf {min(others)!r}, which is not one of the given labels.")
        return in_leaf_order(tree, wanted)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return (
            self._labels == other._labels
            and np.array_equal(self._children, other._children)
            and np.array_equal(self._times, other._times)
        )

    def __hash__(self) -> int:
        return hash((self._children.tobytes(), (self._times + 0.0).tobytes(), self._labels))  # -0.0 == 0.0

    def __reduce__(self) -> tuple[Any, ...]:
        return unchecked_tree, (self._children, self._times, self._labels)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self._labels[:3])) + (", …" if self.n > 3 else "")
        return f"Tree(n={self.n}, root time {self._times[-1]:.6g}, labels {shown})"


def unchecked_tree(children: ArrayLike, times: ArrayLike, labels: tuple[str, ...]) -> Tree:
    """Make a tree of arrays known to be valid; they are not copied where their types already fit."""
    tree = Tree.__new__(Tree)
    tree._set(np.asarray(children, dtype=np.int64).view(), np.asarray(times, dtype=np.float64).view(), labels)
    return tree


def in_leaf_order(tree: Tree, labels: tuple[str, ...]) -> Tree:
    """Return the tree with its leaves numbered as in `labels`, which are its own in any order."""
    number_of = {label: leaf for leaf, label in enumerate(labels)}
    number = np.arange(2 * tree.n - 1)
    number[: tree.n] = [number_of[label] for label in tree.labels]
    return unchecked_tree(number[tree.children], tree.times, labels)

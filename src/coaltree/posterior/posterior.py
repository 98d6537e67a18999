"""`Posterior`: weighted trees and what is asked of them.

The T draws are stacked arrays, children (T, n-1, 2) and times (T, n-1), with one weight each (they sum to 1); `trees`
makes `Tree` objects on demand. The object is thin: what it answers is computed, always weighted, by the files above:
`clades` (who occurs, how often, when), `summary_trees` (one tree for many), `partitions` (clusters), `cluster_count`,
`diagnostics` (effective sample sizes).
"""

import operator
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np

from .._runtime.aliases import ArrayLike, PathLike, RandomState
from .._runtime.checks import check_count, check_level
from .._runtime.jit import jit
from ..errors import InputError
from ..numerics.weighted import effective_sample_size
from ..tree import Tree, unchecked_tree
from ..tree.distances import with_leaves_as
from ..tree.merges import check_cut
from ..tree.rooted import check_labels
from . import clades, cluster_count, diagnostics, partitions
from .summary_trees import ConsensusTree, majority_rule, maximum_clade_credibility

if TYPE_CHECKING:
    from ..model.covariance import Covariance
    from ..samplers.base import SamplerLike
    from .placement import Placement


class TreeSequence(Sequence[Tree]):
    """The trees of a posterior, made one at a time: it has a length, an index, slices and an iterator."""

    def __init__(self, children: np.ndarray, times: np.ndarray, labels: tuple[str, ...]) -> None:
        self._children, self._times, self._labels = children, times, labels

    def __len__(self) -> int:
        return len(self._times)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Tree: ...

    @overload
    def __getitem__(self, index: slice) -> "TreeSequence": ...

    def __getitem__(self, index: SupportsIndex | slice) -> "Tree | TreeSequence":
        if isinstance(index, slice):
            return TreeSequence(self._children[index], self._times[index], self._labels)
        index = operator.index(index)
        return unchecked_tree(self._children[index].astype(np.int64), self._times[index], self._labels)

    def __repr__(self) -> str:
        return f"<{len(self)} trees of {self._times.shape[1] + 1} leaves>"


class Posterior:
    """Weighted draws of trees (and covariance parameters) given the data.

    Parameters
    ----------
    children, times : arrays (T, n-1, 2) and (T, n-1), one tree each row, as in `Tree`.
    log_weights : (T,) up to a constant; equal by default.
    log_joint : (T,) log p(X, tree | θ) + log p(θ), where the sampler knows it.
    log_evidence : the sampler's estimate of log p(X), or None.
    labels : names of the leaves.
    theta : mapping from a parameter's name to its draws (T, …).
    chain : (T,) the chain of each draw; None for particles, which have no order.
    X, covariance, leaf_noise : what was fitted, needed to place new rows.
    columns : names of the columns of X; by default those of a DataFrame.
    imputed : (T, k) draws of the k entries that are missing (NaN) in X, in the order of ``X[numpy.isnan(X)]``.
    info : settings and diagnostics of the run.
    """

    def __init__(
        self,
        children: ArrayLike,
        times: ArrayLike,
        *,
        log_weights: ArrayLike | None = None,
        log_joint: ArrayLike | None = None,
        log_evidence: float | None = None,
        labels: Iterable[Any] | None = None,
        theta: Mapping[str, ArrayLike] | None = None,
        chain: ArrayLike | None = None,
        X: ArrayLike | None = None,
        columns: Iterable[Any] | None = None,
        covariance: "Covariance | None" = None,
        leaf_noise: float = 0.0,
        imputed: ArrayLike | None = None,
        info: Mapping[str, Any] | None = None,
    ) -> None:
        self._children = _read_only(children, np.int32)
        self._times = _read_only(times, np.float64)
        _check_trees(self._children, self._times)
        self._labels = check_labels(labels, self.n)
        self._log_weights = _read_only(_relative(self._per_tree("log_weights", log_weights, 0.0)), np.float64)
        self._log_joint = None if log_joint is None else _read_only(self._per_tree("log_joint", log_joint), np.float64)
        self._chain = _read_only(self._per_tree("chain", chain, 0), np.int64)
        self._is_chain = chain is not None
        self._theta = {
            str(name): _read_only(self._per_tree(f"theta[{name!r}]", draws), np.float64)
            for name, draws in (theta or {}).items()
        }
        self.log_evidence: float | None = None if log_evidence is None else float(log_evidence)
        self.covariance: Covariance | None = covariance
        self.leaf_noise: float = float(leaf_noise)
        self.info: dict[str, Any] = dict(info or {})
        columns = getattr(X, "columns", None) if columns is None else columns
        self._columns = None if columns is None else tuple(map(str, columns))
        self.X: np.ndarray | None = None if X is None else _read_only(X, np.float64)
        if self.X is not None and (self.X.ndim != 2 or len(self.X) != self.n):
            raise InputError(f"X must have one row for each of the {self.n} leaves, not shape {self.X.shape}.")
        if self.X is not None and self._columns is not None and len(self._columns) != self.X.shape[1]:
            raise InputError(f"columns must name the {self.X.shape[1]} columns of X, not {len(self._columns)}.")
        self._imputed = None if imputed is None else _read_only(self._per_tree("imputed", imputed), np.float64)
        n_missing = 0 if self.X is None else int(np.isnan(self.X).sum())
        if self._imputed is not None and self._imputed.shape[1:] != (n_missing,):
            raise InputError(f"imputed must hold the {n_missing} missing entries of X, not {self._imputed.shape[1:]}.")

    def _per_tree(self, name, values, default=None):
        if values is None:
            return np.full(len(self), default)
        values = np.asarray(values)
        if values.shape[:1] != (len(self),):
            raise InputError(f"{name} must have one entry for each of the {len(self)} trees, not shape {values.shape}.")
        return values

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("clade_table", "_mcc_tree")}

    # What it holds

    def __len__(self) -> int:
        return len(self._times)

    def __repr__(self) -> str:
        n_chains = len(np.unique(self._chain))
        chains = f", {n_chains} chains" if n_chains > 1 else ""
        return f"<Posterior: {len(self)} trees of {self.n} leaves{chains}, ess {self.ess:.0f}>"

    @property
    def n(self) -> int:
        """Number of leaves."""
        return self._times.shape[1] + 1

    @property
    def trees(self) -> TreeSequence:
        """The trees, a lazy sequence of `Tree`."""
        return TreeSequence(self._children, self._times, self._labels)

    @property
    def children(self) -> np.ndarray:
        """(T, n-1, 2) int32: the two nodes joined by each merge of each tree, as in `Tree`. Read-only."""
        return self._children

    @property
    def times(self) -> np.ndarray:
        """(T, n-1) float64: the times of the merges of each tree, non-decreasing. Read-only."""
        return self._times

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the leaves."""
        return self._labels

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns of X, where it had any."""
        return self._columns

    @property
    def log_weights(self) -> np.ndarray:
        """(T,) log weights, 0 where a tree counts as much as the average tree of its run. Read-only."""
        return self._log_weights

    @cached_property
    def weights(self) -> np.ndarray:
        """(T,) weights that sum to 1."""
        weights = np.exp(self._log_weights - self._log_weights.max())
        return _read_only(weights / weights.sum(), np.float64)

    @property
    def log_joint(self) -> np.ndarray | None:
        """(T,) log p(X, tree | θ) + log p(θ), or None where the sampler does not know it."""
        return self._log_joint

    @property
    def theta(self) -> Mapping[str, np.ndarray]:
        """Draws of the covariance's parameters: name → (T, …)."""
        return self._theta

    @property
    def chain(self) -> np.ndarray:
        """(T,) the chain of every draw."""
        return self._chain

    @property
    def is_chain(self) -> bool:
        """Whether the draws follow one another in chains; False for particles, which have no order."""
        return self._is_chain

    @property
    def imputed(self) -> np.ndarray | None:
        """(T, k) draws of the missing entries of X, in the order of ``X[numpy.isnan(X)]``; None where none are."""
        return self._imputed

    def completed(self, index: int) -> np.ndarray:
        """X (n, d) with its missing entries as they were drawn together with tree `index`."""
        if self.X is None:
            raise InputError("this posterior does not include its data X.")
        filled = np.array(self.X)
        if self._imputed is not None:
            filled[np.isnan(filled)] = self._imputed[index]
        return filled

    # How good it is

    @cached_property
    def ess(self) -> float:
        """Effective sample size: that of the log joint for chains; 1 / Σ w² for weighted particles."""
        by_weights = effective_sample_size(self.weights)
        if not (self._is_chain and self.has_equal_weights) or self._log_joint is None:
            return by_weights
        by_chain = diagnostics.series_ess(self._log_joint, self._chain)
        return by_chain if np.isfinite(by_chain) else by_weights

    @cached_property
    def topology_ess(self) -> float:
        """Effective sample size of the topology, from the clades that draws of a chain share.

        For weighted particles, which have no order, 1 / Σ w².
        """
        by_chain = (
            diagnostics.topology_ess(self.clade_table.ids, self._chain)
            if (self._is_chain and self.has_equal_weights)
            else np.nan
        )
        return by_chain if np.isfinite(by_chain) else effective_sample_size(self.weights)

    def split_frequency_sd(self, min_frequency: float = 0.1) -> float:
        """Average standard deviation across chains of the frequencies of clades; NaN for one chain.

        Clades below `min_frequency` in every chain are ignored. Above 0.05 the chains disagree about the tree.
        """
        return diagnostics.split_frequency_sd(self.clade_table.ids, self.weights, self._chain, min_frequency)

    @property
    def has_equal_weights(self) -> bool:
        """Whether all trees count the same."""
        return bool(np.ptp(self._log_weights) == 0)

    @cached_property
    def clade_table(self) -> clades.CladeTable:
        """The distinct clades of all trees, and which of them each tree has."""
        return clades.enumerate_clades(self._children)

    # Which tree

    def map_tree(self) -> Tree:
        """The sampled tree with the highest log joint."""
        if self._log_joint is None:
            raise InputError("This posterior has no log_joint, so map_tree() cannot rank its trees: use mcc_tree().")
        possible = np.where((self.weights > 0) & ~np.isnan(self._log_joint), self._log_joint, -np.inf)
        return self.trees[int(np.argmax(possible))]

    def mcc_tree(self) -> Tree:
        """The maximum clade credibility tree: of the sampled topologies the one with the highest Σ log clade support.

        The time of each clade is the median over the trees that contain it, raised where needed so that no clade is
        older than the clade around it.
        """
        return self._mcc_tree

    @cached_property
    def _mcc_tree(self):
        return maximum_clade_credibility(self._children, self._times, self.weights, self.clade_table, self._labels)

    def consensus(self, min_support: float = 0.5) -> ConsensusTree:
        """The majority-rule consensus tree: the clades with a support above `min_support` (0.5 to 1).

        Where no clade has enough support, a node has more than two children.
        """
        return majority_rule(self._children, self._times, self.weights, self.clade_table, self._labels, min_support)

    def clade_support(self, tree: Tree) -> np.ndarray:
        """(n-1,) support of the clades of `tree`: the share of the posterior that contains each of them."""
        found = self._find(tree)
        frequency = np.minimum(clades.frequencies(self.clade_table, self.weights), 1.0)
        return np.where(found >= 0, frequency[found], 0.0)

    def node_times(self, tree: Tree, level: float = 0.9) -> np.ndarray:
        """(n-1, 2) equal-tailed credible intervals of the time of each clade of `tree`, over the trees that contain it.

        NaN where no tree contains it.
        """
        level = check_level("level", level)
        tails = [(1 - level) / 2, (1 + level) / 2]
        return clades.time_quantiles(self.clade_table, self._times, self.weights, self._find(tree), tails)

    def _find(self, tree):
        return clades.find(self.clade_table, with_leaves_as(tree, self._labels).clade_keys())

    def cophenetic(self, log: bool = False) -> np.ndarray:
        """(n, n) posterior mean of the time at which two leaves meet; with `log`, of its logarithm (diagonal -inf)."""
        counts = self.weights > 0
        with np.errstate(divide="ignore"):
            values = np.log(self._times[counts]) if log else self._times[counts]
        mean = clades.mean_cophenetic(self._children[counts], values, self.weights[counts])
        if log:
            np.fill_diagonal(mean, -np.inf)
        return mean

    # Which clusters

    def coclustering(self, n_clusters: int | None = None, *, time: float | None = None) -> np.ndarray:
        """(n, n) probability that two leaves share a cluster, when trees are cut into `n_clusters` or at `time`."""
        n_clusters, time = check_cut(self.n, n_clusters, time)
        return partitions.coclustering(self._children, self._times, self.weights, n_clusters, time)

    def cut(self, n_clusters: int | None = None, *, time: float | None = None, loss: str = "vi") -> np.ndarray:
        """Cluster labels (n,) of the partition that agrees best with all trees, numbered in order of first leaf.

        Parameters
        ----------
        n_clusters : int, optional
            Number of clusters, of the sampled trees and of the result.
        time : float, optional
            Time at which to cut every tree; the result may have any number of clusters.
        loss : "vi" or "binder"
            The expected loss to minimise: variation of information, or the number of pairs of leaves that one
            partition joins and the other does not (Binder). The search (all sampled partitions, the maximum clade
            credibility tree's, average linkage of the co-clustering, then single moves) is not exhaustive.
        """
        return self._best_partition(n_clusters, time, loss).labels

    def _best_partition(self, n_clusters, time, loss):
        n_clusters, time = check_cut(self.n, n_clusters, time)
        labels = partitions.cut_labels(self._children, self._times, n_clusters, time)
        together = None
        if loss == "binder" or self.n <= partitions.LARGEST_DENSE:
            together = partitions.coclustering(self._children, self._times, self.weights, n_clusters, time)
        return partitions.best_partition(
            labels,
            self.weights,
            loss=loss,
            together=together,
            extra=[self.mcc_tree().cut(n_clusters, time=time)],
            fixed_number=n_clusters is not None,
        )

    def suggest_n_clusters(self, max_clusters: int | None = None) -> cluster_count.ClusterSuggestion:
        """Suggest a number of clusters, with the reason in a sentence and the table it was read from.

        It is the number at which the gap before the next merge is unusually long under the coalescent; 1 where no gap
        stands out.
        """
        return cluster_count.suggest_n_clusters(self._times, self.weights, max_clusters)

    # Parts of it

    def __getitem__(self, index: slice | list[int] | np.ndarray) -> "Posterior":
        if not isinstance(index, slice | list | np.ndarray):
            raise InputError("Index a posterior with a slice, as in post[100:]; one tree is post.trees[0].")
        return self._select(np.arange(len(self))[index])

    def thin(self, k: int) -> "Posterior":
        """Keep every k-th draw of each chain."""
        check_count("k", k)
        return self._select(np.sort(np.concatenate([draws[::k] for draws in diagnostics.by_chain(self._chain)])))

    def _select(self, index):
        if len(index) == 0:
            raise InputError(f"No tree of the {len(self)} is left; a posterior needs at least one.")
        part = Posterior(
            self._children[index],
            self._times[index],
            log_weights=self._log_weights[index],
            log_joint=None if self._log_joint is None else self._log_joint[index],
            labels=self._labels,
            theta={name: draws[index] for name, draws in self._theta.items()},
            chain=self._chain[index] if self._is_chain else None,
            X=self.X,
            columns=self._columns,
            covariance=self.covariance,
            leaf_noise=self.leaf_noise,
            imputed=None if self._imputed is None else self._imputed[index],
            info=self.info,
        )
        # An evidence estimate belongs to all particles; and parts must weigh as they did, to be put together again.
        part.log_evidence = self.log_evidence if len(index) == len(self) else None
        return with_log_weights(part, self._log_weights[index])

    # New rows

    def place(
        self,
        X_new: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        n_trees: int = 200,
        n_clades: int = 20,
        random_state: RandomState = 0,
    ) -> "Placement":
        """Where new rows would join the trees: branch, time, nearest clades, and `log_density` (m,) of each row.

        Parameters
        ----------
        X_new : (m, d) array-like or DataFrame with the columns that were fitted; NaN is integrated out.
        classes : (n,) labels of the fitted rows, optional; gives `class_probability` of each new row.
        n_trees : how many of the posterior's trees are asked, evenly spread by weight.
        n_clades : how many sister clades are kept for each row.
        random_state : for the branches and times that are drawn; probabilities and densities do not depend on it.
        """
        from .placement import place

        return place(self, X_new, classes=classes, n_trees=n_trees, n_clades=n_clades, random_state=random_state)

    def extend(
        self,
        X_new: ArrayLike,
        *,
        n_rounds: int = 10,
        n_trees: int | None = None,
        sampler: "SamplerLike | None" = None,
        random_state: RandomState = None,
    ) -> "Posterior":
        """Add new rows to the trees, run a few sweeps, and return the posterior of all rows.

        Parameters
        ----------
        X_new : (m, d) array-like or DataFrame with the columns that were fitted; NaN is imputed.
        n_rounds : rounds (a sweep, and an update of what else was learnt) of each tree after grafting.
        n_trees : how many trees to go on with, evenly spread by weight; all of them by default.
        sampler : what sweeps; ``Regraft()`` by default.
        """
        from ..inference.extend import extend

        return extend(self, X_new, n_rounds=n_rounds, n_trees=n_trees, sampler=sampler, random_state=random_state)

    # What it exchanges

    def to_arviz(self) -> Any:
        """The draws of θ, log joint, root time and tree length for ArviZ (`pip install "coaltree[arviz]"`)."""
        from .exchange import to_arviz

        return to_arviz(self)

    def to_nexus(self, path: PathLike) -> None:
        """Write all trees, with weights and clade supports, as NEXUS that FigTree and DendroPy read."""
        from .exchange import write_nexus

        write_nexus(self, path)

    def save(self, path: PathLike) -> None:
        """Write everything to one file, which `coaltree.load` reads."""
        from .files import save

        save(self, path)


def with_log_weights(posterior: Posterior, log_weights: np.ndarray) -> Posterior:
    """Give a new posterior these log weights bit for bit; its constructor makes the mean weight 1."""
    posterior._log_weights = _read_only(log_weights, np.float64)
    return posterior


def concat(posteriors: Sequence[Posterior]) -> Posterior:
    """Put posteriors of the same leaves together; chains are renumbered.

    Where all have a `log_evidence` (runs of an SMC sampler) a run counts by its evidence, so that the result is the
    one importance sample of all particles; otherwise each tree keeps its weight relative to the mean of its run.
    """
    posteriors = list(posteriors)
    if not posteriors or not all(isinstance(post, Posterior) for post in posteriors):
        raise InputError("concat takes a sequence of at least one Posterior.")
    first = posteriors[0]
    for number, post in enumerate(posteriors[1:], 1):
        if post.labels != first.labels:
            raise InputError(
                f"Posterior {number} has other leaf labels than the first; only the same leaves can be joined."
            )
        if post.theta.keys() != first.theta.keys():
            raise InputError(
                f"Posterior {number} has other parameters than the first: {_names(post)}, not {_names(first)}."
            )
    log_weights = [post.log_weights for post in posteriors]
    evidence = [post.log_evidence for post in posteriors if post.log_evidence is not None]
    log_evidence = None
    if len(evidence) == len(posteriors):
        log_weights = [weights + value for weights, value in zip(log_weights, evidence, strict=True)]
        sizes = np.array([len(post) for post in posteriors])
        top = max(evidence)
        log_evidence = top + np.log(sizes @ np.exp(np.array(evidence) - top) / sizes.sum())
    chains, n_chains = [], 0
    for post in posteriors:
        chains.append(n_chains + np.unique(post.chain, return_inverse=True)[1])
        n_chains = chains[-1].max() + 1
    same_X = all(_same(post.X, first.X) for post in posteriors)
    imputed = [post.imputed for post in posteriors if post.imputed is not None]
    joints = [post.log_joint for post in posteriors if post.log_joint is not None]
    return Posterior(
        np.concatenate([post.children for post in posteriors]),
        np.concatenate([post.times for post in posteriors]),
        log_weights=np.concatenate(log_weights),
        log_joint=np.concatenate(joints) if len(joints) == len(posteriors) else None,
        log_evidence=log_evidence,
        labels=first.labels,
        theta={name: np.concatenate([post.theta[name] for post in posteriors]) for name in first.theta},
        chain=np.concatenate(chains),
        X=first.X if same_X else None,
        columns=first.columns,
        covariance=first.covariance,
        leaf_noise=first.leaf_noise,
        imputed=np.concatenate(imputed) if same_X and len(imputed) == len(posteriors) else None,
        info=first.info,
    )


def _names(post):
    return ", ".join(post.theta) or "none"


def _same(a, b):
    return a is b or (a is not None and b is not None and np.array_equal(a, b, equal_nan=True))


def _read_only(array, dtype):
    """A read-only view in the given type, contiguous; copied only where it must be."""
    array = np.ascontiguousarray(array, dtype=dtype).view()
    array.flags.writeable = False
    return array


def _relative(log_weights):
    """Shift so that the mean weight is 1: runs of any size can then be put together by concatenation."""
    log_weights = np.asarray(log_weights, dtype=np.float64)
    top = log_weights.max()
    if not np.isfinite(top) or np.isnan(log_weights).any():
        raise InputError("log_weights must be numbers, -inf allowed, with at least one finite; these are not.")
    return log_weights - top - np.log(np.mean(np.exp(log_weights - top)))


def _check_trees(children, times):
    if times.ndim != 2 or times.size == 0 or children.shape != (*times.shape, 2):
        raise InputError(
            "A posterior needs at least one tree, with children of shape (T, n-1, 2) and times of shape (T, n-1), "
            f"not {children.shape} and {times.shape}."
        )
    wrong = _first_wrong(children, times)
    if wrong >= 0:
        try:
            Tree(children[wrong], times[wrong])  # says what is wrong with it
        except InputError as error:
            raise InputError(f"Tree {wrong} of the posterior is not valid: {error}") from None


@jit
def _first_wrong(children, times):
    """The first tree that is not one, or -1: kernels rely on every node being joined once, after it is made."""
    n = times.shape[1] + 1
    joined_in = np.full(2 * n - 1, -1, np.int64)
    for t in range(len(times)):
        last = 0.0
        for k in range(n - 1):
            if not (last <= times[t, k] < np.inf):
                return t
            last = times[t, k]
            for c in children[t, k]:
                if c < 0 or c >= n + k or joined_in[c] == t:
                    return t
                joined_in[c] = t
    return -1

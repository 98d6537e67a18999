"""`Posterior`: weighted trees and what is asked of them.

The T draws are stacked arrays, children (T, n-1, 2) and times (T, n-1), with one weight each (they sum to 1); `trees`
makes `Tree` objects on demand. The object is thin: what it answers is computed, always weighted, by other files:
`clades` (who occurs, how often), `clade_times`, `transfer` (clades that are nearly there), `group_support` (a group of
the user's own), `mean_tree` and `summary_trees` (one tree for many), `diagnostics` (effective sample sizes),
`clusters` (all about clusters), `held_rows` (the table), and what is handed to others by `exports`.
"""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._runtime.typing import ArrayLike, OutputLike, RandomState
from .._runtime.validation import check_choice, check_count, check_level
from ..errors import InputError
from ..model.process.noise import Noise, NoiseLike, as_noise, check_errors
from ..numerics.weighted import effective_sample_size
from ..tree import Tree
from ..tree.distances import with_leaves_as
from ..tree.rooted import check_labels
from .clusters.cut import ClusterQuestions
from .diagnostics import ess as diagnostics
from .exports import Exports
from .given import check_noise_level, checked_groups, checked_model, checked_rows
from .held_rows import HeldRows
from .io import pandas_output
from .model_questions import ModelQuestions
from .trees import clades, node_times, transfer_support
from .trees.consensus import ConsensusTree, majority_rule
from .trees.group_support import GroupSupport, group_support
from .trees.mcc import maximum_clade_credibility
from .trees.mean_tree import mean_tree
from .trees.stacked import TreeSequence, check_trees, read_only

if TYPE_CHECKING:
    from ..model.covariance import Covariance
    from ..samplers.base import SamplerLike
    from .diagnostics.model_checks import ModelCheck
    from .predictive.placement import Placement


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Posterior(ClusterQuestions, HeldRows, Exports, ModelQuestions):
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
    X, covariance, noise : what was fitted, needed to place new rows.
    errors : (rows of X,) relative standard errors of the rows, if any were given.
    groups : (rows of X,) the leaf that each row measures, where leaves have several rows.
    row_labels : names of the rows of X, where these are not the leaves'.
    tail_scale : (T, rows of X) draws of the scales of Student's noise: large for odd rows.
    columns : names of the columns of X; by default those of a DataFrame.
    imputed : (T, k) draws of the k entries that are missing (NaN) in X, in the order of ``X[numpy.isnan(X)]``.
    used : numbers of the columns of X that are in the model, in order; all by default.
    fitted : (rows of X, number of those) their values as the model saw them, where they are not quite those of X.
    info : settings and diagnostics of the run.

    All of these are also attributes, read-only.
    """

    children: np.ndarray  #: The two nodes that each merge joins, as in `Tree`; int32, (T, n-1, 2).
    times: np.ndarray  #: The times of the merges of each tree, non-decreasing; float64, (T, n-1).
    log_weights: np.ndarray  #: (T,) log weights, 0 where a tree counts as much as the average tree of its run.
    log_joint: np.ndarray | None  #: (T,) log p(X, tree | θ) + log p(θ), or None where the sampler does not know it.
    log_evidence: float | None  #: The sampler's estimate of log p(X), or None.
    labels: tuple[str, ...]  #: Names of the leaves.
    theta: Mapping[str, np.ndarray]  #: Draws of the covariance's parameters by name, each (T, …).
    chain: np.ndarray  #: (T,) the chain of every draw.
    is_chain: bool  #: Whether the draws follow one another in chains; False for particles, which have no order.
    #: (rows, d) what was fitted, NaN where missing; one row for each leaf unless there are groups. float64, or float32
    #: where a table of float32 was given.
    X: np.ndarray | None
    columns: tuple[str, ...] | None  #: Names of the columns of X, where it had any.
    covariance: "Covariance | None"  #: The family of covariances that was fitted.
    noise: Noise  #: Measurement noise of the rows; draws of a learnt level are in ``theta["noise_level"]``.
    errors: np.ndarray | None  #: Relative standard errors of the rows of X, where they were given.
    groups: np.ndarray | None  #: The leaf that each row of X measures, where leaves have several rows.
    row_labels: tuple[str, ...]  #: Names of the rows of X; those of the leaves unless there are groups.
    tail_scale: np.ndarray | None  #: (T, rows of X) draws of the scales of Student's noise.
    imputed: np.ndarray | None  #: (T, k) draws of the missing entries of X; None where none are.
    used: np.ndarray | None  #: Numbers of the columns of X in the model; None where all are.
    fitted: np.ndarray | None  #: Their values in the model where equal ones were spread; None where they are X's own.
    info: dict[str, Any]  #: Settings and diagnostics of the run.

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
        noise: NoiseLike = 0.0,
        errors: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        row_labels: Iterable[Any] | None = None,
        tail_scale: ArrayLike | None = None,
        imputed: ArrayLike | None = None,
        used: ArrayLike | None = None,
        fitted: ArrayLike | None = None,
        info: Mapping[str, Any] | None = None,
    ) -> None:
        children, times = read_only(children, np.int32), read_only(times)
        check_trees(children, times)
        n_trees, n = len(times), times.shape[1] + 1

        def per_tree(name, values, dtype=np.float64):
            if values is None:
                return None
            if np.shape(values)[:1] != (n_trees,):
                shape = np.shape(values)
                raise InputError(f"{name} must have one entry for each of the {n_trees} trees, not shape {shape}.")
            return read_only(values, dtype)

        columns = getattr(X, "columns", None) if columns is None else columns
        columns = None if columns is None else tuple(map(str, columns))
        labels = check_labels(labels, n)
        groups = checked_groups(groups, n)
        n_rows = n if groups is None else len(groups)
        row_labels = labels if groups is None else check_labels(row_labels, n_rows)
        X = checked_rows(X, n, groups, columns)
        n_missing = 0 if X is None else int(np.isnan(X).sum())
        imputed = per_tree("imputed", imputed)
        if imputed is not None and imputed.shape[1:] != (n_missing,):
            raise InputError(f"imputed must hold the {n_missing} missing entries of X, not {imputed.shape[1:]}.")
        used, fitted = checked_model(X, used, fitted)
        errors = check_errors(errors, n_rows)
        tail_scale = per_tree("tail_scale", tail_scale)
        if tail_scale is not None and not (tail_scale.shape[1:] == (n_rows,) and np.all(tail_scale > 0.0)):
            raise InputError(f"tail_scale must hold a positive number for each of the {n_rows} rows of each tree.")
        drawn = {str(name): per_tree(f"theta[{name!r}]", draws) for name, draws in (theta or {}).items()}
        check_noise_level(drawn, n_trees)
        vars(self).update(
            children=children,
            times=times,
            labels=labels,
            log_weights=_relative(np.zeros(n_trees) if log_weights is None else per_tree("log_weights", log_weights)),
            log_joint=per_tree("log_joint", log_joint),
            log_evidence=None if log_evidence is None else float(log_evidence),
            theta=drawn,
            chain=per_tree("chain", np.zeros(n_trees) if chain is None else chain, np.int64),
            is_chain=chain is not None,
            X=X,
            columns=columns,
            covariance=covariance,
            noise=as_noise(noise),
            errors=None if errors is None else read_only(errors),
            groups=groups,
            row_labels=row_labels,
            tail_scale=tail_scale,
            imputed=imputed,
            used=used,
            fitted=fitted,
            info=dict(info or {}),
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name in Posterior.__annotations__}  # no caches

    # What it holds

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        n_chains = len(np.unique(self.chain))
        chains = f", {n_chains} chains" if n_chains > 1 else ""
        return f"<Posterior: {len(self)} trees of {self.n} leaves{chains}, ess {self.ess:.0f}>"

    @property
    def n(self) -> int:
        """Number of leaves."""
        return self.times.shape[1] + 1

    @property
    def trees(self) -> TreeSequence:
        """The trees, a lazy sequence of `Tree`."""
        return TreeSequence(self.children, self.times, self.labels)

    @cached_property
    def weights(self) -> np.ndarray:
        """(T,) weights that sum to 1."""
        weights = np.exp(self.log_weights - self.log_weights.max())
        return read_only(weights / weights.sum())

    # How good it is

    @cached_property
    def ess(self) -> float:
        """Effective sample size: that of the log joint for chains; 1 / Σ w² for weighted particles."""
        by_weights = effective_sample_size(self.weights)
        if not (self.is_chain and self.has_equal_weights) or self.log_joint is None:
            return by_weights
        by_chain = diagnostics.series_ess(self.log_joint, self.chain)
        return by_chain if np.isfinite(by_chain) else by_weights

    @cached_property
    def topology_ess(self) -> float:
        """Effective sample size of the topology, from the clades that draws of a chain share.

        For weighted particles, which have no order, 1 / Σ w².
        """
        by_weights = effective_sample_size(self.weights)
        if not (self.is_chain and self.has_equal_weights):
            return by_weights
        by_chain = diagnostics.topology_ess(self.clade_table.ids, self.chain)
        return by_chain if np.isfinite(by_chain) else by_weights

    def split_frequency_sd(self, min_frequency: float = 0.1) -> float:
        """Average standard deviation across chains of the frequencies of clades; NaN for one chain.

        Clades below `min_frequency` in every chain are ignored. Above 0.05 the chains disagree about the tree.
        """
        return diagnostics.split_frequency_sd(self.clade_table.ids, self.weights, self.chain, min_frequency)

    def check(self, *, n_trees: int = 100, random_state: RandomState = 0) -> "ModelCheck":
        """Does the model hold? Posterior predictive checks, each with a p-value, what was seen, and what to try.

        Of more than 20,000 leaves as many drawn at random are looked at, on the trees that the others leave of them.

        Parameters
        ----------
        n_trees : how many trees are looked at, evenly spread by weight; fewer where tables are very large.
        random_state : for what the model draws, which the data are compared with.
        """
        if (n_trees, random_state) == (100, 0):
            return self._usual_check
        from .diagnostics.model_checks import check

        return check(self, n_trees=n_trees, random_state=random_state)

    @cached_property
    def _usual_check(self):
        from .diagnostics.model_checks import check

        return check(self)  # which the report and the command line show as well

    @property
    def has_equal_weights(self) -> bool:
        """Whether all trees count the same."""
        return bool(np.ptp(self.log_weights) == 0)

    @cached_property
    def clade_table(self) -> clades.CladeTable:
        """The distinct clades of all trees, and which of them each tree has."""
        return clades.enumerate_clades(self.children)

    # Which tree

    def map_tree(self) -> Tree:
        """The sampled tree with the highest log joint."""
        if self.log_joint is None:
            raise InputError("This posterior has no log_joint, so map_tree() cannot rank its trees: use mcc_tree().")
        possible = np.where((self.weights > 0) & ~np.isnan(self.log_joint), self.log_joint, -np.inf)
        return self.trees[int(np.argmax(possible))]

    def mcc_tree(self) -> Tree:
        """The maximum clade credibility tree: of the sampled topologies the one with the highest Σ log clade support.

        The time of each clade is the median over the trees that contain it, raised where needed so that no clade is
        older than the clade around it.
        """
        return self._mcc_tree

    @cached_property
    def _mcc_tree(self):
        return maximum_clade_credibility(self.children, self.times, self.weights, self.clade_table, self.labels)

    def mean_tree(self) -> Tree:
        """The tree that stands for all: figures, files and clusters show this one.

        Clades that most trees have are kept; how closely each pair of leaves is related on average decides the rest
        (average linkage of the mean log size of the smallest clade that holds both). The time of a node is the mean
        time of the closest clade of each tree, made increasing in the order in which clusters are split off.
        """
        return self._mean_tree

    @cached_property
    def _mean_tree(self):
        return mean_tree(self)

    summary_tree = mean_tree

    def consensus(self, min_support: float = 0.5) -> ConsensusTree:
        """The majority-rule consensus tree: the clades with a support above `min_support` (0.5 to 1).

        Where no clade has enough support, a node has more than two children.
        """
        return majority_rule(self.children, self.times, self.weights, self.clade_table, self.labels, min_support)

    def clade_support(
        self, tree: Tree, kind: Literal["exact", "transfer"] = "exact", *, output: OutputLike = None
    ) -> np.ndarray:
        """(n-1,) support of the clades of `tree`.

        "exact" is the share of the posterior with just this clade, which falls to 0 if one leaf of forty wanders.
        "transfer" is 1 - E[δ] / min(size - 1, n - size), δ the least number of leaves that must move to make it a
        clade of the sampled tree (Lemoine et al. 2018): 1 if it is always there, near 0 for any clade of random trees.
        Where a DataFrame was fitted, or with `output="pandas"`, it is a Series, one number for each merge.
        """
        support = self._clade_support(tree, kind)
        return (
            pandas_output.merge_series(support, f"{kind} support")
            if pandas_output.wants_pandas(self, output)
            else support
        )

    def _clade_support(self, tree, kind):
        if check_choice("kind", kind, ("exact", "transfer")) == "transfer":
            tree = with_leaves_as(tree, self.labels)
            found = transfer_support.transfers(tree, self.children, self.weights, np.empty(0, np.int64))
            return np.clip(1.0 - found.distance / transfer_support.greatest(tree.sizes[tree.n :], tree.n), 0.0, 1.0)
        found = self._find(tree)
        frequency = np.minimum(clades.frequencies(self.clade_table, self.weights), 1.0)
        return np.where(found >= 0, frequency[found], 0.0)

    def support(self, rows: Iterable[Any]) -> GroupSupport:
        """How well a group of your own is supported: how often it is a clade, and which leaves wander in or out.

        `exact` and `transfer` are defined as in `clade_support`. A leaf wanders where it is on the wrong side of the
        clade of a tree that is closest to the group, the one with the fewest leaves to move.

        Parameters
        ----------
        rows : at least two leaves: their names, positions (0 … n-1), a mask (n,), or a pandas Series of one of these.
            An Index, such as ``X.index[:3]``, has names. A mask that is a Series is put into the order of the leaves.
            Where rows were grouped, names are those of the groups.
        """
        return group_support(self, rows)

    def node_times(self, tree: Tree, level: float = 0.9, *, output: OutputLike = None) -> np.ndarray:
        """(n-1, 2) equal-tailed credible intervals of the times of the clades of `tree`.

        They are taken over the trees that have the clade, where it is in enough of them for each tail to hold one,
        2 / (1 - level); otherwise over the closest clade of each tree that has one with few leaves moved; and are NaN
        where these are too few as well. `node_time_basis` says which. Where a DataFrame was fitted, or with
        `output="pandas"`, it is a DataFrame that has the time in `tree`, too.
        """
        level = check_level("level", level)
        interval = node_times.intervals(self, with_leaves_as(tree, self.labels), level).interval
        if pandas_output.wants_pandas(self, output):
            return pandas_output.merge_frame(np.column_stack([tree.times, interval]), ("time", "low", "high"))
        return interval

    def node_time_basis(self, tree: Tree, level: float = 0.9) -> np.ndarray:
        """(n-1,) what each interval of `node_times` was taken from: "exact", "closest" or "none"."""
        level = check_level("level", level)
        return node_times.intervals(self, with_leaves_as(tree, self.labels), level).basis

    def _find(self, tree):
        return clades.find(self.clade_table, with_leaves_as(tree, self.labels).clade_keys())

    def cophenetic(self, log: bool = False) -> np.ndarray:
        """(n, n) posterior mean of the time at which two leaves meet; with `log`, of its logarithm (diagonal -inf)."""
        counts = self.weights > 0
        with np.errstate(divide="ignore"):
            values = np.log(self.times[counts]) if log else self.times[counts]
        mean = clades.mean_cophenetic(self.children[counts], values, self.weights[counts])
        if log:
            np.fill_diagonal(mean, -np.inf)
        return mean

    # Parts of it

    def __getitem__(self, index: slice | list[int] | np.ndarray) -> "Posterior":
        if not isinstance(index, slice | list | np.ndarray):
            raise InputError("Index a posterior with a slice, as in post[100:]; one tree is post.trees[0].")
        return self._select(np.arange(len(self))[index])

    def thin(self, k: int) -> "Posterior":
        """Keep every k-th draw of each chain."""
        check_count("k", k)
        return self._select(np.sort(np.concatenate([draws[::k] for draws in diagnostics.by_chain(self.chain)])))

    def _select(self, index):
        if len(index) == 0:
            raise InputError(f"No tree of the {len(self)} is left; a posterior needs at least one.")
        part = copy.copy(self)
        of_trees = ("children", "times", "log_weights", "log_joint", "chain", "imputed", "tail_scale")
        whole = {name: getattr(self, name) for name in of_trees if getattr(self, name) is not None}
        vars(part).update(
            {name: read_only(values[index], values.dtype) for name, values in whole.items()},
            theta={name: read_only(draws[index]) for name, draws in self.theta.items()},
            # An evidence estimate belongs to all particles.
            log_evidence=self.log_evidence if len(index) == len(self) else None,
            info=dict(self.info),
            _output=vars(self).get("_output"),
            _index=vars(self).get("_index"),
        )
        return part

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
        classes : (n,) labels of the leaves, optional; gives `class_probability` of each new row.
        n_trees : how many of the posterior's trees are asked, evenly spread by weight.
        n_clades : how many sister clades are kept for each row.
        random_state : for the branches and times that are drawn; probabilities and densities do not depend on it.
        """
        from .predictive.placement import place

        return place(self, X_new, classes=classes, n_trees=n_trees, n_clades=n_clades, random_state=random_state)

    def extend(
        self,
        X_new: ArrayLike,
        *,
        n_iterations: int = 10,
        n_trees: int | None = None,
        sampler: "SamplerLike | None" = None,
        random_state: RandomState = None,
    ) -> "Posterior":
        """Add new rows to the trees, run a few sweeps, and return the posterior of all rows.

        Parameters
        ----------
        X_new : (m, d) array-like or DataFrame with the columns that were fitted; NaN is imputed.
        n_iterations : iterations (a sweep, and an update of what else was learnt) of each tree after grafting.
        n_trees : how many trees to go on with, evenly spread by weight; all of them by default.
        sampler : what sweeps; ``Regraft()`` by default.
        """
        from ..inference.extend import extend

        return extend(
            self, X_new, n_iterations=n_iterations, n_trees=n_trees, sampler=sampler, random_state=random_state
        )


def with_log_weights(posterior: Posterior, log_weights: np.ndarray) -> Posterior:
    """Give a new posterior these log weights bit for bit; its constructor makes the mean weight 1."""
    vars(posterior)["log_weights"] = read_only(log_weights)
    return posterior


def _relative(log_weights):
    """Shift so that the mean weight is 1: runs of any size can then be put together by concatenation."""
    top = log_weights.max()
    if not np.isfinite(top) or np.isnan(log_weights).any():
        raise InputError("log_weights must be numbers, -inf allowed, with at least one finite; these are not.")
    return read_only(log_weights - top - np.log(np.mean(np.exp(log_weights - top))))

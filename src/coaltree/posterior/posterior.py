"""`Posterior`: weighted trees and the questions that they answer.

The T draws are stacked arrays, children (T, n-1, 2) and times (T, n-1), with one weight each (they sum to 1); `trees`
makes `Tree` objects on demand. Its methods are short: `trees/`, `clusters/`, `diagnostics/`, `predictive/` and
`io/` compute what they return, always weighted.
"""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._runtime.typing import ArrayLike, PathLike, ProgressLike, RandomState
from .._runtime.validation import as_array, check_choice, check_count, check_level, is_whole
from ..errors import InputError
from ..model.data.table import INDEX
from ..model.draws import Draws
from ..model.model import Model
from ..tree import Tree
from ..tree.distances import with_leaves_as
from .clusters.explanation import explain
from .clusters.n_clusters import ClusterSuggestion, suggest_n_clusters, usual_suggestion
from .clusters.stability import (
    NONE,
    WORD_LEVEL,
    ClusterStability,
    coclustering,
    read_labels,
    stability_and_membership,
)
from .diagnostics.ess import by_chain, series_ess
from .io import pandas_output
from .io.arviz import to_arviz
from .io.nexus import annotated_tree, write_nexus
from .predictive.loo import LeaveOneOut, loo
from .predictive.placement import Placement, place
from .trees import clades, node_times
from .trees.consensus import ConsensusTree, majority_rule, mcc_tree
from .trees.group_support import GroupSupport, group_support
from .trees.mean_tree import mean_tree
from .trees.stacked import TreeSequence, read_only
from .trees.transfer_support import exact_support, transfer_support
from .validation import checked_draws

if TYPE_CHECKING:
    import pandas

    from .diagnostics.model_checks import ModelCheck


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Posterior:
    """Weighted draws of trees (and covariance parameters) given the data.

    Parameters
    ----------
    model : Model
        The table with its leaves, covariance and noise.
    draws : Draws
        Stacked trees and parameters, with the chain and the weight of each.
    info : mapping
        Settings and diagnostics of the run.

    Examples
    --------
    >>> X, _ = ct.simulate(12, 3, random_state=0)
    >>> post = ct.fit(X, n_samples=20, n_warmup=20, random_state=0, progress=False)
    >>> post.trees[0].n
    12
    """

    model: Model  #: The table with its leaves, covariance and noise.
    draws: Draws  #: Stacked trees and parameters, with the chain and the weight of each.
    info: dict[str, Any]  #: Settings and diagnostics of the run.

    def __init__(self, model: Model, draws: Draws, info: Mapping[str, Any] | None = None) -> None:
        self._set(model=model, draws=checked_draws(model, draws), info=dict(info or {}))

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # no caches

    # What it holds

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_")]

    def __len__(self) -> int:
        return len(self.draws.times)

    def __repr__(self) -> str:
        n_chains = len(np.unique(self.draws.chain))
        chains = f", {n_chains} chains" if n_chains > 1 else ""
        return f"<Posterior: {len(self)} trees of {self.n} leaves{chains}, ess {self.ess:.0f}>"

    def _repr_html_(self) -> str:
        picture = self.mean_tree().svg(support=self)
        return f"<p>{escape(repr(self))}</p>{picture}"

    @property
    def n(self) -> int:
        """Number of leaves."""
        return len(self.model.leaves.labels)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the leaves."""
        return self.model.leaves.labels

    @property
    def trees(self) -> TreeSequence:
        """The trees, a lazy sequence of `Tree`."""
        return TreeSequence(self.draws.children, self.draws.times, self.labels)

    @cached_property
    def weights(self) -> np.ndarray:
        """(T,) weights that sum to 1."""
        return read_only(self.draws.weights)

    @property
    def theta(self) -> Mapping[str, np.ndarray]:
        """Draws of the parameters by name, each (T, …)."""
        return self.draws.theta

    @property
    def log_joint(self) -> np.ndarray | None:
        """(T,) log p(X, tree | θ) + log p(θ), or None where the sampler does not know it."""
        return self.draws.log_joint

    @property
    def log_evidence(self) -> float | None:
        """The sampler's estimate of log p(X), or None."""
        return self.draws.log_evidence

    @cached_property
    def ess(self) -> float:
        """Effective sample size: that of the log joint for chains; 1 / Σ w² for weighted particles."""
        return series_ess(self.weights if self.log_joint is None else self.log_joint, self.draws)

    def check(self, *, n_trees: int = 100, random_state: RandomState = 0) -> "ModelCheck":
        """Check the model: posterior predictive checks, each with a p-value, what was seen, and what to try.

        Parameters
        ----------
        n_trees : how many trees are used, evenly spread by weight; fewer where tables are very large.
        random_state : for what the model draws, which the data are compared with.

        Returns
        -------
        ModelCheck
            The checks; it prints as a table.

        Examples
        --------
        >>> X, _ = ct.simulate(12, 3, random_state=0)
        >>> checks = ct.sample_trees(X, random_state=0, progress=False).check()
        >>> bool(0.0 < checks["tails"].p_value <= 1.0)
        True
        """
        from .diagnostics.model_checks import check, usual_check

        is_usual = is_whole(n_trees) and is_whole(random_state) and (n_trees, random_state) == (100, 0)
        return usual_check(self) if is_usual else check(self, n_trees=n_trees, random_state=random_state)

    def loo(
        self, *, n_draws: int | None = None, n_jobs: int | None = None, progress: ProgressLike = "auto"
    ) -> LeaveOneOut:
        """Leave-one-out: how well each row is predicted from all others, without fitting again.

        Single rows are left out, also where several measure one leaf (`groups`). Of a row with missing entries the
        observed ones count; copies of other rows have no density. Above 2,000 rows, branches that no near row leads to
        are sampled, which makes densities a little uncertain.

        Parameters
        ----------
        n_draws : how many draws are used, evenly spread; 200 by default, 100 above 2,000 rows.
        n_jobs : number of draws to compute at the same time, in threads; it changes nothing else.
        progress : True, False, "auto" (a progress bar on a terminal) or a function of (draws done, draws).

        The result has `elpd`, its standard error `se`, and of each row `pointwise` and ArviZ's diagnostic `pareto_k`.

        Returns
        -------
        LeaveOneOut
            With `elpd`, its standard error `se`, and of each row `pointwise` and ArviZ's diagnostic `pareto_k`.

        Examples
        --------
        >>> X, _ = ct.simulate(12, 3, random_state=0, noise=0.1)
        >>> post = ct.sample_trees(X, noise=0.1, random_state=0, progress=False)
        >>> post.loo(progress=False).pointwise.shape
        (12,)
        """
        return loo(self, n_draws, n_jobs, progress)

    # Which tree

    def map_tree(self) -> Tree:
        """The sampled tree with the highest log joint.

        Returns
        -------
        Tree
            One of `trees`.

        Examples
        --------
        >>> X, _ = ct.simulate(8, 3, random_state=0)
        >>> ct.sample_trees(X, random_state=0, progress=False).map_tree().n
        8
        """
        if self.log_joint is None:
            raise InputError("This posterior has no log_joint, so map_tree() cannot rank its trees: use mcc_tree().")
        possible = np.where((self.weights > 0) & ~np.isnan(self.log_joint), self.log_joint, -np.inf)
        return self.trees[int(np.argmax(possible))]

    def mcc_tree(self) -> Tree:
        """The maximum clade credibility tree: of the sampled topologies the one with the highest Σ log clade support.

        Times are medians over the trees that contain the clade, raised where it would be older than the one around it.

        Returns
        -------
        Tree
            With the topology of one of `trees`.

        Examples
        --------
        >>> X, _ = ct.simulate(8, 3, random_state=0)
        >>> ct.sample_trees(X, random_state=0, progress=False).mcc_tree().n
        8
        """
        return mcc_tree(self)

    def mean_tree(self) -> Tree:
        """The mean tree, which figures, files and clusters show.

        Clades that most trees have are kept; how closely each pair of leaves is related on average decides the rest
        (average linkage of D̄, the mean log size of the smallest clade that holds both). The time of a node is the mean
        time of the closest clade of each draw, raised where a child would be above its parent; its `heights`, by which
        it is cut, are mean D̄.

        Returns
        -------
        Tree
            The same one each time.

        Examples
        --------
        >>> X, _ = ct.simulate(8, 3, random_state=0)
        >>> ct.sample_trees(X, random_state=0, progress=False).mean_tree().n
        8
        """
        return mean_tree(self)

    def consensus(self, min_support: float = 0.5) -> ConsensusTree:
        """The majority-rule consensus tree: the clades with a support above `min_support` (0.5 to 1).

        Where no clade has enough support, a node has more than two children.

        Parameters
        ----------
        min_support : float
            From 0.5 to 1.

        Returns
        -------
        ConsensusTree
            With the support of each clade.

        Examples
        --------
        >>> X, _ = ct.simulate(8, 3, random_state=0)
        >>> tree = ct.sample_trees(X, random_state=0, progress=False).consensus(0.7)
        >>> bool(tree.support.min() > 0.7)
        True
        """
        return majority_rule(self, min_support)

    def clade_support(self, tree: Tree, kind: Literal["exact", "transfer"] = "exact") -> np.ndarray:
        """(n-1,) support of the clades of `tree`.

        "exact" is the share of the posterior with just this clade, which falls to 0 if one leaf of forty wanders.
        "transfer" is 1 - E[δ] / min(size - 1, n - size), δ the least number of leaves that must move to make it a
        clade of the sampled tree (Lemoine et al. 2018): 1 if it is always there, near 0 for any clade of random trees.
        Where a DataFrame was fitted, it is a Series, one number for each merge.

        Parameters
        ----------
        tree : Tree
            A tree of the same leaves.
        kind : {"exact", "transfer"}
            Which support.

        Returns
        -------
        ndarray or Series (n-1,)
            From 0 to 1, the root's being 1.

        Examples
        --------
        >>> X, _ = ct.simulate(8, 3, random_state=0)
        >>> post = ct.sample_trees(X, random_state=0, progress=False)
        >>> post.clade_support(post.mean_tree(), kind="transfer").shape
        (7,)
        """
        check_choice("kind", kind, ("exact", "transfer"))
        tree = with_leaves_as(tree, self.labels)
        support = exact_support(self, tree) if kind == "exact" else transfer_support(self, tree)
        return pandas_output.as_fitted(self, support, f"{kind} support", by_leaf=False)

    def support(self, rows: Iterable[Any]) -> GroupSupport:
        """How well a group of your own is supported: its similarity to the closest clade of each sampled tree.

        Parameters
        ----------
        rows : iterable
            At least two leaves: names (or an Index), positions (0 … n-1), a mask (n,), or a Series of one of these.
            A mask that is a Series is put into the order of the leaves. Where rows were grouped, groups are named.

        Returns
        -------
        GroupSupport
            The posterior mean of the Jaccard similarity and its interval, the share of trees with exactly this clade,
            and which leaves wander in or out of the closest one.

        Examples
        --------
        >>> X, _ = ct.simulate(12, 3, random_state=0)
        >>> post = ct.fit(X, n_samples=20, n_warmup=20, random_state=0, progress=False)
        >>> support = post.support([0, 1, 2])
        """
        return group_support(self, rows)

    def node_times(self, tree: Tree, level: float = 0.9) -> np.ndarray:
        """(n-1, 2) equal-tailed credible intervals of the times of the clades of `tree`.

        They are quantiles of the time of the closest clade of each draw, the same one or one with a few leaves moved;
        NaN where fewer than 2 / (1 - level) draws have one, so that each tail holds one. Ends below those of a merge
        below are raised to them. Where a DataFrame was fitted, they are one.

        Parameters
        ----------
        tree : Tree
            A tree of the same leaves.
        level : float
            Probability of the intervals.

        Returns
        -------
        ndarray or DataFrame (n-1, 2)
            Lower and upper ends.

        Examples
        --------
        >>> X, _ = ct.simulate(8, 3, random_state=0)
        >>> post = ct.sample_trees(X, random_state=0, progress=False)
        >>> low, high = post.node_times(post.mean_tree()).T
        """
        level = check_level("level", level)
        interval = node_times.intervals(self, with_leaves_as(tree, self.labels), level)
        return pandas_output.as_fitted(self, interval, ["low", "high"], by_leaf=False)

    def cophenetic(self, log: bool = False) -> np.ndarray:
        """(n, n) posterior mean of the time at which two leaves meet; with `log`, of its logarithm (diagonal -inf).

        Parameters
        ----------
        log : bool
            Whether the logarithm of the time is averaged.

        Returns
        -------
        ndarray (n, n)
            Symmetric.

        Examples
        --------
        >>> X, _ = ct.simulate(8, 3, random_state=0)
        >>> ct.sample_trees(X, random_state=0, progress=False).cophenetic().shape
        (8, 8)
        """
        counts = self.weights > 0
        times = self.draws.times[counts]
        with np.errstate(divide="ignore"):
            values = np.log(times) if log else times
        mean = clades.mean_cophenetic(self.draws.children[counts], values, self.weights[counts])
        if log:
            np.fill_diagonal(mean, -np.inf)
        return mean

    # Clusters

    def coclustering(self, labels: ArrayLike) -> np.ndarray:
        """Share of the sampled trees in which two leaves lie in one clade, of those closest to the clusters.

        Parameters
        ----------
        labels : array-like (n,) or int
            Labels of the leaves (-1 is in no cluster), or a number of clusters, those of `cut`.

        Returns
        -------
        ndarray (n, n)

        Examples
        --------
        >>> X, _ = ct.simulate(12, 3, random_state=0)
        >>> post = ct.fit(X, n_samples=20, n_warmup=20, random_state=0, progress=False)
        >>> together = post.coclustering(3)
        """
        return coclustering(self, labels)

    def cut(
        self,
        n_clusters: int | None = None,
        *,
        time: float | None = None,
        outliers: bool = False,
    ) -> np.ndarray:
        """Cut the mean tree into clusters, its clades, and return the cluster of each leaf.

        It is ``mean_tree().cut(…)``: of all sets of k disjoint clades the best one (see `Tree.cut`), by the heights of
        the mean tree, the mean D̄ between the two sides of a merge. Leaves in none of the clades join the cluster with
        the least mean D̄ to them.

        Parameters
        ----------
        n_clusters, time : how many clusters, or when to cut: exactly one of them.
        outliers : whether leaves in none of the clades are labelled -1, which does not make them outliers: these have
            a large noise scale, ``draws.outlier_score``.

        Returns
        -------
        (n,) array, or a Series with the index of the DataFrame that was fitted.

        Examples
        --------
        >>> X, _ = ct.simulate(8, 3, random_state=0)
        >>> labels = ct.sample_trees(X, random_state=0, progress=False).cut(3)
        >>> sorted(set(labels.tolist()))
        [0, 1, 2]
        """
        labels = self.mean_tree().cut(n_clusters, time=time, outliers=outliers)
        return pandas_output.as_fitted(self, labels, "cluster", by_leaf=True)

    def membership(self, labels: ArrayLike) -> np.ndarray:
        """Probability of each cluster for every leaf: the share of sampled trees whose closest clade has the leaf.

        Where the shares of a leaf sum to more than 1, they are divided by their sum; what they lack of 1 is the
        probability of being in none of the clusters.

        Parameters
        ----------
        labels : array-like (n,)
            Clusters, as of `cut`; -1 is in none. A Series is put into the order of the leaves.

        Returns
        -------
        ndarray (n, k)
            Columns in the order of the sorted labels. Where a DataFrame was fitted, one with a last column "none".

        Examples
        --------
        >>> X, _ = ct.simulate(12, 3, random_state=0)
        >>> post = ct.fit(X, n_samples=20, n_warmup=20, random_state=0, progress=False)
        >>> probability = post.membership(post.cut(3))
        """
        partition = read_labels(labels, self)
        _, probability = stability_and_membership(self, partition, WORD_LEVEL)
        if INDEX not in self.info:
            return probability
        table = np.column_stack([probability, np.maximum(1.0 - probability.sum(axis=1), 0.0)])
        return pandas_output.as_fitted(self, table, [*partition.clusters.tolist(), NONE], by_leaf=True)

    def stability(self, labels: ArrayLike, *, level: float = 0.9) -> ClusterStability:
        """How stable each cluster is across draws: its mean Jaccard similarity to the closest clade of each tree.

        A cluster is "stable" if the mean is at least 0.85 and the lower end of the 90 % interval at least 0.75,
        "dissolved" if the mean is below 0.6, and "doubtful" otherwise (Hennig's limits).

        Parameters
        ----------
        labels : as in `membership`
        level : float, probability of the intervals

        Returns
        -------
        ClusterStability

        Examples
        --------
        >>> X, _ = ct.simulate(12, 3, random_state=0)
        >>> post = ct.fit(X, n_samples=20, n_warmup=20, random_state=0, progress=False)
        >>> stability = post.stability(post.cut(3))
        """
        level = check_level("level", level)
        return stability_and_membership(self, read_labels(labels, self), level)[0]

    def explain(self, groups: ArrayLike | Iterable[Any], *, level: float = 0.9) -> "pandas.DataFrame":
        """Which columns make a cluster: its standardised differences to its sister clade and to all other leaves.

        The sister clade is the other side of the merge above the cluster in the mean tree. A difference of means is
        divided by the column's standard deviation within the cluster and its sister. Intervals hold it with
        probability `level` over the draws: of the tree (the closest clades of each), of the noise and of missing
        values. There are no p-values, since the clusters were found in the same data.

        The DataFrame has one line for each cluster and column: `cluster`, `column`, `rank` (1 for the column that
        differs most from the sister clade, by the end of the interval that is closer to 0), `sister`, `sister_low`,
        `sister_high`, and the same for `others`.

        Parameters
        ----------
        groups : (n,) labels, as of `cut` (-1 is not explained), or one group of leaves, as `support` takes it: names,
            positions or a mask. One group is cluster 0 of the result.
        level : float between 0 and 1

        Returns
        -------
        DataFrame
            Sorted by cluster and rank.

        Examples
        --------
        >>> X, _ = ct.simulate(12, 3, random_state=0)
        >>> post = ct.sample_trees(X, random_state=0, progress=False)
        >>> frame = post.explain(post.cut(2))
        >>> len(frame)
        6
        """
        return explain(self, groups, level).frame()

    def suggest_n_clusters(self, max_clusters: int | None = None) -> ClusterSuggestion:
        """Suggest a number of clusters: the largest one whose clusters are all found in the sampled trees.

        That is the largest k for which each cluster of ``cut(k)`` has a stability of at least 0.75, and 1 where there
        is none. A tree without the cluster counts as 0: its closest clade has no more leaves in common with the cluster
        than not, or more than half of another one.

        Parameters
        ----------
        max_clusters : int, optional
            The largest number that is considered; by default a third of the leaves, at most 30. It ends earlier where a
            single row would be a cluster.

        Returns
        -------
        ClusterSuggestion
            The number, the range `low` to `high` that other draws might suggest, for every number considered the least
            stability of its clusters (`candidates`), and the reason in a sentence.

        Examples
        --------
        >>> X, _ = ct.simulate(12, 3, random_state=0)
        >>> post = ct.fit(X, n_samples=20, n_warmup=20, random_state=0, progress=False)
        >>> k = post.suggest_n_clusters().n_clusters
        """
        return usual_suggestion(self) if max_clusters is None else suggest_n_clusters(self, max_clusters)

    def summary(self, n_clusters: int | None = None) -> "pandas.DataFrame":
        """A table of the clusters, numbered from 1 as in figures.

        Parameters
        ----------
        n_clusters : int, by default the suggested number

        Returns
        -------
        DataFrame
            For each `cluster` its `size`, `stability`, the time at which it was `formed_at` in the mean
            tree, its `outliers`, and the columns by which it `stands_out` from its sister clade (see `explain`).

        Examples
        --------
        >>> X, _ = ct.simulate(12, 3, random_state=0)
        >>> post = ct.fit(X, n_samples=20, n_warmup=20, random_state=0, progress=False)
        >>> table = post.summary(3)
        """
        return pandas_output.summary(self, n_clusters)

    # Parts of it

    def __getitem__(self, index: slice | list[int] | np.ndarray) -> "Posterior":
        if not isinstance(index, slice | list | np.ndarray):
            raise InputError("Index a posterior with a slice, as in post[100:]; one tree is post.trees[0].")
        index = index if isinstance(index, slice) else as_array("index", index)
        try:
            chosen = np.arange(len(self))[index]
        except (IndexError, ValueError, TypeError) as error:
            raise InputError(f"a posterior of {len(self)} draws has none of this index: {error}.") from None
        return self._select(chosen.ravel())

    def thin(self, k: int) -> "Posterior":
        """Keep every k-th draw of each chain.

        Parameters
        ----------
        k : int
            At least 1.

        Returns
        -------
        Posterior
            With fewer draws.

        Examples
        --------
        >>> X, _ = ct.simulate(8, 3, random_state=0)
        >>> len(ct.sample_trees(X, n_samples=100, random_state=0, progress=False).thin(10))
        10
        """
        check_count("k", k)
        return self._select(np.sort(np.concatenate([draws[::k] for draws in by_chain(self.draws.chain)])))

    def _select(self, index: np.ndarray) -> "Posterior":
        if len(index) == 0:
            raise InputError(f"No tree of the {len(self)} is left; a posterior needs at least one.")
        part = copy.copy(self)
        info = {name: value for name, value in self.info.items() if name != "convergence"}  # of all draws
        part._set(draws=self.draws.part(index), info=info)
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
    ) -> Placement:
        """Where new rows would join the trees: branch, time, nearest clades, and `log_density` (m,) of each row.

        It uses all processors; messages of the trees are kept, so that later rows take less time. A bar is shown beyond
        three seconds.

        Parameters
        ----------
        X_new : (m, d) array-like or DataFrame with the columns that were fitted; NaN is integrated out.
        classes : (n,) labels of the leaves, optional; gives `class_probability` of each new row.
        n_trees : how many of the posterior's trees are used, evenly spread by weight.
        n_clades : how many sister clades are kept for each row.
        random_state : for the branches and times that are drawn; probabilities and densities do not depend on it.

        Returns
        -------
        Placement
            With `log_density` (m,), `nearest_clades(i)` and `time_interval(level)`.

        Examples
        --------
        >>> X, _ = ct.simulate(12, 3, random_state=0)
        >>> post = ct.sample_trees(X, random_state=0, progress=False)
        >>> placed = post.place(X[:2] + 0.1)
        >>> probability, clade = placed.nearest_clades(0)[0]
        """
        return place(self, X_new, classes, n_trees, n_clades, random_state)

    # For other programs

    def to_arviz(
        self,
        *,
        tail_scale: bool = False,
        log_likelihood: Literal["rows", "all"] | None = "rows",
        n_draws: int | None = None,
        n_jobs: int | None = None,
        progress: ProgressLike = "auto",
    ) -> Any:
        """The draws of θ, log joint, root time and tree length for ArviZ (`pip install "coaltree[arviz]"`).

        Parameters
        ----------
        tail_scale : whether to add the scales of Student's noise, one for each row of X.
        log_likelihood : what the group of that name holds. "rows", for ``arviz.loo`` and ``arviz.compare``: the log
            density of each row given all others, as in `loo`, which takes a while; "all", for priorsense: log p(X |
            tree, θ). Both add ``sample_stats.log_likelihood`` and the log priors, ``log_prior``; None adds nothing.
        n_draws, n_jobs, progress : as in `loo`, which then answers at once.

        Returns
        -------
        arviz.InferenceData
            With the groups posterior and sample_stats, and those that were asked for.

        Examples
        --------
        >>> X, _ = ct.simulate(8, 3, random_state=0)
        >>> post = ct.sample_trees(X, random_state=0, progress=False)
        >>> data = post.to_arviz(log_likelihood=None)
        >>> data.posterior["root_time"].shape
        (1, 100)
        """
        return to_arviz(self, tail_scale, log_likelihood, n_draws=n_draws, n_jobs=n_jobs, progress=progress)

    def to_nexus(self, path: PathLike, *, max_trees: int | None = 1000) -> None:
        """Write the sampled trees with their weights as NEXUS, which BEAST's tools, R's ape and DendroPy read.

        At most `max_trees` are written, evenly spread by weight; all of them for None.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        max_trees : int, optional
            How many trees at most.

        Returns
        -------
        None
            The file is written.

        Examples
        --------
        >>> X, _ = ct.simulate(8, 3, random_state=0)
        >>> ct.sample_trees(X, random_state=0, progress=False).to_nexus("trees.nex", max_trees=50)
        """
        write_nexus(self, path, max_trees)

    def to_newick(self, tree: Tree | None = None) -> str:
        """A tree, the mean tree by default, as Newick with the support and the times of each clade.

        Inner nodes are named by their transfer support. Comments in BEAST's notation, for FigTree, ggtree (treeio), ape
        and DendroPy, have the share of the posterior with just this clade (`posterior`), its transfer support
        (`transfer`), the time in this tree (`height`), and median and shortest interval with 95 % of its times
        (`height_median`, `height_95%_HPD`), which are left out where they would rest on a handful of trees.

        Parameters
        ----------
        tree : Tree, optional
            A tree of the same leaves.

        Returns
        -------
        str
            One line that ends in a semicolon.

        Examples
        --------
        >>> X, _ = ct.simulate(8, 3, random_state=0)
        >>> ct.sample_trees(X, random_state=0, progress=False).to_newick().endswith(";\\n")
        True
        """
        return annotated_tree(self, tree, "newick")

    def to_linkage(self) -> np.ndarray:
        """The mean tree as a SciPy linkage matrix (n-1, 4).

        Returns
        -------
        ndarray (n-1, 4)
            For `scipy.cluster.hierarchy`.

        Examples
        --------
        >>> X, _ = ct.simulate(8, 3, random_state=0)
        >>> ct.sample_trees(X, random_state=0, progress=False).to_linkage().shape
        (7, 4)
        """
        return self.mean_tree().to_linkage()

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the mean tree with the supports of its clades, in the suggested clusters.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.
        **options
            Those of `coaltree.plotting.dendrogram`, such as ``n_clusters=3``.

        Returns
        -------
        matplotlib.axes.Axes
            With the tree.

        Examples
        --------
        >>> X, _ = ct.simulate(8, 3, random_state=0)
        >>> ax = ct.sample_trees(X, random_state=0, progress=False).plot()
        """
        from ..plotting import dendrogram

        if options.keys().isdisjoint(("clusters", "n_clusters")):
            k = self.suggest_n_clusters().n_clusters
            options["n_clusters"] = k if k > 1 else None
        return dendrogram(self, ax, **options)

    def save(self, path: PathLike) -> None:
        """Write everything to one file, which `coaltree.load` reads.

        Parameters
        ----------
        path : str or path-like
            The file to write, which is replaced if it exists.

        Returns
        -------
        None
            The file is written.

        Examples
        --------
        >>> X, _ = ct.simulate(8, 3, random_state=0)
        >>> ct.sample_trees(X, random_state=0, progress=False).save("posterior.npz")
        """
        from .io.archive import save

        save(self, path)


def with_log_weights(posterior: Posterior, log_weights: np.ndarray | None) -> Posterior:
    """Give a new posterior its log weights as they are: of a part of weighted draws the mean weight is not 1."""
    if log_weights is not None:
        posterior._set(draws=posterior.draws._replace(log_weights=read_only(log_weights)))
    return posterior

"""`CoalescentClustering`: scikit-learn's shell over `fit`.

The constructor only stores; `fit` checks the data, calls `coaltree.fit`, and keeps what scikit-learn's users look for:
labels, children as `AgglomerativeClustering` has them, a linkage, and the posterior with everything else.
"""

import warnings
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._runtime.typing import ArrayLike, RandomState
from ._runtime.validation import check_count, is_whole
from .errors import CoaltreeWarning
from .inference.fit import fit
from .inference.settings import DEFAULT_WARMUP_OF_ESTIMATOR
from .model.covariance import CovarianceLike
from .model.data.table import Table
from .model.process.noise import NoiseLike
from .posterior import Posterior
from .posterior.clusters.answer import answer_for
from .posterior.clusters.stability import ClusterStability
from .posterior.io.pandas_output import remember_index
from .samplers.base import SamplerLike
from .tree import Tree


class CoalescentClustering(ClusterMixin, BaseEstimator):
    """Bayesian hierarchical clustering: trees sampled from the posterior under Kingman's coalescent.

    Parameters
    ----------
    n_clusters : int or None
        Number of clusters of `labels_`; None uses the suggested number (see `Posterior.suggest_n_clusters`).
    covariance, sampler, noise, ordered, inputs :
        As in `coaltree.fit`.
    n_samples, n_warmup : int or "auto"
        Trees to keep from each chain, and rounds to discard before them; "auto" is as long as needed, as in
        `coaltree.fit`. Where only `n_samples` is a number, 50 rounds are discarded.
    n_chains : int
        Number of independent chains.
    max_iterations, max_seconds :
        Where "auto" stops in any case, as in `coaltree.fit`.
    random_state : int, numpy Generator or RandomState, or None
    n_jobs : int or None
        Number of chains to run in parallel.
    neighbors : sparse matrix (n, n) or None
        Nearest neighbours of the rows, in place of a search; as in `coaltree.fit`.

    Attributes
    ----------
    labels_ : (n,) the cluster of each row, clades of `tree_` with their side branches; see `Posterior.cut`.
    n_clusters_ : int
    membership_ : (n, n_clusters_) probability of each cluster for each row; see `Posterior.membership`.
    stability_ : how stable each cluster is across draws; see `Posterior.stability`.
    tree_ : Tree, `Posterior.mean_tree`; its leaves are named by the index of a DataFrame.
    children_ : (n-1, 2) the merges of `tree_`: node n + i is merge i.
    linkage_ : (n-1, 4) the tree as a SciPy linkage.
    support_ : (n-1,) transfer support of its clades, 1 where all trees have it; see `Posterior.clade_support`.
    posterior_ : Posterior
    n_features_in_, feature_names_in_ : columns seen by `fit`.
    """

    labels_: np.ndarray
    n_clusters_: int
    membership_: np.ndarray
    stability_: ClusterStability
    tree_: Tree
    children_: np.ndarray
    linkage_: np.ndarray
    support_: np.ndarray
    posterior_: Posterior

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        covariance: CovarianceLike = "auto",
        sampler: SamplerLike = "regraft",
        n_samples: int | Literal["auto"] = "auto",
        n_warmup: int | Literal["auto"] = "auto",
        n_chains: int = 2,
        noise: NoiseLike | None = None,
        random_state: RandomState | np.random.RandomState = None,
        n_jobs: int | None = None,
        ordered: bool = False,
        inputs: ArrayLike | None = None,
        max_iterations: int | None = None,
        max_seconds: float | None = None,
        neighbors: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.covariance = covariance
        self.sampler = sampler
        self.n_samples = n_samples
        self.n_warmup = n_warmup
        self.n_chains = n_chains
        self.noise = noise
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.ordered = ordered
        self.inputs = inputs
        self.max_iterations = max_iterations
        self.max_seconds = max_seconds
        self.neighbors = neighbors

    def fit(self, X: ArrayLike, y: Any = None, errors: ArrayLike | None = None) -> Self:
        """Draw trees for the rows of X (n, d), an array or a DataFrame; NaN is missing. y is ignored.

        `errors` (n,) are known standard errors of the rows, as in `coaltree.fit`. Its `groups` are not for an
        estimator, whose labels are of rows: leaves of several rows are.
        """
        kinds = (np.float64, np.float32)  # of the first, unless it is of the second
        values = validate_data(self, X, dtype=kinds, ensure_all_finite="allow-nan", ensure_min_samples=2)
        if self.n_clusters is not None:
            check_count("n_clusters", self.n_clusters, 1, len(values))
        self.posterior_ = fit(
            _with_names(values, X),
            self.covariance,
            self.sampler,
            n_samples=self.n_samples,
            n_warmup=DEFAULT_WARMUP_OF_ESTIMATOR
            if is_whole(self.n_samples) and self.n_warmup == "auto"
            else self.n_warmup,
            n_chains=self.n_chains,
            n_jobs=self.n_jobs,
            random_state=_seed(self.random_state),
            progress=False,
            noise=self.noise,
            errors=errors,
            ordered=self.ordered,
            inputs=self.inputs,
            max_iterations=self.max_iterations,
            max_seconds=self.max_seconds,
            neighbors=self.neighbors,
        )
        remember_index(self.posterior_, X)
        self.tree_ = self.posterior_.mean_tree()
        self.children_ = self.tree_.children
        self.linkage_ = self.tree_.to_linkage()
        self.support_ = self.posterior_.clade_support(self.tree_, kind="transfer", output="numpy")
        k = self.posterior_.suggest_n_clusters().n_clusters if self.n_clusters is None else self.n_clusters
        self.n_clusters_ = int(k)
        answer = answer_for(self.posterior_, self.n_clusters_)
        self.labels_, self.membership_, self.stability_ = answer.labels, answer.membership, answer.stability
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """(m,) the most probable cluster of each new row, by where it would join the trees; NaN is integrated out."""
        return self.predict_proba(X).argmax(axis=1)

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """(m, k) the probability of each cluster, in the order of `membership_`, by where a row would join the trees.

        In a tree it is the share of the cluster's leaves in the clade that the row joins.
        """
        check_is_fitted(self)
        return self._place(X, classes=self.labels_).class_probability

    def score_samples(self, X: ArrayLike) -> np.ndarray:
        """(m,) log density of new rows given those fitted; without noise it is infinite for a row that was fitted."""
        return self._place(X).log_density

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Mean predictive log density of new rows, by which covariances can be compared; y is ignored."""
        return float(np.mean(self.score_samples(X)))

    def _place(self, X, **options):
        check_is_fitted(self)
        values = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        return self.posterior_.place(values, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _with_names(values, X) -> Any:
    """The checked values with the names of a DataFrame's rows and columns, if X is one."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return values
    index = tuple(str(name) for name in getattr(X, "index", range(len(values))))
    if len(set(index)) < len(index):
        warnings.warn(
            "the index of X has duplicate names, so leaves are numbered instead; make it unique to keep the names.",
            CoaltreeWarning,
            stacklevel=3,
        )
        index = tuple(map(str, range(len(values))))
    return Table(np.array(values), index, tuple(map(str, columns)))  # a copy: the user's frame may change


def _seed(random_state):
    """scikit-learn's older generators give a seed for ours."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(np.iinfo(np.int32).max))
    return random_state

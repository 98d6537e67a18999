"""`CoalescentClustering`: `coaltree.fit` as a scikit-learn estimator."""

import re
import warnings
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._runtime.typing import ArrayLike, RandomState
from ._runtime.validation import check_count
from .errors import CoaltreeWarning, InputError, warn_of_result
from .inference.fit import fit
from .model.covariance import CovarianceLike
from .model.data.table import as_frame, is_frame
from .model.data.transform import TransformLike
from .model.process.noise import NoiseLike
from .posterior import Posterior
from .posterior.validation import require_densities
from .samplers.base import SamplerLike
from .tree import Tree


class CoalescentClustering(ClusterMixin, BaseEstimator):
    """Bayesian hierarchical clustering: trees sampled from the posterior under Kingman's coalescent.

    Parameters
    ----------
    n_clusters : int; None uses the suggested number (see `Posterior.suggest_n_clusters`)
    random_state : int, numpy Generator or RandomState, or None
    covariance, sampler, n_samples, n_warmup, n_chains, noise, n_jobs, preprocess, max_seconds : as in `coaltree.fit`,
        whose `transform` is `preprocess` here.

    Attributes
    ----------
    labels_ : (n,) the cluster of each row, clades of `tree_`; see `Posterior.cut`.
    n_clusters_ : int
    tree_ : Tree, `Posterior.mean_tree`; its leaves are named by the index of a DataFrame.
    children_ : (n-1, 2) the merges of `tree_`: node n + i is merge i.
    linkage_ : (n-1, 4) the tree as a SciPy linkage.
    support_ : (n-1,) transfer support of its clades, 1 where all trees have it; see `Posterior.clade_support`.
    posterior_ : Posterior, with the probability of each cluster for each row and how stable it is.
    n_features_in_, feature_names_in_ : columns seen by `fit`.

    Examples
    --------
    >>> X, _ = ct.simulate(12, 3, random_state=0)
    >>> model = ct.CoalescentClustering(3, n_samples=20, n_warmup=20, random_state=0).fit(X)
    >>> sorted(set(model.labels_.tolist()))
    [0, 1, 2]
    """

    labels_: np.ndarray
    n_clusters_: int
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
        preprocess: TransformLike | None = None,
        max_seconds: float | None = None,
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
        self.preprocess = preprocess
        self.max_seconds = max_seconds

    def fit(self, X: ArrayLike, y: Any = None, errors: ArrayLike | None = None) -> Self:
        """Draw trees for the rows of X (n, d), an array or a DataFrame; NaN is missing. y is ignored.

        `errors` (n,) are known standard errors of the rows, as in `coaltree.fit`. It has no `groups`: the labels of
        an estimator are those of rows.

        Parameters
        ----------
        X : array-like (n, d) or DataFrame
            NaN is missing.
        y : ignored
        errors : array-like (n,), optional
            Known standard errors of the rows.

        Returns
        -------
        CoalescentClustering
            The estimator itself.

        Examples
        --------
        >>> X, _ = ct.simulate(12, 3, random_state=0)
        >>> ct.CoalescentClustering(3, n_samples=20, n_warmup=20, random_state=0).fit(X).labels_.shape
        (12,)
        """
        X = as_frame(X)
        values = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2)
        if self.n_clusters is not None:
            check_count("n_clusters", self.n_clusters, 1, len(values))
        settings = {name: value for name, value in self.get_params(deep=False).items() if name != "n_clusters"}
        settings["transform"] = settings.pop("preprocess")  # scikit-learn takes what has `transform` for a transformer
        if isinstance(self.random_state, np.random.RandomState):  # scikit-learn's older generator
            settings["random_state"] = int(self.random_state.randint(np.iinfo(np.int32).max))
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            try:
                self.posterior_ = fit(_with_names(values, X), errors=errors, progress=False, **settings)
            except InputError as error:
                raise InputError(_in_own_words(error)) from None
        self.tree_ = self.posterior_.mean_tree()
        self.children_ = self.tree_.children
        self.linkage_ = self.tree_.to_linkage()
        self.support_ = np.asarray(self.posterior_.clade_support(self.tree_, kind="transfer"))
        self.n_clusters_ = int(self.n_clusters or self.posterior_.suggest_n_clusters().n_clusters)
        self.labels_ = np.array(self.posterior_.cut(self.n_clusters_))
        for warning in raised:
            warn_of_result(warning.category(_in_own_words(warning.message)))
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return (m,) the most probable cluster of each new row (see `Posterior.place`); NaN is integrated out.

        Parameters
        ----------
        X : array-like (m, d) or DataFrame
            With the columns of `fit`.

        Returns
        -------
        ndarray (m,) of int
            Clusters, as in `labels_`.

        Examples
        --------
        >>> X, _ = ct.simulate(12, 3, random_state=0)
        >>> model = ct.CoalescentClustering(3, n_samples=20, n_warmup=20, random_state=0).fit(X)
        >>> model.predict(X[:2] + 0.1).shape
        (2,)
        """
        return self.predict_proba(X).argmax(axis=1)

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Return (m, k) the probability of each cluster for each new row.

        In a tree it is the share of the cluster's leaves in the clade that the row joins.

        Parameters
        ----------
        X : array-like (m, d) or DataFrame
            With the columns of `fit`.

        Returns
        -------
        ndarray (m, k)
            Rows that sum to 1.

        Examples
        --------
        >>> X, _ = ct.simulate(12, 3, random_state=0)
        >>> model = ct.CoalescentClustering(3, n_samples=20, n_warmup=20, random_state=0).fit(X)
        >>> model.predict_proba(X[:2] + 0.1).shape
        (2, 3)
        """
        check_is_fitted(self)
        placed = self.posterior_.place(self._new_rows(X), classes=self.labels_, n_clades=0)
        assert placed.class_probability is not None
        return placed.class_probability

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Return the mean log density of new rows, by which covariances can be compared; y is ignored.

        Parameters
        ----------
        X : array-like (m, d) or DataFrame
            With the columns of `fit`.
        y : ignored

        Returns
        -------
        float
            Higher is better.

        Examples
        --------
        >>> X, _ = ct.simulate(12, 3, random_state=0)
        >>> model = ct.CoalescentClustering(3, n_samples=20, n_warmup=20, random_state=0).fit(X)
        >>> bool(model.score(X + 0.1) > model.score(X + 9.0))
        True
        """
        check_is_fitted(self)
        require_densities(self.posterior_, "score")
        return float(np.mean(self.posterior_.place(self._new_rows(X), n_clades=0).log_density))

    def _new_rows(self, X: ArrayLike) -> np.ndarray:
        return validate_data(self, as_frame(X), reset=False, dtype=np.float64, ensure_all_finite="allow-nan")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _in_own_words(message: Any) -> str:
    """A message of `coaltree.fit` with the estimator's parameters, which has no `start`."""
    text = str(message).replace(", or continue this run with start=posterior", "")
    return re.sub(r"\btransform\b", "preprocess", text)


def _with_names(values: np.ndarray, X: Any) -> Any:
    """Return the checked values with the names of a DataFrame's rows and columns, if X is one."""
    if not is_frame(X):
        return values
    from pandas import DataFrame

    if X.index.has_duplicates:
        advice = (
            "so leaves are numbered instead; make it unique to keep the names, or where rows of one name measure the "
            "same thing, use coaltree.fit with groups=X.index."
        )
        warnings.warn(f"the index of X has duplicate names, {advice}", CoaltreeWarning, stacklevel=3)
        return DataFrame(values, columns=X.columns)
    return DataFrame(values, X.index, X.columns)

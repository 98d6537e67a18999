"""What is asked of a posterior about clusters; a part of `Posterior`.

Clusters are clades of the mean tree; all trees are cut (`partitions`) and compared with them (`sureness`);
`cluster_count` suggests how many clusters there are.
"""

from collections.abc import Callable
from functools import cache, cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from ..._runtime.typing import ArrayLike, OutputLike
from ..._runtime.validation import check_level
from ...tree.cuts import MinSize, check_cut, side_branches
from ..io import pandas_output
from . import n_clusters, partitions, stability

if TYPE_CHECKING:
    from ...tree import Tree
    from ..posterior import Posterior


class ClusterQuestions:
    """The methods of `Posterior` that are about clusters."""

    if TYPE_CHECKING:  # what they need of it
        children: np.ndarray
        times: np.ndarray
        labels: tuple[str, ...]

        @property
        def n(self) -> int: ...
        @cached_property
        def weights(self) -> np.ndarray: ...
        def mean_tree(self) -> "Tree": ...

    def coclustering(
        self,
        n_clusters: int | None = None,
        *,
        time: float | None = None,
        min_size: MinSize = "auto",
        outliers: bool = False,
    ) -> np.ndarray:
        """(n, n) probability that two leaves share a cluster, when the trees are cut as in `cut`."""
        how = check_cut(self.n, n_clusters, time, min_size, outliers)
        return partitions.coclustering(self.children, self.times, self.weights, how, self._rows_for(how))

    def cut(
        self,
        n_clusters: int | None = None,
        *,
        time: float | None = None,
        min_size: MinSize = "auto",
        outliers: bool = False,
        output: OutputLike = None,
    ) -> np.ndarray:
        """The cluster of each leaf: clades of the mean tree, with their side branches.

        It is ``mean_tree().cut(…)``, so that the tree that is drawn and the clusters agree, and one cluster more splits
        one cluster and leaves the others as they are.

        Parameters
        ----------
        n_clusters, time :
            How many clusters, or when to cut: exactly one of them.
        min_size : "auto" or int
            Least number of leaves of a cluster, as in `Tree.cut`: by default a quarter of n / n_clusters.
        outliers : bool
            Whether leaves that lie far from every cluster are labelled -1: farther out than 99 % of a cluster with
            heavy tails (Student's t with 4 degrees of freedom). Without data they are the side branches.
        output : "numpy", "pandas" or None
            What to return: an array, or a Series with the index of the fitted table; by default as `set_output` says,
            and a Series where a DataFrame was fitted.
        """
        tree = self.mean_tree()
        labels = tree.cut(n_clusters, time=time, min_size=min_size)
        how = check_cut(self.n, n_clusters, time, min_size, outliers)
        if how.outliers:
            is_outlier, rows = side_branches(tree.children, how), self._whitened_rows
            if rows is not None:
                is_outlier = partitions.is_outlier(np.where(is_outlier, ~labels, labels), rows)
            labels = np.where(is_outlier, -1, labels)
        return (
            pandas_output.labels_series(cast("Posterior", self), labels)
            if pandas_output.wants_pandas(self, output)
            else labels
        )

    def membership(
        self,
        labels: ArrayLike,
        *,
        min_size: MinSize = "auto",
        outliers: bool | None = None,
        output: OutputLike = None,
    ) -> np.ndarray:
        """(n, k) the probability of each of the k clusters in `labels`, for every leaf: rows sum to 1.

        Each tree is cut into as many clusters, or one or two more, whichever shows those in `labels` best. They are
        matched with clusters of the tree by the leaves that they share; what is left over goes with the matched one
        that it meets first in the tree. Columns are in the order of the sorted labels; with `outliers` (by default if
        -1 is among the labels) there is one more, the probability of being in no cluster. Give `min_size` as in `cut`.
        Where a DataFrame was fitted, or with `output="pandas"`, it is a DataFrame with its index; a Series of labels in
        another order is put into that of the leaves.
        """
        reference, cut_into, outliers = beside(cast("Posterior", self), labels, min_size, outliers)
        probability = stability.membership(reference, cut_into, self.weights, outliers)
        if pandas_output.wants_pandas(self, output):
            return pandas_output.membership_frame(cast("Posterior", self), probability, reference.clusters.tolist())
        return probability

    def stability(
        self, labels: ArrayLike, *, level: float = 0.9, min_size: MinSize = "auto", outliers: bool | None = None
    ) -> stability.ClusterStability:
        """How stable each cluster in `labels` is across draws: Jaccard similarities, with a word for each.

        In each tree, cut into as many clusters, one fewer, or one or two more, the most similar one is looked for;
        `interval` holds the similarity with probability `level`. A cluster is "stable" if the mean is at least 0.85 and
        the lower end of its 90 % interval at least 0.75, "dissolved" if the mean is below 0.6, else "doubtful".
        """
        level = check_level("level", level)
        reference, cut_into, _ = beside(cast("Posterior", self), labels, min_size, outliers)
        return stability.stability(reference, cut_into, self.weights, level)

    def _rows_for(self, how):
        """The rows that tell outliers, where they are to be named."""
        return self._whitened_rows if how.outliers else None

    @cached_property
    def _whitened_rows(self) -> np.ndarray | None:
        """(n, p) the leaves' values as the covariance sees them; None where they are not known."""
        return partitions.whitened_rows(cast("Posterior", self))

    def suggest_n_clusters(self, max_clusters: int | None = None) -> n_clusters.ClusterSuggestion:
        """Suggest a number of clusters, or a range, with the reason in a sentence and a probability for each number.

        It is the number of clusters of the mean tree that describe the rows best as a mixture, of the numbers whose
        clusters are stable across draws (see `stability`), and 1 where the rows look like a single group. Where no
        number has a probability of 50 %, `low` and `high` are a range, and `n_clusters` is its lower end. Without data
        stability alone decides.

        Parameters
        ----------
        max_clusters : int, optional
            The largest number that is considered; by default a third of the leaves, at most 30. The search ends
            earlier where eight numbers in a row bring nothing.
        """
        return n_clusters.suggest_n_clusters(cast("Posterior", self), max_clusters)


def beside(
    posterior: "Posterior", labels: ArrayLike, min_size: MinSize = "auto", outliers: bool | None = None
) -> tuple[stability.Reference, Callable[[int], np.ndarray], bool]:
    """The given partition, what cuts all trees into a number of clusters, and whether outliers are named."""
    reference = stability.read_labels(pandas_output.in_order_of(labels, posterior), posterior.n)
    outliers = bool((reference.numbers < 0).any()) if outliers is None else outliers

    @cache
    def cut_into(number):
        how = check_cut(posterior.n, number, None, min_size, outliers)
        return partitions.cut_labels(posterior.children, posterior.times, how, posterior._rows_for(how))

    return reference, cut_into, outliers

"""What is asked of a posterior about clusters; a part of `Posterior`.

Trees are cut (`partitions`), the partition that agrees best with all of them is looked for (`best_partition`), and
compared with each (`sureness`); `cluster_count` suggests how many clusters there are.
"""

from collections.abc import Callable
from functools import cache, cached_property
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from .._runtime.aliases import ArrayLike, OutputLike
from .._runtime.checks import check_choice, check_level
from ..numerics.weighted import weighted_quantile
from ..tree.cuts import warn_of_smaller_clusters
from ..tree.merges import MinSize, check_cut
from . import cluster_count, frames, partitions, sureness
from .best_partition import LARGEST_DENSE, LOSSES, best_partition

if TYPE_CHECKING:
    from ..tree import Tree
    from .posterior import Posterior


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
        def summary_tree(self) -> "Tree": ...

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
        loss: Literal["binder", "vi"] = "binder",
        output: OutputLike = None,
    ) -> np.ndarray:
        """Cluster labels (n,) of the partition that agrees best with all trees, numbered in order of first leaf.

        Every tree is cut as by `Tree.cut`; a stray is given to the cluster with the nearest centre if the posterior
        holds the data.

        Parameters
        ----------
        n_clusters : int, optional
            Number of clusters, of the sampled trees and of the result.
        time : float, optional
            Time at which to cut every tree; the result may have any number of clusters, of any size.
        min_size : "auto" or int
            Least number of leaves of a cluster; "auto" is a quarter of n / n_clusters, rounded up. It is halved in
            trees that cannot be cut so; where that is half of them or more, it is so for the result as well, with a
            `ClusterSizeWarning`.
        outliers : bool
            Whether leaves that are far from every cluster in most trees are labelled -1: farther out than 99 % of a
            cloud with heavy tails (Student's t with 4 degrees of freedom). Without data they are the strays.
        loss : "binder" or "vi"
            The expected loss to minimise: the number of pairs of leaves that one partition joins and the other does
            not (Binder), or the variation of information; an outlier is a cluster of its own. The search (sampled
            partitions, the summary tree's, average linkage of the co-clustering, then single moves) is not exhaustive.
        output : "numpy", "pandas" or None
            What to return: an array, or a Series with the index of the fitted table; by default as `set_output` says,
            and a Series where a DataFrame was fitted.
        """
        how = check_cut(self.n, n_clusters, time, min_size, outliers)
        check_choice("loss", loss, LOSSES)
        labels, used = self._cut_trees(how)
        least = int(weighted_quantile(used, self.weights, 0.5))
        warn_of_smaller_clusters(how.min_size, least, "At least half of the trees have")
        tree = self.summary_tree()
        of_tree, _ = partitions.cut_labels(tree.children[None], tree.times[None], how, self._rows_for(how))
        found = best_partition(
            labels,
            self.weights,
            loss=loss,
            together=partitions.coclustering_of(labels, self.weights) if self.n <= LARGEST_DENSE else None,
            extra=list(of_tree),
            fixed_number=how.n_clusters is not None,
            min_size=least,
            outliers=how.outliers,
        )
        return frames.labels_series(cast("Posterior", self), found) if frames.wants_pandas(self, output) else found

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
        reference, cut_into, outliers = self.beside(labels, min_size, outliers)
        probability = sureness.membership(reference, cut_into, self.weights, outliers)
        if frames.wants_pandas(self, output):
            return frames.membership_frame(cast("Posterior", self), probability, reference.clusters.tolist())
        return probability

    def stability(
        self, labels: ArrayLike, *, level: float = 0.9, min_size: MinSize = "auto", outliers: bool | None = None
    ) -> sureness.ClusterStability:
        """How well each cluster in `labels` is found again in the trees: Jaccard similarities, with a word for each.

        In each tree, cut into as many clusters, or one or two more, the most similar one is looked for; `interval`
        holds the similarity with probability `level`.
        """
        level = check_level("level", level)
        reference, cut_into, _ = self.beside(labels, min_size, outliers)
        return sureness.stability(reference, cut_into, self.weights, level)

    def beside(
        self, labels: ArrayLike, min_size: MinSize = "auto", outliers: bool | None = None
    ) -> tuple[sureness.Reference, Callable[[int], np.ndarray], bool]:
        """The given partition, what cuts all trees into a number of clusters like it, and whether it names outliers."""
        reference = sureness.read_labels(frames.in_order_of(labels, self), self.n)
        outliers = bool((reference.numbers < 0).any()) if outliers is None else outliers
        least = check_cut(self.n, len(reference.clusters), None, min_size, outliers).min_size

        @cache
        def cut_into(number):
            return self._cut_trees(check_cut(self.n, number, None, least, outliers))[0]

        return reference, cut_into, outliers

    def _cut_trees(self, how):
        return partitions.cut_labels(self.children, self.times, how, self._rows_for(how))

    def _rows_for(self, how):
        """The rows that strays are compared by, where there are any."""
        return self.stray_rows if how.min_size > 1 else None

    @cached_property
    def stray_rows(self) -> np.ndarray | None:
        """(n, p) the data, whitened, by which strays find the nearest cluster; None where they are not known."""
        return partitions.whitened_rows(cast("Posterior", self))

    def suggest_n_clusters(self, max_clusters: int | None = None) -> cluster_count.ClusterSuggestion:
        """Suggest a number of clusters, with the reason in a sentence and a probability for each number.

        It is the number of clouds with heavy tails and one shape that describes the rows best, of the numbers whose
        clusters are found again from tree to tree (see `stability`): all of them with a similarity of at least 0.75, or
        of 0.6 where no number has that; or if all trees together, `cut`, have the best described clouds as clusters. It
        is 1 where the rows look like one cloud. A posterior without data is asked for long gaps between its splits.

        Parameters
        ----------
        max_clusters : int, optional
            The largest number that is considered; by default a third of the leaves, at most 30. The search ends
            earlier where eight numbers in a row bring nothing.
        """
        return cluster_count.suggest_n_clusters(cast("Posterior", self), max_clusters)

"""Answers with the index of the DataFrame that was fitted, in the order of its rows.

A posterior keeps the index itself while it is in memory, and in files its name and whether it is one of whole numbers;
any other index is text there.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...model.data.table import INDEX, aligned

if TYPE_CHECKING:
    import pandas

    from ..posterior import Posterior


def leaf_index(posterior: "Posterior") -> "pandas.Index":
    """The leaves as the index that the fitted table had, or as one of its kind; text where that does not fit them."""
    if posterior.model.index is not None:
        return posterior.model.index
    import pandas

    described = posterior.info.get(INDEX)
    kept = described if isinstance(described, dict) else {}
    name = kept.get("name")
    texts = pandas.Index(list(posterior.labels), name=name if isinstance(name, str) else None)
    try:
        return texts.astype(np.int64) if kept.get("is_integer") is True else texts
    except (TypeError, ValueError, OverflowError):  # 64 bits, other labels, a crafted file
        return texts


def as_fitted(posterior: "Posterior", values: np.ndarray, names: Any, *, by_leaf: bool) -> np.ndarray:
    """An answer (n,) as a Series or (n, k) as a DataFrame with these names, where a DataFrame was fitted.

    Its index is that of the leaves, or the number of the merge.
    """
    if INDEX not in posterior.info:
        return values
    import pandas

    index = leaf_index(posterior) if by_leaf else pandas.RangeIndex(len(values), name="merge")
    answer: Any  # a Series or a DataFrame, which callers take for an array
    if values.ndim == 1:
        answer = pandas.Series(values, index, name=names)
    else:
        answer = pandas.DataFrame(values, index, pandas.Index(names, name="cluster" if by_leaf else None))
    return answer  # type: ignore[no-any-return]


def summary(posterior: "Posterior", n_clusters: int | None) -> "pandas.DataFrame":
    """A line for each cluster, numbered from 1; `Posterior.summary` says of what."""
    import pandas

    from ..clusters.answer import answer_for
    from ..clusters.explanation import explain_partitions
    from ..diagnostics.outliers import find_outliers

    answer = answer_for(posterior, n_clusters or posterior.suggest_n_clusters().n_clusters)
    tree, explained = posterior.mean_tree(), explain_partitions(posterior, [answer.labels])[0]
    cluster = np.where(answer.in_no_clade, -1, answer.labels).tolist()
    formed_at = [0.0] * answer.n_clusters
    for (a, b), time in zip(tree.children.tolist(), tree.times.tolist(), strict=True):
        cluster.append(cluster[a] if cluster[a] == cluster[b] else -1)
        if cluster[-1] >= 0:
            formed_at[cluster[-1]] = time
    cluster_of = dict(zip(posterior.labels, answer.labels.tolist(), strict=True))
    outliers = [(row.leaf or row.label, row.label) for row in find_outliers(posterior, posterior.n)]
    each = range(answer.n_clusters)
    columns = {
        "size": answer.stability.sizes,
        "stability": answer.stability.jaccard.round(3),
        "formed_at": formed_at,
        "outliers": [", ".join(row for leaf, row in outliers if cluster_of[leaf] == c) for c in each],
        "stands_out": ["" if explained is None else explained.in_words(c) for c in each],
    }
    return pandas.DataFrame(columns, pandas.RangeIndex(1, answer.n_clusters + 1, name="cluster"))


def in_leaf_order(values: Any, labels: Sequence[str]) -> Any:
    """One value for each leaf: a Series by its index, all else as it stands."""
    if not hasattr(values, "iloc") or isinstance(values, type):
        return values
    own, numbers = list(map(str, values.index)), list(map(str, range(len(labels))))
    if list(labels) != numbers:
        return aligned("this Series", values, labels)
    if own != numbers and sorted(own) == sorted(numbers):  # of rows of an array, or of a DataFrame?
        raise InputError(
            "the leaves are called 0, 1, … as rows of an array are, and the index of this Series has another order; "
            "give .sort_index() if it names the leaves, else .to_numpy()."
        )
    return values


def in_order_of(values: Any, named: Any) -> Any:
    """The same for the leaves of a posterior, which knows whether its rows had an index, or of a tree."""
    info = getattr(named, "info", None)
    if info is not None and INDEX in info:
        return aligned("this Series", values, named.labels)
    are_rows_of_array = info is not None and list(named.labels) == list(map(str, range(len(named.labels))))
    return values if are_rows_of_array else in_leaf_order(values, named.labels)

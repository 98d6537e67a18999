"""Answers as pandas Series and DataFrames, with the index of the fitted table: numbers and dates stay what they are.

A posterior names its leaves by text. What the index of a DataFrame was made of is kept in ``info["index"]``.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._runtime.checks import check_choice
from ..errors import InputError

if TYPE_CHECKING:
    from .posterior import Posterior

INDEX = "index"
OUTPUTS = ("numpy", "pandas")


def describe_index(X: Any) -> dict[str, Any] | None:
    """What the index of a DataFrame is made of: "integer", "date" or "text", and its name; None for anything else."""
    index = getattr(X, "index", None)
    if index is None or not hasattr(X, "columns") or callable(index):
        return None
    kind = {"i": "integer", "u": "integer", "M": "date"}.get(getattr(index.dtype, "kind", "O"), "text")
    name = None if index.name is None else str(index.name)
    return {"kind": kind, "name": name}


def wants_pandas(posterior: Any, output: str | None) -> bool:
    """Whether an answer is to be a pandas object: as asked, or as `Posterior.set_output` said."""
    if output is None:
        output = vars(posterior).get("_output", "numpy")
    return check_choice("output", output, OUTPUTS) == "pandas"


def leaf_index(posterior: "Posterior") -> Any:
    """The leaves as an index of the kind that the fitted table had."""
    pandas = _pandas()
    kept = posterior.info.get(INDEX)
    kept = kept if isinstance(kept, dict) and posterior.groups is None else {}
    name = kept.get("name")
    texts = pandas.Index(list(posterior.labels), name=name if isinstance(name, str) else None)
    try:
        if kept.get("kind") == "integer":
            return texts.astype(np.int64)
        if kept.get("kind") == "date":
            return pandas.DatetimeIndex(pandas.to_datetime(texts), name=texts.name)
    except (TypeError, ValueError):  # the labels were changed, or come from a stranger's file
        pass
    return texts


def labels_series(posterior: "Posterior", labels: np.ndarray) -> Any:
    """The cluster of each leaf."""
    return _pandas().Series(labels, index=leaf_index(posterior), name="cluster")


def membership_frame(posterior: "Posterior", probability: np.ndarray, clusters: Sequence[Any]) -> Any:
    """The probability of each cluster for each leaf; a column more is that of outliers, -1."""
    names = [*clusters, *[-1] * (probability.shape[1] - len(clusters))]
    pandas = _pandas()
    return pandas.DataFrame(probability, index=leaf_index(posterior), columns=pandas.Index(names, name="cluster"))


def merge_series(values: np.ndarray, name: str) -> Any:
    """One number for each merge of a tree; merge k makes node n + k."""
    pandas = _pandas()
    return pandas.Series(values, index=pandas.RangeIndex(len(values), name="merge"), name=name)


def merge_frame(values: np.ndarray, names: Sequence[str]) -> Any:
    """Some numbers for each merge of a tree."""
    pandas = _pandas()
    return pandas.DataFrame(values, index=pandas.RangeIndex(len(values), name="merge"), columns=list(names))


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise InputError(
            'output="pandas" needs pandas, which is not installed: pip install "coaltree[pandas]".'
        ) from None
    return pandas

"""Answers with the index of the DataFrame that was fitted, in the order of its rows.

A posterior keeps the index itself while it is in memory, and in files its name and whether it is one of whole numbers;
any other index is text there. Rows without values are in no tree, and keep their place in tables.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._runtime.validation import is_whole
from ...errors import CoaltreeWarning
from ...model.data.leaves import EMPTY_ROWS
from ...model.model import Model

if TYPE_CHECKING:
    import pandas

    from ..posterior import Posterior

INDEX = "index"  # in `info`: that a DataFrame was fitted, and what its index was


def with_index(model: Model, X: Any, groups: Any = None) -> Model:
    """The model with what its leaves are called where X is a DataFrame: its index, or the groups of its rows."""
    if not hasattr(X, "columns") or not hasattr(X, "index") or callable(X.index):
        return model
    import pandas

    labels, index = model.leaves.labels, X.index if groups is None else pandas.Index(groups).unique()
    empty = list(_empty_leaves(model.info, len(labels)))
    index = index.delete(empty) if len(index) == len(labels) + len(empty) else index
    fits = tuple(map(str, index)) == labels  # else equal names were replaced by numbers
    info = {**model.info, INDEX: describe(index) if fits else {}}
    return model._replace(index=index if fits else None, info=info)


def leaf_index(posterior: "Posterior") -> "pandas.Index":
    """The leaves as the index that the fitted table had, or as one of its kind."""
    index = posterior.model.index
    return read_index(posterior.labels, posterior.info.get(INDEX)) if index is None else index


def describe(index: "pandas.Index") -> dict[str, Any]:
    """What a file keeps of an index."""
    is_integer = getattr(index.dtype, "kind", "O") in "iu"
    return {"name": None if index.name is None else str(index.name), "is_integer": is_integer}


def read_index(labels: Sequence[str], description: Any) -> "pandas.Index":
    """The leaves as the index that was described, and as text where that does not fit them."""
    import pandas

    kept = description if isinstance(description, dict) else {}
    name = kept.get("name")
    texts = pandas.Index(list(labels), name=name if isinstance(name, str) else None)
    try:
        return texts.astype(np.int64) if kept.get("is_integer") is True else texts
    except (TypeError, ValueError):  # the labels were changed, or come from a stranger's file
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


def in_leaf_order(values: Any, leaves: Sequence[str]) -> Any:
    """A Series that names these leaves, and perhaps others, in their order; all else as it is."""
    index = getattr(values, "index", None)
    if index is None or callable(index) or not hasattr(values, "iloc") or len(index) < len(leaves):
        return values
    place = {str(name): number for number, name in enumerate(index)}
    are_named = len(place) == len(index) and place.keys() >= set(leaves)
    return values.iloc[[place[leaf] for leaf in leaves]] if are_named else values


def in_order_of(values: Any, named: Any) -> Any:
    """The same for the leaves of a posterior or tree, as they stand where these are mere numbers of an array's rows.

    The index of a Series beside an array, shuffled perhaps, has nothing to do with those. A posterior remembers whether
    its rows had an index; a tree, whose leaves are called 0, 1, … either way, does not, and warns where it matters.
    """
    by_name = in_leaf_order(values, named.labels)
    are_numbers = tuple(named.labels) == tuple(map(str, range(len(named.labels))))
    if not are_numbers or INDEX in getattr(named, "info", {}):
        return by_name
    is_shuffled = by_name is not values and len(values) == len(by_name) and not by_name.index.equals(values.index)
    if is_shuffled and not hasattr(named, "info"):
        warnings.warn(
            "the leaves of this tree are called 0, 1, … as rows of an array are, so that the Series is taken as it "
            "stands, not by its index; sort it first (.sort_index()) if its index names the leaves.",
            CoaltreeWarning,
            stacklevel=4,
        )
    return values


def empty_leaves(posterior: "Posterior") -> dict[int, str]:
    """Places among all given leaves, in order, and names of those without values; {} if a file holds anything else."""
    return _empty_leaves(posterior.info, posterior.n)


def _empty_leaves(info: Mapping[str, Any], n_leaves: int) -> dict[int, str]:
    kept = info.get(EMPTY_ROWS)
    names, places = (kept.get("names"), kept.get("places")) if isinstance(kept, dict) else (None, None)
    if not isinstance(names, list) or not isinstance(places, list) or len(names) != len(places):
        return {}
    n = n_leaves + len(places)
    fits = all(is_whole(place) and 0 <= place < n for place in places) and places == sorted(set(places))
    return dict(zip(places, map(str, names), strict=True)) if fits else {}


def in_given_places(posterior: "Posterior", values: Iterable[Any], fill: Any) -> list[Any]:
    """One value for each given leaf, `fill` for those without values."""
    found = list(values)
    for place in empty_leaves(posterior):  # in order, so that places are those in the longer list
        found.insert(place, fill)
    return found


def given_labels(posterior: "Posterior") -> list[str]:
    """Names of all given leaves."""
    found = list(posterior.labels)
    for place, name in empty_leaves(posterior).items():
        found.insert(place, name)
    return found

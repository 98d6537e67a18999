"""Answers for the rows that were given: as pandas Series and DataFrames with the index of the fitted table.

A posterior names its leaves by text. It keeps the index of a DataFrame while it is in memory, and a description of it
in ``info["index"]``, which is saved: numbers, dates with their time zone, and durations are read back from the text.
All else (periods, several levels) then is text. Rows without values are in no tree, and keep their place in tables.
pandas is imported only where it is used.
"""

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._runtime.validation import is_whole
from ...errors import CoaltreeWarning
from ...model.data.leaves import EMPTY_ROWS

if TYPE_CHECKING:
    import pandas

    from ..posterior import Posterior

INDEX = "index"
_KINDS = {"i": "integer", "u": "integer", "f": "number", "M": "date", "m": "duration"}  # NumPy's letters; else text


def remember_index(posterior: "Posterior", X: Any, groups: Any = None) -> None:
    """Keep what the leaves are called where X is a DataFrame: its index, or the groups of its rows."""
    if describe_index(X) is not None:
        import pandas

        index = X.index if groups is None else pandas.Index(groups).unique()
        empty = list(empty_leaves(posterior))
        posterior.set_index(index.delete(empty) if len(index) == posterior.n + len(empty) else index)


def describe_index(X: Any) -> dict[str, Any] | None:
    """What the index of a DataFrame is made of; None for anything that is not a DataFrame with an index."""
    index = getattr(X, "index", None)
    return None if index is None or not hasattr(X, "columns") or callable(index) else describe(index)


def describe(index: "pandas.Index") -> dict[str, Any]:
    """The kind of an index ("integer", "number", "date", "duration" or "text"), its name, and its time zone if any."""
    kind = _KINDS.get(getattr(index.dtype, "kind", "O"), "text")
    zone = {} if getattr(index, "tz", None) is None else {"zone": str(index.tz)}
    return {"kind": kind, "name": None if index.name is None else str(index.name), **zone}


def read_index(labels: Sequence[str], description: Any) -> "pandas.Index":
    """The leaves as an index of the kind that `describe` found; as text where that does not fit them."""
    import pandas

    kept = description if isinstance(description, dict) else {}
    kind, name, zone = kept.get("kind"), kept.get("name"), kept.get("zone")
    texts = pandas.Index(list(labels), name=name if isinstance(name, str) else None)
    try:
        if kind in ("integer", "number"):
            return texts.astype(np.int64 if kind == "integer" else np.float64)
        if kind == "date":
            dates = pandas.DatetimeIndex(pandas.to_datetime(texts, utc=isinstance(zone, str)), name=texts.name)
            return dates.tz_convert(zone) if isinstance(zone, str) else dates
        if kind == "duration":
            return pandas.TimedeltaIndex(pandas.to_timedelta(texts), name=texts.name)
    except (TypeError, ValueError, LookupError):  # the labels were changed, or come from a stranger's file
        pass
    return texts


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


def as_pandas(values: np.ndarray, names: Any, leaves: "pandas.Index | None" = None) -> Any:
    """Values (n,) as a Series or (n, k) as a DataFrame with these names, of leaves or (where these are None) of merges.

    Merge k makes node n + k.
    """
    import pandas

    index = pandas.RangeIndex(len(values), name="merge") if leaves is None else leaves
    if values.ndim == 1:
        return pandas.Series(values, index, name=names)
    return pandas.DataFrame(values, index, pandas.Index(names, name=None if leaves is None else "cluster"))


def empty_leaves(posterior: "Posterior") -> dict[int, str]:
    """Places among all given leaves, in order, and names of those without values; {} if a file holds anything else."""
    kept = posterior.info.get(EMPTY_ROWS)
    names, places = (kept.get("names"), kept.get("places")) if isinstance(kept, dict) else (None, None)
    if not isinstance(names, list) or not isinstance(places, list) or len(names) != len(places):
        return {}
    n = posterior.n + len(places)
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

"""Answers as pandas Series and DataFrames, with the index of the fitted table: numbers and dates stay what they are.

They are the default where a DataFrame was fitted. A posterior names its leaves by text; the index itself is kept beside
it while it is in memory, and what it was made of in ``info["index"]``, which is saved with it: numbers, dates with
their time zone, and durations are read back from the text. All else (periods, several levels) then is text.
"""

import importlib.util
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._runtime.validation import check_choice
from ...errors import CoaltreeWarning, InputError

if TYPE_CHECKING:
    from ..posterior import Posterior

INDEX = "index"
OUTPUTS = ("numpy", "pandas")
_KINDS = {
    "i": "integer",
    "u": "integer",
    "f": "number",
    "M": "date",
    "m": "duration",
}  # by NumPy's letters; all else is text


def remember_index(posterior: "Posterior", X: Any, groups: Any = None) -> None:
    """Keep what the leaves are called where X is a DataFrame: its index, or the groups of its rows."""
    if describe_index(X) is None:
        return
    own = X.index if groups is None else _pandas().Index(groups).unique()
    if _names(own) == posterior.labels:
        posterior.info[INDEX] = _described(own)
        vars(posterior)["_index"] = own
    else:  # equal names were replaced by numbers
        posterior.info[INDEX] = {"kind": "text", "name": None}


def describe_index(X: Any) -> dict[str, Any] | None:
    """What the index of a DataFrame is made of, "integer", "number", "date", "duration" or "text", and its name.

    None for anything that is not a DataFrame with an index.
    """
    index = getattr(X, "index", None)
    return None if index is None or not hasattr(X, "columns") or callable(index) else _described(index)


def _described(index):
    kind = _KINDS.get(getattr(index.dtype, "kind", "O"), "text")
    zone = {} if getattr(index, "tz", None) is None else {"zone": str(index.tz)}
    return {"kind": kind, "name": None if index.name is None else str(index.name), **zone}


def _names(index):
    return tuple(str(name) for name in index)


def wants_pandas(posterior: Any, output: str | None) -> bool:
    """Whether an answer is to be a pandas object: as asked, as `Posterior.set_output` said, or as the table was one."""
    if output is None:
        output = vars(posterior).get("_output")
    if output is None:  # a saved posterior may be read where there is no pandas
        return INDEX in posterior.info and importlib.util.find_spec("pandas") is not None
    return check_choice("output", output, OUTPUTS) == "pandas"


def leaf_index(posterior: "Posterior") -> Any:
    """The leaves as the index that the fitted table had, or as one of its kind."""
    pandas = _pandas()
    own = vars(posterior).get("_index")
    if own is not None and _names(own) == posterior.labels:
        return own
    kept = posterior.info.get(INDEX)
    kept = kept if isinstance(kept, dict) else {}
    name, zone = kept.get("name"), kept.get("zone")
    texts = pandas.Index(list(posterior.labels), name=name if isinstance(name, str) else None)
    try:
        if kept.get("kind") in ("integer", "number"):
            return texts.astype(np.int64 if kept["kind"] == "integer" else np.float64)
        if kept.get("kind") == "date":
            dates = pandas.DatetimeIndex(pandas.to_datetime(texts, utc=isinstance(zone, str)), name=texts.name)
            return dates.tz_convert(zone) if isinstance(zone, str) else dates
        if kept.get("kind") == "duration":
            return pandas.TimedeltaIndex(pandas.to_timedelta(texts), name=texts.name)
    except (TypeError, ValueError, LookupError):  # the labels were changed, or come from a stranger's file
        pass
    return texts


def in_leaf_order(values: Any, leaves: Sequence[str]) -> Any:
    """A Series that names these leaves, in their order, where `sort_values` left another; all else as it is.

    It may name others as well, as what is known of a whole table does where a part of it was fitted.
    """
    index = getattr(values, "index", None)
    if index is None or callable(index) or not hasattr(values, "iloc") or len(index) < len(leaves):
        return values
    place = {name: number for number, name in enumerate(_names(index))}
    are_named = len(place) == len(index) and place.keys() >= set(leaves)
    return values.iloc[[place[leaf] for leaf in leaves]] if are_named else values


def in_order_of(values: Any, named: Any) -> Any:
    """The same for the leaves of a posterior or tree, as they stand where these are mere numbers of an array's rows.

    The index of a Series beside an array, shuffled perhaps, has nothing to do with those. A posterior remembers whether
    its rows had an index; a tree, whose leaves are called 0, 1, … either way, does not, and says so where it matters.
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

"""Answers for all rows that were given: those without values are in no tree, and keep their place in tables."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._runtime.validation import is_whole
from ..model.data.leaves import EMPTY_ROWS

if TYPE_CHECKING:
    from .posterior import Posterior


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

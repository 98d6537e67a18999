"""Leaf annotations: columns of classes or numbers that are not fitted, but shown beside trees and clusters.

A posterior that `coaltree fit --label` made keeps them in ``info["label_columns"]``, as text, for report and plots.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputError
from .io.pandas_output import in_leaf_order

if TYPE_CHECKING:
    from .posterior import Posterior

KEPT = "label_columns"  # where a posterior keeps them
_MISSING = frozenset({"", "nan", "none", "na", "n/a", "<na>", "nat"})


class LeafAnnotation(NamedTuple):
    """One column about the leaves: classes, or numbers."""

    name: str
    levels: tuple[str, ...]  # names of the classes in order; none for numbers
    codes: np.ndarray  # (n,) the class of each leaf, -1 where it is missing; all -1 for numbers
    numbers: np.ndarray | None  # (n,) NaN where missing; None for classes

    def texts(self) -> list[str]:
        """The class or number of each leaf as text, empty where it is missing."""
        if self.numbers is not None:
            return ["" if math.isnan(x) else f"{x:.6g}" for x in self.numbers.tolist()]
        return ["" if code < 0 else self.levels[code] for code in self.codes.tolist()]


def read_annotations(table: Any, labels: Sequence[str], what: str = "classes") -> list[LeafAnnotation]:
    """Columns about the leaves from a Series, DataFrame, mapping from names to sequences, or one sequence.

    A Series or DataFrame whose index names the leaves may have its rows in any order.
    """
    if isinstance(table, Mapping) or (hasattr(table, "columns") and hasattr(table, "items")):
        columns = {str(name): values for name, values in table.items()}
    else:
        columns = {str(getattr(table, "name", None) or what): table}
    return [_read_column(name, in_leaf_order(values, labels), len(labels), what) for name, values in columns.items()]


def annotations_of(posterior: "Posterior") -> list[LeafAnnotation]:
    """The columns that a posterior keeps; one that is empty or does not fit its leaves is passed over."""
    kept = posterior.info.get(KEPT)
    columns = kept.items() if isinstance(kept, dict) else ()
    lists = {str(name): values for name, values in columns if isinstance(values, list) and len(values) == posterior.n}
    fitting = {
        name: values
        for name, values in lists.items()
        if all(isinstance(value, str) for value in values) and any(map(_text, values))
    }
    return read_annotations(fitting, posterior.labels)


def in_order(classes: Iterable[str]) -> list[str]:
    """Classes in the order that people expect: numbers by size, and numbers within text, too ("plot 2", "plot 10")."""
    names = list(classes)
    are_numbers = not any(math.isnan(_number(text)) for text in names)

    def key(text: str) -> tuple[list[Any], str]:
        parts = re.split(r"([0-9]+)", text)  # text, number, text, …
        return [_number(text)] if are_numbers else [float(x) if k % 2 else x for k, x in enumerate(parts)], text

    return sorted(names, key=key)


def of_leaves(values: Sequence[str], groups: np.ndarray | None) -> list[str]:
    """The value of each leaf: that of its row, or the commonest of its rows that have one, empty where none has."""
    if groups is None:
        return list(values)
    rows: list[list[str]] = [[] for _ in range(int(groups.max()) + 1)]
    for leaf, value in zip(groups.tolist(), values, strict=True):
        if _text(value):
            rows[leaf].append(value)
    return [Counter(classes).most_common(1)[0][0] if classes else "" for classes in rows]


def matched_places(codes: np.ndarray, clusters: np.ndarray, n_classes: int) -> list[int]:
    """For each class the number of the cluster that it shares most leaves with, each number once; others are new."""
    from scipy.optimize import linear_sum_assignment

    shared = np.zeros((n_classes, int(clusters.max()) + 1), dtype=np.int64)
    both = (codes >= 0) & (clusters >= 0)
    np.add.at(shared, (codes[both], clusters[both]), 1)
    place = [-1] * n_classes
    for own, other in zip(*linear_sum_assignment(shared, maximize=True), strict=True):
        if shared[own, other]:
            place[own] = int(other)
    free = (k for k in range(n_classes + shared.shape[1]) if k not in place)
    return [k if k >= 0 else next(free) for k in place]


def _read_column(name: str, values: Any, n: int, what: str) -> LeafAnnotation:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{what} {name!r} must be a sequence, one value for each leaf, not {type(values).__name__}.")
    texts = [_text(value) for value in values]
    if len(texts) != n:
        raise InputError(f"{what} {name!r} must have one value for each of the {n} leaves, not {len(texts)}.")
    present = [text for text in texts if text]
    if not present:
        raise InputError(f"{what} {name!r} has no value at all; give one for each leaf.")
    are_numbers = not any(math.isnan(_number(text)) for text in present)
    distinct = set(present)
    # Numbers with more than 20 values are measurements, and so are those where most rows have one of their own.
    if are_numbers and (len(distinct) > 20 or len(distinct) > max(len(present) / 2, 4)):
        return LeafAnnotation(name, (), np.full(len(texts), -1), np.array([_number(text) for text in texts]))
    levels = in_order(distinct)
    code_of = {level: code for code, level in enumerate(levels)} | {"": -1}
    return LeafAnnotation(name, tuple(levels), np.array([code_of[text] for text in texts]), None)


def _text(value: Any) -> str:
    """A value as text: whole floats without their .0, nothing for what is missing."""
    if isinstance(value, float | np.floating):
        value = float(value)
        if math.isnan(value):
            return ""
        return str(int(value)) if math.isfinite(value) and value == int(value) else f"{value:.17g}"
    text = str(value).strip()
    return "" if text.lower() in _MISSING else text


def _number(text: str) -> float:
    """A text as a finite number; NaN where it is none."""
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan

"""Leaf annotations for the page's script: classes and numbers beside the tree, and their agreement with clusters."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..metrics import agreement
from ..posterior.clusters.answer import ClusterAnswer
from ..posterior.leaf_annotations import LeafAnnotation
from . import pixels
from .figures import rounded
from .text import printable

MAX_CLASSES = 62  # that one character can tell apart, one of them being "missing"


def content(columns: Sequence[LeafAnnotation], answers: Sequence[ClusterAnswer]) -> list[dict[str, Any]]:
    """Return the columns, classes in the colours that plots give them, and the agreement with each partition."""
    shown, first = [], 0
    for column in columns:
        shown.append(_classes(column, first, answers) if column.numbers is None else _numbers(column))
        first += len(shown[-1].get("levels", ()))
    return shown


def _classes(column: LeafAnnotation, first: int, answers: Sequence[ClusterAnswer]) -> dict[str, Any]:
    from ..plotting.strips import class_color  # with Matplotlib

    levels, codes = _largest(column)
    seen = codes >= 0
    agreements = [agreement(answer.labels[seen], column.codes[seen]) for answer in answers]
    return {
        "name": printable(column.name),
        "levels": [printable(level) for level in levels],
        "codes": pixels.numbers(codes + 1),  # 0 is missing
        "colours": [class_color(first + k) for k in range(len(levels))],
        "ari": rounded([one.ari for one in agreements], 4),
        "purity": rounded([one.purity for one in agreements], 4),
    }


def _largest(column: LeafAnnotation) -> tuple[Sequence[str], np.ndarray]:
    """Classes and codes; of more than `MAX_CLASSES` the smallest become one, "others"."""
    if len(column.levels) <= MAX_CLASSES:
        return column.levels, column.codes
    size = np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels))
    kept = np.sort(np.argsort(-size, kind="stable")[: MAX_CLASSES - 1])
    code_of = np.full(len(column.levels) + 1, len(kept))
    code_of[kept] = np.arange(len(kept))
    code_of[-1] = -1
    return (*(column.levels[k] for k in kept), "others"), code_of[column.codes]


def _numbers(column: LeafAnnotation) -> dict[str, Any]:
    numbers = np.asarray(column.numbers, dtype=float)
    low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
    high = high if high > low else low + 1.0
    return {"name": printable(column.name), "low": low, "high": high, "values": pixels.values(numbers, low, high)}

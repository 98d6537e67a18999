"""Leaf annotations for the page's script: classes and numbers beside the tree, and their agreement with clusters."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..metrics import agreement
from ..posterior.clusters.answer import ClusterAnswer
from ..posterior.leaf_annotations import LeafAnnotation, matched_places
from . import pixels
from .figures import rounded
from .partitions import N_COLOURS
from .text import printable

MAX_CLASSES = 62  # that one character can tell apart, one of them being "missing"


def content(
    columns: Sequence[LeafAnnotation], start: ClusterAnswer, answers: Sequence[ClusterAnswer]
) -> list[dict[str, Any]]:
    """Return the columns, with colours that follow the clusters the page opens with, and the agreement at each k."""
    return [_classes(column, start, answers) if column.is_classes else _numbers(column) for column in columns]


def _classes(column: LeafAnnotation, start: ClusterAnswer, answers: Sequence[ClusterAnswer]) -> dict[str, Any]:
    levels, codes = _largest(column)
    seen = codes >= 0
    found = [agreement(answer.labels[seen], column.codes[seen]) for answer in answers]
    return {
        "name": printable(column.name),
        "levels": [printable(level) for level in levels],
        "codes": pixels.numbers(codes + 1),  # 0 is missing
        "colours": [place % N_COLOURS for place in matched_places(codes, start.labels, len(levels))],
        "ari": rounded([one.ari for one in found], 4),
        "purity": rounded([one.purity for one in found], 4),
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

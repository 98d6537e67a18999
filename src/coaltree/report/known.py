"""What is known of the leaves besides what was fitted, for the page's script: strips of colour, agreement."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..metrics import agreement
from ..posterior.clusters.answer import ClusterAnswer
from ..posterior.leaf_annotations import LeafAnnotation, matched_places
from . import pixels
from .figures import rounded
from .text import printable

_MOST_COLOURS = 10
_MOST_CLASSES = 62  # that one character can tell apart, one of them being "missing"


def content(
    known: Sequence[LeafAnnotation], start: ClusterAnswer, answers: Sequence[ClusterAnswer]
) -> list[dict[str, Any]]:
    """The columns, with colours that follow the clusters the page opens with, and the agreement at each number."""
    return [_classes(column, start, answers) if column.is_classes else _numbers(column) for column in known]


def _classes(column, start, answers):
    levels, codes = _few(column)
    seen = codes >= 0
    found = [agreement(answer.labels[seen], column.codes[seen]) for answer in answers]
    places = matched_places(codes, start.labels, len(levels))
    return {
        "name": printable(column.name),
        "levels": [printable(level) for level in levels],
        "codes": pixels.numbers(codes + 1),  # 0 is missing
        "colours": [place % _MOST_COLOURS for place in places],
        "ari": rounded([one.ari for one in found], 4),
        "purity": rounded([one.purity for one in found], 4),
    }


def _few(column):
    """Classes beyond what a character can tell apart are shown as one."""
    if len(column.levels) <= _MOST_CLASSES:
        return column.levels, column.codes
    size = np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels))
    kept = np.sort(np.argsort(-size, kind="stable")[: _MOST_CLASSES - 1])
    number = np.full(len(column.levels) + 1, len(kept))
    number[kept] = np.arange(len(kept))
    number[-1] = -1
    return (*(column.levels[k] for k in kept), "others"), number[column.codes]


def _numbers(column):
    low, high = float(np.nanmin(column.numbers)), float(np.nanmax(column.numbers))
    high = high if high > low else low + 1.0
    return {
        "name": printable(column.name),
        "low": low,
        "high": high,
        "values": pixels.values(column.numbers, low, high),
    }

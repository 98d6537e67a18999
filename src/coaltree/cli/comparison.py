"""Clusters beside a column of classes or numbers that were not fitted, as a few lines of text."""

import numpy as np

from .._runtime.formatting import shortened
from ..metrics import agreement
from ..posterior.clusters.answer import ClusterAnswer
from ..posterior.leaf_annotations import LeafAnnotation

_MOST_CLASSES = 8  # across the table
_MOST_CLUSTERS = 12
_LONGEST = 16


def compared(answer: ClusterAnswer, column: LeafAnnotation) -> str:
    """A table of clusters and classes with the agreement of both, or the numbers of each cluster."""
    if column.numbers is not None:
        return _of_numbers(answer, column)
    seen = column.codes >= 0
    found = agreement(answer.labels[seen], column.codes[seen])
    missing = int((~seen).sum())
    title = f"{column.name}: adjusted Rand index {found.ari:.2f}, purity {found.purity:.2f}"
    if missing:
        title += f" ({missing} missing)"
    if len(column.levels) > _MOST_CLASSES:
        return f"{title} ({len(column.levels)} classes)"
    present = np.unique(answer.labels[seen])
    header = ["", *(shortened(level, _LONGEST) for level in column.levels)]
    rows = [
        [f"cluster {present[i] + 1}", *map(str, counts)]
        for i, counts in enumerate(found.table[:_MOST_CLUSTERS].tolist())
    ]
    return "\n".join([title, *_aligned([header, *rows])])


def _of_numbers(answer, column):
    lines = [f"{column.name}: median in each cluster, and 90 % of its values"]
    for c in range(min(answer.n_clusters, _MOST_CLUSTERS)):
        values = column.numbers[(answer.labels == c) & ~np.isnan(column.numbers)]
        if len(values):
            low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
            lines.append(f"  cluster {c + 1}  {middle:.4g} ({low:.4g} to {high:.4g})")
    return "\n".join(lines)


def _aligned(rows):
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        yield "  " + "  ".join([first.ljust(widths[0]), *cells])

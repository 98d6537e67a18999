"""Compare clusters with leaf annotations (``--label``), as a few lines of text."""

import numpy as np

from .._runtime.formatting import shortened
from ..metrics import agreement
from ..posterior.clusters.answer import ClusterAnswer
from ..posterior.leaf_annotations import Known

MAX_CLASSES = 8  # columns of the table
MAX_CLUSTERS = 12  # rows of the table
MAX_NAME_LENGTH = 16


def compare_annotation(answer: ClusterAnswer, annotation: Known) -> str:
    """A table of clusters and classes with their agreement, or the range of the numbers in each cluster."""
    if annotation.numbers is not None:
        return _compare_numbers(answer, annotation.name, annotation.numbers)
    observed = annotation.codes >= 0
    found = agreement(answer.labels[observed], annotation.codes[observed])
    title = f"{annotation.name}: adjusted Rand index {found.ari:.2f}, purity {found.purity:.2f}"
    if not observed.all():
        title += f" ({(~observed).sum()} missing)"
    if len(annotation.levels) > MAX_CLASSES:
        return f"{title} ({len(annotation.levels)} classes)"
    clusters = np.unique(answer.labels[observed])[:MAX_CLUSTERS]
    rows = [["", *(shortened(level, MAX_NAME_LENGTH) for level in annotation.levels)]]
    rows += [[f"cluster {c + 1}", *map(str, found.table[i])] for i, c in enumerate(clusters)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *counts in rows:
        cells = "".join(f"  {count:>{width}}" for count, width in zip(counts, widths[1:], strict=True))
        title += f"\n  {name:{widths[0]}}{cells}"
    return title


def _compare_numbers(answer: ClusterAnswer, name: str, numbers: np.ndarray) -> str:
    lines = [f"{name}: median in each cluster, and 90 % of its values"]
    for c in range(min(answer.n_clusters, MAX_CLUSTERS)):
        values = numbers[(answer.labels == c) & ~np.isnan(numbers)]
        if len(values):
            low, median, high = np.quantile(values, [0.05, 0.5, 0.95])
            lines.append(f"  cluster {c + 1}  {median:.4g} ({low:.4g} to {high:.4g})")
    return "\n".join(lines)

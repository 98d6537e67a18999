"""Compare clusters with leaf annotations (``--label``), as a few lines of text."""

import textwrap

import numpy as np
import pandas

from .._runtime.formatting import shortened
from ..metrics import agreement
from ..posterior.clusters.answer import ClusterAnswer
from ..posterior.leaf_annotations import LeafAnnotation

MAX_CLASSES = 8  # columns of the table
MAX_CLUSTERS = 12  # rows of the table
MAX_NAME_LENGTH = 16


def compare_annotation(answer: ClusterAnswer, annotation: LeafAnnotation) -> str:
    """A table of clusters and classes with their agreement, or the range of the numbers in each cluster."""
    if annotation.numbers is not None:
        ranges = pandas.Series(annotation.numbers).groupby(answer.labels + 1).quantile([0.05, 0.5, 0.95]).unstack()
        lines = [f"{shortened(annotation.name)}: median in each cluster, and 90 % of its values"]
        for cluster, low, median, high in ranges.dropna().head(MAX_CLUSTERS).itertuples():
            lines.append(f"  cluster {cluster}  {median:.4g} ({low:.4g} to {high:.4g})")
        return "\n".join(lines)
    observed = annotation.codes >= 0
    found = agreement(answer.labels[observed], annotation.codes[observed])
    title = f"{shortened(annotation.name)}: adjusted Rand index {found.ari:.2f}, purity {found.purity:.2f}"
    if not observed.all():
        title += f" ({np.count_nonzero(~observed)} missing)"
    if len(annotation.levels) > MAX_CLASSES:
        return f"{title} ({len(annotation.levels)} classes)"
    clusters = [f"cluster {c + 1}" for c in np.unique(answer.labels[observed])]
    classes = [shortened(level, MAX_NAME_LENGTH) for level in annotation.levels]
    table = pandas.DataFrame(found.table, clusters, classes).head(MAX_CLUSTERS)
    return f"{title}\n{textwrap.indent(table.to_string(), '  ')}"

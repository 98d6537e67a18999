"""Noise and outliers: how far rows may lie from their leaves, which do, and how many rows each leaf has."""

from typing import Any

import numpy as np

from ..posterior.diagnostics.outliers import describe_noise, describe_rows, find_outliers
from ..posterior.posterior import Posterior

MAX_OUTLIERS = 8
MAX_LEAVES = 200  # whose number of rows is listed


def summarize(posterior: Posterior) -> dict[str, Any]:
    """Return the noise in words, the outliers (None where the noise has no heavy tails) and the rows of each leaf."""
    outliers = None if posterior.tail_scale is None else find_outliers(posterior, len(posterior.row_labels))
    found: dict[str, Any] = {
        "noise": None if posterior.noise.level == 0.0 else describe_noise(posterior),
        "has_errors": posterior.errors is not None,
        "outliers": outliers and outliers[:MAX_OUTLIERS],
        "n_outliers": len(outliers or ()),
        "rows": describe_rows(posterior),
    }
    if posterior.groups is not None:
        counts = np.bincount(posterior.groups)
        most = np.argsort(-counts, kind="stable")[:MAX_LEAVES]
        found["rows_of_leaves"] = [(posterior.labels[leaf], counts[leaf]) for leaf in most]
        found["n_unlisted"] = posterior.n - len(most)
    return found

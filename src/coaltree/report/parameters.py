"""Parameters of covariance and noise: histogram, median and 90 % interval of their draws; and outliers."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._runtime.formatting import shortened
from ..model.covariance import Components
from ..numerics.weighted import weighted_quantile
from ..posterior.diagnostics.outliers import describe_noise, describe_rows, find_outliers
from ..posterior.diagnostics.watched import evenly_spaced, in_words
from ..posterior.posterior import Posterior
from . import pixels, svg
from .text import printable

MAX_ROWS = 12  # entries of an array that are shown one by one


def summarize(posterior: Posterior, scalars: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """Return the parameters: single numbers, vectors with many entries, and the correlation of a full matrix."""
    names = None if posterior.model.columns is None else [printable(name) for name in posterior.model.coordinate_names]
    learnt: dict[str, Any] = {"numbers": [], "vectors": [], "correlation": None, "strongest": []}
    for name, draws in posterior.theta.items():
        if draws.ndim == 1:
            is_judged = name in scalars and np.isfinite(scalars[name]["ess"])
            row = {"title": name, "described": name, "scalar": scalars[name] if is_judged else None}
            learnt["numbers"].append(row | {"picture": svg.histogram(draws, posterior.weights)})
        if draws.ndim not in (2, 3) or len(set(draws.shape[1:])) > 1:  # a number, or an array without a picture
            continue
        d = draws.shape[1]
        columns = names if names and len(names) == d else [str(j) for j in range(d)]
        title = name if draws.ndim == 2 else f"{in_words(name)} (diagonal)"
        entries = draws if draws.ndim == 2 else np.diagonal(draws, axis1=1, axis2=2)
        if d > MAX_ROWS:
            learnt["vectors"].append(
                {"title": title, "described": name, **_vector(entries, posterior.weights, columns)}
            )
        else:
            for j, column in enumerate(columns):
                row = {"title": f"{title}[{column}]", "described": name if j == 0 else "", "scalar": None}
                learnt["numbers"].append(row | {"picture": svg.histogram(entries[:, j], posterior.weights)})
        if draws.ndim == 3:
            learnt["correlation"], learnt["strongest"] = _correlation(draws, posterior.weights, columns)
    return learnt


def loadings(posterior: Posterior) -> list[tuple[str, list[tuple[str, float]]]]:
    """The first components that carry the tree, each with its largest loadings by column; none for other models."""
    covariance = posterior.model.covariance
    if not isinstance(covariance, Components):
        return []
    columns, shown = posterior.model.used_columns, []
    for name, loading in zip(posterior.model.coordinate_names, covariance.loadings.T[:3], strict=False):
        largest = np.argsort(-np.abs(loading), kind="stable")[:8]
        shown.append((name, [(shortened(printable(columns[j])), float(loading[j])) for j in largest]))
    return shown


def _vector(draws: np.ndarray, weights: np.ndarray, columns: list[str]) -> dict[str, Any]:
    """Medians and intervals of many entries, in one picture, and the names of the largest."""
    shown = evenly_spaced(len(columns), 240)
    ends = np.array([weighted_quantile(draws[:, j], weights, svg.INTERVAL) for j in shown]).T
    largest = [columns[j] for j in shown[np.argsort(-ends[1])[:3]]]
    named = [columns[j] for j in shown]
    return {"n_columns": len(columns), "names": named, "largest": largest, "picture": svg.intervals(*ends)}


def _correlation(
    draws: np.ndarray, weights: np.ndarray, columns: list[str]
) -> tuple[dict[str, Any], list[tuple[str, str, float]]]:
    """Posterior mean of the correlation matrix for the page's script, and its strongest pairs of columns."""
    sd = np.sqrt(np.diagonal(draws, axis1=1, axis2=2))
    mean = np.einsum("t,tij->ij", weights, draws / (sd[:, :, None] * sd[:, None, :]))
    m = min(len(mean), 96)
    codes = pixels.values(pixels.shrink(mean, m, m), -1.0, 1.0)
    i, j = np.triu_indices(len(mean), 1)
    order = np.argsort(-np.abs(mean[i, j]))[:3]
    strongest = [(columns[i[k]], columns[j[k]], mean[i[k], j[k]]) for k in order]
    return {"size": m, "names": pixels.block_names(columns, m), "codes": codes}, strongest


def summarize_noise(posterior: Posterior) -> dict[str, Any]:
    """Return the noise in words, the outliers (None where the noise has no heavy tails) and the rows."""
    outliers = (
        None if posterior.draws.tail_scale is None else find_outliers(posterior, len(posterior.model.table.labels))
    )
    return {
        "noise": None if posterior.model.noise.settings.level == 0.0 else describe_noise(posterior),
        "has_errors": posterior.model.leaves.errors is not None,
        "outliers": outliers and outliers[:8],
        "n_outliers": len(outliers or ()),
        "rows": describe_rows(posterior),
    }

"""Tree and data for the page's script, as plain lists, numbers and characters.

Rows are in the order of the mean tree. Of data too large for a screen
neighbouring rows and columns are averaged, so that the page stays small.
"""

from typing import Any

import numpy as np

from .._runtime.typing import ArrayLike
from ..posterior.diagnostics.convergence import shown_support
from ..posterior.diagnostics.outliers import find_outliers
from ..posterior.posterior import Posterior
from ..posterior.trees.leaf_order import model_values
from ..tree import Tree
from . import pixels
from .text import printable

LEVEL = 0.9  # of the credible intervals
MAX_COLUMNS = 256
MAX_CELLS = 160_000  # of the data; two characters each


def tree_figure(posterior: Posterior) -> tuple[Tree, dict[str, Any]]:
    """Return the mean tree, and what the page's script is given: supports and intervals too."""
    tree = posterior.mean_tree()
    interval = np.asarray(posterior.node_times(tree, LEVEL))
    return tree, {
        "labels": [printable(label) for label in tree.labels],
        "children": tree.children.ravel().tolist(),
        "times": tree.times.tolist(),
        "support": rounded(shown_support(posterior, tree), 3),
        "low": rounded(interval[:, 0]),
        "high": rounded(interval[:, 1]),
        "level": LEVEL,
    }


def leaf_data(posterior: Posterior) -> tuple[np.ndarray, list[str]] | None:
    """Return the values of the leaves (n, d), NaN where missing, and the names of the columns."""
    if posterior.model.X is None:
        return None
    values = np.asarray(posterior.model.leaf_values(), dtype=float)
    names = posterior.model.columns or range(values.shape[1])
    return values, [printable(name) for name in names]


def data_figure(values: np.ndarray, names: list[str], order: np.ndarray) -> dict[str, Any]:
    """The data in tree order as characters, with what is needed to turn a cell back into a value.

    Columns are scaled where their scales differ; the page can switch to the other way, "other", unless that is large.
    """
    values = values[order]
    n_columns = min(values.shape[1], MAX_COLUMNS)
    n_rows = min(len(values), max(1, MAX_CELLS // n_columns))
    is_scaled = scales_differ(values)
    content = {
        "rows": n_rows,
        "columns": n_columns,
        "of": list(values.shape),
        "names": pixels.block_names(names, n_columns),
        "missing": int(np.isnan(values).sum()),
        **_coded(values, n_rows, n_columns, is_scaled),
    }
    if values.shape[1] > 1 and n_rows * n_columns <= 60_000:  # both take room on the page
        content["other"] = _coded(values, n_rows, n_columns, not is_scaled)
    if n_columns == len(names):
        mean, sd = moments(values)
        content |= {"mean": rounded(mean, 4), "sd": rounded(np.where(sd > 0, sd, 1.0), 4)}
    return content


def scatter(posterior: Posterior) -> dict[str, Any] | None:
    """The leaves on the first two principal components of the model's values; None where there are no two."""
    if posterior.model.X is None or min(posterior.n - 1, posterior.model.X.shape[1]) < 2:
        return None
    values = model_values(posterior.model)
    values = standardised(values) if scales_differ(values) else values - moments(values)[0]
    left, sizes, _ = np.linalg.svd(np.nan_to_num(values), full_matrices=False)
    ends = [(float(part.min()), float(part.max())) for part in (left[:, 0] * sizes[0], left[:, 1] * sizes[1])]
    if not all(low < high for low, high in ends):
        return None
    place = {label: leaf for leaf, label in enumerate(posterior.labels)}
    return {
        "x": pixels.values(left[:, 0] * sizes[0], *ends[0]),
        "y": pixels.values(left[:, 1] * sizes[1], *ends[1]),
        "xEnds": ends[0],
        "yEnds": ends[1],
        "shares": rounded(np.square(sizes[:2]) / np.square(sizes).sum(), 4),
        "outliers": sorted({place[row.leaf or row.label] for row in find_outliers(posterior, posterior.n)}),
    }


def _coded(values: np.ndarray, n_rows: int, n_columns: int, is_scaled: bool) -> dict[str, Any]:
    shown = pixels.shrink(standardised(values) if is_scaled else values, n_rows, n_columns)
    low, high, is_two_sided = colour_limits(shown)
    codes = pixels.values(shown, low, high)
    return {"low": low, "high": high, "twoSided": is_two_sided, "scaled": is_scaled, "codes": codes}


def rounded(values: ArrayLike, digits: int = 6) -> list[float | None]:
    """Numbers with so many significant digits, for JSON; None for what is not a number."""
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in np.asarray(values, dtype=float)]


def moments(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each column over its observed entries; 0 where there are none."""
    seen = np.ma.masked_invalid(values)
    return seen.mean(axis=0).filled(0.0), seen.std(axis=0).filled(0.0)


def scales_differ(values: np.ndarray) -> bool:
    """Whether one scale of colours would show the columns' units rather than the rows' differences."""
    mean, sd = moments(values)
    varying = sd > 0
    if varying.sum() < 2:
        return False
    mean, sd = mean[varying], sd[varying]
    within = np.square(sd).mean()
    return bool(sd.max() > 10.0 * sd.min() or within < 0.5 * (within + mean.var()))


def standardised(values: np.ndarray) -> np.ndarray:
    """Each column in standard deviations from its mean."""
    mean, sd = moments(values)
    return (values - mean) / np.where(sd > 0, sd, 1.0)


def colour_limits(values: np.ndarray) -> tuple[float, float, bool]:
    """Ends of a colour scale, and whether it is two-sided about 0, as where both signs occur.

    The ends are the 1st and 99th percentile, so that outliers do not hide the rest.
    """
    finite = values[np.isfinite(values)]
    low, high = map(float, np.percentile(finite, [1, 99])) if finite.size else (0.0, 1.0)
    if not low < 0 < high:
        return low, high if high > low else low + 1.0, False
    reach = max(high, -low)
    return -reach, reach, True

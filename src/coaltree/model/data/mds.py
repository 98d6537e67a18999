"""Rows from their squared distances, by classical scaling (Torgerson 1952).

With J = I - 11ᵀ/n, the matrix B = -½ J D² J has the inner products of centred rows; its eigenvectors, times the roots
of the eigenvalues, are rows with these distances. Distances that are not Euclidean show as negative
eigenvalues, which are left out:

    share = Σ_{λ<0} |λ| / Σ |λ| .

Rounding makes as many small positive eigenvalues as negative ones, about as large, and a spherical covariance would
count each as a dimension: up to three times the most negative one they are left out too. Where the negative ones are
too many to be rounding, axes have to be longer than the most negative one only (Sibson 1979), and one is always kept.
Few rows may have no negative eigenvalue: there, the last axes are left out as long as the others give back the
distances to within one step of their recording (their decimals, or those of their roots), if that is a small one.

The axes are arbitrary, so that only a covariance that is the same in all directions makes sense.
"""

import warnings

import numpy as np

from ..._runtime.memory import require_memory
from ..._runtime.threads import single_threaded_blas
from ..._runtime.validation import check_count
from ...errors import CoaltreeWarning, InputError
from ..covariance import CovarianceLike, Spherical
from .table import Table

_MIN_EIGENVALUE = 1e-9  # of the largest one: what is smaller is 0
_ROUNDING_FACTOR = 3.0  # times the most negative eigenvalue: positive ones up to here may be rounding, even of few rows
_MIN_NEGATIVE_SHARE = 0.01  # of the eigenvalues, for a warning
_MIN_ROWS_FOR_ROUNDING = 12  # of so many rows, rounding always makes one eigenvalue negative
_MAX_DECIMALS = 6
_MAX_STEP = 0.01  # of the largest: whole numbers with coarser steps, as counts of differences, are exact


def rows_of_distances(
    table: Table, metric: str = "squared_distances", d: int | None = None
) -> tuple[Table, float, str]:
    """Rows whose squared distances are those of the table, as far as points in a Euclidean space can have them.

    `d` limits the number of axes to the longest ones. Also returns the share of negative eigenvalues, and a sentence.
    """
    eps = table.values
    n = len(eps)
    require_memory(40 * n * n, f"Classical scaling of {n} rows", "fit the rows themselves")
    if not eps.max() > 0.0:
        raise InputError("all distances are 0, so nothing tells the rows apart; check the table.")
    mean = eps.mean(axis=0)
    products = -0.5 * (eps - mean[:, None] - mean[None, :] + mean.mean())
    with single_threaded_blas():  # the same bits whatever the number of threads
        values, vectors = np.linalg.eigh(0.5 * (products + products.T))
    values, vectors = values[::-1], vectors[:, ::-1]
    size = np.abs(values)
    share = float(size[values < 0.0].sum() / size.sum())
    # Where negative eigenvalues are too many to be rounding, positive ones need to be larger than these only.
    rounding = max(-float(values[-1]), 0.0) * (_ROUNDING_FACTOR if share <= _MIN_NEGATIVE_SHARE else 1.0)
    kept = values > max(_MIN_EIGENVALUE * values[0], rounding)
    kept[0] = True
    if n < _MIN_ROWS_FOR_ROUNDING and share <= _MIN_NEGATIVE_SHARE:
        kept[_enough_axes(eps, vectors[:, kept] * np.sqrt(values[kept])) :] = False
    n_possible = int(kept.sum())
    if d is not None:
        kept[check_count("d", d, 1) :] = False
    rows = vectors[:, kept] * np.sqrt(values[kept])
    rows *= np.where(rows[np.abs(rows).argmax(axis=0), np.arange(rows.shape[1])] < 0, -1.0, 1.0)  # of no other sign
    n_axes = rows.shape[1]
    assumed = "taken as squared distances" if metric == "squared_distances" else "taken as distances, and squared"
    fewer = f" of {n_possible}" if n_axes < n_possible else ""
    sentence = (
        f"{assumed}; classical scaling: {n_axes}{fewer} dimension{'s' * (n_axes > 1)}, negative eigenvalues: "
        f"{100 * share:.1f} % of the total"
    )
    if share > _MIN_NEGATIVE_SHARE:
        warnings.warn(
            f"the distances are not Euclidean (negative eigenvalues: {100 * share:.2g} % of the total); "
            "dimensions no longer than the most negative one are left out.",
            CoaltreeWarning,
            stacklevel=4,
        )
    names = tuple(f"axis {j + 1}" for j in range(n_axes))
    return Table(np.ascontiguousarray(rows), table.labels, names), share, sentence


def _enough_axes(eps: np.ndarray, rows: np.ndarray) -> int:
    """How many axes of rows (n, p), in order, give back squared distances to within a step of their recording.

    All of them where a step is not small beside the distances: whole numbers may well be exact.
    """
    recorded = []  # as squared distances, as distances, or both: the power, and one step
    for power in (1.0, 0.5):
        step = _step(eps**power)
        if 0.0 < step <= _MAX_STEP * (eps**power).max():
            recorded.append((power, step))
    rebuilt = np.zeros_like(eps)
    for k, axis in enumerate(rows.T):
        if any(np.abs(rebuilt**power - eps**power).max() <= step for power, step in recorded):
            return max(k, 1)
        rebuilt = rebuilt + np.square(axis[:, None] - axis[None, :])
    return int(rows.shape[1])


def _step(values: np.ndarray) -> float:
    """The last decimal of recorded numbers, 0 where they have all their digits."""
    for decimals in range(_MAX_DECIMALS + 1):
        shifted = values * 10.0**decimals
        if np.abs(shifted - np.rint(shifted)).max() <= 1e-9 * max(1.0, shifted.max()):
            return float(10.0**-decimals)
    return 0.0


def require_spherical(covariance: CovarianceLike, metric: str) -> CovarianceLike:
    """The only family for rows whose axes are arbitrary."""
    if isinstance(covariance, Spherical):
        return covariance
    if isinstance(covariance, str) and covariance in ("auto", "spherical"):
        return "spherical"
    raise InputError(f'metric="{metric}" leaves the axes open; give covariance="spherical", or none.')

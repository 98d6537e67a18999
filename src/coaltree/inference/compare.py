"""Which of several posteriors explains new rows best?

Each is asked for the predictive log density ℓ_i of the m held-out rows (by placing them on its trees). The totals are
compared with the best one's, row by row, so that what makes a row hard for all does not count:

    difference = Σ_i (ℓ_i - ℓ_i^best) ,    standard error = √m · sd(ℓ_i - ℓ_i^best)
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from .._runtime.aliases import ArrayLike
from ..errors import InputError
from ..posterior.posterior import Posterior


class Comparison(NamedTuple):
    """Posteriors by predictive log density of held-out rows, best first."""

    names: tuple[str, ...]
    log_density: np.ndarray  # (k,) totals over the rows
    difference: np.ndarray  # (k,) from the best, 0 for itself
    standard_error: np.ndarray  # (k,) of the difference, 0 for the best itself; NaN for a single row
    rows: np.ndarray  # (k, m) of each row

    def __str__(self) -> str:
        width = max(len("name"), *(len(name) for name in self.names))
        lines = [f"{'name':{width}}  log density  difference  standard error"]
        for name, total, difference, error in zip(
            self.names, self.log_density, self.difference, self.standard_error, strict=True
        ):
            lines.append(f"{name:{width}}  {total:11.2f}  {difference:10.2f}  {error:14.2f}")
        return "\n".join(lines)


def compare(posteriors: Mapping[str, Posterior], X_heldout: ArrayLike) -> Comparison:
    """Compare posteriors of the same data by the predictive log density of held-out rows.

    Parameters
    ----------
    posteriors : mapping from a name to a `Posterior`
    X_heldout : (m, d) array-like with the columns of the fitted data

    Returns
    -------
    `Comparison`, best first, which prints as a table. Differences below about two standard errors mean little.
    """
    if not isinstance(posteriors, Mapping) or not posteriors:
        raise InputError('compare takes a mapping of names to posteriors, such as {"spherical": a, "full": b}.')
    rows = np.array([np.asarray(post.place(X_heldout).log_density, dtype=float) for post in posteriors.values()])
    totals = rows.sum(axis=1)
    order = np.argsort(-totals, kind="stable")
    rows, totals = rows[order], totals[order]
    apart = rows - rows[0]
    m = rows.shape[1]
    error = np.sqrt(m) * apart.std(axis=1, ddof=1) if m > 1 else np.full(len(rows), np.nan)
    names = tuple(str(name) for name in posteriors)
    return Comparison(tuple(names[i] for i in order), totals, apart.sum(axis=1), error, rows)

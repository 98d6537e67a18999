"""Which of several posteriors explains the rows best?

Each is asked for a predictive log density ℓ_i of m rows: of held-out rows by placing them on its trees, or of its own
rows by leave-one-out. The totals are compared with the best one's, row by row, so that what makes a row hard for all
does not count:

    difference = Σ_i (ℓ_i - ℓ_i^best) ,    standard error = √m · sd(ℓ_i - ℓ_i^best)

Weights are those of stacking: the mixture of all posteriors that predicts the rows best, max_w Σ_i log Σ_k w_k e^ℓ_ki.
"""

import warnings
from collections.abc import Mapping
from functools import reduce
from typing import NamedTuple

import numpy as np

from .._runtime.formatting import shortlist
from .._runtime.typing import ArrayLike, ProgressLike
from ..errors import CoaltreeWarning, InputError
from ..posterior.posterior import Posterior
from ..posterior.predictive.loo import LeaveOneOut
from ..posterior.validation import require_densities

LEFT_OUT, HELD_OUT = "leave-one-out", "held-out rows"
MAX_PARETO_K = 0.7  # beyond, leave-one-out densities are unreliable (Vehtari, Gelman & Gabry 2017)
MAX_UNRELIABLE_SHARE = 0.1  # of the rows; from here on the table carries a warning


class Comparison(NamedTuple):
    """Posteriors by predictive log density of rows, best first."""

    names: tuple[str, ...]  #: the posteriors' names, best first
    log_density: np.ndarray  #: (k,) predictive log density, totals over the rows (the elpd)
    difference: np.ndarray  #: (k,) from the best, 0 for itself
    standard_error: np.ndarray  #: (k,) of the difference, 0 for the best itself; NaN for a single row
    rows: np.ndarray  #: (k, m) predictive log density of each row
    weights: np.ndarray  #: (k,) of the mixture that predicts best; they sum to 1
    basis: str  #: "leave-one-out" or "held-out rows"
    n_doubtful: np.ndarray  #: (k,) rows whose leave-one-out density may be too high (Pareto k̂ above 0.7)

    def _cells(self) -> list[list[str]]:
        """A header and a row for each posterior."""
        numbers = np.column_stack([self.log_density, self.difference, self.standard_error, self.weights])
        rows = [[name, *(f"{x:.2f}" for x in row)] for name, row in zip(self.names, numbers, strict=True)]
        header = ["name", "log density", "difference", "standard error", "weight"]
        if self.n_doubtful.any():
            header.append(f"k > {MAX_PARETO_K}")
            rows = [[*row, str(doubtful)] for row, doubtful in zip(rows, self.n_doubtful, strict=True)]
        return [header, *rows]

    @property
    def warning(self) -> str:
        """Why differences are unreliable: Pareto k > 0.7 for more than a tenth of the rows; "" where it is not so."""
        n_rows, doubtful = self.rows.shape[1], zip(self.names, self.n_doubtful, strict=True)
        bad = [f"{n} of {n_rows} rows of {name!r}" for name, n in doubtful if n > MAX_UNRELIABLE_SHARE * n_rows]
        advice = "compare predictions of rows that were not fitted (X_heldout, --heldout)"
        return f"differences are unreliable: Pareto k > {MAX_PARETO_K} for {shortlist(bad)}; {advice}" if bad else ""

    def __repr__(self) -> str:
        best = f"best {self.names[0]!r}" if self.names else "empty"
        return f"<Comparison of {len(self.names)} posteriors by {self.basis} of {self.rows.shape[1]} rows: {best}>"

    def __str__(self) -> str:
        cells = self._cells()
        first, *widths = (max(map(len, column)) for column in zip(*cells, strict=True))
        lines = ([name.ljust(first), *map(str.rjust, row, widths)] for name, *row in cells)
        warning = [f"warning: {self.warning}"] if self.warning else []
        return "\n".join([*("  ".join(line) for line in lines), *warning])


def compare(
    posteriors: Mapping[str, Posterior],
    X_heldout: ArrayLike | None = None,
    *,
    n_draws: int | None = None,
    n_jobs: int | None = None,
    progress: ProgressLike = "auto",
) -> Comparison:
    """Compare posteriors of the same data by the predictive log density of rows: which model explains them best?

    Parameters
    ----------
    posteriors : mapping from a name to a `Posterior`
    X_heldout : (m, d) array-like with the columns of the fitted data, not fitted. Without it, the rows that were
        fitted are predicted one by one from all others, as `Posterior.loo` does.
    n_draws, n_jobs, progress : as in `Posterior.loo`; held-out rows need none of them.

    Returns
    -------
    `Comparison`, best first, which prints as a table. Differences below about two standard errors mean little. Weights
    are those of the mixture of all posteriors that predicts best.

    Examples
    --------
    >>> X, _ = ct.simulate(12, 3, random_state=0)
    >>> short = {"n_samples": 20, "n_warmup": 20, "random_state": 0, "progress": False}
    >>> posteriors = {name: ct.fit(X, name, **short) for name in ("spherical", "diagonal")}
    >>> sorted(ct.compare(posteriors, progress=False).names)
    ['diagonal', 'spherical']
    """
    if not isinstance(posteriors, Mapping) or not posteriors:
        raise InputError('compare takes a mapping of names to posteriors, such as {"spherical": a, "full": b}.')
    for name, post in posteriors.items():
        if not isinstance(post, Posterior):
            raise InputError(f"compare takes posteriors, and {str(name)!r} is of type {type(post).__name__}.")
    names = tuple(str(name) for name in posteriors)
    if X_heldout is not None:
        for post in posteriors.values():
            require_densities(post, "compare()")
        _require_same_columns(names, list(posteriors.values()))
        rows = [np.asarray(post.place(X_heldout, n_clades=0).log_density, dtype=float) for post in posteriors.values()]
        return comparison_of(names, np.array(rows), HELD_OUT)
    _require_same_rows(names, list(posteriors.values()))
    left_out = [post.loo(n_draws=n_draws, n_jobs=n_jobs, progress=progress) for post in posteriors.values()]
    common = _common_rows(next(iter(posteriors.values())).model.X, left_out)
    pairs = [(loo, np.isin(loo.rows, common)) for loo in left_out]
    doubtful = np.array([int(np.sum(loo.pareto_k[place] > MAX_PARETO_K)) for loo, place in pairs])
    return comparison_of(names, np.array([loo.pointwise[place] for loo, place in pairs]), LEFT_OUT, doubtful)


def _common_rows(X: np.ndarray | None, left_out: list[LeaveOneOut]) -> np.ndarray:
    """Numbers of the rows that all have; one whose copy only some kept is easier for these, and left aside."""
    import pandas

    rows = [loo.rows for loo in left_out]
    everywhere = reduce(np.intersect1d, rows)
    aside = np.setdiff1d(np.concatenate(rows), everywhere)
    if not len(aside):
        return everywhere
    common = everywhere[~pandas.DataFrame(X).duplicated(keep=False).to_numpy()[everywhere]]
    if not len(common):
        raise InputError("all rows are duplicates that some posteriors keep and others merge; give X_heldout.")
    warnings.warn(
        f"{len(aside)} rows are duplicates that some posteriors keep and others merge: these and the rows that they "
        f"repeat are left aside, and {len(common)} rows compared.",
        CoaltreeWarning,
        stacklevel=3,
    )
    return common


def comparison_of(
    names: tuple[str, ...], rows: np.ndarray, basis: str, n_doubtful: np.ndarray | None = None
) -> Comparison:
    """Rank log densities (k, m) of m rows."""
    totals = rows.sum(axis=1)
    order = np.argsort(-totals, kind="stable")
    doubtful = np.zeros(len(rows), dtype=int) if n_doubtful is None else n_doubtful
    weights = stacking_weights(rows)[order]
    rows, totals = rows[order], totals[order]
    apart, m = rows - rows[0], rows.shape[1]
    error = np.sqrt(m) * apart.std(axis=1, ddof=1) if m > 1 else np.full(len(rows), np.nan)
    return Comparison(
        tuple(names[i] for i in order), totals, apart.sum(axis=1), error, rows, weights, basis, doubtful[order]
    )


def stacking_weights(rows: np.ndarray, n_iterations: int = 2000) -> np.ndarray:
    """(k,) weights that maximise Σ_i log Σ_k w_k e^ℓ_ki, by expectation and maximisation: it is concave in w."""
    top = rows.max(axis=0)
    with np.errstate(invalid="ignore"):
        densities = np.where(rows == top, 1.0, np.exp(rows - top))
    weights = np.full(len(rows), 1.0 / len(rows))
    for _ in range(n_iterations):
        shares = weights[:, None] * densities
        new = (shares / shares.sum(axis=0)).mean(axis=1)
        if np.abs(new - weights).max() < 1e-7:
            return new
        weights = new
    return weights


def _require_same_rows(names: tuple[str, ...], posteriors: list[Posterior]) -> None:
    """Densities can be compared if they are of the same rows, in the same columns."""
    first = posteriors[0]
    for name, other in zip(names[1:], posteriors[1:], strict=True):
        if first.model.X is None or other.model.X is None:
            continue  # leave-one-out says what is lacking
        ours, theirs = first.model.given_values(), other.model.given_values()  # undone, to within rounding
        same_shape = ours.shape == theirs.shape and first.model.table.labels == other.model.table.labels
        if not same_shape or not np.allclose(ours, theirs, rtol=1e-9, atol=0.0, equal_nan=True):
            raise InputError(
                f"posteriors {names[0]!r} and {name!r} are of different rows or values, so that their densities cannot "
                "be compared; fit both to the same table, or give X_heldout."
            )
    _require_same_columns(names, posteriors)
    as_recorded = [repr(name) for name, post in zip(names, posteriors, strict=True) if post.model.fitted is None]
    if 0 < len(as_recorded) < len(names):
        spread = next(name for name, post in zip(names, posteriors, strict=True) if post.model.fitted is not None)
        raise InputError(
            f"values that occur several times in a column are spread in {spread!r} and not in "
            f"{shortlist(as_recorded)}, so that their densities cannot be compared; give X_heldout, or compare "
            "those alone that spread them."
        )


def _require_same_columns(names: tuple[str, ...], posteriors: list[Posterior]) -> None:
    """Densities of more columns are in other units."""
    first = posteriors[0].model.used_columns
    for name, post in zip(names[1:], posteriors[1:], strict=True):
        if apart := {*first} ^ {*post.model.used_columns}:
            raise InputError(
                f"only one of posteriors {names[0]!r} and {name!r} has {shortlist(sorted(map(repr, apart)))} in its "
                "model, so that their densities cannot be compared; drop such columns from the table before fitting."
            )

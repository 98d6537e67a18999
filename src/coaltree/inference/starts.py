"""Where the chains of a fit start: from a posterior's last draws, from a tree, or from nothing."""

from typing import Any

import numpy as np

from ..errors import InputError
from ..model.columns import imputed_in_model
from ..model.covariance.base import Covariance
from ..model.duplicates import Distinct
from ..model.table import Table
from ..posterior import Posterior
from ..tree import Tree
from ..tree.merges import restricted
from .chain import Start


def starts_of_chains(
    start: Any, table: Table, distinct: Distinct, covariance: Covariance, n_missing: int, n_chains: int
) -> list[Start]:
    """A `Start` for each chain; a posterior with fewer chains gives each of its last draws several times."""
    if start is None:
        return [Start()] * n_chains
    if not isinstance(start, Posterior | Tree):
        raise InputError(f"start must be a Posterior or a Tree, not {type(start).__name__}.")
    if start.labels != table.labels:
        raise InputError("start must have the same rows as X, by name and in order; its labels differ.")
    if isinstance(start, Tree):
        return [Start(restricted(start.children, start.times, distinct.first))] * n_chains
    if set(start.theta) != set(covariance.learnt):
        names = ", ".join(start.theta) or "no parameters"
        raise InputError(
            f"start has draws of {names}, but the covariance learns {', '.join(covariance.learnt) or 'none'}."
        )
    for name, value in covariance.theta.items():
        if start.theta[name].shape[1:] != np.shape(value):
            raise InputError(f"start has draws of {name} for other columns than those of X; fit it to the same table.")
    last = [np.flatnonzero(start.chain == c)[-1] for c in np.unique(start.chain)]
    return [_from_draw(start, last[c % len(last)], distinct.first, n_missing) for c in range(n_chains)]


def _from_draw(posterior: Posterior, t, distinct_rows, n_missing) -> Start:
    tree = restricted(posterior.children[t].astype(np.int64), posterior.times[t], distinct_rows)
    theta = {name: draws[t] if draws.ndim > 1 else float(draws[t]) for name, draws in posterior.theta.items()}
    imputed = posterior.imputed
    if imputed is None or n_missing == 0:
        return Start(tree, theta)
    assert posterior.X is not None  # whose entries these are
    imputed = imputed_in_model(imputed[t : t + 1], posterior.X, posterior.used)[0]
    return Start(tree, theta, imputed if len(imputed) == n_missing else None)

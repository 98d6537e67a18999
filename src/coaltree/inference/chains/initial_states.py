"""Where the chains of a fit start: from a posterior's last draws, from a tree, or from nothing."""

from typing import Any

import numpy as np

from ...errors import InputError
from ...model.covariance.base import Covariance
from ...model.data.columns import imputed_in_model
from ...model.data.leaves import LeafRows
from ...model.process.noise import NOISE_LEVEL, NoiseModel
from ...posterior import Posterior
from ...tree import Tree
from ...tree.merges import restricted
from .chain import Start


def starts_of_chains(
    start: Any, rows: LeafRows, values: np.ndarray, covariance: Covariance, noise: NoiseModel, n_chains: int
) -> list[Start]:
    """A `Start` for each chain; a posterior with fewer chains gives each of its last draws several times."""
    if start is None:
        return [Start()] * n_chains
    if not isinstance(start, Posterior | Tree):
        raise InputError(f"start must be a Posterior or a Tree, not {type(start).__name__}.")
    distinct = rows.distinct
    if start.labels != rows.labels:
        raise InputError("start must have the same rows as X, by name and in order; its labels differ.")
    if isinstance(start, Tree):
        return [Start(restricted(start.children, start.times, distinct.first))] * n_chains
    learnt = {*covariance.learnt, *([NOISE_LEVEL] if noise.level is None else [])}
    if set(start.theta) != learnt:
        names = ", ".join(start.theta) or "no parameters"
        raise InputError(f"start has draws of {names}, but this fit learns {', '.join(sorted(learnt)) or 'none'}.")
    for name, value in covariance.theta.items():
        if start.theta[name].shape[1:] != np.shape(value):
            raise InputError(f"start has draws of {name} for other columns than those of X; fit it to the same table.")
    n_missing = int(np.isnan(values).sum())
    last = [np.flatnonzero(start.chain == c)[-1] for c in np.unique(start.chain)]
    return [_from_draw(start, last[c % len(last)], rows, n_missing) for c in range(n_chains)]


def _from_draw(posterior: Posterior, t, rows, n_missing) -> Start:
    tree = restricted(posterior.children[t].astype(np.int64), posterior.times[t], rows.distinct.first)
    theta = {name: draws[t] if draws.ndim > 1 else float(draws[t]) for name, draws in posterior.theta.items()}
    imputed, tails = posterior.imputed, posterior.tail_scale
    if imputed is not None:
        assert posterior.X is not None  # whose entries these are
        imputed = imputed_in_model(imputed[t : t + 1], posterior.X, posterior.used)[0]
    return Start(
        tree,
        theta,
        imputed if imputed is not None and len(imputed) == n_missing > 0 else None,
        None if tails is None or tails.shape[1] != len(rows.places) else tails[t, rows.kept],
    )

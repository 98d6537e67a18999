"""Where the chains of a fit start: from a posterior's last draws, from a tree, or from nothing."""

from typing import Any

import numpy as np

from ...errors import InputError
from ...model.data.columns import imputed_in_model
from ...model.data.leaves import LeafRows
from ...model.process.noise import NOISE_LEVEL
from ...posterior import Posterior
from ...tree import Tree
from ...tree.merges import restricted
from .state import ChainData

Start = dict[str, Any]  # tree, theta, imputed and tail_scale for `chain.begin`, as far as they are given


def starts_of_chains(start: Any, rows: LeafRows, data: ChainData, n_chains: int) -> list[Start]:
    """One start for each chain; a posterior with fewer chains gives each of its last draws several times."""
    if start is None:
        return [{}] * n_chains
    if not isinstance(start, Posterior | Tree):
        raise InputError(f"start must be a Posterior or a Tree, not {type(start).__name__}.")
    if isinstance(start, Posterior):
        start.require_one_likelihood("start=", 'give fit(…, resample="columns") no start')
    if start.labels != rows.labels:
        raise InputError("start must have the same rows as X, by name and in order; its labels differ.")
    if isinstance(start, Tree):
        return [{"tree": restricted(start.children, start.times, rows.distinct.first)}] * n_chains
    learnt = {*data.covariance.learnt, *([NOISE_LEVEL] if data.noise.level is None else [])}
    if set(start.theta) != learnt:
        names = ", ".join(start.theta) or "no parameters"
        raise InputError(f"start has draws of {names}, but this fit learns {', '.join(sorted(learnt)) or 'none'}.")
    for name, value in data.covariance.theta.items():
        if start.theta[name].shape[1:] != np.shape(value):
            raise InputError(f"start has draws of {name} for other columns than those of X; fit it to the same table.")
    last = [np.flatnonzero(start.chain == c)[-1] for c in np.unique(start.chain)]
    return [_from_draw(start, last[c % len(last)], rows, data) for c in range(n_chains)]


def _from_draw(posterior: Posterior, t: int, rows: LeafRows, data: ChainData) -> Start:
    tree = restricted(posterior.children[t].astype(np.int64), posterior.times[t], rows.distinct.first)
    theta = {name: draws[t] if draws.ndim > 1 else float(draws[t]) for name, draws in posterior.theta.items()}
    start: Start = {"tree": tree, "theta": theta}
    if posterior.imputed is not None and data.n_missing:
        assert posterior.X is not None  # whose entries these are
        imputed = imputed_in_model(posterior.imputed[t : t + 1], posterior.X, posterior.used)[0]
        if len(imputed) == data.n_missing:
            start["imputed"] = imputed
    if posterior.tail_scale is not None and posterior.tail_scale.shape[1] == len(rows.places):
        start["tail_scale"] = posterior.tail_scale[t, rows.kept]
    return start

"""Where the chains of a fit start: from a posterior's last draws, from a tree, or from nothing."""

from typing import Any

import numpy as np

from ...errors import InputError
from ...model.draws import Merges, State
from ...model.model import Model
from ...model.process.noise import NOISE_LEVEL, at_least_floor, first_draw
from ...posterior import Posterior
from ...tree import Tree
from ...tree.merges import restricted

Start = State | Merges | None  # all of an earlier draw, a tree, or nothing


def starts_of_chains(start: Any, model: Model, n_chains: int) -> list[Start]:
    """One start for each chain; a posterior with fewer chains gives each of its last draws several times."""
    if start is None:
        return [None] * n_chains
    if not isinstance(start, Posterior | Tree):
        raise InputError(f"start must be a Posterior or a Tree, not {type(start).__name__}.")
    if start.labels != model.leaves.labels:
        raise InputError("start must have the same rows as X, by name and in order; its labels differ.")
    if isinstance(start, Tree):
        return [restricted(start.children, start.times, model.leaves.distinct.first)] * n_chains
    learnt = {*model.covariance.learnt, *([NOISE_LEVEL] if model.noise.level is None else [])}
    if set(start.theta) != learnt:
        names = ", ".join(start.theta) or "no parameters"
        raise InputError(f"start has draws of {names}, but this fit learns {', '.join(sorted(learnt)) or 'none'}.")
    for name, value in model.covariance.theta.items():
        if start.theta[name].shape[1:] != np.shape(value):
            raise InputError(f"start has draws of {name} for other columns than those of X; fit it to the same table.")
    last = [np.flatnonzero(start.draws.chain == c)[-1] for c in np.unique(start.draws.chain)]
    return [_from_draw(start, last[c % len(last)], model) for c in range(n_chains)]


def _from_draw(posterior: Posterior, t: int, model: Model) -> State:
    tree = restricted(
        posterior.draws.children[t].astype(np.int64), posterior.draws.times[t], model.leaves.distinct.first
    )
    theta = {name: draws[t] if draws.ndim > 1 else float(draws[t]) for name, draws in posterior.theta.items()}
    noise, imputed = first_draw(model.noise), np.full(model.n_missing, np.nan)
    if NOISE_LEVEL in theta:
        noise = noise._replace(level=at_least_floor(model.noise, theta.pop(NOISE_LEVEL)))
    scales = posterior.draws.tail_scale
    if scales is not None and model.n_scales and scales.shape[1] == len(model.leaves.places):
        noise = noise._replace(tail_scale=np.array(scales[t, model.leaves.kept]))
    if posterior.draws.imputed is not None and model.n_missing:
        last = posterior.draws.imputed[t]
        imputed = last if len(last) == model.n_missing else imputed
    return State(tree, model.covariance.with_theta(theta), noise, imputed)

"""Where the chains of a fit start: from a posterior's last draws, from a tree, or from nothing."""

import math
from typing import Any

import numpy as np

from ...errors import InputError
from ...model.draws import Merges, State
from ...model.model import Model
from ...model.process.noise import NOISE_LEVEL, NoiseDraw, first_draw
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
    check_parameters(start, model)
    last = [np.flatnonzero(start.draws.chain == c)[-1] for c in np.unique(start.draws.chain)]
    return [_from_draw(start, last[c % len(last)], model) for c in range(n_chains)]


def check_parameters(start: Posterior, model: Model) -> None:
    """Refuse a posterior of other parameters than those of the model."""
    learnt = {*model.covariance.learnt, *([NOISE_LEVEL] if model.noise.level is None else [])}
    if set(start.theta) != learnt:
        names = ", ".join(start.theta) or "no parameters"
        raise InputError(f"start has draws of {names}, but this fit learns {', '.join(sorted(learnt)) or 'none'}.")
    for name, value in model.covariance.theta.items():
        if start.theta[name].shape[1:] != np.shape(value):
            raise InputError(f"start has draws of {name} for other columns than those of X; fit it to the same table.")


def _from_draw(posterior: Posterior, t: int, model: Model) -> State:
    """The state of draw t; scales and missing entries anew where the fit has others."""
    draws, first = posterior.draws, first_draw(model.noise)
    if draws.imputed is not None and draws.imputed.shape[1] != model.n_missing:
        draws = draws._replace(imputed=None)
    n_scales = len(model.table.labels) if model.noise.half_df > 0.0 else 0
    if draws.tail_scale is not None and draws.tail_scale.shape[1] != n_scales:
        draws = draws._replace(tail_scale=None)
    state = model.state_of(draws, t)
    is_learnt = model.noise.level is None
    level = max(state.noise.level, math.exp(model.noise.log_floor)) if is_learnt else first.level
    scales = first.tail_scale if state.noise.tail_scale is None else state.noise.tail_scale
    return state._replace(noise=NoiseDraw(level, scales))

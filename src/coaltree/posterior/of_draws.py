"""The posterior of a model and draws over all rows of its table."""

from typing import Any

from ..model.draws import Draws
from ..model.model import Model
from .posterior import Posterior


def posterior_of_draws(model: Model, draws: Draws, info: dict[str, Any]) -> Posterior:
    """Fields of a posterior from those of its model and draws."""
    table, leaves = model.table, model.leaves
    assert table is not None
    return Posterior(
        draws.children,
        draws.times,
        log_weights=draws.log_weights,
        log_joint=draws.log_joint,
        log_evidence=draws.log_evidence,
        labels=leaves.labels,
        theta=draws.theta,
        chain=draws.chain,
        X=table.values,
        columns=table.features,
        covariance=model.covariance,
        noise=model.noise.given,
        errors=leaves.errors,
        groups=leaves.groups,
        row_labels=table.labels,
        tail_scale=draws.tail_scale,
        imputed=draws.imputed,
        used=model.used,
        fitted=model.values[leaves.places] if model.is_spread else None,
        transform=model.transform,
        column_weights=draws.column_weights,
        info=info,
    )

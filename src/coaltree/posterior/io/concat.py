"""`concat`: posteriors of the same leaves put together."""

import contextlib
from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from ...errors import InputError
from ...model.draws import concatenate
from ..posterior import Posterior

OF_ONE_RUN = {"convergence", "stopping", "seconds", "seed", "interrupted"}  # what `info` says of it


def concat(posteriors: Sequence[Posterior]) -> Posterior:
    """Put posteriors of the same leaves together; chains are renumbered, and particles stay without order.

    Where all have a `log_evidence` (runs of an SMC sampler) a run counts by its evidence, so that the result is the
    one importance sample of all particles; otherwise each tree keeps its weight relative to the mean of its run.

    Parameters
    ----------
    posteriors : sequence of Posterior
        At least one; all of the same model.

    Returns
    -------
    Posterior
        With the draws of all.

    Examples
    --------
    >>> X, _ = ct.simulate(8, 3, random_state=0)
    >>> runs = [ct.sample_trees(X, n_samples=10, random_state=seed, progress=False) for seed in (0, 1)]
    >>> len(ct.concat(runs))
    20
    """
    with contextlib.suppress(TypeError):  # of what has no items
        posteriors = list(posteriors)
    if not (isinstance(posteriors, list) and posteriors and all(isinstance(post, Posterior) for post in posteriors)):
        raise InputError("concat takes a sequence of at least one Posterior.")
    first = posteriors[0]
    for number, post in enumerate(posteriors[1:], 1):
        _check_alike(post, first, number)
    draws = concatenate([post.draws for post in posteriors])
    evidence = [post.log_evidence for post in posteriors if post.log_evidence is not None]
    if len(evidence) == len(posteriors):
        log_weights = [post.draws.log_weights + value for post, value in zip(posteriors, evidence, strict=True)]
        shares = [len(post) / len(draws.times) for post in posteriors]
        draws = draws._replace(log_weights=np.concatenate(log_weights), log_evidence=logsumexp(evidence, b=shares))
    pairs = [np.column_stack([np.full(len(post), i), post.draws.chain]) for i, post in enumerate(posteriors)]
    chain = np.unique(np.concatenate(pairs), axis=0, return_inverse=True)[1].ravel()
    is_chain = any(post.draws.is_chain for post in posteriors)
    draws = draws._replace(series=chain if is_chain else None)
    info = {name: value for name, value in first.info.items() if name not in OF_ONE_RUN}
    bare = [post.model for post in posteriors if post.model.X is None]
    if bare and len(bare) < len(posteriors):  # what is of rows needs rows in all of them
        return Posterior(bare[0], draws._replace(tail_scale=None, imputed=None), info)
    return Posterior(first.model, draws, info)


def _check_alike(post: Posterior, first: Posterior, number: int) -> None:
    """Refuse a posterior of other leaves, or of another model, than the first."""
    if post.labels != first.labels:
        raise InputError(
            f"Posterior {number} has other leaf labels than the first; only the same leaves can be joined."
        )
    ours, theirs = (", ".join(each.theta) or "none" for each in (post, first))
    if ours != theirs:
        raise InputError(f"Posterior {number} has other parameters than the first: {ours}, not {theirs}.")
    different = post.model.first_difference(first.model)
    if different is not None and (post.model.X is None) == (first.model.X is None):
        what = {"leaves": "other errors or groups", "used": "other columns"}.get(different, f"another {different}")
        raise InputError(f"Posterior {number} has {what} than the first; only draws of one model can be joined.")

"""Trace plots of the chains."""

from collections.abc import Sequence

import numpy as np

from ..errors import InputError
from ..posterior.diagnostics.convergence import series
from ..posterior.posterior import Posterior
from .style import LEGEND, PALETTE, new_axes


def convergence(posterior: Posterior, names: Sequence[str] | None = None) -> np.ndarray:
    """Draw trace plots in a new figure: one panel for each quantity, one line for each chain.

    Parameters
    ----------
    posterior : Posterior
    names : sequence of str, optional
        Any of what is watched: "log_joint", "root_time", "merge_2" to "merge_10" (older merges), "mean_of_oldest",
        "tree_length", "log_determinant" and "largest_eigenvalue" of a covariance, and parameters that are single
        numbers; by default log joint, root time and parameters.

    Returns
    -------
    ndarray of Axes, one for each name

    Examples
    --------
    >>> X, _ = ct.simulate(12, 3, random_state=0)
    >>> post = ct.fit(X, n_samples=20, n_warmup=20, random_state=0, progress=False)
    >>> axes = ct.plotting.convergence(post, ["log_joint"])
    """
    watched = {name: draws for name, draws in series(posterior).items() if draws.ndim == 1}
    usual = [name for name in watched if name in ("log_joint", "root_time") or name in posterior.theta]
    names = usual if names is None else list(names)
    for name in names:
        if name not in watched:
            raise InputError(f"names must be among {', '.join(watched)}, not {name!r}.")
    panels = new_axes(6.5, 0.6 + 1.2 * len(names), n_rows=len(names))
    chains = np.unique(posterior.draws.chain).tolist()
    for panel, name in zip(panels, names, strict=True):
        for i, chain in enumerate(chains):
            draws = watched[name][posterior.draws.chain == chain]
            panel.plot(draws, color=PALETTE[i % len(PALETTE)], lw=0.7, label=f"chain {chain}")
        panel.set_ylabel(name.replace("_", " "), fontsize=8)
        panel.tick_params(labelsize=8)
        panel.margins(x=0.01)
        panel.spines[["top", "right"]].set_visible(False)
    panels[-1].set_xlabel("draw")
    if 1 < len(chains) <= 12:
        panels[0].legend(ncols=len(chains), loc="lower right", bbox_to_anchor=(1, 0.98), **LEGEND)
    return panels

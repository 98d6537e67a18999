"""Lines over numbers: agreement with known classes, and traces of a chain."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from .. import metrics
from .._runtime.typing import ArrayLike
from ..errors import InputError
from ..numerics.weighted import pick_evenly
from ..posterior.diagnostics.convergence import series
from ..posterior.posterior import Posterior
from ..tree.tree import Tree
from .style import PALETTE, new_axes

_STYLES = ("-", "--", "-.", ":")
_MOST_IN_BAND = 100  # trees of a posterior that the band is made from


def ari_curves(
    trees: Mapping[str, Tree | Posterior | metrics.ARICurve],
    classes: ArrayLike | Mapping[str, Any] | None = None,
    ax: Axes | None = None,
    *,
    level: float = 0.9,
) -> Axes:
    """Draw the adjusted Rand index against the number of clusters, with the area under each curve in the legend.

    Parameters
    ----------
    trees : mapping from name to Tree, Posterior or metrics.ARICurve
        For a posterior, the mean over its trees and a band that contains a share `level` of them.
    classes : sequence (n,) or mapping from label to class
        The known classes; not needed if all values are curves.
    """
    if not isinstance(trees, Mapping) or not trees:
        raise InputError("trees must be a mapping from names to trees, such as {'coaltree': tree}.")
    if ax is None:
        ax = new_axes(4.5, 3.4)
    known = () if classes is None else classes
    lowest = 0.0
    for i, (name, tree) in enumerate(trees.items()):
        curve = tree if isinstance(tree, metrics.ARICurve) else metrics.ari_curve(tree, known)
        share = curve.n_clusters / curve.n_clusters[-1]
        color, style = PALETTE[i % len(PALETTE)], _STYLES[i // len(PALETTE) % len(_STYLES)]
        area = metrics.ari_auc(curve)
        ax.plot(share, curve.ari, color=color, ls=style, lw=1.5, label=f"{name}: {area:.2f}")
        lowest = min(lowest, float(curve.ari.min()))
        if isinstance(tree, Posterior) and len(tree) > 1:
            picked = pick_evenly(tree.weights, _MOST_IN_BAND)
            draws = [metrics.ari_curve(tree.trees[int(t)], known).ari for t in picked]
            band = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
            ax.fill_between(share, *band, color=color, alpha=0.2, lw=0)
    ax.set(xlim=(0, 1), ylim=(lowest, 1.02), xlabel="clusters / leaves", ylabel="adjusted Rand index")
    ax.legend(frameon=False, loc="lower right", title="area under the curve", fontsize=8, title_fontsize=8)
    _bare(ax)
    return ax


def traces(
    posterior: Posterior, ax: Axes | Sequence[Axes] | None = None, *, names: Sequence[str] | None = None
) -> Axes | np.ndarray:
    """Draw trace plots: one line per chain.

    Parameters
    ----------
    posterior : Posterior
    ax : Axes or sequence of Axes, optional
        One for each name; by default a new figure.
    names : sequence of str, optional
        Any of "log_joint", "root_time" and the covariance's parameters; by default all that are single numbers.

    Returns
    -------
    The axes, or an array of them if there are several.
    """
    known = {name: draws for name, draws in series(posterior).items() if draws.ndim == 1}
    wanted = list(known) if names is None else [names] if isinstance(names, str) else list(names)
    for name in wanted:
        if name not in known:
            raise InputError(f"names must be among {', '.join(known)}, not {name!r}.")
    if ax is None:
        from matplotlib import pyplot

        figure = pyplot.figure(figsize=(6.5, 0.6 + 1.2 * len(wanted)), layout="constrained")
        axes = figure.subplots(len(wanted), 1, sharex=True, squeeze=False)[:, 0]
    else:
        axes = np.atleast_1d(np.asarray(ax, dtype=object))
    if isinstance(ax, Axes) and names is None:
        wanted = wanted[:1]
    if len(axes) != len(wanted):
        raise InputError(f"ax must have one axes per trace, {len(wanted)} of them, not {len(axes)}.")
    chains = np.unique(posterior.chain)
    for panel, name in zip(axes, wanted, strict=True):
        for i, chain in enumerate(chains.tolist()):
            draws = known[name][posterior.chain == chain]
            panel.plot(draws, color=PALETTE[i % len(PALETTE)], lw=0.7, label=f"chain {chain}")
        panel.set_ylabel(name.replace("_", " "), fontsize=8)
        panel.tick_params(labelsize=8)
        panel.margins(x=0.01)
        _bare(panel)
    axes[-1].set_xlabel("draw")
    if len(chains) > 1:
        axes[0].legend(frameon=False, fontsize=7, ncols=len(chains), loc="lower right", bbox_to_anchor=(1, 0.98))
    return axes[0] if len(axes) == 1 else axes


def _bare(ax):
    ax.spines[["top", "right"]].set_visible(False)

"""Agreement of trees with known classes at every number of clusters."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from .. import metrics
from .._runtime.typing import ArrayLike
from ..errors import InputError
from ..numerics.weighted import pick_evenly
from ..posterior.posterior import Posterior
from ..tree.tree import Tree
from .style import PALETTE, new_axes

_LINE_STYLES = ("-", "--", "-.", ":")
_MAX_TREES_IN_BAND = 100


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
    classes : sequence (n,) or mapping from label to class; not needed if all values are curves
    """
    if not isinstance(trees, Mapping) or not trees:
        raise InputError("trees must be a mapping from names to trees, such as {'coaltree': tree}.")
    ax = ax or new_axes(4.5, 3.4)
    known = () if classes is None else classes
    lowest = 0.0
    for i, (name, tree) in enumerate(trees.items()):
        curve = tree if isinstance(tree, metrics.ARICurve) else metrics.ari_curve(tree, known)
        share = curve.n_clusters / curve.n_clusters[-1]
        color, style = PALETTE[i % len(PALETTE)], _LINE_STYLES[i // len(PALETTE) % len(_LINE_STYLES)]
        ax.plot(share, curve.ari, color=color, ls=style, lw=1.5, label=f"{name}: {metrics.ari_auc(curve):.2f}")
        lowest = min(lowest, float(curve.ari.min()))
        if isinstance(tree, Posterior) and len(tree) > 1:
            picked = pick_evenly(tree.weights, _MAX_TREES_IN_BAND)
            draws = [metrics.ari_curve(tree.trees[int(t)], known).ari for t in picked]
            low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
            ax.fill_between(share, low, high, color=color, alpha=0.2, lw=0)
    ax.set(xlim=(0, 1), ylim=(lowest, 1.02), xlabel="clusters / leaves", ylabel="adjusted Rand index")
    ax.legend(frameon=False, loc="lower right", title="area under the curve", fontsize=8, title_fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return ax

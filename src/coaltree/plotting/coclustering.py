"""How often two leaves are in the same cluster."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba_array

from ..posterior.posterior import Posterior
from .geometry import arrange
from .style import add_bar, color_of, name_cells, new_axes, number_runs, set_title

_STRIP_WIDTH = 0.036  # of the clusters, as a share of the width of the matrix


def coclustering(
    posterior: Posterior, ax: Axes | None = None, *, n_clusters: int | None = None, labels: bool = True
) -> Axes:
    """Draw how often two leaves are in the same cluster, in the order of the mean tree, with its clusters as strips.

    Parameters
    ----------
    posterior : Posterior
    ax : Axes, optional; by default a new figure
    n_clusters : int, number of clusters; by default the suggested number, and at least 2
    labels : bool, whether to write the names of the leaves if there is room

    Returns
    -------
    matplotlib.axes.Axes
        With the matrix.

    Examples
    --------
    >>> X, _ = ct.simulate(12, 3, random_state=0)
    >>> post = ct.fit(X, n_samples=20, n_warmup=20, random_state=0, progress=False)
    >>> ax = ct.plotting.coclustering(post, n_clusters=3)
    """
    k = n_clusters or max(posterior.suggest_n_clusters().n_clusters, 2)
    together = posterior.coclustering(k)
    order = arrange(posterior.mean_tree()).tips
    number = np.asarray(posterior.cut(k))[order]
    ax = ax or new_axes(6.0, 5.4)
    image = ax.imshow(together[np.ix_(order, order)], vmin=0.0, vmax=1.0, cmap="Blues", interpolation="nearest")
    names = [posterior.labels[leaf] for leaf in order] if labels else []
    name_cells(ax, names)
    pad = _draw_strips(ax, number)
    ax.tick_params(axis="y", pad=2.0 + pad)
    set_title(ax, f"How often two leaves are in one of {k} clusters", 4.0 + pad)
    add_bar(ax, image, "probability of the same cluster")
    return ax


def _draw_strips(ax: Axes, number: np.ndarray) -> float:
    """Draw the clusters of ordered rows at the left and above, numbered; return how many points of paper they take."""
    colors = to_rgba_array([color_of(cluster) for cluster in number.tolist()])
    width, gap = _STRIP_WIDTH, 0.2 * _STRIP_WIDTH
    left, above = ax.inset_axes((-width - gap, 0.0, width, 1.0)), ax.inset_axes((0.0, 1.0 + gap, 1.0, width))
    for inset, image in ((left, colors[:, None]), (above, colors[None])):
        inset.imshow(image, aspect="auto", interpolation="nearest")
        inset.set_axis_off()
    number_runs(left, number, 0.0)
    return (width + 2 * gap) * ax.bbox.height * 72.0 / ax.figure.dpi

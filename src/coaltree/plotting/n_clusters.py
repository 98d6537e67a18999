"""How stable the clusters are at every number of clusters."""

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ..posterior.clusters.stability import VALID
from ..posterior.posterior import Posterior
from .style import INK, PALETTE, new_axes, set_title


def n_clusters(posterior: Posterior, ax: Axes | None = None) -> Axes:
    """Draw the least stability of the clusters, by number of clusters.

    Trees without a cluster count as 0. The suggested number, the largest from the dashed line on, has a filled dot.

    Parameters
    ----------
    posterior : Posterior
    ax : Axes, optional; by default a new figure

    Returns
    -------
    matplotlib.axes.Axes
        With the stability of each number of clusters.

    Examples
    --------
    >>> X, _ = ct.simulate(20, 3, random_state=0)
    >>> post = ct.fit(X, n_samples=20, n_warmup=20, random_state=0, progress=False)
    >>> ax = ct.plotting.n_clusters(post)
    """
    suggestion = posterior.suggest_n_clusters()
    number, stability = suggestion.candidates["n_clusters"], suggestion.candidates["stability"]
    ax = ax or new_axes(4.5, 3.0)
    ax.plot(number, stability, color=INK, lw=1.0, marker="o", ms=4, mfc="white", label="least stability")
    ax.axhline(VALID, color=INK, lw=0.8, ls="--")
    suggested = number == suggestion.n_clusters
    ax.plot(number[suggested], stability[suggested], "o", ms=6, color=PALETTE[0], label="suggested")
    ax.set(ylim=(0.0, 1.03), xlabel="number of clusters", ylabel="least stability of a cluster")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.spines[["top", "right"]].set_visible(False)
    set_title(ax, suggestion.numbers + " suggested")
    return ax

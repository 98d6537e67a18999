"""Which columns make each cluster."""

from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib.axes import Axes

from .._runtime.validation import check_choice, check_count
from ..posterior.clusters.explanation import columns_by_cluster
from ..posterior.posterior import Posterior
from .style import add_bar, as_text, new_axes, set_title

if TYPE_CHECKING:
    import pandas


def explain(
    explanation: "pandas.DataFrame | Posterior",
    ax: Axes | None = None,
    *,
    n_clusters: int | None = None,
    against: Literal["sister", "others"] = "sister",
    n_columns: int = 25,
) -> Axes:
    """Draw which columns make a cluster: a circle for each, its size and colour the standardised difference.

    Circles with a dark edge have an interval without 0. Columns are listed cluster by cluster, each where it differs
    most, and there the larger differences first.

    Parameters
    ----------
    explanation : DataFrame of `Posterior.explain`, or a Posterior, whose clusters are explained
    ax : Axes, optional; by default a new figure
    n_clusters : int, number of clusters of a Posterior; by default the suggested number
    against : "sister", the difference to the sister clade, or "others", to all other leaves
    n_columns : int, how many columns are shown at most, those with the largest differences

    Returns
    -------
    matplotlib.axes.Axes
        With a mark for each column and cluster.

    Examples
    --------
    >>> X, _ = ct.simulate(12, 3, random_state=0)
    >>> post = ct.fit(X, n_samples=20, n_warmup=20, random_state=0, progress=False)
    >>> ax = ct.plotting.explain(post, n_clusters=3)
    """
    check_choice("against", against, ("sister", "others"))
    check_count("n_columns", n_columns)
    if isinstance(explanation, Posterior):
        number = n_clusters or explanation.suggest_n_clusters().n_clusters
        explanation = explanation.explain(np.asarray(explanation.cut(number)))
    effect, low, high = (
        explanation.pivot(index="column", columns="cluster", values=f"{against}{end}") for end in ("", "_low", "_high")
    )
    order = columns_by_cluster(effect.to_numpy().T, n_columns)
    values, is_sure = effect.to_numpy()[order], (low * high > 0.0).to_numpy()[order]
    is_counted = all(isinstance(name, int | np.integer) for name in effect.columns)
    names = [str(name + 1) if is_counted else str(name) for name in effect.columns]
    ax = ax or new_axes(2.9 + 0.5 * len(names), 1.7 + 0.25 * len(order))
    limit = max(float(np.abs(values).max()), 1.0)
    across, down = np.meshgrid(np.arange(len(names)), np.arange(len(order)))
    marks = ax.scatter(
        across, down, s=15.0 + 200.0 * np.abs(values) / limit, c=values, cmap="RdBu_r", vmin=-limit, vmax=limit,
        edgecolors=np.where(is_sure.ravel(), "0.25", "0.85").tolist(), linewidths=0.8,
    )  # fmt: skip
    ax.set(xlim=(-0.6, len(names) - 0.4), ylim=(len(order) - 0.4, -0.6), xlabel="cluster")
    ax.set_xticks(range(len(names)), names)
    ax.set_yticks(range(len(order)), [as_text(effect.index[j], 30) for j in order], fontsize=8)
    ax.tick_params(length=0)
    ax.grid(color="0.93", zorder=0)
    ax.set_axisbelow(True)
    ax.spines[:].set_visible(False)
    whom = "its sister clade" if against == "sister" else "all other rows"
    set_title(ax, f"How each cluster differs\nfrom {whom}")
    add_bar(ax, marks, "difference in standard deviations")
    return ax

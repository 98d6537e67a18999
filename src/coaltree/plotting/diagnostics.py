"""Diagnostics: traces of the chains, model comparison, model checks, and agreement of trees with known classes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from .. import metrics
from .._runtime.typing import ArrayLike
from ..errors import InputError
from ..inference.compare import Comparison
from ..numerics.weighted import pick_evenly
from ..posterior.diagnostics.convergence import series
from ..posterior.diagnostics.model_checks import ModelCheck, format_p
from ..posterior.posterior import Posterior
from ..tree.tree import Tree
from .style import INK, PALE, PALETTE, divided, new_axes, set_title

MAX_CHAINS_IN_LEGEND = 12
MAX_TREES_IN_BAND = 100
_LINE_STYLES = ("-", "--", "-.", ":")
_VERDICT_COLORS = {"fine": PALETTE[2], "doubtful": PALETTE[4], "wrong": PALETTE[1]}


def traces(
    posterior: Posterior, ax: Axes | Sequence[Axes] | None = None, *, names: Sequence[str] | None = None
) -> Axes | np.ndarray:
    """Draw trace plots: one line per chain.

    Parameters
    ----------
    posterior : Posterior
    ax : Axes or sequence of Axes, one for each name; by default a new figure
    names : sequence of str, optional
        Any of what is watched: "log_joint", "root_time", "merge_2" to "merge_10" (older merges), "mean_of_oldest",
        "tree_length", "log_determinant" and "largest_eigenvalue" of a covariance, and parameters that are single
        numbers; by default log joint, root and parameters.
    """
    known = {name: draws for name, draws in series(posterior).items() if draws.ndim == 1}
    shown = [name for name in known if name in ("log_joint", "root_time") or name in posterior.theta]
    wanted = shown if names is None else [names] if isinstance(names, str) else list(names)
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
    chains = np.unique(posterior.chain).tolist()
    for panel, name in zip(axes, wanted, strict=True):
        for i, chain in enumerate(chains):
            draws = known[name][posterior.chain == chain]
            panel.plot(draws, color=PALETTE[i % len(PALETTE)], lw=0.7, label=f"chain {chain}")
        panel.set_ylabel(name.replace("_", " "), fontsize=8)
        panel.tick_params(labelsize=8)
        panel.margins(x=0.01)
        panel.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel("draw")
    if 1 < len(chains) <= MAX_CHAINS_IN_LEGEND:
        axes[0].legend(frameon=False, fontsize=7, ncols=len(chains), loc="lower right", bbox_to_anchor=(1, 0.98))
    return axes[0] if len(axes) == 1 else axes


def comparison(found: Comparison, ax: Axes | None = None) -> Axes:
    """Draw what `coaltree.compare` returns: differences from the best in nats, with bars of one standard error."""
    ax = ax or new_axes(5.0, 0.9 + 0.4 * len(found.names))
    rows = np.arange(len(found.names))
    error = np.nan_to_num(found.standard_error)
    ax.axvline(0.0, color="0.7", lw=0.8, zorder=0)
    ax.errorbar(found.difference, rows, xerr=error, fmt="o", color=PALETTE[0], ms=5, lw=1.5, capsize=3)
    for row, difference, weight in zip(rows, found.difference, found.weights, strict=True):
        text = f"{difference:.1f}, weight {weight:.2f}" if row else f"best, weight {weight:.2f}"
        ax.annotate(text, (difference, row), (0, 6), textcoords="offset points", fontsize=7, ha="center", va="bottom")
    ax.set_yticks(rows, found.names)
    ax.set_ylim(len(rows) - 0.5, -0.7)
    ax.margins(x=0.2)
    ax.set_xlabel(f"log density by {found.basis}, less that of the best (nats)", fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def checks(posterior: Posterior | ModelCheck, ax: Axes | Sequence[Axes] | None = None) -> np.ndarray:
    """Draw what `Posterior.check` has found.

    Left: the size of contrasts over the age of merges. Middle: their quantiles beside those that the model expects.
    Both have a band of 90 % of what the model draws. Right: where the data lie in each check, in standard deviations
    of what the model draws (which is grey), with the p-value.

    Parameters
    ----------
    posterior : Posterior, or what its `check` returned
    ax : three Axes, or one, which is replaced by three in its place; by default a new figure
    """
    model = posterior if isinstance(posterior, ModelCheck) else posterior.check()
    shown = model.figures
    if shown is None:
        raise InputError(model.headline)
    ax = new_axes(10.5, 3.8) if ax is None else ax
    axes = np.array(divided(ax, [1, 1, 1.25]) if isinstance(ax, Axes) else ax, dtype=object).ravel()
    if len(axes) != 3:
        raise InputError(f"ax must be one axes, or three, not {len(axes)}.")
    by_age, quantiles, statistics = axes
    for panel, x, y, band in (
        (by_age, shown.age, shown.size, shown.size_band),
        (quantiles, shown.normal, shown.seen, shown.seen_band),
    ):
        panel.fill_between(x, *band, color=PALETTE[0], alpha=0.2, lw=0)
        panel.plot(x, y, color=PALETTE[0], marker="o", ms=3, lw=1.2)
        panel.set_ylim(bottom=0)
    by_age.set(xscale="log", xlabel="age of the merge", ylabel="size of the differences\n(1 if the model holds)")
    quantiles.set(xlabel="size that the model expects", ylabel="size in the data")
    set_title(by_age, "Differences between merged groups:\nas large as expected at every age?")
    set_title(quantiles, "Is their distribution\nthe one of the model?")
    set_title(statistics, "Each check: the data (dot)\nwithin what the model draws (grey)?")
    _draw_statistics(statistics, model)
    for panel in axes:
        panel.spines[["top", "right"]].set_visible(False)
    return axes


def _draw_statistics(ax: Axes, model: ModelCheck) -> None:
    for row, one in enumerate(model):
        color, ends = _VERDICT_COLORS[one.verdict], [0.05, 0.95]
        ax.plot(np.quantile(one.replicates, ends), [row, row], color=PALE, lw=7, solid_capstyle="butt", zorder=1)
        ax.plot(np.quantile(one.draws, ends), [row, row], color=color, lw=1.5, zorder=2)
        ax.plot(one.draws.mean(), row, "o", color=color, ms=5, zorder=3)
    ax.axvline(0, color=INK, lw=0.5, zorder=0)
    names = [f"{one.name}\np = {format_p(one.p_value)}" for one in model]
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.set_xlabel("in standard deviations of the model's draws")
    ax.invert_yaxis()


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
            picked = pick_evenly(tree.weights, MAX_TREES_IN_BAND)
            draws = [metrics.ari_curve(tree.trees[int(t)], known).ari for t in picked]
            low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
            ax.fill_between(share, low, high, color=color, alpha=0.2, lw=0)
    ax.set(xlim=(0, 1), ylim=(lowest, 1.02), xlabel="clusters / leaves", ylabel="adjusted Rand index")
    ax.legend(frameon=False, loc="lower right", title="area under the curve", fontsize=8, title_fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return ax

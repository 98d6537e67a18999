"""Simulated tables of which the truth is known, most of them not what the model takes them for.

The truth is a tree whose nodes may have many children: clusters without structure inside (a star each), or a tree drawn
from the coalescent, its leaves with several rows where they are replicates. A group of rows agrees with it if it
crosses none of its groups.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import coaltree as ct
from coaltree.model.process.coalescent import simulate_tree
from coaltree.model.process.diffusion import simulate_data

from .blobs import Cell, draw, scale_of

ROWS = 32
STARS = Cell(ROWS, 4, 8, 0.8)
NEAR_STARS = Cell(ROWS, 4, 32, 0.6)


class Table(NamedTuple):
    """Rows, what they are rows of, and the truth about them."""

    X: np.ndarray  # (rows, d)
    groups: np.ndarray  # (rows,) the object that each row measures
    clusters: np.ndarray | None  # (rows,) the true clusters
    tree: ct.Tree | None  # the true tree of the objects


class Node(NamedTuple):
    """A group of the true tree, and the groups that it is made of."""

    rows: np.ndarray  # (n,) of bool
    parts: np.ndarray  # (number of parts, n) of bool


def _of_rows(X, tree=None, clusters=None):
    return Table(X, np.arange(len(X)), clusters, tree)


def on_the_model(rng):
    """A tree from the coalescent, Gaussian steps, independent columns."""
    tree = simulate_tree(ROWS, rng)
    return _of_rows(simulate_data(tree, 8, rng), tree)


def star_clusters(rng):
    """Four round Gaussian clusters in 8 columns; Ward, told their number, has an ARI of 0.8."""
    X, clusters = draw(STARS, rng)
    return _of_rows(X, clusters=clusters)


def _near_centres(rng):
    clusters = np.repeat(np.arange(4), ROWS // 4)
    return clusters, scale_of(NEAR_STARS) * rng.standard_normal((4, NEAR_STARS.d))[clusters]


def t3_rows(rng):
    """Poorly separated clusters in 32 columns (Ward's ARI 0.6 if they were Gaussian), rows of Student's t with 3 df."""
    clusters, centres = _near_centres(rng)
    scale = np.sqrt(3.0 / rng.chisquare(3.0, size=(ROWS, 1)))
    return _of_rows(centres + scale * rng.standard_normal(centres.shape), clusters=clusters)


def t3_entries(rng):
    """The same clusters; each entry is of Student's t with 3 df by itself."""
    clusters, centres = _near_centres(rng)
    return _of_rows(centres + rng.standard_t(3.0, size=centres.shape), clusters=clusters)


def skewed_columns(rng):
    """Exponentials of Gaussian columns, as sizes and concentrations are."""
    table = on_the_model(rng)
    return table._replace(X=np.exp(table.X))


def t3_steps(rng):
    """The step of each column along each branch is of Student's t with 3 df."""
    tree = simulate_tree(ROWS, rng)
    times = np.append(np.zeros(ROWS), tree.times)
    values = np.zeros((2 * ROWS - 1, 8))
    for k in range(ROWS - 2, -1, -1):
        for child in tree.children[k]:
            step = rng.standard_t(3.0, size=8) / np.sqrt(3.0)
            values[child] = values[ROWS + k] + np.sqrt(tree.times[k] - times[child]) * step
    return _of_rows(values[:ROWS], tree)


def correlated_columns(rng):
    """Six columns, any two of which have a correlation of 0.8."""
    tree = simulate_tree(ROWS, rng)
    shared = simulate_data(tree, 7, rng)
    return _of_rows(np.sqrt(0.2) * shared[:, :6] + np.sqrt(0.8) * shared[:, 6:], tree)


def few_factors(rng):
    """Sixty columns: three factors that diffuse along the tree, and as much noise beside them."""
    tree = simulate_tree(ROWS, rng)
    factors = simulate_data(tree, 3, rng) @ rng.standard_normal((3, 60))
    return _of_rows(factors + factors.std() * rng.standard_normal(factors.shape), tree)


def curves(rng):
    """Smooth curves at 24 points."""
    tree = simulate_tree(ROWS, rng)
    apart = np.subtract.outer(np.arange(24.0), np.arange(24.0))
    smooth = np.linalg.cholesky(np.exp(-0.5 * (apart / 4.0) ** 2) + 0.01 * np.eye(24))
    return _of_rows(simulate_data(tree, 24, rng, lambda steps: steps @ smooth.T), tree)


def replicates(rng):
    """Eleven objects, three rows each, with noise of variance 0.1."""
    tree = simulate_tree(11, rng)
    groups = np.repeat(np.arange(11), 3)
    leaves = simulate_data(tree, 8, rng)
    return Table(leaves[groups] + np.sqrt(0.1) * rng.standard_normal((33, 8)), groups, None, tree)


TABLES: dict[str, Callable[[np.random.Generator], Table]] = {
    "on the model": on_the_model,
    "star clusters": star_clusters,
    "t3 rows": t3_rows,
    "t3 entries": t3_entries,
    "skewed columns": skewed_columns,
    "t3 steps": t3_steps,
    "correlated columns": correlated_columns,
    "few factors": few_factors,
    "curves": curves,
    "replicates": replicates,
}


# --- what is true ---------------------------------------------------------------------------------------------------


def true_nodes(table: Table, as_groups: bool) -> list[Node]:
    """The true tree, of the objects where rows are told to be `as_groups`, else of rows."""
    if table.clusters is not None:
        n = len(table.X)
        inside = table.clusters == np.arange(table.clusters.max() + 1)[:, None]
        return [Node(np.ones(n, bool), inside), *(Node(rows, np.eye(n, dtype=bool)[rows]) for rows in inside)]
    columns = np.arange(table.tree.n) if as_groups else table.groups
    masks = masks_of(table.tree.children)[:, columns]
    nodes = [Node(masks[table.tree.n + k], masks[pair]) for k, pair in enumerate(table.tree.children)]
    if not as_groups:
        nodes += [Node(rows, np.eye(len(rows), dtype=bool)[rows]) for rows in masks[: table.tree.n] if rows.sum() > 1]
    return nodes


def masks_of(children: np.ndarray) -> np.ndarray:
    """(2n-1, n) of bool: the leaves under each node of a binary tree."""
    n = len(children) + 1
    masks = np.zeros((2 * n - 1, n), bool)
    masks[np.arange(n), np.arange(n)] = True
    for k, (i, j) in enumerate(children):
        masks[n + k] = masks[i] | masks[j]
    return masks


def agrees(groups: np.ndarray, nodes: list[Node]) -> np.ndarray:
    """(m,) whether groups (m, n) cross none of the true ones."""
    inside = groups.astype(np.int64)
    true = np.array([node.rows for node in nodes], np.int64)
    shared = inside @ true.T
    sizes = inside.sum(axis=1)[:, None]
    return ((shared == 0) | (shared == sizes) | (shared == true.sum(axis=1))).all(axis=1)


def to_move(groups: np.ndarray, nodes: list[Node]) -> np.ndarray:
    """(m,) the least number of rows to move so that a group agrees: parts of a true group, each taken whole or not."""
    inside = groups.astype(np.int64)
    least = inside.sum(axis=1) - 1  # a single row agrees
    for node in nodes:
        shared = inside @ node.parts.T.astype(np.int64)
        outside = inside.sum(axis=1) - shared.sum(axis=1)
        least = np.minimum(least, outside + np.minimum(shared, node.parts.sum(axis=1) - shared).sum(axis=1))
    return least

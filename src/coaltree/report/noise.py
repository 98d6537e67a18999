"""How far rows may lie from their leaves: the noise in words, the odd rows, and how many rows each leaf has."""

import numpy as np

from ..posterior.diagnostics.outliers import describe_noise, describe_rows, find_outliers
from ..posterior.posterior import Posterior
from .text import count, escape, number, percent

_MOST_ODD = 8
_MOST_LEAVES = 200


def section(posterior: Posterior) -> str:
    """Sentences, and a table of what stands out."""
    return _replicates(posterior) + _level(posterior) + _odd(posterior)


def _level(posterior):
    noise = posterior.noise
    if noise.level == 0.0:
        return (
            "<p>The model has no measurement noise: what two rows differ by is what happened on the tree since they "
            "parted.</p>"
        )
    errors = "" if posterior.errors is None else " It is scaled by the squares of the standard errors that were given."
    return (
        f"<p>Measurement noise: {escape(describe_noise(posterior))}. A row lies around the value of its leaf with this "
        f"variance, as a multiple of what values gain along a branch of length 1.{errors}</p>\n"
    )


def _odd(posterior):
    if posterior.tail_scale is None:
        return ""
    found = find_outliers(posterior, len(posterior.row_labels))
    if not found:
        return "<p>No row is odd: none is likely to have four times the noise variance of a typical row.</p>\n"
    rows = "\n".join(
        f'<tr><th scope="row"><bdi>{escape(row.label)}</bdi></th>{_leaf_cell(row)}'
        f"<td>{number(row.score, 2)}</td><td>{percent(row.probability)}</td></tr>"
        for row in found[:_MOST_ODD]
    )
    leaf = "" if posterior.groups is None else '<th scope="col">leaf</th>'
    which = "One row is odd" if len(found) == 1 else f"{len(found):,} rows are odd"
    listed = f" The {_MOST_ODD} oddest are listed." if len(found) > _MOST_ODD else ""
    return (
        f"<p>{which}: the noise is likely to have at least four times the variance that it has in a typical row. Odd "
        f"rows have less say in the tree; whether they are slips or finds, the tree cannot tell.{listed}</p>\n"
        f'<div class="wide"><table class="grid"><thead><tr><th scope="col">row</th>{leaf}<th scope="col">'
        'noise variance, times a typical row’s</th><th scope="col">sure of at least 4 times</th></tr></thead><tbody>\n'
        f"{rows}\n</tbody></table></div>\n"
    )


def _leaf_cell(row):
    return "" if row.leaf is None else f"<td><bdi>{escape(row.leaf)}</bdi></td>"


def _replicates(posterior):
    if posterior.groups is None:
        return ""
    counts = np.bincount(posterior.groups)
    order = np.argsort(-counts, kind="stable")[:_MOST_LEAVES]
    listed = ", ".join(f"<bdi>{escape(posterior.labels[leaf])}</bdi>&nbsp;{counts[leaf]}" for leaf in order)
    more = f" and {count(posterior.n - len(order), 'leaf', 'leaves')} more" if len(order) < posterior.n else ""
    return (
        f"<p>Rows: {describe_rows(posterior)}. Rows of a leaf are repeated measurements of it.</p>\n"
        f"<details><summary>How many rows each leaf has</summary><p>{listed}{more}</p></details>\n"
    )

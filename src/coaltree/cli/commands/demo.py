"""``coaltree demo``: ``coaltree fit`` on a small data set.

178 wines of three cultivars (A, B, C), thirteen measurements each: the UCI Wine recognition data (Aeberhard and
Forina, 1991, doi:10.24432/C5PC7J, CC BY 4.0), in the copy that scikit-learn brings.
"""

from typing import TYPE_CHECKING

from ..shell import commands, debug_option, force_option, out_option, seed_option
from .fit import fit_table

if TYPE_CHECKING:
    from ..tables.reading import Reading

SETTINGS = {"covariance": "auto", "n_samples": "auto", "n_warmup": "auto", "n_chains": 2, "n_jobs": None}


@commands.command()
@out_option("demo-output")
@seed_option
@force_option
@debug_option
def demo(out, seed, force):
    """Cluster a small data set.

    It has 178 wines of three cultivars, with 13 measurements each. Leaves what `coaltree fit` leaves: posterior, trees,
    clusters, a figure and a report page.

    \b
    Example:
      coaltree demo --out wines
    """
    fit_table(load_wines(), out, 3, "178 wines", force, {**SETTINGS, "random_state": seed})


def load_wines() -> "Reading":
    """The table, 178 rows of 13 columns, each row named by its cultivar, and its description."""
    import numpy as np
    from sklearn.datasets import load_wine

    from ...model.data.table import Table
    from ..tables.reading import Reading, description

    wines = load_wine()
    within = [int(np.count_nonzero(wines.target[:i] == c)) + 1 for i, c in enumerate(wines.target)]
    names = tuple(f"{'ABC'[c]}{number:02}" for c, number in zip(wines.target, within, strict=True))
    table = Table(np.asarray(wines.data, dtype=np.float64), names, tuple(wines.feature_names))
    cultivars = {"cultivar": ["ABC"[c] for c in wines.target]}
    return Reading(table, f"scikit-learn's wines: {description(table)}", None, None, cultivars)

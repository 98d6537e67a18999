"""``coaltree demo``: ``coaltree fit`` on a small bundled data set.

Sixty wines of three cultivars (A, B, C), thirteen chemical measurements each; data/README.md says where they come from.
"""

from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from .fit import fit_table
from .shell import commands, debug_option, force_option, out_option, seed_option

if TYPE_CHECKING:
    from .tables import Reading

SETTINGS = {"covariance": "auto", "n_samples": 500, "n_warmup": 100, "n_chains": 2, "n_jobs": 1}


@commands.command()
@out_option("demo-output")
@seed_option
@force_option
@debug_option
def demo(out, seed, force):
    """Cluster a small bundled data set.

    It has 60 wines, with 13 measurements each. Leaves what `coaltree fit` leaves: posterior, trees, clusters, a figure
    and a report page.

    \b
    Example:
      coaltree demo --out wines
    """
    fit_table(load_wines(), out, 3, "60 wines", force, {**SETTINGS, "random_state": seed})


def load_wines() -> "Reading":
    """The bundled table, 60 named rows of 13 columns, and how it was read."""
    from .tables import understood

    with as_file(files("coaltree") / "data/wines.csv") as path:
        return understood(path)

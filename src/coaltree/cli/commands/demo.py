"""``coaltree demo``: ``coaltree fit`` on a small data set.

178 wines of three cultivars (A, B, C), thirteen measurements each: the UCI Wine recognition data (Aeberhard and
Forina, 1991, doi:10.24432/C5PC7J, CC BY 4.0), in the copy that scikit-learn brings.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..options import folder_option, force_option, sampling_options
from ..shell import commands
from .fit import fit_table

if TYPE_CHECKING:
    from ..tables.reading import TableFile


@commands.command()
@folder_option(default="demo-output")
@sampling_options
@force_option
def demo(out: Path, force: bool, **settings: Any) -> None:
    """Cluster a small data set.

    It has 178 wines of three cultivars, with 13 measurements each. Writes the files of `coaltree fit`: posterior,
    trees, clusters, a figure and a report page.

    \b
    Example:
      coaltree demo --out wines
    """
    fit_table(load_wines(), settings, out, None, force, inputs=[])


def load_wines() -> "TableFile":
    """The table, 178 rows of 13 columns, each row named by its cultivar, and its description."""
    import numpy as np
    from sklearn.datasets import load_wine

    from ...model.data.table import Table
    from ..tables.reading import TableFile

    wines = load_wine()
    cultivars = [str(name) for name in np.array(list("ABC"))[wines.target]]
    names = tuple(f"{name}{cultivars[:i].count(name) + 1:02}" for i, name in enumerate(cultivars))
    table = Table(np.asarray(wines.data, dtype=np.float64), names, tuple(wines.feature_names))
    return TableFile(table, "scikit-learn's wines", [], None, None, {"cultivar": cultivars})

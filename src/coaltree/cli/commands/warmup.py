"""``coaltree warmup``: compile ahead of the first run, for container images and clusters."""

import tempfile
import warnings
from pathlib import Path
from typing import Any

from ..shell import commands, echo


@commands.command()
def warmup() -> None:
    """Compile ahead what the other commands need, and keep it.

    Without it the first run compiles for a minute or more. Only the search for neighbours of more than 20,000 rows is
    left to the first run that needs it. Compiled code is kept beside the package or, where that cannot be written to,
    in the user's cache folder; the environment variable NUMBA_CACHE_DIR names another place. Run it as the user, and on
    the kind of processor, that will run coaltree: code for another one is compiled again.

    \b
    Example, in the recipe of an image:
      ENV NUMBA_CACHE_DIR=/opt/coaltree-kernels
      RUN coaltree warmup
    """
    from ..._runtime import jit
    from ...inference.control.compile_ahead import compile_ahead

    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        compile_ahead()
        use_everything(Path(folder))
    kept = jit.cache_folder()
    echo(f"compiled kernels, kept in {kept}" if kept else "compiled kernels, but there is no folder to keep them in")


def use_everything(folder: Path) -> None:
    """Do all that the commands do, with small tables: with and without missing values, and with many rows."""
    import numpy as np

    from ...inference.fit import fit
    from ...model.process.simulation import simulate
    from ...posterior.diagnostics.convergence import chains_agree
    from ...tree.merges import restricted_trees
    from ..outputs import write_result

    # long enough to compute R-hat, as runs of the default length do, and intervals of times
    short: dict[str, Any] = {"n_samples": 36, "n_warmup": 4, "random_state": 0, "progress": False}
    few, many = (np.asarray(simulate(n, 3, random_state=0)[0]) for n in (12, 2100))  # many: other searches
    few[0] *= 10.0  # an outlier
    with_missing = few.copy()
    with_missing[1, 2] = np.nan
    for covariance, X in (("full", few), ("scaled", few), ("diagonal", with_missing)):
        post = fit(X, covariance, **short)
        write_result(folder, post, 2, "warm-up")
        post.suggest_n_clusters()
        chains_agree(post)
        restricted_trees(post.draws.children, post.draws.times, np.arange(3))
        post.check()
        post.loo()
        post.support([0, 1])
        post.place(X[:2] + 0.1)
    fit(few, groups=[i // 2 for i in range(12)], **short)
    fit(many, n_samples=2, n_warmup=1, n_chains=1, random_state=0, progress=False)

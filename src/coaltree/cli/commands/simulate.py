"""``coaltree simulate``: a tree drawn from the coalescent, and data that diffused along it."""

from pathlib import Path

import click

from ..options import folder_option, force_option, output_folder, seed_option
from ..shell import commands, echo


@commands.command()
@click.option("--n", type=click.IntRange(min=2), default=64, help="Number of rows (leaves of the tree).")
@click.option("--d", type=click.IntRange(min=1), default=8, help="Number of columns.")
@folder_option(default="simulated")
@seed_option
@force_option
def simulate(n: int, d: int, out: Path, random_state: int, force: bool) -> None:
    """Simulate a tree and data from the model.

    The tree is drawn from the coalescent, and the data diffuse along it. Writes data.csv (with a header, and the names
    of the leaves in the first column) and the true tree, as tree.newick and linkage.csv (the columns of a SciPy
    linkage: child, child, time, leaves).

    \b
    Example:
      coaltree simulate --n 64 --d 16 --out simulated
    """
    from ...model.process.simulation import simulate as draw
    from ..outputs import write_csv, write_linkage, write_text

    X, tree = draw(n, d, random_state=random_state)
    output_folder(out, ("data.csv", "tree.newick", "linkage.csv"), force)
    write_csv(out / "data.csv", {"leaf": tree.labels, **{f"x{j}": column for j, column in enumerate(X.T)}})
    write_text(out / "tree.newick", f"{tree.to_newick()}\n")
    write_linkage(out / "linkage.csv", tree)
    echo(f"{out}: data.csv ({n} x {d}), tree.newick, linkage.csv")

"""``coaltree simulate``: a tree drawn from the coalescent, and data that diffused along it."""

import click

from ..shell import commands, debug_option, force_option, out_option, output_folder, seed_option


@commands.command()
@click.option(
    "--n", type=click.IntRange(min=2), default=64, show_default=True, help="Number of rows (leaves of the tree)."
)
@click.option("--d", type=click.IntRange(min=1), default=8, show_default=True, help="Number of columns.")
@click.option(
    "--covariance",
    type=click.Choice(["spherical", "squared_exponential"]),
    default="spherical",
    show_default=True,
    help="Covariance of the columns: the identity, or that of smooth curves over 0 … d-1.",
)
@click.option(
    "--length2", type=float, default=1.0, show_default=True, help="Squared length scale of the smooth curves."
)
@click.option("--noise", type=float, default=1e-3, show_default=True, help="White noise added to the smooth curves.")
@out_option("simulated")
@seed_option
@force_option
@debug_option
def simulate(n, d, covariance, length2, noise, out, seed, force):
    """Simulate a tree and data from the model.

    The tree is drawn from the coalescent, and the data diffuse along it. Writes data.csv (with a header, and the names
    of the leaves in the first column) and the true tree, as tree.newick and linkage.csv (the columns of a SciPy
    linkage: child, child, time, leaves).

    \b
    Examples:
      coaltree simulate --n 64 --d 16 --out simulated
      coaltree simulate --covariance squared_exponential --length2 4 --d 50 --out curves
    """
    from ...model import covariance as families
    from ...model.process.simulation import simulate as draw
    from ..outputs import write_csv, write_linkage

    smooth = covariance == "squared_exponential"
    phi = families.SquaredExponential(length2=length2, noise=noise) if smooth else families.Spherical()
    X, tree = draw(n, d, phi, random_state=seed)
    folder = output_folder(out, ("data.csv", "tree.newick", "linkage.csv"), force)
    rows = ([label, *map(repr, row)] for label, row in zip(tree.labels, X.tolist(), strict=True))
    write_csv(folder / "data.csv", ["leaf", *(f"x{j}" for j in range(d))], rows)
    (folder / "tree.newick").write_text(f"{tree.to_newick()}\n", encoding="utf-8")
    write_linkage(folder / "linkage.csv", tree)
    click.echo(f"{folder}: data.csv ({n} x {d}), tree.newick, linkage.csv")

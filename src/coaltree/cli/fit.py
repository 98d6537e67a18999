"""``coaltree fit``: from a table in a file to a folder with a posterior, trees, clusters, figures and a report."""

import contextlib
import re
import warnings
from pathlib import Path

import click

from ..errors import ConvergenceWarning, InputError
from .shell import (
    Interrupted,
    clusters_option,
    commands,
    debug_option,
    force_option,
    output_folder,
    seed_option,
    show_warning,
    table_options,
)

COVARIANCES = ("spherical", "diagonal", "full", "squared_exponential", "matern32")
SAMPLERS = (
    "regraft", "insertion", "mpost1", "mpost2", "post_post", "smc1", "greedy", "mgreedy", "greedy_teh", "prior",
)  # fmt: skip
CHECKPOINT = "checkpoint.npz"


class Grid(click.ParamType):
    """The sides of a grid, such as 16x16."""

    name = "grid"

    def convert(self, value, param, ctx):
        if isinstance(value, tuple):
            return value
        if not re.fullmatch(r"[1-9]\d*([x×,][1-9]\d*)*", value):
            self.fail(f"{value!r} is no grid; write its sides, as in 16x16.", param, ctx)
        return tuple(int(side) for side in re.split("[x×,]", value))


def positive(name, default, text, least=1):
    """An option for a count."""
    return click.option(name, type=click.IntRange(min=least), default=default, show_default=True, help=text)


@commands.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder for everything that is left."
)
@table_options
@click.option(
    "--covariance",
    type=click.Choice(COVARIANCES),
    default="diagonal",
    show_default=True,
    help="How values diffuse: one variance for all columns, one for each, any matrix, or smooth along the columns. "
    "The columns of a file often have units of their own, hence diagonal; in Python fit() starts from spherical.",
)
@click.option("--grid", type=Grid(), metavar="AxB", help="Sides of the grid that columns lie on, for matern32.")
@click.option("--sampler", type=click.Choice(SAMPLERS), default="regraft", show_default=True, help="Draws the trees.")
@positive("--samples", 500, "Rounds that are kept, in every chain.")
@positive("--warmup", 100, "Rounds before them that are not.", least=0)
@positive("--chains", 2, "Independent chains.")
@positive("--jobs", 1, "How many of them to run at once.")
@click.option(
    "--leaf-noise",
    type=click.FloatRange(min=0.0),
    default=0.0,
    show_default=True,
    help="Variance at the leaves, as a multiple of the covariance.",
)
@clusters_option()
@click.option("--title", help="Heading of the report. [the name of the file]")
@seed_option
@force_option
@debug_option
def fit(data, out, index, columns, drop, header, array, covariance, grid, sampler, clusters, title, force, **numbers):
    """Draw trees for the rows of DATA, and say how sure each group is.

    DATA is a .csv, .tsv, .txt, .parquet, .npy or .npz file, one observation a row. Empty cells are missing values. A
    first column of names names the leaves.

    The folder gets the posterior, trees (Newick, NEXUS, linkage), clusters, a figure (PNG, SVG) and report.html. A
    run that is interrupted leaves a checkpoint there, and the same command goes on from it.

    \b
    Examples:
      coaltree fit wines.csv --out wines
      coaltree fit genes.tsv --index gene --drop chromosome --covariance full --out genes
      coaltree fit faces.npy --covariance matern32 --grid 16x16 --chains 4 --jobs 2 --out faces
      coaltree fit wines.csv --clusters 3 --samples 2000 --out wines --force
    """
    from .outputs import FILES, list_files, write_all
    from .tables import Choice, read

    table = read(data, Choice(index, columns, drop, header, array))
    n, d = table.values.shape
    if clusters is not None and clusters > n:
        raise InputError(f"--clusters {clusters} is more than the {n} rows of {data.name}.")
    phi = _covariance(covariance, grid, d)
    is_new = not out.exists()
    folder = output_folder(out, FILES, force)
    click.echo(f"{data.name}: {n} rows, {d} columns")
    try:
        post = _run(table, phi, sampler, numbers, folder / CHECKPOINT, force)
    except InputError:
        if is_new:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    reason = None
    if clusters is None:
        suggestion = post.suggest_n_clusters()
        clusters, reason = suggestion.n_clusters, suggestion.reason
    try:
        write_all(folder, post, clusters, title or data.stem)
    except KeyboardInterrupt:
        raise _interrupted(folder / CHECKPOINT) from None
    (folder / CHECKPOINT).unlink(missing_ok=True)
    if reason is not None:
        click.echo(f"{reason} --clusters K says how many." if clusters == 1 else reason)
    click.echo(f"{folder}:")
    list_files(folder)


def _covariance(name, grid, d):
    if grid is None:
        return name
    if name != "matern32":
        raise InputError(f"--grid belongs to --covariance matern32, not to {name}.")
    from ..model.covariance import Matern32

    phi = Matern32(grid=grid)
    phi.check(d)
    return phi


def _run(table, phi, sampler, numbers, checkpoint, force):
    """Fit, or go on from the checkpoint; an interruption ends with a line on how to go on."""
    from ..inference.checkpoint import AnotherRun
    from ..inference.fit import fit as run

    if checkpoint.exists():
        click.echo(f"going on from {checkpoint}")
    held: list[Warning] = []
    settings = {
        "n_samples": numbers["samples"],
        "n_warmup": numbers["warmup"],
        "n_chains": numbers["chains"],
        "n_jobs": numbers["jobs"],
        "random_state": numbers["seed"],
        "leaf_noise": numbers["leaf_noise"],
        "checkpoint": checkpoint,
    }
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_or_hold(held)
            try:
                post = run(table, phi, sampler, **settings)
            except AnotherRun:
                if not force:
                    raise InputError(
                        f"{checkpoint} is of a run with other data or settings; repeat its command to go on with it, "
                        "choose another --out, or start anew with --force."
                    ) from None
                checkpoint.unlink()
                post = run(table, phi, sampler, **settings)
    except KeyboardInterrupt:
        raise _interrupted(checkpoint) from None
    if len(post) < numbers["samples"] * numbers["chains"]:
        raise _interrupted(checkpoint)
    for warning in held:
        message = str(warning).partition("; take more rounds")[0]
        show_warning(f"{message}; take more --samples and --warmup.", ConvergenceWarning)
    return post


def _show_or_hold(held):
    """Show warnings at once, but those on the outcome only when there is one."""

    def show(message, category, *where, **more):
        if issubclass(category, ConvergenceWarning):
            held.append(message)
        elif not str(message).startswith("interrupted"):
            show_warning(message, category)

    return show


def _interrupted(checkpoint):
    if not checkpoint.exists():
        return Interrupted("interrupted before the first round; nothing is left.")
    return Interrupted(f"interrupted; the same command goes on from {checkpoint}.")

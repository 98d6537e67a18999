"""``coaltree fit``: from a table in a file to a folder with a posterior, trees, clusters, figures and a report."""

import contextlib
import dataclasses
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..._runtime.formatting import some
from ..._runtime.memory import require_room_for_kernels
from ...errors import CoaltreeWarning, ConvergenceWarning, InputError, InterruptedWarning
from .. import shell
from ..parameter_types import Count, Grid, Inputs, NoiseLevel
from ..tables.cells import number

if TYPE_CHECKING:
    from ..tables.reading import Reading

COVARIANCES = ("auto", "best", "scaled", "spherical", "diagonal", "full", "squared_exponential", "matern32")
SAMPLERS = (
    "regraft", "insertion", "mpost1", "mpost2", "post_post", "smc1", "greedy", "mgreedy", "greedy_teh", "prior",
)  # fmt: skip
CHECKPOINT = "checkpoint.npz"


def length_option(option: str, argument: str, least: int, text: str) -> Callable[[Any], Any]:
    """An option for a number of rounds, or "auto": as many as needed."""
    count = Count(least)
    return click.option(
        option, argument, type=count, metavar="auto|NUMBER", default="auto", show_default=True, help=text
    )


@shell.commands.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder for the results."
)
@shell.table_options
@click.option(
    "--covariance",
    type=click.Choice(COVARIANCES),
    default="auto",
    show_default=True,
    help="How columns vary: in proportion to their own variances (scaled), all alike (spherical), each with a learnt "
    "variance (diagonal), correlated (full), or smoothly from one to the next (squared_exponential, matern32). auto is "
    "full where rows are enough, 0.75 d (d + 1) distinct ones for d columns that vary; else spherical where columns "
    "have similar ranges, as in one unit, and scaled where they differ or have few distinct values. best fits the "
    "sensible ones for a while and goes on with the one that predicts each row best from all others.",
)
@click.option(
    "--ordered",
    is_flag=True,
    help="With --covariance best: columns are points of a curve, in order (squared_exponential).",
)
@click.option(
    "--inputs",
    type=Inputs(),
    metavar="NUMBERS|names",
    help="Where the columns were measured, such as 0,0.5,1,4, or names if their names are these numbers; for "
    "squared_exponential and best.",
)
@click.option(
    "--metric",
    type=click.Choice(("euclidean", "precomputed")),
    default="euclidean",
    show_default=True,
    help="precomputed: the table holds squared distances between its rows, as many columns as rows.",
)
@click.option("--grid", type=Grid(), metavar="AxB", help="Shape of the grid that the columns lie on, for matern32.")
@click.option(
    "--sampler", type=click.Choice(SAMPLERS), default="regraft", show_default=True, help="How trees are sampled."
)
@length_option(
    "--samples",
    "n_samples",
    1,
    "Trees to keep from each chain. auto goes on until the chains agree (R-hat at most 1.02) and there are enough "
    "effective draws (100), or until --max-iterations or --max-seconds are spent, and says which.",
)
@length_option(
    "--warmup",
    "n_warmup",
    0,
    "Rounds to discard before them. auto ends the warm-up when the log joint has settled; it is 100 where "
    "--samples is a number.",
)
@click.option(
    "--max-iterations",
    type=click.IntRange(1),
    metavar="NUMBER",
    help="With --samples auto: rounds of each chain after which it stops in any case. [default: 4000, fewer for more "
    "than 300 rows]",
)
@click.option(
    "--max-seconds",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="With --samples auto: time after which it stops in any case.",
)
@click.option(
    "--chains", "n_chains", type=click.IntRange(1), default=2, show_default=True, help="Number of independent chains."
)
@click.option(
    "--jobs",
    "n_jobs",
    type=click.IntRange(1),
    help="Number of chains to run in parallel, in processes of their own. [default: threads, one for each processor]",
)
@click.option(
    "--noise",
    type=NoiseLevel(),
    metavar="student|learn|NUMBER",
    help="Measurement noise of the rows: learnt with heavy tails (student), learnt (learn), or its variance as a "
    "multiple of the covariance. [default: student with the sampler regraft, else 0]",
)
@click.option(
    "--errors",
    metavar="COLUMN",
    help="Column with the standard errors of the rows, relative to each other; it is kept out of the fit.",
)
@click.option(
    "--groups",
    metavar="COLUMN",
    help="Column (text or numbers) in which rows that measure the same thing have the same value: they become one leaf "
    "of the tree, named after it. It is kept out of the fit.",
)
@click.option(
    "--label",
    multiple=True,
    metavar="COLUMN",
    help="Column of classes or numbers that is kept out of the fit, shown in colours and compared with the clusters "
    "(may be repeated).",
)
@click.option(
    "--neighbors",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Nearest neighbours of the rows, in place of a search: a sparse matrix as scipy.sparse.save_npz writes it.",
)
@shell.clusters_option()
@click.option("--title", help="Title of the report page. [default: the file name]")
@click.option(
    "--trees/--no-trees",
    default=True,
    help="Whether to write sampled trees as NEXUS: 1,000, and of more than 2,000 leaves fewer. [default: trees]",
)
@shell.seed_option
@shell.force_option
@shell.debug_option
def fit(
    data,
    out,
    choice,
    covariance,
    inputs,
    grid,
    errors,
    groups,
    label,
    neighbors,
    clusters,
    title,
    trees,
    force,
    seed,
    **more,
):
    """Sample trees for the rows of a table.

    DATA is a .csv, .tsv, .txt, .parquet, .npy or .npz file with one observation per row. Empty cells are missing
    values. If the first column has names, they name the rows. How the file was read is shown before the run starts.
    Rows that measure the same thing repeatedly are named by --groups.

    The output folder gets the posterior, trees (Newick, NEXUS, SciPy linkage), clusters, a figure (PNG, SVG) and
    report.html. An interrupted run leaves a checkpoint there, and the same command resumes it.

    \b
    Examples:
      coaltree fit wines.csv --out wines
      coaltree fit flowers.csv --label species --out flowers
      coaltree fit genes.tsv --names gene --drop chromosome --covariance full --out genes
      coaltree fit faces.npy --covariance matern32 --grid 16x16 --chains 4 --jobs 2 --out faces
      coaltree fit assay.csv --groups compound --out assay
      coaltree fit growth.csv --covariance squared_exponential --inputs 0,1,2,4,8 --out growth
      coaltree fit squared_distances.csv --metric precomputed --out distances
      coaltree fit wines.csv --clusters 3 --samples 2000 --out wines --force
    """
    from ..tables.reading import understood
    from ..tables.suspects import suspicious_columns

    if inputs == "names" and choice.header is None:
        choice = dataclasses.replace(choice, header=True)
    reading = understood(data, dataclasses.replace(choice, errors=errors, groups=groups, label=label))
    from_distances = more["metric"] == "precomputed"
    for sentence in () if from_distances else suspicious_columns(reading.table):
        shell.show_warning(sentence, CoaltreeWarning)
    n, d = reading.table.values.shape
    things = "rows"
    if reading.groups is not None:
        n, things = len(set(reading.groups)), "groups"
    if clusters is not None and clusters > n:
        raise InputError(f"--clusters {clusters} is more than the {n} {things} of {data.name}.")
    phi = "spherical" if from_distances and covariance == "auto" else _covariance(covariance, grid, d)
    settings = {**more, "covariance": phi, "random_state": seed}
    if inputs is not None:
        settings |= _at_inputs(covariance, inputs, reading.table)
    if neighbors is not None:
        settings["neighbors"] = _sparse(neighbors)
    fit_table(reading, out, clusters, title or data.stem, force, settings, with_trees=trees)


def fit_table(
    reading: "Reading",
    out: Path,
    clusters: int | None,
    title: str,
    force: bool,
    settings: dict[str, Any],
    *,
    with_trees: bool = True,
) -> None:
    """Fit a table, leave the files of `outputs.FILES` in the folder `out`, and list them.

    `settings` are arguments of `coaltree.fit`.
    """
    from ..._runtime.atomic_write import clear_away
    from ...inference.covariance_selection import is_best
    from ...model.data.columns import choice_for, is_auto
    from ...posterior.clusters.answer import answer_for, in_a_line, leaves_are
    from ...posterior.diagnostics import covariance_selection, stop_reason
    from ...posterior.leaf_annotations import KEPT, annotations_of, of_leaves
    from ...report.checks import found as checks_of
    from ..comparison import compared
    from ..outputs import FILES, write_all

    if settings["n_samples"] != "auto" and (settings.get("max_iterations") or settings.get("max_seconds")):
        raise InputError("--max-iterations and --max-seconds need --samples auto.")
    if settings.get("ordered") and not is_best(settings["covariance"]):
        raise InputError("--ordered needs --covariance best; otherwise give --covariance squared_exponential.")
    is_new = not out.exists()
    checkpoint = out / CHECKPOINT
    # Beside a checkpoint, files of the run are what a kill left while they were written: the same command goes on.
    folder = shell.output_folder(out, FILES, force or checkpoint.exists())
    clear_away(folder, [CHECKPOINT])
    click.echo(reading.how)
    if is_auto(settings["covariance"]):
        click.echo(f"covariance: {choice_for(reading.table.values)}")
    try:
        settings = {**settings, "groups": reading.groups, "errors": reading.errors}
        post = _run(reading.table, settings, checkpoint, force)
    except BaseException:
        if is_new:
            with contextlib.suppress(OSError):  # of a folder that is not empty
                folder.rmdir()
        raise
    if "distances" in post.info:
        click.echo(f"distances: {post.info['distances']}")
    if "choice" in post.info:
        click.echo(f"covariance: {covariance_selection.in_a_line(post.info['choice'])}")
    ending = stop_reason.in_a_line(post.info.get("stopping"), post.info.get("n_warmup"))
    if ending is not None:
        click.echo(f"sampling: {ending}")
    if reading.known:
        post.info[KEPT] = {name: of_leaves(values, post.groups) for name, values in reading.known.items()}
    suggestion = None
    try:
        if clusters is None:
            with shell.doing("suggesting a number of clusters"):
                suggestion = post.suggest_n_clusters()
            clusters = suggestion.n_clusters
        with shell.doing("cutting the mean tree into clusters"):
            answer = answer_for(post, clusters)
        files = write_all(folder, post, answer, title, suggestion=suggestion, with_trees=with_trees, doing=shell.doing)
    except KeyboardInterrupt:
        raise _interrupted(checkpoint) from None
    checkpoint.unlink(missing_ok=True)
    if suggestion is not None:
        reason = suggestion.reason
        click.echo(f"{reason} Choose a number with --clusters K." if clusters == 1 else reason)
    click.echo(in_a_line(answer, leaves_are(post)))
    for column in annotations_of(post):
        click.echo(compared(answer, column))
    with shell.doing("comparing the rows with rows drawn from the model"):
        found = checks_of(post)
    if found.wrong:
        click.echo(f"{found.headline} What to try is shown by: coaltree check {folder}")
    click.echo(f"{folder}:")
    width = max(map(len, files))
    for file, what in files.items():
        click.echo(f"  {file:{width}}  {what}")


def _covariance(name, grid, d):
    if grid is None:
        return name
    if name != "matern32":
        raise InputError(f"--grid needs --covariance matern32, not {name}.")
    from ...model.covariance import Matern32

    phi = Matern32(grid=grid)
    phi.check(d)
    return phi


def _sparse(path):
    """A matrix that scipy.sparse.save_npz has written."""
    from scipy.sparse import load_npz

    try:
        return load_npz(path)
    except OSError as error:
        raise InputError(f"--neighbors {path} cannot be read ({error.strerror or 'no .npz file'}).") from None
    except Exception:  # of a broken archive, or another one
        raise InputError(f"--neighbors {path} holds no sparse matrix as scipy.sparse.save_npz writes it.") from None


def _at_inputs(name, inputs, table):
    """The settings of `coaltree.fit` for columns that were measured at these places."""
    if name not in ("squared_exponential", "best"):
        raise InputError(f"--inputs needs --covariance squared_exponential or best, not {name}.")
    if inputs == "names":
        names = table.features or ()
        odd = [repr(column) for column in names if number(column) is None]
        if odd or not names:
            raise InputError(f"--inputs names needs columns that are called by numbers, not {some(odd) or 'unnamed'}.")
        inputs = tuple(float(column) for column in names)
    if name == "best":
        return {"inputs": inputs}
    from ...model.covariance import SquaredExponential

    phi = SquaredExponential(inputs=inputs)
    phi.check(table.values.shape[1])
    return {"covariance": phi}


def _run(table, settings, checkpoint, force):
    """Fit, or resume from the checkpoint; an interruption ends with a line on how to resume."""
    require_room_for_kernels()
    from ...inference.control.checkpoint import AnotherRun, UnusableCheckpoint
    from ...inference.fit import fit
    from ...posterior.diagnostics.stop_reason import what_to_increase

    if checkpoint.exists():
        click.echo(f"resuming from {checkpoint}")
    held: list[ConvergenceWarning] = []
    try:
        with warnings.catch_warnings(), _side_by_side(settings.get("n_jobs")):
            warnings.showwarning = _show_or_hold(held)
            try:
                post = fit(table, checkpoint=checkpoint, **settings)
            except UnusableCheckpoint as error:
                if not force:
                    belongs = (
                        f"{checkpoint} belongs to a run with other data or settings; repeat that command to resume it"
                    )
                    why = belongs if isinstance(error, AnotherRun) else str(error).split("; delete it")[0].rstrip(".")
                    raise InputError(f"{why}, choose another --out, or start over with --force.") from None
                checkpoint.unlink()
                post = fit(table, checkpoint=checkpoint, **settings)
    except KeyboardInterrupt:
        raise _interrupted(checkpoint) from None
    if post.info["interrupted"]:
        raise _interrupted(checkpoint)
    for warning in held:
        options = {"n_samples": "--samples", "n_warmup": "--warmup"}
        increase = what_to_increase(post.info.get("stopping"))
        advice = f"Increase {' and '.join(options.get(name, f'--{name}').replace('_', '-') for name in increase)}."
        shell.show_warning(
            f"the chains have not converged: {'; '.join(warning.findings)}. {advice}", ConvergenceWarning
        )
    return post


def _side_by_side(n_jobs):
    """Without a number of processes: chains in threads, as kernels leave the interpreter to others; the same bits."""
    from joblib import cpu_count, parallel_config

    return parallel_config("threading", n_jobs=cpu_count()) if n_jobs is None else contextlib.nullcontext()


def _show_or_hold(held):
    """Show warnings at once, but those about the result only when there is one."""

    def show(message, category, *where, **more):
        if issubclass(category, ConvergenceWarning):
            held.append(message)
        elif not issubclass(category, InterruptedWarning):
            shell.show_warning(message, category)

    return show


def _interrupted(checkpoint):
    if not checkpoint.exists():
        return shell.Interrupted("interrupted before the first round; nothing was saved.")
    return shell.Interrupted(f"interrupted; the same command resumes from {checkpoint}.")

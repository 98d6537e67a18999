"""``coaltree fit``: from a table in a file to a folder with a posterior, trees, clusters, figures and a report."""

import contextlib
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..._runtime.formatting import shortened
from ...errors import InputError, is_interruption
from .. import options, shell

if TYPE_CHECKING:
    from ...posterior.clusters.answer import ClusterAnswer
    from ...posterior.leaf_annotations import LeafAnnotation
    from ...posterior.posterior import Posterior
    from ..tables.reading import TableFile

COVARIANCES = ("auto", "scaled", "spherical", "diagonal", "full", "components", "squared_exponential", "matern32")
CHECKPOINT = "checkpoint.npz"
NOISE = options.number_or("student", "learn", least=0.0, most=options.MAX_NOISE)
COVARIANCE_HELP = """How columns vary: in proportion to their own variances (scaled), all alike (spherical), each with a
    learnt variance (diagonal), correlated (full), or smoothly from one to the next (squared_exponential, matern32).
    auto is full if there are enough rows, else spherical if columns have similar ranges, as in one unit, else
    scaled."""
NOISE_HELP = """Measurement noise of the rows: learnt with heavy tails (student), learnt (learn), or its variance as a
    multiple of the covariance. [default: student]"""
GROUPS_HELP = """Column in which rows that measure the same thing have the same value: they become one leaf of the tree,
    named after it. It is not fitted."""
LOG_HELP = "Column to take the logarithm of (may be repeated), or all."
LOG1P_HELP = "Column to take the logarithm of 1 + x of (may be repeated), or all; for counts."
SCALE_HELP = """Divide each row or column by its standard deviation; with --center rows, rows are compared by their
    shape."""
AXES = click.Choice(("rows", "columns"))
LABEL_HELP = "Column of classes or numbers, not fitted but compared with the clusters (may be repeated)."


GROUPS = {
    "Common options": "--out --names --label --groups --drop --log --covariance --clusters --max-seconds --force",
    "Input": "--columns --errors --header --decimal --sheet --transpose",
    "Model": "--noise --log1p --center --scale --grid",
    "Run": "--samples --warmup --chains --jobs --seed",
    "Output": "--quiet --help",
}


class FitCommand(click.Command):
    """``coaltree fit``, whose help lists options by `GROUPS`."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the groups one after the other."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        records = {option.opts[-1]: option.get_help_record(ctx) for option in options}
        for heading, names in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([records[name] or ("", "") for name in names.split()])


@shell.commands.command(cls=FitCommand)
@click.argument("data", type=options.path)
@options.folder_option(required=True)
@options.table_options
@options.column_option("--errors", "Column of the standard errors of the rows, relative to each other; not fitted.")
@options.column_option("--groups", GROUPS_HELP)
@options.column_option("--label", LABEL_HELP, multiple=True)
@options.column_option("--log", LOG_HELP, multiple=True)
@options.column_option("--log1p", LOG1P_HELP, multiple=True)
@click.option("--center", type=AXES, help="Subtract the mean of each row or column.")
@click.option("--scale", type=AXES, help=SCALE_HELP)
@click.option("--covariance", type=click.Choice(COVARIANCES), default="auto", help=COVARIANCE_HELP)
@click.option("--grid", type=options.grid, metavar="AxB", help="Shape of the grid of the columns, for matern32.")
@click.option("--noise", type=NOISE, metavar="student|learn|NUMBER", help=NOISE_HELP)
@options.sampling_options
@options.clusters_option()
@options.force_option
@click.option("--quiet", is_flag=True, help="Print warnings and errors only.")
def fit(
    data: Path, out: Path, clusters: int | None, table_options: Any, quiet: bool, force: bool, **settings: Any
) -> None:
    """Sample trees for the rows of a table.

    DATA is a .csv, .tsv, .txt, .xlsx, .parquet, .npy or .npz file with one observation per row. Empty cells are missing
    values. If the first column has names, they name the rows. How the file was read is shown before the run starts.
    Rows that measure the same thing repeatedly are named by --groups.

    The output folder gets the posterior, the tree (Newick, NEXUS, SciPy linkage), clusters, a figure (PNG, SVG) and
    report.html. An interrupted run leaves a checkpoint, and the same command resumes it.

    \b
    Examples:
      coaltree fit wines.csv --out wines
      coaltree fit wines.csv --max-seconds 20 --out quick
      coaltree fit flowers.csv --label species --out flowers
      coaltree fit genes.tsv --names gene --drop chromosome --covariance full --out genes
      coaltree fit faces.npy --covariance matern32 --grid 16x16 --chains 4 --jobs 2 --out faces
      coaltree fit assay.csv --groups compound --out assay
      coaltree fit wines.csv --clusters 3 --samples 2000 --out wines --force
    """
    from ...model.covariance import Matern32
    from ..tables.reading import column_hints, read_file

    source = read_file(data, table_options)
    for hint in column_hints(source.table):
        shell.show_warning(hint)
    names, leaves = (source.table.labels, "rows") if source.groups is None else (set(source.groups), "groups")
    if clusters is not None and clusters > len(names):
        raise InputError(f"--clusters {clusters} is more than the {len(names)} {leaves} of {data.name}.")
    settings |= {"transform": _transform(settings), "progress": False if quiet else "auto"}
    if (grid := settings.pop("grid")) is not None:
        if settings["covariance"] != "matern32":
            raise InputError(f"--grid needs --covariance matern32, not {settings['covariance']}.")
        settings["covariance"] = Matern32(grid=grid)
        settings["covariance"].check(source.table.values.shape[1])
    fit_table(source, settings, out, clusters, force, inputs=[data])


def _transform(settings: dict[str, Any]) -> Any:
    """The transformer that the options name; they are taken out of the settings."""
    from ...model.data.transform import Preprocessor

    columns = [settings.pop(name) for name in ("log", "log1p")]
    axes = [settings.pop(name) for name in ("center", "scale")]
    log, log1p = (True if names == ("all",) else list(names) or False for names in columns)
    return Preprocessor(log, log1p, *axes) if any(columns + axes) else None


def fit_table(
    source: "TableFile", settings: Any, out: Path, n_clusters: int | None, force: bool, inputs: Sequence[Path]
) -> None:
    """Fit a table, write the files of `outputs.FILES` into the folder `out`, and print a summary.

    `settings` are arguments of `coaltree.fit`, and `inputs` files that were read.
    """
    from ...posterior.clusters.answer import clusters_in_words, leaves_are
    from ...posterior.diagnostics.check_sentences import as_option
    from ...posterior.diagnostics.model_checks import check_or_reason
    from ...posterior.leaf_annotations import annotations_of
    from ..outputs import FILES, write_result

    if settings["n_samples"] != "auto" and settings["max_seconds"]:
        raise InputError("--max-seconds needs --samples auto.")
    is_new, checkpoint = not out.exists(), out / CHECKPOINT
    try:
        # Files beside a checkpoint are those of a run that was killed while writing; the same command resumes it.
        options.output_folder(out, [*FILES, CHECKPOINT], force or checkpoint.exists(), inputs)
        post = _run(source, settings, checkpoint, force)
        answer = write_result(out, post, n_clusters, title=Path(source.file).stem)
    except BaseException as error:
        if is_new:
            with contextlib.suppress(OSError):  # of a folder that is not empty
                out.rmdir()
        if not is_interruption(error):
            raise
        resume = f"the same command resumes from {checkpoint}."
        what = f"; {resume}" if checkpoint.exists() else " before the first checkpoint; nothing was saved."
        raise KeyboardInterrupt(f"interrupted{what}") from None
    checkpoint.unlink(missing_ok=True)
    if n_clusters is None:
        advice = " Choose a number with --clusters K." if answer.n_clusters == 1 else ""
        shell.say(f"{post.suggest_n_clusters().reason}{advice}")
    shell.say(clusters_in_words(answer, leaves_are(post)))
    for annotation in annotations_of(post):
        shell.say(compare_annotation(answer, annotation))
    width = max(map(len, FILES))
    shell.say("\n".join([f"{out}:", *(f"  {file:{width}}  {text}" for file, text in FILES.items())]))
    checks = check_or_reason(post)
    if checks.concern is not None:  # at the end, where it is read
        shell.say(f"{checks.headline} Try {as_option(checks.concern.option)}. All checks: coaltree check {out}")


def _run(source: "TableFile", settings: dict[str, Any], checkpoint: Path, force: bool) -> "Posterior":
    """Sample or resume, with `force` also beside another run's checkpoint; print how table and run were understood."""
    from joblib import cpu_count, parallel_config

    from ...inference.control.run import UnusableCheckpoint
    from ...inference.fit import fit
    from ...posterior.diagnostics.convergence import ending
    from ...posterior.leaf_annotations import KEPT, of_leaves

    shell.say(source.description)
    if checkpoint.exists():
        shell.say(f"resuming from {checkpoint}")
    call = {"X": source.table, "groups": source.groups, "errors": source.errors, "checkpoint": checkpoint, **settings}
    # Without --jobs chains run in threads, since kernels release the interpreter's lock; draws are the same.
    threads = parallel_config("threading", n_jobs=cpu_count()) if settings["n_jobs"] is None else None
    with threads or contextlib.nullcontext():
        try:
            post = fit(**call)
        except UnusableCheckpoint as error:
            if not force:
                raise InputError(f"{error} Choose another --out, or start over with --force.") from error
            checkpoint.unlink()
            post = fit(**call)
    if post.info["interrupted"]:
        raise KeyboardInterrupt
    for name in ("covariance_choice", "components", "transform"):
        if name in post.info:
            shell.say(f"{name.removesuffix('_choice')}: {post.info[name]}")
    if ending(post.info):
        shell.say(f"sampling: {ending(post.info)}")
    if source.annotations:
        groups = post.model.leaves.groups
        post.info[KEPT] = {name: of_leaves(values, groups) for name, values in source.annotations.items()}
    return post


def compare_annotation(answer: "ClusterAnswer", annotation: "LeafAnnotation") -> str:
    """Clusters and classes with their agreement and a table, or the medians of the numbers in each cluster."""
    import numpy as np
    import pandas

    from ...metrics import agreement

    name = shortened(annotation.name)
    if annotation.numbers is not None:
        medians = pandas.Series(annotation.numbers).groupby(answer.labels + 1).median().head(12)
        return f"{name}: medians {', '.join(f'{median:.4g} in cluster {c}' for c, median in medians.items())}"
    observed = annotation.codes >= 0
    of = agreement(answer.labels[observed], annotation.codes[observed])
    n_leaves = of.table.sum()
    title = f"{name}: {of.purity * n_leaves:,.0f} of {n_leaves:,} have the commonest class of their cluster"
    if len(annotation.levels) > 8:
        return f"{title} ({len(annotation.levels)} classes)"
    clusters = [f"cluster {c + 1}" for c in np.unique(answer.labels[observed])]
    classes = [shortened(level, 16) for level in annotation.levels]
    table = pandas.DataFrame(of.table, clusters, classes).head(12)
    return f"{title}\n{textwrap.indent(table.to_string(), '  ')}"

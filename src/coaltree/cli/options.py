"""Arguments and options that commands share, and the checks of the files they name."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._runtime.atomic_write import check_writable
from ..errors import InputError
from .parameter_types import COUNT, MAX_CHAINS, MAX_JOBS, POSITIVE_COUNT, PathName
from .shell import echo

if TYPE_CHECKING:
    from ..posterior.posterior import Posterior
    from .tables.reading import TableOptions

Decorator = Callable[[Any], Any]
POSTERIOR = "posterior.npz"
DEFAULT_CHAINS, DEFAULT_RESAMPLES = 2, 24  # as in `coaltree.fit`, which is imported only when it runs
INPUT = PathName(path_type=Path)
FOLDER = PathName(path_type=Path, file_okay=False)
FILE = PathName(path_type=Path, dir_okay=False)

posterior_argument: Decorator = click.argument("posterior", type=INPUT)
force_option: Decorator = click.option("--force", is_flag=True, help="Overwrite existing files.")
seed_option: Decorator = click.option("--seed", type=click.IntRange(min=0), default=0, help="Random seed.")


def folder_option(**default: Any) -> Decorator:
    """The folder that a command writes its files into."""
    return click.option("-o", "--out", type=FOLDER, help="Output folder.", **default)


def file_option(text: str, **more: Any) -> Decorator:
    """The file that a command writes."""
    return click.option("-o", "--out", type=FILE, help=text, **more)


def clusters_option(text: str = "Number of clusters.") -> Decorator:
    """The number of clusters."""
    text = f"{text} [default: the suggested number]"
    return click.option("--clusters", type=click.IntRange(min=1), metavar="K", help=text)


def column_option(name: str, text: str, **more: Any) -> Decorator:
    """The name of a column."""
    return click.option(name, metavar="COLUMN", help=text, **more)


def sampling_options(command: Any) -> Any:
    """How long to sample, and in how many chains."""
    length: Any = {"default": "auto", "metavar": "auto|NUMBER"}
    samples = """Trees to keep from each chain. auto samples until the chains give the same answer (R-hat at most 1.05,
        the same clusters) and there are enough effective draws (50), or until --max-seconds is reached, at the
        latest after 2000 iterations of each chain (fewer for more than 1200 rows)."""
    warmup = "Iterations to discard before them. auto: until the log joint is stationary; 100 if --samples is a number."
    jobs = "Number of chains to run in parallel, each in its own process. [default: threads, one for each processor]"
    resample = """columns: supports count how often a group is found when columns are drawn anew, for tables whose
        columns are a sample of many of their kind (genes, pixels, questions). Each chain weighs the columns at random;
        it takes 10 + 6 iterations, or up to 40 + 15 above 300 rows, unless --warmup and --samples are numbers."""
    resamples = "With --resample columns: number of resamples, each a chain."
    seconds = "With --samples auto: maximum time."
    chains = "Number of independent chains."
    return _add_options(
        command,
        click.option("--samples", "n_samples", type=POSITIVE_COUNT, help=samples, **length),
        click.option("--warmup", "n_warmup", type=COUNT, help=warmup, **length),
        click.option("--max-seconds", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help=seconds),
        click.option("--chains", "n_chains", type=click.IntRange(1, MAX_CHAINS), default=DEFAULT_CHAINS, help=chains),
        click.option("--resample", type=click.Choice(("columns",)), help=resample),
        click.option(
            "--resamples",
            "n_resamples",
            type=click.IntRange(2, MAX_CHAINS),
            default=DEFAULT_RESAMPLES,
            help=resamples,
        ),
        click.option("--jobs", "n_jobs", type=click.IntRange(1, MAX_JOBS), help=jobs),
    )


def table_options(command: Callable[..., Any]) -> Any:
    """How to read a table; the command gets these options, and its own about columns, as one `TableOptions`."""

    @functools.wraps(command)
    def with_table_options(**options: Any) -> Any:
        from .tables.reading import TableOptions

        names = {field.name for field in dataclasses.fields(TableOptions)} & options.keys()
        return command(table_options=TableOptions(**{name: options.pop(name) for name in names}), **options)

    header = "Whether the first line has the column names. [default: whether it has text]"
    array = "Sheet of an .xlsx file [default: the first], or array of an .npz file [default: X, or the only one]."
    return _add_options(
        with_table_options,
        column_option("--names", "Column of the row names. [default: the first, if it has names]"),
        column_option("--columns", "Column to use (may be repeated). [default: all]", multiple=True),
        column_option("--drop", "Column to leave out (may be repeated).", multiple=True),
        click.option("--header/--no-header", default=None, help=header),
        click.option("--decimal", type=click.Choice((".", ",")), default=".", help="Decimal mark."),
        click.option("--sheet", "--array", "array", metavar="NAME", help=array),
        click.option("--transpose", is_flag=True, help="Cluster the columns of the file, such as samples of genes."),
    )


def _add_options(command: Any, *options: Decorator) -> Any:
    for option in reversed(options):
        command = option(command)
    return command


def read_new_rows(path: Path, options: "TableOptions", post: "Posterior") -> Any:
    """Read a table of rows that were not fitted: the fitted columns, unless `options` name others."""
    from .tables.reading import read_file

    fitted = post.columns if post.transform is None else post.transform.feature_names_in_
    if fitted is not None and not (options.columns or options.drop or options.transpose):
        options = dataclasses.replace(options, columns=fitted, columns_from="a column of the fitted data")
    found = read_file(path, options)
    echo(found.description, err=True)
    return found.table


def output_folder(path: Path, names: Iterable[str], force: bool, inputs: Iterable[Path] = ()) -> Path:
    """Create the folder `path`; refuse if it already has one of the files `names`, unless `force`.

    Whatever is said, no file of `inputs` is overwritten, and all files can be written.
    """
    names = list(names)
    for name in names:
        keep_inputs(path / name, inputs)
    existing = [name for name in names if (path / name).exists()]
    if existing and not force:
        raise InputError(f"{path / existing[0]} already exists; choose another --out, or overwrite it with --force.")
    missing = [folder for folder in path.parents if not folder.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        for folder in missing:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise InputError(f"cannot create the folder {path} ({error.strerror}); choose another --out.") from error
    for name in names:
        check_writable(path / name)
    return path


def output_file(path: Path, force: bool, is_figure: bool = False, inputs: Iterable[Path] = ()) -> Path:
    """Refuse an existing file, unless `force`, a folder that does not exist, and a suffix that is no figure's.

    Whatever is said, neither a file of `inputs` nor a posterior or checkpoint is overwritten.
    """
    from .._runtime.archive import is_archive

    keep_inputs(path, inputs)
    if is_archive(path):
        raise InputError(f"{path} is a posterior or a checkpoint, which is never overwritten; choose another -o.")
    if path.exists() and not force:
        raise InputError(f"{path} already exists; choose another -o, or overwrite it with --force.")
    check_writable(path)
    if is_figure:
        from matplotlib.figure import Figure

        if path.suffix.removeprefix(".").lower() not in Figure().canvas.get_supported_filetypes():
            raise InputError(f"{path.name}: unsupported file type; expected a suffix such as .png, .svg or .pdf.")
    return path


def keep_inputs(path: Path, inputs: Iterable[Path]) -> None:
    """Refuse to write where something is read from, under whatever name or link."""
    for given in inputs:
        source = given / POSTERIOR if given.is_dir() else given
        if path.exists() and source.exists() and path.samefile(source):
            raise InputError(f"{path} is an input of this command, and would be overwritten; choose another -o.")

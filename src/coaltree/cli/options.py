"""Arguments and options that commands share, and the checks of the files that they name."""

import contextlib
import dataclasses
import functools
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._runtime.atomic_write import check_writable
from .._runtime.formatting import shortened
from ..errors import InputError
from .shell import commands, echo

if TYPE_CHECKING:
    from ..posterior.posterior import Posterior
    from .tables.reading import TableOptions

Decorator = Callable[[Any], Any]
POSTERIOR = "posterior.npz"
MAX_COUNT, MAX_CHAINS, MAX_NOISE = 10**9, 10**4, 1e150  # those of `fit`, known before it is imported


def path(text: str) -> Path:
    """A path, which an empty text is not: it would be the current folder."""
    if not text or "\0" in text or len(os.path.basename(text)) > 255:
        raise click.BadParameter(f"{shortened(text)!r} is no path.")
    return Path(text)


def number_or(*words: str, least: float, most: float, kind: type = float) -> Callable[[Any], Any]:
    """A number in a range, which NaN is in none of, or one of some words."""
    what = f"{'a whole number' if kind is int else 'a number'} from {least:.10g} to {most:.10g}"

    def number(text: Any) -> Any:
        with contextlib.suppress(ValueError):
            if text in words or least <= kind(text) <= most:
                return text if text in words else kind(text)
        expected = " or ".join(filter(None, (", ".join(words), what)))
        raise click.BadParameter(f"{shortened(str(text))!r} is not {expected}.")

    return number


def grid(text: str) -> tuple[int, ...]:
    """The sides of a grid."""
    if not re.fullmatch(r"[1-9]\d{0,8}([x×,][1-9]\d{0,8})*", text):
        raise click.BadParameter(f"{shortened(text)!r} is not the shape of a grid, such as 16x16.")
    return tuple(int(side) for side in re.split("[x×,]", text))


INCHES = number_or(least=1.0, most=100.0)

option = click.option
at_least_one = click.IntRange(min=1)
force_option: Decorator = option("--force", is_flag=True, help="Overwrite existing files.")
seed_option: Decorator = option("--seed", "random_state", type=click.IntRange(min=0), default=0, help="Random seed.")


def folder_option(**default: Any) -> Decorator:
    """The folder that a command writes its files into."""
    return option("-o", "--out", type=path, help="Output folder.", **default)


def clusters_option(text: str = "Number of clusters.") -> Decorator:
    """The number of clusters."""
    text = f"{text} [default: the largest number whose clusters are all stable]"
    return option("--clusters", type=at_least_one, metavar="K", help=text)


def column_option(name: str, text: str, **more: Any) -> Decorator:
    """The name of a column."""
    return option(name, metavar="COLUMN", help=text, **more)


def all_of(*options: Decorator) -> Decorator:
    """Several options, listed in this order."""
    return lambda command: functools.reduce(lambda made, one: one(made), reversed(options), command)


_SAMPLES = """Trees to keep from each chain. auto samples until the chains give the same answer (R-hat at most 1.05, the
    same clusters) and there are enough effective draws (50), or until --max-seconds is reached, at the latest after
    2000 iterations of each chain (fewer for more than 1200 rows)."""
_WARMUP = "Iterations to discard before them. auto: until the log joint is stationary; 100 if --samples is a number."
_JOBS = "Number of chains to run in parallel, each in its own process. [default: threads, one for each processor]"
_HEADER = "Whether the first line has the column names. [default: whether it has text]"
_SECONDS = click.FloatRange(0, min_open=True)
_ARRAY = "Sheet of an .xlsx file [default: the first], or array of an .npz file [default: X, or the only one]."


def _count(name: str, least: int, text: str) -> Decorator:
    count = number_or("auto", least=least, most=MAX_COUNT, kind=int)
    return option(f"--{name}", f"n_{name}", type=count, help=text, default="auto", metavar="auto|NUMBER")


sampling_options = all_of(
    _count("samples", 1, _SAMPLES),
    _count("warmup", 0, _WARMUP),
    option("--max-seconds", type=_SECONDS, metavar="SECONDS", help="With --samples auto: maximum time."),
    option("--chains", "n_chains", type=click.IntRange(1, MAX_CHAINS), default=2, help="Number of independent chains."),
    option("--jobs", "n_jobs", type=at_least_one, help=_JOBS),
    seed_option,
)
_table_options = all_of(
    column_option("--names", "Column of the row names. [default: the first, if it has names]"),
    column_option("--columns", "Column to use (may be repeated). [default: all]", multiple=True),
    column_option("--drop", "Column to leave out (may be repeated).", multiple=True),
    option("--header/--no-header", default=None, help=_HEADER),
    option("--decimal", type=click.Choice((".", ",")), help="Decimal mark. [default: ., where cells leave no doubt]"),
    option("--array", "--sheet", "array", metavar="NAME", help=_ARRAY),
    option("--transpose", is_flag=True, help="Cluster the columns of the file, such as samples of genes."),
)  # fmt: skip


def table_options(command: Callable[..., Any]) -> Any:
    """How to read a table; the command gets these options, and its own about columns, as one `TableOptions`."""

    @functools.wraps(command)
    def with_table_options(**options: Any) -> Any:
        from .tables.reading import TableOptions

        names = {field.name for field in dataclasses.fields(TableOptions)} & options.keys()
        return command(table_options=TableOptions(**{name: options.pop(name) for name in names}), **options)

    return _table_options(with_table_options)


def read_new_rows(path: Path, options: "TableOptions", post: "Posterior") -> Any:
    """Read a table of rows that were not fitted: the fitted columns, unless `options` name others."""
    from .tables.reading import read_file

    fitted = post.model.columns if post.model.transform is None else post.model.transform.feature_names_in_
    if fitted is not None and not (options.columns or options.drop or options.transpose):
        options = dataclasses.replace(options, columns=tuple(fitted))
    rows = read_file(path, options)
    echo(rows.description, err=True)
    return rows.table


def posterior_command(out: str = "", name: str = "") -> Decorator:
    """A command on a posterior, which is loaded once the file that it writes, if it writes one, is sure to be writable.

    `out` is the help of the option --out, and `name` that of the file beside the posterior where it is not given.
    """
    file_options = (option("-o", "--out", type=path, help=out), force_option) if out else ()

    def decorate(command: Callable[..., Any]) -> Any:
        @functools.wraps(command)
        def on_posterior(posterior: Path, **call: Any) -> Any:
            from ..posterior.io.archive import load

            if out:
                force, beside = call.pop("force"), posterior if posterior.is_dir() else posterior.parent
                call["out"] = call["out"] or (beside / name.format(**call) if name else None)
                if call["out"] is not None:
                    if call["out"].suffix == ".npz":
                        raise InputError(f"{call['out']} is the name of a posterior or checkpoint; choose another -o.")
                    check_output(call["out"], force, [posterior, call.get("rows", posterior)])
            return command(posterior=load(posterior), **call)

        return commands.command()(all_of(click.argument("posterior", type=path), *file_options)(on_posterior))

    return decorate


def output_folder(path: Path, names: Iterable[str], force: bool, inputs: Iterable[Path] = ()) -> None:
    """Create the folder `path` for the files `names`, which are checked as `check_output` does."""
    path.mkdir(parents=True, exist_ok=True)
    for name in names:
        check_output(path / name, force, inputs)


def check_output(path: Path, force: bool, inputs: Iterable[Path]) -> None:
    """Refuse an input of the command, a file that exists, unless `force`, and one beyond reach."""
    for source in (one / POSTERIOR if one.is_dir() else one for one in inputs):
        if path.exists() and source.exists() and path.samefile(source):
            raise InputError(f"{path} is an input of this command, and would be overwritten; choose another -o.")
    if path.exists() and not force:
        raise InputError(f"{path} already exists; choose another --out, or overwrite it with --force.")
    check_writable(path)

"""Arguments and options that commands share, values of options, and the checks of the files that they name."""

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
from .shell import echo

if TYPE_CHECKING:
    from ..posterior.posterior import Posterior
    from .tables.reading import TableOptions

Decorator = Callable[[Any], Any]
POSTERIOR = "posterior.npz"
MAX_COUNT, MAX_CHAINS, MAX_JOBS, MAX_NOISE = 10**9, 10**4, 10**4, 1e150  # those of `fit`, known before it is imported


class PathName(click.Path):
    """A path, which an empty text is not: it would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse what is no path."""
        text = os.fspath(value)
        if not text or "\0" in text or len(os.path.basename(text)) > 255:
            self.fail(f"{shortened(text)!r} is no path.", param, ctx)
        return super().convert(value, param, ctx)


class Value(click.ParamType):
    """A value that `parse` makes of text; `expected` says what is expected where it raises a `ValueError`."""

    def __init__(self, parse: Callable[[str], Any], expected: str) -> None:
        self.name, self.parse, self.expected = "value", parse, expected

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse text; what is none is a default."""
        try:
            return self.parse(value) if isinstance(value, str) else value
        except ValueError:
            return self.fail(f"{shortened(value)!r} is not {self.expected}.", param, ctx)


def _number(minimum: float, maximum: float, *words: str) -> Callable[[str], Any]:
    """Read a number in a range, which NaN is in none of, or one of some words."""

    def parse(text: str) -> Any:
        if text not in words and not minimum <= float(text) <= maximum:
            raise ValueError
        return text if text in words else float(text)

    return parse


def _whole(minimum: int, maximum: int, word: str) -> Callable[[str], Any]:
    """Read a whole number in a range, or a word."""

    def parse(text: str) -> Any:
        is_whole = re.fullmatch(r"[0-9]{1,10}", text) and minimum <= int(text) <= maximum
        if text != word and not is_whole:
            raise ValueError
        return int(text) if is_whole else text

    return parse


def _grid(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"[1-9]\d*([x×,][1-9]\d*)*", text):
        raise ValueError
    return tuple(int(side) for side in re.split("[x×,]", text))


def _count(minimum: int) -> Value:
    return Value(_whole(minimum, MAX_COUNT, "auto"), f"auto or a whole number from {minimum} to {MAX_COUNT}")


INCHES = Value(_number(1.0, 100.0), "a number of inches from 1 to 100")
GRID = Value(_grid, "the shape of a grid, such as 16x16")
NOISE = Value(_number(0.0, MAX_NOISE, "student", "learn"), f"student, learn or a number from 0 to {MAX_NOISE:g}")
INPUT = PathName(path_type=Path)
FILE = PathName(path_type=Path, dir_okay=False)

posterior_argument: Decorator = click.argument("posterior", type=INPUT)
force_option: Decorator = click.option("--force", is_flag=True, help="Overwrite existing files.")
seed_option: Decorator = click.option("--seed", type=click.IntRange(min=0), default=0, help="Random seed.")


def folder_option(**default: Any) -> Decorator:
    """The folder that a command writes its files into."""
    return click.option("-o", "--out", type=PathName(path_type=Path, file_okay=False), help="Output folder.", **default)


def file_option(text: str, **more: Any) -> Decorator:
    """The file that a command writes."""
    return click.option("-o", "--out", type=FILE, help=text, **more)


def clusters_option(text: str = "Number of clusters.") -> Decorator:
    """The number of clusters."""
    text = f"{text} [default: the largest number whose clusters are all stable]"
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
    return _add_options(
        command,
        click.option("--samples", "n_samples", type=_count(1), help=samples, **length),
        click.option("--warmup", "n_warmup", type=_count(0), help=warmup, **length),
        click.option(
            "--max-seconds", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
            help="With --samples auto: maximum time.",
        ),
        click.option(
            "--chains", "n_chains", type=click.IntRange(1, MAX_CHAINS), default=2,
            help="Number of independent chains.",
        ),
        click.option("--jobs", "n_jobs", type=click.IntRange(1, MAX_JOBS), help=jobs),
    )  # fmt: skip


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
        click.option("--array", "--sheet", "array", metavar="NAME", help=array),
        click.option("--transpose", is_flag=True, help="Cluster the columns of the file, such as samples of genes."),
    )


def _add_options(command: Any, *options: Decorator) -> Any:
    for option in reversed(options):
        command = option(command)
    return command


def read_new_rows(path: Path, options: "TableOptions", post: "Posterior") -> Any:
    """Read a table of rows that were not fitted: the fitted columns, unless `options` name others."""
    from .tables.reading import read_file

    fitted = post.model.columns if post.model.transform is None else post.model.transform.feature_names_in_
    if fitted is not None and not (options.columns or options.drop or options.transpose):
        options = dataclasses.replace(options, columns=tuple(fitted))
    rows = read_file(path, options)
    echo(rows.description, err=True)
    return rows.table


def output_folder(path: Path, names: Iterable[str], force: bool, inputs: Iterable[Path] = ()) -> Path:
    """Create the folder `path`; refuse if it has one of the files `names`, unless `force`, or one of `inputs`."""
    names = list(names)
    for name in names:
        keep_inputs(path / name, inputs)
    existing = [name for name in names if (path / name).exists()]
    if existing and not force:
        raise InputError(f"{path / existing[0]} already exists; choose another --out, or overwrite it with --force.")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create the folder {path} ({error.strerror}); choose another --out.") from error
    for name in names:
        check_writable(path / name)
    return path


def output_file(path: Path, force: bool, is_figure: bool = False, inputs: Iterable[Path] = ()) -> Path:
    """Refuse a file that exists, unless `force`, an input, a posterior, and a suffix that is no figure's."""
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
    """Refuse to write where something is read from."""
    for source in (one / POSTERIOR if one.is_dir() else one for one in inputs):
        if path.exists() and source.exists() and path.samefile(source):
            raise InputError(f"{path} is an input of this command, and would be overwritten; choose another -o.")

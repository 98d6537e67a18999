"""What all commands share: exit status, error messages, and common options."""

import contextlib
import errno
import functools
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from .. import __version__
from ..errors import CoaltreeWarning, InputError

if TYPE_CHECKING:
    from ..posterior.posterior import Posterior

POSTERIOR = "posterior.npz"


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    settings = SimpleNamespace(debug=False)
    _open_what_is_closed()
    args = list(sys.argv[1:] if args is None else args) or ["--help"]
    try:
        with _told_to_stop_as_by_ctrl_c(), warnings.catch_warnings():
            warnings.showwarning = show_warning
            status = commands.main(args, prog_name="coaltree", obj=settings, standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "coaltree"
        return _fail(f"{_one_line(error.format_message())} (see {where} --help)", error.exit_code)
    except click.ClickException as error:
        return _fail(_one_line(error.format_message()), error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return _fail("interrupted.", 130)
    except InputError as error:
        return _fail(_one_line(error), 2, settings.debug)
    except MemoryError:
        return _fail("out of memory; use fewer rows, columns or samples, or a higher limit.", 1, settings.debug)
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.EPIPE:
            # The reader of our output has left (`coaltree … | head`): no complaint, also not at interpreter exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        hint = "" if settings.debug else " (--debug shows the traceback)"
        return _fail(f"{type(error).__name__}: {_one_line(error) or 'no message'}{hint}", 1, settings.debug)


@contextlib.contextmanager
def _told_to_stop_as_by_ctrl_c() -> Iterator[None]:
    """Let SIGTERM, or a terminal that closes, end a run as Ctrl-C does: saved, and with its workers."""
    changed = []
    if threading.current_thread() is threading.main_thread():  # no other thread may
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # nohup's wish is respected
                signal.signal(number, signal.default_int_handler)
                changed.append(number)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


def _open_what_is_closed():
    """Let a command whose output was closed by its caller (``>&-``) do its work all the same."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


class Interrupted(click.ClickException):
    """Ctrl-C, with a message."""

    exit_code = 130


def _fail(message, status, debug=False):
    if debug:
        traceback.print_exc()
    click.echo(f"coaltree: {message}", err=True)
    return status


def _one_line(message):
    return " ".join(str(message).split())


_STEP = SimpleNamespace(is_shown=False)


@contextlib.contextmanager
def doing(what: str) -> Iterator[None]:
    """Say on a terminal what takes time, in a line that goes away when it is done."""
    _STEP.is_shown = sys.stderr.isatty()
    if _STEP.is_shown:
        click.echo(f"{what} …", nl=False, err=True)
    try:
        yield
    finally:
        _end_step()


def _end_step():
    if _STEP.is_shown:
        click.echo("\r\x1b[K", nl=False, err=True)  # erases the line
        _STEP.is_shown = False


def show_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Write a warning as one line on stderr; where it comes from is not said."""
    place = "" if issubclass(category, CoaltreeWarning) else f"{category.__name__}: "
    _end_step()
    click.echo(f"coaltree: warning: {place}{_one_line(message)}", err=True)


def _remember_debug(context, parameter, value):
    context.obj.debug |= value


debug_option = click.option(
    "--debug", is_flag=True, expose_value=False, callback=_remember_debug, help="Show the full traceback of an error."
)
force_option = click.option("--force", is_flag=True, help="Overwrite existing files.")
seed_option = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")


def out_option(default: str) -> Callable[[Any], Any]:
    """The folder that a command writes its files into."""
    folder = click.Path(path_type=Path, file_okay=False)
    return click.option("-o", "--out", type=folder, default=default, show_default=True, help="Output folder.")


def file_option(text: str, **more: Any) -> Callable[[Any], Any]:
    """The file that a command writes."""
    return click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help=text, **more)


def clusters_option(text: str = "Number of clusters. [default: the suggested number]") -> Callable[[Any], Any]:
    """The number of clusters."""
    return click.option("--clusters", type=click.IntRange(min=1), metavar="K", help=text)


def table_options(command: Any) -> Any:
    """How to read a table; the command gets what was said as one `tables.Choice`."""
    names = "Column with the names of the rows. [default: the first, if it has names]"
    header = "Whether the first line has the names of the columns. [default: whether it has text]"
    separator = "Mark between cells, such as ; or the word tab. [default: the one that fits]"

    @functools.wraps(command)
    def with_choice(names, columns, drop, header, decimal, separator, array, **others):
        from .tables.reading import Choice

        return command(choice=Choice(names, columns, drop, header, decimal, separator, array), **others)

    text: Any = with_choice
    for option in (
        click.option(
            "--array", metavar="NAME", help="Array to read from an .npz file. [default: X, or the only table]"
        ),
        click.option("--separator", metavar="MARK", help=separator),
        click.option("--decimal", metavar="MARK", help="Decimal mark: a point or a comma. [default: a point]"),
        click.option("--header/--no-header", default=None, help=header),
        click.option("--drop", multiple=True, metavar="COLUMN", help="Column to leave out (may be repeated)."),
        click.option(
            "--columns", multiple=True, metavar="COLUMN", help="Column to use (may be repeated). [default: all]"
        ),
        click.option("--names", metavar="COLUMN", help=names),
    ):
        text = option(text)
    return text


posterior_argument = click.argument("posterior", type=click.Path(path_type=Path))


def load_posterior(path: Path) -> "Posterior":
    """Read a posterior from its file, or from the output folder of `coaltree fit`."""
    from ..posterior.io.archive import load

    return load(path / POSTERIOR if path.is_dir() else path)


def output_folder(path: Path, names: Iterable[str], force: bool) -> Path:
    """Create the folder `path`; refuse if it already has one of the files `names`, unless `force`."""
    there = [name for name in names if (path / name).exists()]
    if there and not force:
        raise InputError(f"{path / there[0]} already exists; choose another --out, or overwrite it with --force.")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create the folder {path} ({error.strerror}); choose another --out.") from error
    return path


def output_file(path: Path, force: bool) -> Path:
    """Refuse a file that already exists, unless `force`, and one whose folder does not exist."""
    if path.exists() and not force:
        raise InputError(f"{path} already exists; choose another -o, or overwrite it with --force.")
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: the folder {path.parent} does not exist.")
    return path


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="%(prog)s %(version)s")
@debug_option
def commands():
    """Bayesian hierarchical clustering of continuous data with Kingman's coalescent.

    \b
    Try:
      coaltree demo                            a tree of 178 wines, in demo-output/
      coaltree fit data.csv --out tree         a tree of your own data, with a report page
      coaltree info tree                       a summary of the result

    coaltree COMMAND --help shows the options of a command.
    """

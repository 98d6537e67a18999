"""What all commands share: how they end, how they complain, and the options that mean the same everywhere."""

import errno
import os
import sys
import traceback
import warnings
from pathlib import Path
from types import SimpleNamespace

import click

from .. import __version__
from ..errors import CoaltreeWarning, InputError

POSTERIOR = "posterior.npz"


def main(args=None):
    """Run the command line and return its exit status."""
    settings = SimpleNamespace(debug=False)
    try:
        with warnings.catch_warnings():
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
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.EPIPE:
            # The reader of our output has left (`coaltree … | head`): no complaint, also not at interpreter exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        hint = "" if settings.debug else " (--debug shows where)"
        return _fail(f"{type(error).__name__}: {_one_line(error) or 'no message'}{hint}", 1, settings.debug)


class Interrupted(click.ClickException):
    """Ctrl-C, where there is more to say about it."""

    exit_code = 130


def _fail(message, status, debug=False):
    if debug:
        traceback.print_exc()
    click.echo(f"coaltree: {message}", err=True)
    return status


def _one_line(message):
    return " ".join(str(message).split())


def show_warning(message, category, filename="", lineno=0, file=None, line=None):
    """Write a warning as one line on stderr."""
    place = "" if issubclass(category, CoaltreeWarning) else f"{category.__name__}: "
    click.echo(f"coaltree: warning: {place}{_one_line(message)}", err=True)


def _remember_debug(context, parameter, value):
    context.obj.debug |= value


debug_option = click.option(
    "--debug", is_flag=True, expose_value=False, callback=_remember_debug, help="Show the traceback of a failure."
)
force_option = click.option("--force", is_flag=True, help="Overwrite what is there.")
seed_option = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")


def out_option(default):
    """The folder that a command leaves its files in."""
    return click.option(
        "--out", type=click.Path(path_type=Path, file_okay=False), default=default, show_default=True, help="Folder."
    )


def file_option(text, **more):
    """The file that a command leaves."""
    return click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help=text, **more)


def clusters_option(text="Number of clusters; by default the number that the waits between merges suggest."):
    """Into how many clusters to cut."""
    return click.option("--clusters", type=click.IntRange(min=1), metavar="K", help=text)


def table_options(command):
    """How to read a table."""
    for option in (
        click.option("--array", metavar="NAME", help="Which array of an .npz file."),
        click.option("--header/--no-header", default=None, help="Whether the first line names the columns."),
        click.option("--drop", multiple=True, metavar="NAME", help="A column to leave out; may be repeated."),
        click.option("--columns", multiple=True, metavar="NAME", help="A column to use; may be repeated. [all]"),
        click.option("--index", metavar="NAME", help="The column that names the rows. [found by looking]"),
    ):
        command = option(command)
    return command


posterior_argument = click.argument("posterior", type=click.Path(path_type=Path))


def load_posterior(path):
    """Read a posterior from its file, or from the folder that `coaltree fit` left."""
    from ..posterior.files import load

    return load(path / POSTERIOR if path.is_dir() else path)


def output_folder(path, names, force):
    """Make the folder `path`, and refuse if it holds one of the files `names` already, unless told to overwrite."""
    there = [name for name in names if (path / name).exists()]
    if there and not force:
        raise InputError(f"{path / there[0]} is there already; choose another --out, or overwrite it with --force.")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path} cannot be made a folder ({error.strerror}); choose another --out.") from error
    return path


def output_file(path, force):
    """Refuse a file that is there already, unless told to overwrite it, and one that has no folder to be in."""
    if path.exists() and not force:
        raise InputError(f"{path} is there already; choose another -o, or overwrite it with --force.")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {str(path.parent)!r} to write {path.name!r} into.")
    return path


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="%(prog)s %(version)s")
@debug_option
def commands():
    """Bayesian hierarchical clustering of continuous data with Kingman's coalescent.

    \b
    Try:
      coaltree demo                            a tree of 60 wines, in demo-output/
      coaltree fit data.csv --out tree         a tree of your own data, with a report page
      coaltree info tree                       what came out, in words

    Every command says more with --help.
    """

"""Run the command line: exit status, messages on stderr, help with options in groups."""

import os
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import click

from .. import __version__
from .._runtime.formatting import escaped, shortened
from ..errors import CoaltreeWarning, ConvergenceWarning, InputError, InterruptedWarning, is_interruption


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    os.environ["MPLBACKEND"] = "agg"  # no windows, nor what a notebook names
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # of names that a terminal cannot show
    for name in ("SIGTERM", "SIGHUP"):  # these end a run as Ctrl-C does: saved, and with its workers
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores SIGHUP
            signal.signal(number, signal.default_int_handler)
    args = list(sys.argv[1:] if args is None else args) or ["--help"]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of other packages help no user; no warning costs a run
            warnings.simplefilter("always", CoaltreeWarning)
            warnings.showwarning = show_warning
            status = commands.main(args, prog_name="coaltree", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except BrokenPipeError:
        # The reader of our output has left (`coaltree … | head`): no message, also not at interpreter exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (Exception, KeyboardInterrupt) as error:
        if "--debug" in args:
            echo(traceback.format_exc().rstrip(), err=True)
        message, status = _in_words(error, "" if "--debug" in args else " (coaltree --debug … shows the traceback)")
        echo(f"coaltree: {' '.join(message.split())}", err=True)
        return status


def _in_words(error: BaseException, hint: str) -> tuple[str, int]:
    """What the user is told of an error, with a hint for those that should not be, and the exit status."""
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)  # of bad usage
        return error.format_message() + (f" (see {context.command_path} --help)" if context else ""), error.exit_code
    if isinstance(error, InputError):
        return str(error), 2
    if isinstance(error, click.Abort) or is_interruption(error):
        return str(error.__cause__ or "") or "interrupted.", 130
    if isinstance(error, MemoryError):
        return "out of memory; use fewer rows, columns or samples.", 1
    if isinstance(error, OSError) and error.filename is not None:  # a path that no check has refused
        return f"{shortened(str(error.filename), 80)}: {error.strerror}.", 2
    return f"{type(error).__name__}: {str(error) or 'no message'}{hint}", 1


def echo(text: object, err: bool = False) -> None:
    """Write lines to the terminal; control characters of names, which a file may have, are escaped."""
    click.echo(escaped(str(text), keep="\n\t"), err=err)


def say(text: object) -> None:
    """Print a line, unless the command is --quiet."""
    if not click.get_current_context().params.get("quiet"):
        echo(text)


def show_warning(message: Warning | str, *where: Any, **more: Any) -> None:
    """Write a warning as one line on stderr, without the place in the code, its advice in options of the command."""
    if isinstance(message, InterruptedWarning):  # the command says how to go on
        return
    if isinstance(message, ConvergenceWarning):
        increase = " and ".join("--" + name.removeprefix("n_").replace("_", "-") for name in message.increase)
        message = f"{str(message).partition(' What to do')[0]} Increase {increase}."
    text = re.sub(r'\b(noise|covariance|sampler|groups)="?([\w.]+)"?', r"--\1 \2", str(message))
    echo(f"coaltree: warning: {text}", err=True)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True})
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the full traceback of an error.")
def commands() -> None:
    """Bayesian hierarchical clustering of continuous data with Kingman's coalescent.

    \b
    Try:
      coaltree demo                            a tree of 178 wines, in demo-output/
      coaltree fit data.csv --out tree         a tree of your own data, with a report page
      coaltree info tree                       a summary of the result

    coaltree COMMAND --help shows the options of a command.
    """

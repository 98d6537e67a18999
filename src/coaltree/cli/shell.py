"""Run the command line: exit status, messages on stderr, help with options in groups."""

import contextlib
import os
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import click

from .. import __version__
from .._runtime.formatting import escaped
from ..errors import CoaltreeWarning, InputError, is_interruption


class Interrupted(click.ClickException):
    """Ctrl-C, with a message."""

    exit_code = 130


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    state = SimpleNamespace(debug=False)
    os.environ["MPLBACKEND"] = "agg"  # no windows, nor what a notebook names
    for name in ("stdout", "stderr"):
        if (stream := getattr(sys, name)) is None:  # closed by the caller (>&-)
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # of names that a terminal cannot show
    args = list(sys.argv[1:] if args is None else args) or ["--help"]
    try:
        with _termination_as_interrupt(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of other packages help no user; no warning costs a run
            warnings.simplefilter("always", CoaltreeWarning)
            warnings.showwarning = show_warning
            status = commands.main(args, prog_name="coaltree", obj=state, standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.ClickException as error:
        context = getattr(error, "ctx", None)  # of bad usage
        hint = f" (see {context.command_path} --help)" if context else ""
        return _fail(error.format_message() + hint, error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return _fail("interrupted.", 130)
    except InputError as error:
        return _fail(str(error), 2, state.debug)
    except BrokenPipeError:
        # The reader of our output has left (`coaltree … | head`): no message, also not at interpreter exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except MemoryError:
        return _fail("out of memory; use fewer rows, columns or samples.", 1, state.debug)
    except Exception as error:
        if is_interruption(error):  # within a kernel
            return _fail("interrupted.", 130)
        hint = "" if state.debug else " (coaltree --debug … shows the traceback)"
        return _fail(f"{type(error).__name__}: {str(error) or 'no message'}{hint}", 1, state.debug)


@contextlib.contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Let SIGTERM, or a terminal that closes, end a run as Ctrl-C does: saved, and with its workers."""
    numbers = []
    if threading.current_thread() is threading.main_thread():  # no other thread may
        known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
        numbers = [number for number in known if signal.getsignal(number) is signal.SIG_DFL]  # nohup ignores SIGHUP
    try:
        for number in numbers:
            signal.signal(number, signal.default_int_handler)
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _fail(message: str, status: int, debug: bool = False) -> int:
    if debug:
        echo(traceback.format_exc().rstrip(), err=True)
    echo(f"coaltree: {' '.join(message.split())}", err=True)
    return status


def echo(text: object, err: bool = False) -> None:
    """Write lines to the terminal; control characters of names, which a file may have, are escaped."""
    click.echo(escaped(str(text), keep="\n\t"), err=err)


def say(text: object) -> None:
    """Print a line, unless the command is --quiet."""
    context = click.get_current_context(silent=True)
    if context is None or not context.params.get("quiet"):
        echo(text)


def show_warning(message: Warning | str, *where: Any, **more: Any) -> None:
    """Write a warning as one line on stderr, without the place in the code."""
    text = re.sub(r'\b(noise|covariance|sampler|groups)="?([\w.]+)"?', r"--\1 \2", str(message))
    echo(f"coaltree: warning: {text}", err=True)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True})
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the full traceback of an error.")
@click.pass_context
def commands(context: click.Context, debug: bool) -> None:
    """Bayesian hierarchical clustering of continuous data with Kingman's coalescent.

    \b
    Try:
      coaltree demo                            a tree of 178 wines, in demo-output/
      coaltree fit data.csv --out tree         a tree of your own data, with a report page
      coaltree info tree                       a summary of the result

    coaltree COMMAND --help shows the options of a command.
    """
    context.obj.debug = debug

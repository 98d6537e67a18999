"""The command ``coaltree``: a thin shell over the public functions.

Commands parse, call and print; work is imported inside them, so that ``coaltree --help`` pays for click alone.
Exit status: 0 done, 1 the run failed, 2 bad usage or input, 130 interrupted. Whatever goes wrong is one line on
stderr; ``--debug`` adds the traceback.
"""

import errno
import os
import sys
import traceback
import warnings
from pathlib import Path
from types import SimpleNamespace

import click

from . import __version__
from .errors import CoaltreeWarning, InputError


def main(args=None):
    """Run the command line and return its exit status."""
    settings = SimpleNamespace(debug=False)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
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


def _fail(message, status, debug=False):
    if debug:
        traceback.print_exc()
    click.echo(f"coaltree: {message}", err=True)
    return status


def _one_line(message):
    return " ".join(str(message).split())


def _show_warning(message, category, filename, lineno, file=None, line=None):
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


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="%(prog)s %(version)s")
@debug_option
def commands():
    """Bayesian hierarchical clustering of continuous data with Kingman's coalescent.

    \b
    Try:  coaltree demo
    """


@commands.command()
@out_option("demo-output")
@seed_option
@force_option
@debug_option
def demo(out, seed, force):
    """Cluster a small bundled data set (60 wines, 13 measurements each).

    Leaves a tree (Newick and linkage), a figure and a report page.
    """
    from . import demo as job

    folder = output_folder(out, job.FILES, force)
    job.run(folder, seed, click.echo)


@commands.command()
@click.option(
    "--n", type=click.IntRange(min=2), default=64, show_default=True, help="Observations, leaves of the tree."
)
@click.option("--d", type=click.IntRange(min=1), default=8, show_default=True, help="Dimensions.")
@click.option(
    "--covariance",
    type=click.Choice(["spherical", "squared_exponential"]),
    default="spherical",
    show_default=True,
    help="Covariance of the diffusion: the identity, or smooth curves over 0 … d-1.",
)
@click.option("--length2", type=float, default=1.0, show_default=True, help="Squared length scale of smooth curves.")
@click.option("--noise", type=float, default=1e-3, show_default=True, help="White noise added to smooth curves.")
@out_option("simulated")
@seed_option
@force_option
@debug_option
def simulate(n, d, covariance, length2, noise, out, seed, force):
    """Draw a tree from the coalescent and data that diffused along it.

    Leaves data.csv (a header, and the leaf's name in the first column) and the true tree, as tree.newick and
    linkage.csv (SciPy's columns: child, child, time, leaves).
    """
    import csv

    from . import covariance as families
    from .datasets import simulate as draw
    from .demo import write_tree

    smooth = covariance == "squared_exponential"
    phi = families.SquaredExponential(length2=length2, noise=noise) if smooth else families.Spherical()
    X, tree = draw(n, d, phi, random_state=seed)
    folder = output_folder(out, ("data.csv", "tree.newick", "linkage.csv"), force)
    with open(folder / "data.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["leaf", *(f"x{j}" for j in range(d))])
        rows.writerows([label, *map(repr, row)] for label, row in zip(tree.labels, X.tolist(), strict=True))
    write_tree(folder, tree)
    click.echo(f"{folder}: data.csv ({n} x {d}), tree.newick, linkage.csv")

"""The command ``coaltree``: a thin shell over the public functions, one file per command.

Commands parse, call and print; work is imported inside them, so that ``coaltree --help`` pays for click alone.
Exit status: 0 done, 1 the run failed, 2 bad usage or input, 130 interrupted. Whatever goes wrong is one line on
stderr; ``--debug`` adds the traceback.

    shell      how all commands end and complain, and the options they share
    tables     files of people: CSV, TSV, Parquet, NumPy
    outputs    the files that fit and the others leave
"""

from . import demo, fit, info, place, plot, report, simulate
from .shell import commands, main

__all__ = ["commands", "demo", "fit", "info", "main", "place", "plot", "report", "simulate"]

"""The command ``coaltree``: a thin shell over the public functions, one file per command.

Commands import what they need when they are called, so that ``coaltree --help`` loads click alone.
Exit status: 0 done, 1 the run failed, 2 bad usage or input, 130 interrupted. An error is one line on stderr;
``--debug`` adds the traceback.
"""

from .commands import check, compare, demo, explain, fit, info, place, plot, report, simulate, warmup  # noqa: F401
from .shell import commands, main

__all__ = ["commands", "main"]

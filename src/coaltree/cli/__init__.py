"""The command ``coaltree``: a thin shell over the public functions.

Commands parse, call and print; work is imported inside them, so that ``coaltree --help`` pays for click alone.
Exit status: 0 done, 1 the run failed, 2 bad usage or input, 130 interrupted. Whatever goes wrong is one line on
stderr; ``--debug`` adds the traceback.

    shell      how all commands end and complain, and the options they share
    fitting    fit
    outputs    the files that fit leaves
    asking     report, plot, place, info: what a saved posterior knows
    making     demo, simulate
"""

from . import asking, fitting, making
from .shell import commands, main

__all__ = ["asking", "commands", "fitting", "main", "making"]

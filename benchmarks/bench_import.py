"""`import coaltree` beside `import numpy`, each in fresh interpreters (goal: under 1 s)."""

import subprocess
import sys

from .timing import duration, side_by_side, table

CASES = {
    "bare interpreter": "pass",
    "import numpy": "import numpy",
    "import coaltree": "import coaltree",
    "coaltree --help": "from coaltree.cli import main; main(['--help'])",
    "coaltree.Tree": "from coaltree import Tree",
    "every public name": "import coaltree; [getattr(coaltree, name) for name in coaltree.__all__]",
    "import sklearn.cluster": "import sklearn.cluster",
    "import scipy.cluster.hierarchy": "import scipy.cluster.hierarchy",
}


def run():
    seconds = side_by_side({name: _start(code) for name, code in CASES.items()})
    bare = seconds["bare interpreter"]
    table(
        ("in a new process", "time", "less the interpreter"),
        [(name, duration(total), duration(max(0.0, total - bare))) for name, total in seconds.items()],
    )


def _start(code):
    def start():
        subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)

    return start

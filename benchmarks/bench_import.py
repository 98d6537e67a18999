"""From nothing to work: imports, the command line's first words, and loading compiled kernels, in fresh interpreters.

Goals: `coaltree --help` within 0.3 s, the first line of `coaltree fit` within 1.5 s, all kernels loaded within 1 s.
CPU seconds are beside the wall clock's, which a busy machine prolongs.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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
# What `coaltree warmup` calls, from the cache: the seconds that went into loading kernels, and how many were compiled.
LOAD_KERNELS = """
import gc, tempfile, time, warnings
from pathlib import Path
from numba.core.dispatcher import Dispatcher
from coaltree._runtime import jit
compile_or_load, depth, seconds = jit._compile, 0, [0.0, 0.0]
def timed(*arguments):
    global depth
    depth, began = depth + 1, (time.perf_counter(), time.thread_time())
    try:
        return compile_or_load(*arguments)
    finally:
        depth -= 1
        if depth == 0:
            seconds[:] = seconds[0] + time.perf_counter() - began[0], seconds[1] + time.thread_time() - began[1]
jit._compile = timed
from coaltree.cli.commands.warmup import use_everything
warnings.simplefilter("ignore")
with tempfile.TemporaryDirectory() as folder:
    use_everything(Path(folder))
stats = [kernel.stats for kernel in gc.get_objects() if isinstance(kernel, Dispatcher)]
print(*seconds, sum(bool(one.cache_misses) for one in stats), sum(bool(one.cache_hits) for one in stats))
"""


def run():
    seconds = side_by_side({name: _start(code) for name, code in CASES.items()})
    bare = seconds["bare interpreter"]
    table(
        ("in a new process", "time", "less the interpreter"),
        [(name, duration(total), duration(max(0.0, total - bare))) for name, total in seconds.items()],
    )
    print()
    first_line = min(_until_the_first_line() for _ in range(3))
    wall, cpu, n_loaded = _loading_kernels()
    rows = [
        ("coaltree --help", duration(seconds["coaltree --help"]), "", "0.3 s"),
        ("first line of coaltree fit", *map(duration, first_line), "1.5 s"),
        (f"loading {n_loaded} kernels", duration(wall), duration(cpu), "1 s"),
    ]
    table(("from the cache", "time", "CPU", "goal"), rows)


def _start(code):
    def start():
        subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)

    return start


def _until_the_first_line():
    """Wall clock and CPU seconds until `coaltree fit` prints something."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data.csv")
        data.write_text("a,b\n" + "".join(f"{i * 0.37 % 1},{i * 0.61 % 1}\n" for i in range(30)))
        before, began = os.times(), time.perf_counter()
        command = [sys.executable, "-m", "coaltree", "fit", str(data), "--out", str(Path(folder, "out"))]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            process.stdout.readline()
            wall = time.perf_counter() - began
            process.kill()
        after = os.times()
    return wall, after.children_user + after.children_system - before.children_user - before.children_system


def _loading_kernels():
    for _ in range(2):  # the first may compile
        run = subprocess.run([sys.executable, "-c", LOAD_KERNELS], check=True, capture_output=True, text=True)
        wall, cpu, n_compiled, n_loaded = map(float, run.stdout.split())
        if n_compiled == 0:
            break
    return wall, cpu, int(n_loaded)

"""Peak memory, of this process or of a run in a process of its own."""

import re
import subprocess
import sys
from pathlib import Path


def peak():
    """Bytes that this process has had at most."""
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])


_RUN = """
import re
import numpy as np, coaltree as ct

def kilobytes(what):  # the process's own figures: getrusage would hand down those of its parent
    return int(re.search(what + r":\\s+(\\d+) kB", open("/proc/self/status").read())[1])

X, _ = ct.simulate({n}, {d}, random_state=0)
ct.sample_trees(X[:40], sampler={sampler}, random_state=0, progress=False)  # so that all is compiled
before = kilobytes("VmRSS")
ct.sample_trees(X, sampler={sampler}, random_state=0, progress=False)
print(1024 * (kilobytes("VmHWM") - before))
"""


def peak_of_a_run(sampler, n, d):
    """Return the bytes that `sample_trees` of n rows adds at its peak; `sampler` is code such as "ct.MPost1(100)"."""
    code = _RUN.format(n=n, d=d, sampler=sampler)
    return int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def allowed_for_particles(n, n_particles):
    """Return 8 n² for the leaves, 3.2 n² for each particle's rows, and 44 for each of its tree's 2n nodes."""
    return 8 * n * n + n_particles * (3.2 * n * n + 44 * 2 * n)

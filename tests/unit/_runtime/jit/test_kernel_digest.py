"""A kernel's digest changes with whatever its machine code comes from, and with nothing else."""

import subprocess
import sys
import textwrap
from importlib.util import module_from_spec, spec_from_file_location

import pytest

from coaltree._runtime.jit.kernel_digest import digest

CALLEE = """
from coaltree._runtime.jit import jit

@jit
def half(x):
    return x / 2
"""
CALLER = """
import callee
import numpy as np
from coaltree._runtime.jit import jit
from callee import half

STEP = 3
TABLE = np.arange(3.0)

@jit(fastmath={"reassoc", "contract"})
def step(x):
    '''What it does.'''
    return half(x) + STEP * TABLE[0]

@jit
def two_steps(x):
    return step(step(x))
"""


@pytest.fixture
def two_files(tmp_path, monkeypatch):
    """A function that writes both files, and returns the digest of the kernel that calls the others."""

    def load(name, text):
        path = tmp_path / f"{name}.py"
        path.write_text(textwrap.dedent(text))
        spec = spec_from_file_location(name, path)
        monkeypatch.setitem(sys.modules, name, module_from_spec(spec))
        # compiled from the text: a file that is written twice in a second may be taken for the same
        exec(compile(path.read_text(), str(path), "exec"), sys.modules[name].__dict__)
        return sys.modules[name]

    def of(callee=CALLEE, caller=CALLER):
        load("callee", callee)
        return digest(load("caller", caller).two_steps)

    return of


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("callee", "x / 2", "x / 3"),
        ("callee", "@jit", "@jit(allocates=False)"),
        ("caller", "STEP = 3", "STEP = 3.0"),
        ("caller", "arange(3.0)", "arange(1.0, 4.0)"),
        ("caller", '"contract"', '"nnan"'),
        ("caller", "half(x) +", "half(x) -"),
        ("caller", "step(step(x))", "step(x)"),
    ],
)
def test_what_matters_changes_it(two_files, file, old, new):
    texts = {"callee": CALLEE, "caller": CALLER}
    assert old in texts[file]
    assert two_files(**(texts | {file: texts[file].replace(old, new)})) != two_files()


def test_what_does_not_matter_leaves_it(two_files):
    other = CALLER.replace("What it does.", "In other words.").replace("STEP = 3", "# a comment\nSTEP = 3\nUNUSED = 4")
    assert two_files(caller=other + "\n@jit\ndef another(x):\n    return step(x)\n") == two_files()


def test_it_is_the_same_in_every_process():
    program = (
        "from coaltree._runtime.jit.kernel_digest import digest\n"
        "from coaltree.samplers.regraft import outlier_moves, update\n"
        "from numba.core.dispatcher import Dispatcher\n"
        "kernels = [v for m in (outlier_moves, update) for v in vars(m).values() if isinstance(v, Dispatcher)]\n"
        "print([digest(kernel).hex() for kernel in kernels])"
    )
    said = {
        subprocess.run([sys.executable, "-c", program], env=None, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert len(said) == 1
    assert len(said.pop()) > 1000

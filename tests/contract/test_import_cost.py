"""`import coaltree` and `coaltree --help` cost little: no heavy package is imported and no kernel is compiled."""

import json
import subprocess
import sys

import pytest

HEAVY = ("numba", "sklearn", "matplotlib", "scipy.stats")


def modules_after(code):
    """Names in sys.modules of a fresh interpreter that has run `code`."""
    program = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    ["import coaltree; dir(coaltree)", "from coaltree.cli import main; main(['--help']); main(['simulate', '--help'])"],
)
def test_import_loads_nothing_heavy(code):
    loaded = modules_after(code)
    assert "coaltree" in loaded
    assert not loaded.intersection(HEAVY)


def test_import_probe_sees_a_heavy_import():
    assert modules_after("import coaltree, matplotlib").intersection(HEAVY) == {"matplotlib"}


COMPILED = """
import gc
from numba import njit
from numba.core.dispatcher import Dispatcher

def compiled():
    return sum(len(kernel.overloads) for kernel in gc.get_objects() if isinstance(kernel, Dispatcher))

import coaltree
for name in coaltree.__all__: getattr(coaltree, name)
by_loading = compiled()
eager = njit('float64(float64)')(lambda x: x)
print(by_loading, compiled() - by_loading)
"""


def test_public_names_compile_nothing():
    """Nor reads a kernel from the cache; an explicit signature, which would, is seen."""
    done = subprocess.run([sys.executable, "-c", COMPILED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "1"]


def test_public_names_resolve():
    import coaltree

    assert len(set(coaltree.__all__)) == len(coaltree.__all__)
    for name in coaltree.__all__:
        assert getattr(coaltree, name) is not None
    assert dir(coaltree) == coaltree.__all__

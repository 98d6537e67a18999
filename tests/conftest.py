"""One BLAS thread for the tests (waiting threads starve parallel workers), and two ways for Hypothesis to look.

`same`, the default, tries the same examples each time; `--hypothesis-profile random` (`make verify`) tries many others,
and prints with a failure the line that repeats it.
"""

import contextlib
import importlib
import os
import signal
from pathlib import Path

for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # read when NumPy is first imported, so nothing that imports it may come before

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

settings.register_profile("same", max_examples=40, derandomize=True, deadline=None, database=None)
settings.register_profile("random", max_examples=500, deadline=None, database=None, print_blob=True)
settings.load_profile("same")

HERE = Path(__file__).parent


def pytest_sessionstart(session):
    """Let Ctrl-C be tested wherever the tests run, and the workers of `make test` share the compiling.

    One would otherwise wait for the other, kernel by kernel.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what it starts in the background
    worker, is_first = os.environ.get("PYTEST_XDIST_WORKER"), not (HERE / "contract" / "__pycache__").exists()
    if worker is not None:
        from coaltree.inference.control.compile_ahead import PARTS, compile_parts, parts_of_helper

        compile_parts(PARTS if worker == "gw0" else parts_of_helper(0))
        if is_first and worker == "gw1":
            import_tests_backwards()


def import_tests_backwards():
    """Make bytecode of the tests from the last on: the other worker begins with the first, so each makes half of it."""
    for path in sorted(HERE.rglob("test_*.py"), reverse=True):
        with contextlib.suppress(Exception, pytest.skip.Exception):  # which collecting it will show
            importlib.import_module(".".join(path.relative_to(HERE.parent).with_suffix("").parts))

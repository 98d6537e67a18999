"""``python -m benchmarks [NAME …]``, or ``make bench ONLY=NAME``.

Without names every benchmark is run in a short form, each in a process of its own that has 50 seconds: what it prints
by then is shown. A module's BRIEFLY names the constants that are smaller there. With names, or FULL=1, they are run as
they say themselves. The tables are kept as JSON, too, in build/bench/NAME.json.
"""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from .kept import is_full, is_short
from .timing import machine, write_tables

SECONDS = 50  # of a benchmark in its short form: all of them take less than 20 minutes
NAMES = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))


def run(name):
    """Run one benchmark here."""
    module = import_module(f"{__package__}.bench_{name}")
    print(f"\n== {name}: {(module.__doc__ or '').strip().splitlines()[0]}", flush=True)
    if is_short():
        for constant, value in getattr(module, "BRIEFLY", {}).items():
            setattr(module, constant, value)
    module.run()
    write_tables(name)


def run_briefly(name, seconds=SECONDS):
    """Run the short form of one in another process, and stop it when its time is over."""
    environment = os.environ | {
        "SHORT": "1",
        "MINUTES": f"{0.4 * seconds / 60:.3g}",
        "SEEDS": "1",
        "PYTHONUNBUFFERED": "1",
    }
    command = [sys.executable, "-m", __package__, name]
    with subprocess.Popen(command, env=environment, start_new_session=True) as process:
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            print(f"Stopped after {seconds} s; the whole of it: make bench ONLY={name}", flush=True)
            return
    if code != 0:
        sys.exit(f"The benchmark {name} failed.")


def main():
    chosen = sys.argv[1:]
    unknown = [name for name in chosen if name not in NAMES]
    if unknown:
        sys.exit(f"There is no benchmark {unknown[0]!r}; there are: {', '.join(NAMES)}.")
    is_brief = not (chosen or is_full())
    if "SHORT" not in os.environ:
        print(machine(), flush=True)
    for name in chosen or NAMES:
        (run_briefly if is_brief else run)(name)


if __name__ == "__main__":
    main()

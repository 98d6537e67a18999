"""``python -m benchmarks [NAME …]``, or ``make bench ONLY=NAME``."""

import sys
from importlib import import_module
from pathlib import Path

from .timing import machine

names = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
chosen = sys.argv[1:] or names
unknown = [name for name in chosen if name not in names]
if unknown:
    sys.exit(f"There is no benchmark {unknown[0]!r}; there are: {', '.join(names)}.")
print(machine())
for name in chosen:
    module = import_module(f"{__package__}.bench_{name}")
    print(f"\n== {name}: {(module.__doc__ or '').strip().splitlines()[0]}", flush=True)
    module.run()

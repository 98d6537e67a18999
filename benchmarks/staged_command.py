"""Run one ``coaltree`` command, in a process of its own, and print as JSON what its stages took.

python -m benchmarks.staged_command fit table.csv --out folder …; a stage's seconds are its own, without those of the
stages inside it.
"""

import builtins
import contextlib
import importlib
import io
import json
import sys
import time

from .memory import peak

BEGAN = time.perf_counter(), time.process_time()

STAGES = {
    "kernels": [("numba.core.dispatcher", "Dispatcher.compile")],
    "read the table": [
        ("coaltree.cli.tables.reading", "read_file"),
        ("coaltree.cli.tables.reading", "column_hints"),
    ],
    "iterations": [("coaltree.inference.control.run", "Run.complete")],
    "convergence": [("coaltree.posterior.diagnostics.convergence", "figures")],
    "number of clusters": [("coaltree.posterior.posterior", "Posterior.suggest_n_clusters")],
    "posterior.npz": [("coaltree.posterior.posterior", "Posterior.save")],
    "trees": [
        ("coaltree.posterior.posterior", "Posterior.to_nexus"),
        ("coaltree.posterior.posterior", "Posterior.to_newick"),
        ("coaltree.posterior.posterior", "Posterior.mean_tree"),
    ],
    "figure": [("coaltree.plotting", "dendrogram"), ("coaltree.cli.outputs", "save_figure")],
    "checks": [("coaltree.posterior.posterior", "Posterior.check")],
    "report page": [("coaltree.report", "write_report")],
}


class Stopwatch:
    """Wall and CPU seconds by stage, each without the stages inside it."""

    def __init__(self):
        self.seconds = {}
        self.open = []

    @contextlib.contextmanager
    def stage(self, name):
        began = time.perf_counter(), time.process_time()
        self.open.append([0.0, 0.0])
        try:
            yield
        finally:
            inside = self.open.pop()
            took = [now - then for now, then in zip((time.perf_counter(), time.process_time()), began, strict=True)]
            found = self.seconds.setdefault(name, [0.0, 0.0])
            for i in range(2):
                found[i] += took[i] - inside[i]
                if self.open:
                    self.open[-1][i] += took[i]

    def watch(self, name, module, path):
        """Count a function as part of a stage."""
        owner = importlib.import_module(module)
        *outer, last = path.split(".")
        for part in outer:
            owner = getattr(owner, part)
        function = getattr(owner, last)

        def watched(*args, **options):
            with self.stage(name):
                return function(*args, **options)

        setattr(owner, last, watched)

    def watch_imports(self):
        original = builtins.__import__

        def watched(name, *args, **options):
            if self.open and self.open[-1] is importing[-1]:  # imports of imports
                return original(name, *args, **options)
            with self.stage("imports"):
                importing.append(self.open[-1])
                try:
                    return original(name, *args, **options)
                finally:
                    importing.pop()

        importing = [None]
        builtins.__import__ = watched


def main(args):
    """Run the command and print its stages."""
    watch = Stopwatch()
    watch.watch_imports()
    with watch.stage("imports"):
        from coaltree.cli import main

        for name, functions in STAGES.items():
            for module, path in functions:
                watch.watch(name, module, path)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = main(args)
    total = [now - then for now, then in zip((time.perf_counter(), time.process_time()), BEGAN, strict=True)]
    rest = [total[i] - sum(took[i] for took in watch.seconds.values()) for i in range(2)]
    stages = watch.seconds | {"everything else": rest}
    print(json.dumps({"status": status, "total": total, "peak": peak(), "stages": stages}))


if __name__ == "__main__":
    main(sys.argv[1:])

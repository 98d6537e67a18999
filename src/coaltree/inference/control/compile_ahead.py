"""What a first fit needs is compiled on all cores before it begins, in parts.

The process that fits takes parts from the front, a helper process for each further core takes them from the back, all
into one cache. A kernel that another process is compiling is waited for (`_runtime.jit`).
"""

import atexit
import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import numpy as np
from joblib import cpu_count

from ..._runtime.jit import cache_folder
from ..._runtime.random_streams import make_streams
from ...model.covariance import Spherical
from ...model.model import Model
from ...model.process.coalescent import simulate_tree
from ...model.process.noise import Noise
from ...model.process.simulation import simulate
from ...model.process.whitened import Problem
from ...posterior.clusters.answer import answer_for
from ...posterior.clusters.explanation import explain
from ...posterior.diagnostics.convergence import chains_agree, topology_ess_of
from ...posterior.io.nexus import annotated_tree
from ...posterior.of_trees import posterior_of_trees
from ...samplers.base import Tails
from ...samplers.regraft.outlier_moves import move_together
from ...samplers.regraft.regraft import Regraft
from ...samplers.regraft.update import make_engine, sweep
from ..chains.chain import begin

IS_HELPER = "COALTREE_IS_HELPER"  # in the environment of a helper
MAX_HELPERS = 3  # more would wait for each other
N_ROWS = 12  # as few as have all that is compiled


@cache
def compile_ahead(*, quiet: bool = False) -> None:
    """Compile all parts beside the helpers, once, if there is something to compile."""
    folder = cache_folder()
    if IS_HELPER in os.environ or folder is None or all(_done(folder, part).exists() for part in PARTS):
        return
    if not quiet and sys.stderr is not None:
        print("compiling kernels: about a minute, the first time", file=sys.stderr, flush=True)
    nowhere = subprocess.DEVNULL
    environment = os.environ | {IS_HELPER: "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    for i in range(min(cpu_count() - 1, MAX_HELPERS) if sys.executable else 0):
        program = f"from {__name__} import compile_parts, parts_of_helper; compile_parts(parts_of_helper({i}))"
        command = [sys.executable, "-c", program]
        with contextlib.suppress(OSError):
            helper = subprocess.Popen(command, env=environment, stdin=nowhere, stdout=nowhere, stderr=nowhere)
            atexit.register(helper.kill)  # a kernel appears in the cache whole or not at all
    compile_parts(PARTS)


def compile_parts(parts: Iterable[Callable[[], object]]) -> None:
    """Compile each part that is not done; kernels that another process is at are waited for."""
    folder = cache_folder()
    for part in parts:
        if folder is not None and not _done(folder, part).exists():
            part()
            with contextlib.suppress(OSError):
                _done(folder, part).touch()


def parts_of_helper(i: int) -> list[Callable[[], None]]:
    """All parts from the back, from the i-th on."""
    backwards, first = PARTS[::-1], i % len(PARTS)
    return [*backwards[first:], *backwards[:first]]


def _done(folder: Path, part: Callable[[], object]) -> Path:
    return folder / f"{part.__name__}.done"


def use_posterior() -> None:
    """Ask for what files and page say, of one tree many times and trees drawn at random, which takes no sampler."""
    rng, n_draws = np.random.default_rng(0), 60
    X, tree = simulate(2 * N_ROWS, 3, random_state=0)
    trees = [tree if i % 2 else simulate_tree(tree.n, rng) for i in range(n_draws)]
    children, times = np.array([tree.children for tree in trees]), np.array([tree.times for tree in trees])
    chain, drawn = np.arange(n_draws) // (n_draws // 2), rng.standard_normal(n_draws)
    post = posterior_of_trees(children, times, log_joint=drawn, chain=chain, X=X, covariance=Spherical(), noise=0.1)
    post.suggest_n_clusters()
    answer_for(post, 2)
    post.coclustering(2)
    annotated_tree(post)
    chains_agree(post)
    post.check(n_trees=2)
    explain(post, post.cut(2))
    assert topology_ess_of(post) > 0.0


def use_parameters() -> None:
    """Make first trees, and draw covariance, noise and scales."""
    X = np.asarray(simulate(N_ROWS, 3, random_state=0)[0])
    model = Model.of(X, "auto", Noise(tails="student")).of_chains()
    begin(model, Regraft(), np.random.SeedSequence(0), dispersed=True)


def use_sweeps() -> None:
    """Sweep a tree of few rows."""
    X, tree = simulate(N_ROWS, 3, random_state=0)
    W, state = np.ascontiguousarray(X), make_streams(np.random.default_rng(0), 1)[0]
    sweep(make_engine(Problem(W, 3), W), tree.children.copy(), tree.times.copy(), state)


def use_outlier_moves() -> None:
    """Move outliers of few rows together."""
    X, tree = simulate(N_ROWS, 3, random_state=0)
    W = np.ascontiguousarray(X)
    tails = Tails(np.ones(N_ROWS), 2.0, np.full(N_ROWS, 0.1))
    engine = make_engine(Problem(W, 3), W)
    move_together(engine, (tree.children, tree.times), tails, np.random.default_rng(0))


PARTS: tuple[Callable[[], None], ...] = (use_posterior, use_parameters, use_sweeps, use_outlier_moves)

"""What travels to workers once, and what each block needs."""

import pickle

import numpy as np
import pytest

from coaltree.inference.chains.chain import Chain, Plan
from coaltree.inference.control import run as runs
from coaltree.inference.control import unchanging
from coaltree.model.data.neighbor_graph import NeighborGraph
from coaltree.model.data.replicates import replicates_of, within_leaves
from coaltree.model.process.noise import Noise, NoiseDraw, noise_model
from coaltree.samplers.regraft.regraft import Regraft

ROWS = np.random.default_rng(0).normal(size=(300, 10))


def a_plan(missing):
    noise = noise_model(Noise(), ROWS)
    replicates = replicates_of(np.arange(300) // 2)
    _, within = within_leaves(ROWS, noise.error2, replicates)
    graph = NeighborGraph(np.arange(301), np.arange(300, dtype=np.int32))
    return Plan(Regraft(), noise, replicates, missing, 10, graph=graph, within=within)


def a_chain(values):
    tree = np.zeros((0, 2), np.int64), np.zeros(0)
    return Chain(tree, None, NoiseDraw(1.0, None), values, None, np.random.default_rng(0))  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [0.0, 0.01])
def test_plans_and_chains_travel_light_and_arrive_whole(share):
    missing = np.random.default_rng(1).random(ROWS.shape) < share
    values = np.where(missing, np.nan, ROWS)
    plan, chain = a_plan(missing if share else None), a_chain(ROWS)
    here = unchanging.of_run(plan, values if share else ROWS)
    there = pickle.loads(pickle.dumps(here)).copied()
    light = pickle.loads(pickle.dumps((here.without(plan), here.without_rows(chain))))
    assert len(pickle.dumps(light)) < 4_000 + 8 * missing.sum() < len(pickle.dumps((plan, chain))) / 5
    whole_plan, whole_chain = there.within_plan(light[0]), there.with_rows(light[1])
    assert np.array_equal(whole_chain.values, ROWS)
    before, after = pickle.dumps(tuple(plan)), pickle.dumps(tuple(whole_plan))
    assert len(before) == len(after)
    for name in ("replicates", "graph", "within"):
        for a, b in zip(getattr(plan, name), getattr(whole_plan, name), strict=True):
            assert np.array_equal(a, b)
    assert np.array_equal(whole_plan.noise.error2, plan.noise.error2)
    assert (whole_plan.missing is None) if not share else np.array_equal(whole_plan.missing, missing)


def test_what_arrives_is_a_worker_s_own():
    read_only = ROWS.copy()
    read_only.flags.writeable = False
    there = unchanging.Unchanging(read_only, graph=NeighborGraph(read_only[0], read_only[1])).copied()
    assert there.values.flags.writeable and there.graph is not None and there.graph.start.flags.writeable


@pytest.mark.parametrize(
    ("n_chains", "n_jobs", "n_cores", "expected"),
    [(2, None, 8, None), (2, 1, 8, 1), (2, 2, 8, 1), (2, 6, 8, 3), (2, -1, 8, 4), (4, 2, 8, 1), (1, 4, 8, 4)],
)
def test_threads_of_a_chain(n_chains, n_jobs, n_cores, expected, monkeypatch):
    monkeypatch.setattr(runs, "cpu_count", lambda: n_cores)
    monkeypatch.setattr(runs, "effective_n_jobs", lambda n: 1 if n is None else n_cores if n == -1 else n)
    assert runs._threads_of_a_chain(n_chains, n_jobs) == expected

"""`fit` on 500 handwritten digits (16 × 16) with a Matérn covariance, beside SciPy's average linkage of the same rows.

Goals: an iteration with local regrafting within 10 linkages; 20 iterations of the paper's MPost2 with 10 particles
under 20 s (the paper: 17.3 minutes). Digits are read from usps.npz in the folder that COALTREE_DATA names; without it,
data of the same size are drawn from the model.

Learnt noise at the leaves, in the same run: an iteration with a learnt level is to cost at most 1.15 times one without,
with Student's tails at most 1.4 times. Effective draws are those of one chain.
"""

import os
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.cluster.hierarchy import linkage

import coaltree as ct
from coaltree._runtime.threads import single_threaded_blas
from coaltree.inference.chains.chain import advance, begin, one_iteration, problem_of
from coaltree.model.model import Model
from coaltree.model.process.noise import NOISE_LEVEL, as_noise, noise_model
from coaltree.posterior.diagnostics.convergence import scalar_figures
from coaltree.samplers import MPost2, Regraft

from .timing import duration, side_by_side, table

ITERATIONS_OF_MPOST2 = 20
NOISES = {"none": 0.0, "learn": "learn", "student": "student"}
GOALS = {"none": "", "learn": "1.15", "student": "1.4"}
BRIEFLY = {"SETTLING": 20, "FOLLOWED": 30, "ITERATIONS_OF_MPOST2": 2}
SETTLING, FOLLOWED = 100, 200  # iterations before effective draws are counted, and while they are


def digits():
    """50 of each digit, as in the paper, or a stand-in."""
    rng = np.random.default_rng(0)
    folder = os.environ.get("COALTREE_DATA")
    path = Path(folder) / "usps.npz" if folder else None
    if path is None or not path.exists():
        X, _ = ct.simulate(500, 256, ct.Matern32(3.0, 0.1, (16, 16)), random_state=0)
        return X, "simulated (COALTREE_DATA does not name a folder with usps.npz)"
    with np.load(path) as file:
        X, y = file["X"].astype(float), file["y"]
    chosen = np.concatenate([rng.choice(np.flatnonzero(y == digit), 50, replace=False) for digit in range(10)])
    return X[chosen], "USPS digits"


def settled(X, covariance, noise, n_iterations):
    """Data, and a chain without warm-up after so many iterations."""
    data = Model(X, covariance, noise_model(as_noise(noise), X))
    chain = begin(data, Regraft(candidates="local"), np.random.SeedSequence(0))
    return data, advance(data, chain, n_iterations)[0]


def iteration_of(data, chain):
    problem = problem_of(data, chain.sampler, chain.state)

    def iteration():
        with single_threaded_blas():
            one_iteration(data, chain, problem)

    return iteration


def compare_noises(name, X, covariance):
    """Seconds of an iteration without noise, with a learnt level and with Student's tails; and of an effective draw."""
    chains = {noise: settled(X, covariance, value, SETTLING) for noise, value in NOISES.items()}
    seconds = side_by_side({noise: iteration_of(*chain) for noise, chain in chains.items()}, repeats=20)
    rows = []
    for noise, chain in chains.items():
        kept = advance(*chain, FOLLOWED)[1]
        draws = {"log joint": kept.log_joint, "level": kept.theta.get(NOISE_LEVEL)}
        total = FOLLOWED * seconds[noise]
        each = [
            "" if x is None else duration(total / scalar_figures(x, np.zeros(len(x)))["ess"]) for x in draws.values()
        ]
        rows.append((noise, duration(seconds[noise]), f"{seconds[noise] / seconds['none']:.2f}", GOALS[noise], *each))
    header = ("an iteration", "of none", "goal", "a draw of the log joint", "of the level")
    table((f"noise, {name}", *header), rows)


def run():
    X, name = digits()
    covariance = ct.Matern32((3.0, 3.0), 0.1, (16, 16)).adapt(X)
    data, chain = settled(X, covariance, 0.0, n_iterations=10)
    sampler, problem = chain.sampler, problem_of(data, chain.sampler, chain.state)

    def its_sweeps():
        for _ in range(sampler.steps_per_iteration(problem.n, chain.neighbors)):
            sampler.step(problem, chain.state.tree, chain.rng, neighbors=chain.neighbors)

    seconds = side_by_side(
        {
            "SciPy average linkage": lambda: linkage(X, "average"),
            "an iteration of fit": iteration_of(data, chain),
            "of which the trees": its_sweeps,
        }
    )
    one = seconds["SciPy average linkage"]
    table(
        (f"500 × 256, {name}", "time", "linkages"),
        [(what, duration(took), f"{took / one:.1f}") for what, took in seconds.items()],
    )

    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.ConvergenceWarning)
        ct.fit(
            X,
            covariance,
            MPost2(n_particles=10),
            n_samples=ITERATIONS_OF_MPOST2,
            n_warmup=0,
            n_chains=1,
            random_state=0,
        )
    took = time.perf_counter() - began
    table(
        (f"{ITERATIONS_OF_MPOST2} iterations of MPost2, 10 particles", "time", "paper", "goal"),
        [("trees and Matérn parameters", duration(took), "17.3 min", "20 s")],
    )

    compare_noises("500 × 256, Matérn", X, covariance)
    compare_noises("500 × 256, scaled", X, ct.Scaled().adapt(X))
    X, _ = ct.simulate(2_000, 32, noise=0.1, random_state=0)
    compare_noises("2,000 × 32, full", X, ct.Full().adapt(X))

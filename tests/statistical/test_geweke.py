"""Geweke's joint-distribution test of the whole loop: trees, covariance, noise, missing entries.

Two ways to draw (θ, tree, X) from the model: from the prior and forward; or by turns, one iteration of `fit` given X
and fresh data given the rest. If, and only if, an iteration leaves p(θ, tree, missing | X) as it is, both have the same
law.
"""

import math

import numpy as np
import pytest

from coaltree._runtime.threads import single_threaded_blas
from coaltree.inference.chains import gibbs_parameters
from coaltree.inference.chains.chain import Chain, one_iteration, problem_of
from coaltree.model import model as library
from coaltree.model.covariance import (
    Components,
    Diagonal,
    Full,
    InverseGamma,
    InverseWishart,
    LogNormal,
    Matern32,
    Scaled,
    Spherical,
    SquaredExponential,
)
from coaltree.model.data.replicates import replicates_of
from coaltree.model.draws import State
from coaltree.model.process.coalescent import log_prior, simulate_tree
from coaltree.model.process.diffusion import log_likelihood, simulate_data
from coaltree.model.process.noise import Noise, first_draw, noise_model, row_variances
from coaltree.model.process.student_scales import draw_scales
from coaltree.samplers.regraft.regraft import Regraft
from coaltree.tree import unchecked_tree

KERNEL_PRIORS = {"amplitude": InverseGamma(5.0, 4.0), "noise": LogNormal(0.3, 0.5)}
COVARIANCES = {
    "spherical": Spherical(priors={"amplitude": InverseGamma(5.0, 4.0)}),
    "scaled": Scaled([1.0, 4.0, 0.25], priors={"amplitude": InverseGamma(5.0, 4.0)}),
    "diagonal": Diagonal([1.0, 1.0, 1.0], priors={"variances": InverseGamma(5.0, [2.0, 4.0, 8.0])}),
    "full": Full(np.eye(3), priors={"Phi": InverseWishart(12.0, 8.0 * np.eye(3) + 2.0)}),
    "squared exponential": SquaredExponential(1.5, 0.3, priors=KERNEL_PRIORS | {"length2": LogNormal(1.5, 0.5)}),
    "matern32": Matern32((1.5, 1.0), 0.3, (3, 1), priors=KERNEL_PRIORS | {"length": LogNormal(1.5, 0.5)}),
    "only length2": SquaredExponential(1.5, 0.3, learn="length2", priors={"length2": LogNormal(1.5, 0.5)}),
}

LEARNT = Noise(prior=LogNormal(0.3, 0.7))
STUDENT = Noise(tails="student", df=5.0, prior=LogNormal(0.3, 0.7))
GROUPS = [0, 0, 1, 2, 3, 3, 3, 4]


class Model:
    """p(θ, tree, X), and the part of the data that is hidden."""

    def __init__(self, covariance, n=5, d=3, noise=0.0, errors=None, groups=None, hidden=0.0, seed=0):
        self.covariance, self.n, self.d = covariance, n, d
        self.noise = noise if isinstance(noise, Noise) else Noise(noise)
        self.replicates = None if groups is None else replicates_of(np.array(groups))
        n_rows = n if groups is None else len(groups)
        self.errors = None if errors is None else np.array(errors)
        self.noise_model = noise_model(self.noise, np.zeros((n_rows, d)), self.errors)
        mask = np.random.default_rng(seed).random((n_rows, d)) < hidden
        self.missing = mask if mask.any() else None

    def draw_prior(self, rng):
        theta = {
            name: self.covariance.priors[name].sample(rng, size=np.shape(value) or None)
            for name, value in self.covariance.theta.items()
        }
        draw = first_draw(self.noise_model)
        if self.noise.is_learnt:
            draw = draw._replace(level=float(self.noise.prior.sample(rng)))
        if draw.tail_scale is not None:
            half = 0.5 * self.noise.df
            draw = draw._replace(tail_scale=half / rng.standard_gamma(half, size=len(draw.tail_scale)))
        return self.covariance.with_theta(theta), draw, simulate_tree(self.n, rng)

    def draw_data(self, covariance, noise, tree, rng):
        color = covariance.whitener(self.d).color
        leaves = simulate_data(tree, self.d, rng, color)
        rows = leaves if self.replicates is None else leaves[self.replicates.leaf]
        spread = np.sqrt(row_variances(self.noise_model, noise))[:, None]
        return rows + color(spread * rng.standard_normal(rows.shape))

    def statistics(self, covariance, noise, children, times, X):
        """Numbers whose law is compared: of finite variance, and blind to where the root lies, which is flat."""
        W = covariance.whitener(self.d).whiten(X)
        rows = (children, times) if self.replicates is None else self.replicates.expand(children, times)
        variances = row_variances(self.noise_model, noise)
        likelihood = log_likelihood(*rows, W, self.d, covariance.whitener(self.d).log_det, variances)
        values = [times[-1], times[0], math.log(times[-1]), math.log(times[0]), float(log_prior(times)), likelihood]
        values += [
            float({*children[0]} == {0, 1}),
            math.log(np.ptp(X, axis=0).max()),
            float(np.log(np.linalg.norm(X[0] - X[1]))),
        ]
        for value in covariance.theta.values():
            logs = np.log(np.diag(value)) if np.ndim(value) == 2 else np.log(np.ravel(value))
            values += [*logs, *(logs**2), logs[0] * math.log(times[-1])]
            if np.ndim(value) == 2:
                values.append(value[0, 1] / math.sqrt(value[0, 0] * value[1, 1]))
        if self.noise.is_learnt:
            log_level = math.log(noise.level)
            values += [log_level, log_level**2, log_level * math.log(times[0]), log_level * math.log(times[-1])]
        if noise.tail_scale is not None:
            logs = np.log(noise.tail_scale)
            values += [*logs[:3], *(logs[:3] ** 2), logs.mean() * math.log(noise.level), *(1.0 / noise.tail_scale[:2])]
        return values


class OfComponents(Model):
    """Two components of four columns, V fixed, and noise beside them."""

    LOADINGS = np.linalg.qr(np.random.default_rng(5).normal(size=(4, 2)))[0]

    def __init__(self, family=Components, **options):
        fixed = {"loadings": self.LOADINGS, "centre": np.zeros(4), "scale": np.array([1.0, 2.0, 0.5, 1.0])}
        priors = {"Phi": InverseWishart(12.0, 8.0 * np.eye(2) + 2.0), "residual_variance": InverseGamma(5.0, 3.0)}
        super().__init__(family(2, Phi=np.eye(2), residual_variance=1.0, priors=priors, **fixed), d=4, **options)

    def draw_data(self, covariance, noise, tree, rng):
        self.d = 2
        Y = super().draw_data(covariance, noise, tree, rng)
        self.d = 4
        e = math.sqrt(covariance.residual_variance) * rng.standard_normal((len(Y), 4))
        e -= (e @ self.LOADINGS) @ self.LOADINGS.T
        return covariance.columns_of(Y) + covariance.scale * e

    def statistics(self, covariance, noise, children, times, X):
        self.d = 2
        values = super().statistics(covariance, noise, children, times, covariance.project(X))
        self.d = 4
        cells = [math.log(np.ptp(X, axis=0).max()), *np.log(np.abs(X[0] - X[1])), math.log(np.abs(X[0] - X[-1]).max())]
        squares = math.log(covariance.residual_squares(X)[0])
        return [*values, *cells, squares, squares * math.log(covariance.residual_variance)]


class Unaware(Components):
    """Forgets one degree of freedom in five of the noise beside the components."""

    def draw_residual(self, residual, rng):
        return super().draw_residual(residual * [1.0, 0.8], rng)


def forward(model, n_draws, rng):
    draws = []
    for _ in range(n_draws):
        covariance, noise, tree = model.draw_prior(rng)
        X = model.draw_data(covariance, noise, tree, rng)
        draws.append(model.statistics(covariance, noise, tree.children, tree.times, X))
    return np.array(draws)


def by_turns(model, n_draws, rng, sampler, one_iteration=one_iteration):
    rows = np.empty((0, model.d))
    data = library.Model(rows, model.covariance, model.noise_model, model.replicates, model.missing)
    covariance, noise, tree = model.draw_prior(rng)
    children, times = tree.children, tree.times
    draws, constant = [], first_draw(model.noise_model)
    for _ in range(n_draws):
        X = model.draw_data(covariance, noise, unchecked_tree(children, times, tree.labels), rng)
        hidden = np.empty(0) if model.missing is None else X[model.missing]
        data = data._replace(values=X)
        # After the iteration in which neighbours are searched, from what is given in all of them.
        state = State((children, times), covariance, noise, hidden)
        before = state._replace(covariance=model.covariance, noise=constant, imputed=np.zeros_like(hidden))
        neighbors = sampler.neighbors(problem_of(data, sampler, before), rng)
        chain = Chain(state, sampler, rng, neighbors, iteration=1)
        chain, _, _ = one_iteration(data, chain, problem_of(data, sampler, state))
        (children, times), covariance, noise, imputed = chain.state
        draws.append(model.statistics(covariance, noise, children, times, data.filled(imputed)))
    return np.array(draws)


def z_scores(independent, dependent, length=15):
    n_batches = len(dependent) // length
    batches = dependent[: length * n_batches].reshape(n_batches, length, -1).mean(axis=1)
    variance = independent.var(axis=0) / len(independent) + batches.var(axis=0, ddof=1) / n_batches
    varies = variance > 0  # with two leaves there is one topology
    return (dependent.mean(axis=0) - independent.mean(axis=0))[varies] / np.sqrt(variance[varies])


def largest_z(model, n_draws, sampler, seed, **options):
    with single_threaded_blas():
        rng = np.random.default_rng(seed)
        return np.max(np.abs(z_scores(forward(model, n_draws, rng), by_turns(model, n_draws, rng, sampler, **options))))


class Careless(SquaredExponential):
    """Miscounts the merges in the joint move of times and scale."""

    def scale_move(self, total_rate_time, n_merges, rng, log_likelihood=None):
        return super().scale_move(total_rate_time, n_merges + 1, rng, log_likelihood)


class Overconfident(Spherical):
    """Takes its contrasts for a little less than they are."""

    def statistics(self, U):
        return super().statistics(0.95 * U)


class Unscaled(Scaled):
    """Forgets the variances of the columns in its update."""

    def _sum_of_squares(self, statistics):
        return float(np.sum(statistics.value))


UNSCALED = Unscaled([1.0, 4.0, 0.25], priors={"amplitude": InverseGamma(5.0, 4.0)})
CARELESS = Careless(1.5, 0.3, priors=KERNEL_PRIORS | {"length2": LogNormal(1.5, 0.5)})
OVERCONFIDENT = Overconfident(priors={"amplitude": InverseGamma(5.0, 4.0)})

SHORT = [
    ("squared exponential", {"hidden": 0.2}, Regraft(candidates="all")),
    ("spherical", {"noise": 0.2, "n": 6}, Regraft(candidates="local", n_neighbors=2)),
    ("spherical", {"noise": STUDENT, "groups": GROUPS, "hidden": 0.1}, Regraft(candidates="all")),
    ("scaled", {"hidden": 0.2}, Regraft(candidates="all")),
]


@pytest.mark.parametrize(("covariance", "options", "sampler"), SHORT)
def test_iteration_keeps_the_joint_law(covariance, options, sampler):
    assert largest_z(Model(COVARIANCES[covariance], **options), 360, sampler, seed=1) < 4.5


@pytest.mark.parametrize(
    ("options", "candidates", "n_draws"),
    [
        ({"hidden": 0.2, "noise": 0.2}, "all", 360),
        *(
            pytest.param(options, "all", 3000, marks=pytest.mark.slow)
            for options in (
                {"hidden": 0.3},
                {"hidden": 0.5, "noise": LEARNT},
                {"noise": STUDENT, "groups": GROUPS, "hidden": 0.2},
                {"noise": STUDENT, "hidden": 0.2, "errors": [0.5, 1.0, 2.0, 1.0, 1.0]},
                {"n": 3},
            )
        ),
    ],
)
def test_iteration_with_components_keeps_the_joint_law(options, candidates, n_draws):
    assert largest_z(OfComponents(**options), n_draws, Regraft(candidates=candidates), seed=1) < 4.5


@pytest.mark.slow
def test_a_small_mistake_with_components_is_seen():
    assert largest_z(OfComponents(family=Unaware, hidden=0.3), 3000, Regraft(candidates="all"), seed=1) > 6.0


def test_a_mistake_is_seen():  # by z = 13
    assert largest_z(Model(UNSCALED), 360, Regraft(candidates="all"), seed=1) > 6.0


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [CARELESS, OVERCONFIDENT], ids=["careless", "overconfident"])
def test_a_small_mistake_is_seen(wrong):
    assert largest_z(Model(wrong), 3000, Regraft(candidates="all"), seed=1) > 6.0


RIGHT_AT_SCALE = gibbs_parameters.likelihood_at_scale


def without_the_jacobian(model, draw, make_log_likelihood):
    """The joint scale move takes the density of the level for that of its logarithm."""
    right = RIGHT_AT_SCALE(model, draw, make_log_likelihood)
    return lambda c: right(c) - math.log(c)


def of_another_shape(tree, W, d, unit, tail_scale, half_df, rng):
    """Scales of Student's t with half as many degrees of freedom again."""
    return draw_scales(tree, W, d, unit, tail_scale, 1.5 * half_df, rng)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "wrong", "noise"),
    [("likelihood_at_scale", without_the_jacobian, LEARNT), ("draw_scales", of_another_shape, STUDENT)],
    ids=["Jacobian forgotten", "scales of another shape"],
)
def test_a_small_mistake_with_the_noise_is_seen(monkeypatch, name, wrong, noise):
    monkeypatch.setattr(gibbs_parameters, name, wrong)
    model = Model(COVARIANCES["spherical"], noise=noise)
    assert largest_z(model, 3000, Regraft(candidates="all"), seed=1) > 6.0


LONG = [
    *((name, {"hidden": 0.2, "noise": noise}, "all") for name in COVARIANCES for noise in (0.0, 0.2)),
    ("squared exponential", {"n": 10, "hidden": 0.2}, "local"),
    ("diagonal", {"n": 10, "noise": 0.2}, "local"),
    ("diagonal", {"noise": LEARNT, "hidden": 0.2}, "all"),
    ("full", {"noise": STUDENT, "hidden": 0.2, "errors": [0.5, 1.0, 2.0, 1.0, 1.0]}, "all"),
    ("squared exponential", {"n": 10, "noise": STUDENT}, "local"),
    ("spherical", {"noise": LEARNT, "groups": GROUPS}, "all"),
    ("full", {"noise": STUDENT, "groups": GROUPS, "hidden": 0.2}, "all"),
    ("diagonal", {"noise": Noise(0.3, "student", df=3.0), "groups": GROUPS}, "all"),
    ("squared exponential", {"n": 2}, "all"),
    ("full", {"n": 3}, "all"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("covariance", "options", "candidates"), LONG)
def test_iteration_keeps_the_joint_law_at_length(covariance, options, candidates):
    """As many draws as those with which the small mistakes above are seen."""
    sampler = Regraft(candidates=candidates, n_neighbors=3)
    assert largest_z(Model(COVARIANCES[covariance], **options), 3000, sampler, seed=2) < 4.5

"""Random sequences of calls: fit, slice, thin, concat, save, load, copy, place; a plain list says what must come out.

The model of a posterior is the draws it must hold, each as (number of its fit, number of the draw), its chains, the
weights and the evidence. What a posterior answers is a weighted mean over its draws of what each answers alone.
"""

import copy
import pickle
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule

import coaltree as ct
from tests.fits import QUICK, quick_fit

MAX_DRAWS = 40
KINDS = st.sampled_from(["plain", "grouped", "particles"])


class Expected(NamedTuple):
    """What a posterior must hold."""

    kind: str
    draws: list  # (fit, number of the draw)
    chains: list  # of each draw, any name
    weights: np.ndarray  # relative to the mean of the run, or of all that was joined
    evidence: Any  # float, or None

    def part(self, index):
        kept = [*np.arange(len(self.draws))[index].tolist()]
        evidence = self.evidence if len(kept) == len(self.draws) else None
        draws, chains = [self.draws[i] for i in kept], [self.chains[i] for i in kept]
        return Expected(self.kind, draws, chains, self.weights[kept], evidence)


def table(seed=0):
    X = pd.DataFrame(np.random.default_rng(seed).normal(size=(7, 3)), [*"abcdefg"], [*"uvw"])
    X.iloc[2, 1] = np.nan
    return X


NEW = table(1).rename(index="new {}".format)
FITS = []


@cache
def first_fit(kind, seed):
    """The number of a fit in `FITS`."""
    if kind == "particles":
        return added(ct.sample_trees(table().fillna(0.0), sampler=QUICK, n_samples=5, random_state=seed))
    groups = [0, 1, 2, 2, 3, 4, 5] if kind == "grouped" else None
    covariance = "diagonal" if kind == "grouped" else "spherical"
    return added(quick_fit(table(), covariance, sampler="regraft", groups=groups, n_samples=3, random_state=seed))


def added(post):
    FITS.append(post)
    return len(FITS) - 1


@cache
def alone(fit, number):
    """The densities of new rows by one draw, and the clades of its tree."""
    post = FITS[fit][number : number + 1]
    return np.asarray(post.place(NEW).log_density), set(post.trees[0].clades())


class Calls(RuleBasedStateMachine):
    posteriors = Bundle("posteriors")

    @initialize(target=posteriors, kind=KINDS)
    def begin(self, kind):
        return self.fit(kind, 0)

    @rule(target=posteriors, kind=KINDS, seed=st.integers(0, 1))
    def fit(self, kind, seed):
        number = first_fit(kind, seed)
        post = FITS[number]
        draws = [(number, i) for i in range(len(post))]
        weights = len(post) * post.weights
        expected = Expected(kind, draws, [(number, c) for c in post.draws.chain], weights, post.log_evidence)
        return self.checked(post, expected)

    @rule(target=posteriors, one=posteriors)
    def continue_it(self, one):
        """A fit that starts from a posterior is a fit of the same model."""
        post, expected = one
        if expected.kind == "particles":
            return one
        model, short = post.model, {"sampler": "regraft", "n_samples": 2, "n_warmup": 0}
        more = quick_fit(table(), model.covariance, groups=model.leaves.groups, start=post, **short)
        number = added(more)
        draws, chains = [(number, i) for i in range(len(more))], [(number, c) for c in more.draws.chain]
        return self.checked(more, Expected(expected.kind, draws, chains, np.ones(len(more)), None))

    @rule(target=posteriors, one=posteriors, start=st.integers(0, 5), step=st.sampled_from([1, 2, -1]))
    def slice_it(self, one, start, step):
        post, expected = one
        start = min(start, len(post) - 1)
        return self.checked(post[start::step], expected.part(slice(start, None, step)))

    @rule(target=posteriors, one=posteriors, mask=st.lists(st.booleans(), min_size=MAX_DRAWS, max_size=MAX_DRAWS))
    def mask_it(self, one, mask):
        post, expected = one
        mask = np.array(mask[: len(post)])
        if (post.weights * mask).sum() == 0.0:
            return one
        return self.checked(post[mask], expected.part(mask))

    @rule(target=posteriors, one=posteriors, k=st.integers(1, 3))
    def thin(self, one, k):
        post, expected = one
        seen, kept = {}, []
        for chain in expected.chains:
            kept.append(seen.get(chain, 0) % k == 0)
            seen[chain] = seen.get(chain, 0) + 1
        return self.checked(post.thin(k), expected.part(np.array(kept)))

    @rule(target=posteriors, one=posteriors, how=st.sampled_from(["file", "folder", "pickle", "copy"]))
    def save_and_load(self, one, how):
        post, expected = one
        if how == "pickle":
            return self.checked(pickle.loads(pickle.dumps(post)), expected)
        if how == "copy":
            return self.checked(copy.deepcopy(post), expected)
        with TemporaryDirectory() as folder:
            post.save(Path(folder) / "posterior.npz")
            again = ct.load(folder if how == "folder" else Path(folder) / "posterior.npz")
        return self.checked(again, expected)

    @rule(target=posteriors, one=posteriors, other=posteriors)
    def concat(self, one, other):
        (a, first), (b, second) = one, other
        if first.kind != second.kind:
            with pytest.raises(ct.InputError):
                ct.concat([a, b])
            return one
        if len(a) + len(b) > MAX_DRAWS:
            return one
        weights, evidence = [first.weights, second.weights], None
        if first.evidence is not None and second.evidence is not None:
            both = np.array([first.evidence, second.evidence])
            masses = np.exp(both - both.max())
            evidence = np.log(np.average(masses, weights=[len(a), len(b)])) + both.max()
            weights = [mass * part for mass, part in zip(masses, weights, strict=True)]
        weights = np.concatenate(weights)
        chains = [(0, c) for c in first.chains] + [(1, c) for c in second.chains]
        if first.kind == "particles":  # which have no order
            chains = chains[:1] * len(chains)
        expected = Expected(first.kind, first.draws + second.draws, chains, weights / weights.mean(), evidence)
        return self.checked(ct.concat([a, b]), expected)

    @rule(one=posteriors)
    def place(self, one):
        post, expected = one
        alones = np.array([alone(*draw)[0] for draw in expected.draws])
        weights = expected.weights / expected.weights.sum()
        with np.errstate(divide="ignore"):
            density = np.logaddexp.reduce(alones + np.log(weights)[:, None])
        np.testing.assert_allclose(post.place(NEW).log_density, density, rtol=1e-9, atol=1e-9)

    @rule(one=posteriors)
    def count_clades(self, one):
        post, expected = one
        tree = post.mean_tree()
        there = [[clade in alone(*draw)[1] for clade in tree.clades()] for draw in expected.draws]
        shares = np.average(there, axis=0, weights=expected.weights)
        np.testing.assert_allclose(post.clade_support(tree), shares, rtol=1e-12, atol=1e-12)

    @rule(one=posteriors, other=posteriors)
    def answers_depend_on_draws_alone(self, one, other):
        (a, first), (b, second) = one, other
        if first.draws == second.draws and np.allclose(first.weights, second.weights):
            np.testing.assert_array_equal(a.cut(3), b.cut(3))
            assert a.mean_tree() == b.mean_tree()

    def checked(self, post, expected):
        """The posterior and what it holds, which is just that."""
        for name in ("children", "times", "log_joint", "tail_scale", "imputed"):
            rows = [getattr(FITS[fit].draws, name) for fit, _ in expected.draws]
            draws = getattr(post.draws, name)
            assert (draws is None) == (rows[0] is None)
            if draws is not None:
                np.testing.assert_array_equal(draws, [row[i] for row, (_, i) in zip(rows, expected.draws, strict=True)])
        for name, draws in post.theta.items():
            np.testing.assert_array_equal(draws, [FITS[fit].theta[name][i] for fit, i in expected.draws])
        np.testing.assert_allclose(post.weights, expected.weights / expected.weights.sum(), rtol=1e-11, atol=1e-300)
        assert post.log_evidence == (None if expected.evidence is None else pytest.approx(expected.evidence))
        if post.draws.is_chain:
            pairs = set(zip(post.draws.chain.tolist(), expected.chains, strict=True))
            assert len(pairs) == len(set(post.draws.chain.tolist())) == len(set(expected.chains))
        first = FITS[expected.draws[0][0]]
        assert post.labels == first.labels and post.model.columns == first.model.columns
        assert repr(post)
        return post, expected


TestCalls = Calls.TestCase
TestCalls.settings = settings(TestCalls.settings, stateful_step_count=15, report_multiple_bugs=False)

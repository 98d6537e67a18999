"""Contrasts on a tree, and other statistics whose distribution is known if the model holds (pivotal quantities)."""

import math
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.random_streams import make_streams, uniform
from .diffusion import messages


class ContrastFrame(NamedTuple):
    """A tree over n rows with their variances: what turns values of rows into contrasts, and back."""

    children: np.ndarray  # (n-1, 2)
    times: np.ndarray  # (n-1,)
    leaf_var: np.ndarray  # (n,)
    v: np.ndarray  # (n-1,) variance of the difference at a merge
    w1: np.ndarray  # (n-1,) weight of the first child's mean


def frame_of(children: np.ndarray, times: np.ndarray, leaf_var: np.ndarray) -> ContrastFrame:
    """The frame of a tree; a merge without variance has a `w1` of NaN."""
    children = np.ascontiguousarray(children, dtype=np.int64)
    times = np.ascontiguousarray(times, dtype=np.float64)
    n, second = len(times) + 1, children[:, 1]
    up = messages(children, times, np.empty((n, 0)), leaf_var)
    with np.errstate(invalid="ignore"):
        w1 = (up.var[second] + times - np.append(np.zeros(n), times)[second]) / up.v
    return ContrastFrame(children, times, np.ascontiguousarray(leaf_var, dtype=np.float64), up.v, w1)


class Values(NamedTuple):
    """Values of rows on a frame, in any linear units: contrasts, and means of the messages of all nodes."""

    contrasts: np.ndarray  # (n-1, d)
    means: np.ndarray  # (2n-1, d)


def values_of_rows(frame: ContrastFrame, X: np.ndarray) -> Values:
    """From the rows up."""
    up = messages(frame.children, frame.times, X, frame.leaf_var)
    i, j = frame.children.T
    return Values((up.mean[i] - up.mean[j]) / np.sqrt(frame.v)[:, None], up.mean)


def values_of_contrasts(frame: ContrastFrame, U: np.ndarray) -> Values:
    """From the root, put at 0, down, the inverse of messages:

        mean_1 = mean_k + w_2 √v_k u_k ,   mean_2 = mean_k - w_1 √v_k u_k .

    Given a tree, Φ and the rows' variances, contrasts are independent N(0, Φ), and the data are, up to a shift of all
    rows, a linear function of them: replicated data follow from contrasts drawn anew.
    """
    means = np.zeros((2 * len(U) + 1, U.shape[1]))
    _pass_down(frame.children, frame.v, frame.w1, np.ascontiguousarray(U), means)
    return Values(U, means)


@jit
def _pass_down(children: np.ndarray, v: np.ndarray, w1: np.ndarray, U: np.ndarray, means: np.ndarray) -> None:
    n = v.size + 1
    for k in range(n - 2, -1, -1):
        i, j = children[k, 0], children[k, 1]
        sd = math.sqrt(v[k])
        for f in range(U.shape[1]):
            difference = sd * U[k, f]
            means[i, f] = means[n + k, f] + (1.0 - w1[k]) * difference
            means[j, f] = means[n + k, f] - w1[k] * difference


def lateness(children: np.ndarray) -> np.ndarray:
    """(n,) how late each leaf joins another: 1 / m, m the number of lineages left before it does."""
    n = len(children) + 1
    late = np.empty(2 * n - 1)
    late[np.asarray(children)] = (1.0 / np.arange(n, 1, -1))[:, None]
    return late[:n]


def mean_lateness(n: int, rng: np.random.Generator) -> float:
    """The mean of `lateness` over the leaves of a tree drawn from the coalescent.

    Any two of the lineages that are left are equally likely to merge next, whether they are single leaves or not.
    """
    return float(_mean_lateness(n, make_streams(rng, 1)[0]))


@jit
def _mean_lateness(n: int, stream: np.ndarray) -> float:
    single, total = n, 0.0
    for m in range(n, 1, -1):
        pairs = 0.5 * m * (m - 1.0)
        u = uniform(stream) * pairs
        both = 0.5 * single * (single - 1.0)
        joined = 2 if u < both else 1 if u < both + single * (m - single) else 0
        single -= joined
        total += joined / m
    return total / n

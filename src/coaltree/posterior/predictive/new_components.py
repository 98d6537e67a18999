"""Components of new rows, and how likely what is beside them is.

A new row is x = r + V y + e in centred and scaled columns, e ~ N(0, v (I - V Vᵀ)), with r the mean residual of the n
fitted rows and v = σ² (1 + 1/n). Of its observed entries o, with a normal g(y) for the tree's p(y),

    p(x_o) = ∫ p(y) p(x_o | y) dy = E[p(y) / g(y)] · g(x_o) ,   y ~ g(y | x_o) :

one y is drawn for each tree. Where nothing is missing y is Vᵀ x, and p(x) = p(y) g(x) / g(y) exactly.
"""

import math
from typing import NamedTuple

import numpy as np

from ...model.covariance import Components
from ...model.draws import State
from ...model.model import Model

_SEED = 20125
_LOG_2PI = math.log(2.0 * math.pi)


class NewRows(NamedTuple):
    """What new rows are compared with in one draw."""

    covariance: Components
    residual: np.ndarray  # (d,) r
    variance: float  # v
    mean: np.ndarray  # (K,) of g
    S: np.ndarray  # (K, K) covariance of g
    normals: np.ndarray  # (2, K) the same for every row, so that none depends on those beside it

    @classmethod
    def of(cls, model: Model, state: State, draw: int) -> "NewRows":
        """From the rows of a draw."""
        covariance, rows = state.covariance, model.filled(state.imputed)
        assert isinstance(covariance, Components)
        components = covariance.project(rows)
        residual = covariance.standardized(rows).mean(axis=0)
        residual -= covariance.loadings @ (covariance.loadings.T @ residual)
        normals = np.random.default_rng([_SEED, draw]).standard_normal((2, len(covariance.Phi)))
        S = 2.0 * np.cov(components.T).reshape(covariance.Phi.shape)  # wider than the rows, as the tree's p(y) may be
        variance = covariance.residual_variance * (1.0 + 1.0 / len(rows))
        return cls(covariance, residual, variance, components.mean(axis=0), S, normals)

    def components(self, X: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(m, K) components of rows that have these columns, and (m,) log g(x_o) / g(y)."""
        covariance, v, S = self.covariance, self.variance, self.S
        V, scale = covariance.loadings[columns], covariance.scale[columns]
        Z = (X - covariance.centre[columns]) / scale - self.residual[columns]
        A = V.T @ V if len(columns) < len(self.residual) else np.eye(len(S))
        B = np.eye(len(S)) - A
        chol = np.linalg.cholesky(S)
        shares, axes = np.linalg.eigh(A)
        beside = math.sqrt(v) * axes @ (np.sqrt(np.clip(shares * (1.0 - shares), 0.0, None)) * self.normals[1])
        q = Z @ V - beside  # as in `data/missing.py`
        free = self.mean + chol @ self.normals[0]
        Y = q + np.linalg.solve(S / v @ A + B, (free - q).T + S / v @ q.T).T @ B

        excess = S / v - np.eye(len(S))
        inner = np.eye(len(S)) + excess @ A
        u = Z @ V - self.mean @ A
        squares = np.square(Z - self.mean @ V.T).sum(axis=1) - np.einsum(
            "mk,mk->m", u, np.linalg.solve(inner, excess @ u.T).T
        )
        log_x = -0.5 * (len(columns) * (_LOG_2PI + math.log(v)) + np.linalg.slogdet(inner)[1] + squares / v)
        W = np.linalg.solve(chol, (Y - self.mean).T)
        log_y = -0.5 * (len(S) * _LOG_2PI + np.square(W).sum(axis=0)) - np.log(chol.diagonal()).sum()
        return Y, log_x - np.log(scale).sum() - log_y

"""`Model`: a table with its leaves, covariance and noise, as samplers, chains and posteriors ask for it.

Model.of(X, …)           reads and checks a table, and chooses columns and covariance
model.problem(state)     whitened rows for a sampler
model.log_joint(state)   log p(X, tree | θ) + log p(θ)
model.expand(draws)      trees over all rows from those over the distinct ones, and `state_of` back
"""

import math
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import CoaltreeWarning, InputError
from ..tree.merges import restricted
from .covariance import Covariance, CovarianceLike, Scaled, as_covariance
from .covariance.base import cholesky_whitener
from .data.columns import imputed_everywhere, imputed_in_model, modelled, warn_of_scales
from .data.leaves import NO_LEAVES, Leaves, read_leaves, warn_of_groups, without_empty_rows
from .data.missing import agreeing_pair, check_apart, missing_entries
from .data.replicates import Replicates, Within, collapse, leaf_means, within_leaves
from .data.table import NO_TABLE, Table, read_table
from .data.transform import Preprocessor, TransformLike, fit_transform
from .draws import Draws, Merges, State
from .process.coalescent import log_prior
from .process.noise import NOISE_LEVEL, Noise, NoiseDraw, NoiseModel, noise_model, row_variances
from .process.noise import log_prior as noise_log_prior
from .process.whitened import Problem, make_problem


class Model(NamedTuple):
    """Rows, their leaves, covariance and noise; no iteration changes anything here."""

    values: np.ndarray  # (N, k) distinct rows in the columns of the model, NaN where missing
    covariance: Covariance  # as chains start
    noise: NoiseModel
    replicates: Replicates | None = None  # where leaves stand for several rows
    missing: np.ndarray | None = None  # (N, k) of bool, if any entry is
    within: Within | None = None  # what is left of rows that were put together into leaves
    # What follows is of the table as it was given, and no chain needs it.
    table: Table = NO_TABLE  # without columns where there are trees alone
    leaves: Leaves = NO_LEAVES
    used: np.ndarray | None = None  # (k,) numbers of the columns in the model; None for all
    is_spread: bool = False  # whether equal values were spread, so that `values` are not those of the table
    transform: TransformLike = None  # the fitted transformer that made the table
    info: Mapping[str, Any] = {}  # what a person wants to know of how it was read
    index: Any = None  # of the leaves, where a DataFrame was read

    @classmethod
    def of(
        cls,
        X: Any,
        covariance: CovarianceLike,
        noise: Noise,
        *,
        errors: Any = None,
        groups: Any = None,
        transform: Any = None,
    ) -> "Model":
        """Read and check a table, and choose columns and covariance."""
        table, groups, errors, info = without_empty_rows(read_table(X, allow_missing=True), groups, errors)
        table, transformer = fit_transform(table, transform)
        info |= {} if transformer is None else {"transform": " ".join(str(transformer).split())}
        leaves = read_leaves(table, noise, groups, errors)
        warn_of_groups(leaves, table, noise)
        covariance, values, used, is_spread, chosen = _modelled_apart(leaves, table, covariance)
        check_apart(values, leaves.names_of_kept(), has_density=leaves.has_density)
        if "covariance_choice" not in chosen:
            warn_of_scales(covariance, table)
        spread = values[leaves.places] if is_spread else None
        return cls.of_parts(table, leaves, covariance, noise, used, spread, transformer, info | chosen)

    @classmethod
    def of_known(cls, X: Any, covariance: CovarianceLike, noise: Noise, errors: Any = None) -> "Model":
        """The same of a covariance that is not learnt, in all columns."""
        table = read_table(X)
        leaves = read_leaves(table, noise, None, errors)
        covariance, used = as_covariance(covariance, table.values.shape[1]), None
        if isinstance(covariance, Scaled) and covariance.variances is None:  # it is known once the table is
            known = Scaled(amplitude=covariance.amplitude, learn=False)
            covariance, _, used, _, _ = modelled(table.values[leaves.kept], leaves.kept, table.features, known)
        return cls.of_parts(table, leaves, covariance, noise, used, None)

    @classmethod
    def of_parts(
        cls,
        table: Table,
        leaves: Leaves,
        covariance: Covariance,
        noise: Noise,
        used: np.ndarray | None,
        spread: np.ndarray | None,
        transform: TransformLike = None,
        info: Mapping[str, Any] | None = None,
    ) -> "Model":
        """A model that is known: columns in use, and the values of all rows (rows, k) where equal ones were spread."""
        recorded = table.values[leaves.kept]
        recorded = recorded if used is None else np.ascontiguousarray(recorded[:, used])
        values = recorded if spread is None else spread[leaves.kept]
        errors = None if leaves.errors is None else leaves.errors[leaves.kept]
        return cls(
            values,
            covariance,
            noise_model(noise, recorded, errors),
            leaves.replicates,
            missing_entries(values),
            table=table,
            leaves=leaves,
            used=used,
            is_spread=spread is not None,
            transform=transform,
            info=info or {},
        )

    def of_chains(self) -> "Model":
        """What chains need of it; the rows of a leaf are put together where they enter by sums alone.

        That is where all is observed, under normal noise.
        """
        model = self._replace(table=NO_TABLE, leaves=NO_LEAVES, used=None, transform=None, info={}, index=None)
        if model.replicates is None or model.missing is not None or model.noise.half_df > 0.0:
            return model
        leaves, within = within_leaves(model.values, model.noise.error2, model.replicates)
        noise = model.noise._replace(error2=leaves.var)
        return model._replace(values=leaves.mean, noise=noise, replicates=None, within=within)

    # The table

    @property
    def X(self) -> np.ndarray | None:
        """(rows, d) the table that was fitted, NaN where missing; None for trees alone."""
        return self.table.values if self.table.values.shape[1] else None

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns of X, where it has any."""
        return self.table.features

    @property
    def used_columns(self) -> tuple[str, ...]:
        """Names of the columns that are in the model, their numbers where they have none."""
        names = self.columns or tuple(map(str, range(self.table.values.shape[1])))
        return names if self.used is None else tuple(names[j] for j in self.used)

    @property
    def row_labels(self) -> tuple[str, ...]:
        """Names of the rows of X; those of the leaves unless there are groups."""
        return self.table.labels

    @property
    def groups(self) -> np.ndarray | None:
        """(rows,) the leaf that each row measures, where leaves have several rows."""
        return self.leaves.groups

    @property
    def errors(self) -> np.ndarray | None:
        """(rows,) relative standard errors of the rows, where they were given."""
        return self.leaves.errors

    @property
    def fitted(self) -> np.ndarray | None:
        """(rows, k) values in the model where equal ones were spread; None where they are those of X."""
        return self.values[self.leaves.places] if self.is_spread else None

    def given_values(self) -> np.ndarray:
        """(rows, d) X, in the units in which it was given where a `Preprocessor` changed each column by itself."""
        if self.X is None:
            raise InputError("this posterior does not include its data X.")
        return self._undone(self.X)

    def leaf_values(self) -> np.ndarray:
        """(n, d) the values of each leaf as they were given: its row, or the mean of its rows; NaN for none."""
        X = self.given_values()
        return X if self.groups is None else leaf_means(X, self.groups)

    def completed(self, draws: Draws, t: int) -> np.ndarray:
        """X (rows, d) as it was given, with its missing entries as they were drawn together with tree t."""
        values = np.array(self.table.values)
        if draws.imputed is not None:
            values[np.isnan(values)] = draws.imputed[t]
        return self._undone(values)

    def _undone(self, values: np.ndarray) -> np.ndarray:
        can_undo = isinstance(self.transform, Preprocessor) and self.transform.is_by_columns
        return self.transform.inverse_transform(values) if can_undo else values

    # What chains see

    @property
    def n(self) -> int:
        """Number of distinct leaves."""
        return len(self.values) if self.replicates is None else self.replicates.n

    @property
    def n_missing(self) -> int:
        """Number of missing entries."""
        return 0 if self.missing is None else int(self.missing.sum())

    @property
    def n_scales(self) -> int:
        """Number of scales of Student's tails, one for each row; 0 for normal ones."""
        return len(self.values) if self.noise.half_df > 0.0 else 0

    def filled(self, imputed: np.ndarray) -> np.ndarray:
        """Rows (N, k) with their missing entries filled in."""
        if self.missing is None:
            return self.values
        values = self.values.copy()
        values[self.missing] = imputed
        return values

    def over_rows(self, tree: Merges) -> Merges:
        """The tree over the rows, which are its leaves unless some are replicates."""
        return tree if self.replicates is None else self.replicates.expand(*tree)

    def statistics(self, covariance: Covariance, U: np.ndarray, variances: np.ndarray) -> Any:
        """What an update of the covariance needs of the tree's contrasts U, and of those within leaves."""
        if self.within is None:
            return covariance.statistics(U)
        return self.within.statistics(covariance, U, self._level(variances))

    def log_within(self, whitener: Any, variances: np.ndarray) -> float:
        """Log density of the contrasts within leaves."""
        return 0.0 if self.within is None else self.within.log_density(whitener, self._level(variances))

    def log_v_within(self, variances: np.ndarray) -> float:
        """Σ log v of the contrasts within leaves, up to a constant."""
        return 0.0 if self.within is None else self.within.n * math.log(self._level(variances))

    def _level(self, variances: np.ndarray) -> float:
        """The level of a normal noise from the leaves' variances."""
        return float(variances[0] / self.noise.error2[0])

    def whitened(self, state: State) -> tuple[np.ndarray, Any]:
        """Centred and whitened rows, and the whitener."""
        values = self.filled(state.imputed)
        whitener = state.covariance.whitener(values.shape[1])
        return np.ascontiguousarray(whitener.whiten(values - values.mean(axis=0))), whitener

    def problem(self, state: State, *, rotate: bool = True, columns: np.ndarray | None = None) -> Problem:
        """Rows whitened for a sampler, in all columns or in some alone."""
        values, variances = self.filled(state.imputed), row_variances(self.noise, state.noise)
        if columns is not None:
            return self._problem_in(columns, values, variances, state.covariance)
        problem = make_problem(values, state.covariance, variances, replicates=self.replicates, rotate=rotate)
        if self.within is None:
            return problem
        whitener = state.covariance.whitener(values.shape[1])
        return problem._replace(log_replicates=self.within.log_density(whitener, state.noise.level))

    def _problem_in(
        self, columns: np.ndarray, values: np.ndarray, variances: np.ndarray, covariance: Covariance
    ) -> Problem:
        matrix = covariance.matrix(values.shape[1])[np.ix_(columns, columns)]
        whitener = cholesky_whitener(matrix, "the covariance of the observed columns")
        W = np.ascontiguousarray(whitener.whiten(values[:, columns] - values[:, columns].mean(axis=0)))
        problem = Problem(W, len(columns), float(whitener.log_det), variances)
        if self.replicates is None:
            return problem
        leaves = collapse(W, variances, self.replicates)
        return problem._replace(W=leaves.mean, leaf_var=leaves.var, rows=W)

    def log_joint(self, state: State, problem: Problem | None = None) -> float:
        """Log p(X, tree | θ) + log p(θ), up to a constant; `problem` is that of the state, if it is known."""
        total = sum(self.log_priors(state).values())
        if self.n == 1:
            return total
        problem = self.problem(state) if problem is None else problem
        return total + problem.log_likelihood(*state.tree)

    def log_priors(self, state: State) -> dict[str, float]:
        """Log priors of tree, covariance and noise; 0 of a covariance without priors, which is known."""
        learnt = set(state.covariance.learnt)
        has_priors = set(getattr(state.covariance, "priors", ())) >= learnt
        return {
            "tree": float(log_prior(state.tree[1])),
            "covariance": float(state.covariance.log_prior()) if has_priors else 0.0,
            "noise": noise_log_prior(self.noise, state.noise),
        }

    def leaf_messages(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """(n, k) values and (n,) variances of the distinct leaves."""
        values, variances = self.filled(state.imputed), row_variances(self.noise, state.noise)
        if self.replicates is None:
            return values, variances
        leaves = collapse(values, variances, self.replicates)
        return leaves.mean, leaves.var

    def expand(self, draws: Draws) -> Draws:
        """Draws over all rows of the table, from those over the distinct ones."""
        children, times = self.leaves.distinct.expand(draws.children, draws.times)
        scales, imputed = draws.tail_scale, draws.imputed
        if np.isnan(self.table.values).any():
            imputed = np.empty((len(times), 0)) if imputed is None else imputed
            imputed = imputed_everywhere(imputed, self.table.values, self.used)
        return draws._replace(
            children=children,
            times=times,
            tail_scale=None if scales is None else scales[:, self.leaves.places],
            imputed=imputed,
        )

    def state_of(self, draws: Draws, t: int) -> State:
        """Draw t of those over all rows, as a state over the distinct ones."""
        tree = restricted(draws.children[t].astype(np.int64), draws.times[t], self.leaves.distinct.first)
        noise, imputed = self.noise_of(draws, t), np.full(self.n_missing, np.nan)
        if noise.tail_scale is not None:
            noise = noise._replace(tail_scale=noise.tail_scale[self.leaves.kept])
        if draws.imputed is not None:
            imputed = imputed_in_model(draws.imputed[t : t + 1], self.table.values, self.used)[0]
        return State(tree, self.covariance_of(draws, t), noise, imputed)

    def covariance_of(self, draws: Draws, t: int) -> Covariance:
        """The covariance as it was drawn together with tree t."""
        names = [name for name in self.covariance.parameters if name in draws.theta]
        return self.covariance.with_theta({name: draws.theta[name][t] for name in names})

    def noise_of(self, draws: Draws, t: int) -> NoiseDraw:
        """Level and scales as they were drawn together with tree t."""
        level = float(draws.theta[NOISE_LEVEL][t]) if self.noise.level is None else self.noise.level
        return NoiseDraw(level, None if draws.tail_scale is None else draws.tail_scale[t])


def _modelled_apart(leaves: Leaves, table: Table, covariance: Any) -> Any:
    """The model of distinct rows; ties are spread where rows are equal in every column that both have.

    Such rows are no copies, for two of them may differ where a third has no values, and have no density at distance 0.
    """
    values = table.values if len(leaves.kept) == len(table.values) else table.values[leaves.kept]
    model = modelled(values, leaves.kept, table.features, covariance)
    pair = None if leaves.has_density or model.is_spread else agreeing_pair(model.values)
    if pair is None:
        return model
    names = leaves.names_of_kept()
    warnings.warn(
        f"rows {names[pair[0]]!r} and {names[pair[1]]!r} are equal in every column that both have, so that their "
        "distance is 0; to keep such rows apart, equal values are spread over the step they are recorded "
        "in. A fixed noise, such as noise=0.1, keeps them apart, too.",
        CoaltreeWarning,
        stacklevel=4,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoaltreeWarning)  # said already
        return modelled(values, leaves.kept, table.features, covariance, spread=True)

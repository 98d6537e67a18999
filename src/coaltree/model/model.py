"""`Model`: a table with its leaves, covariance and noise, as samplers, chains and posteriors ask for it."""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..tree.merges import restricted, restricted_trees
from .covariance import Components, Covariance, CovarianceLike, Scaled
from .data.columns import choose_columns, named_columns, spread_ties, warn_of_scales
from .data.leaves import NO_LEAVES, Leaves, read_leaves
from .data.missing import agreeing_pair
from .data.replicates import Replicates, Within, collapse, leaf_means, within_leaves
from .data.table import INDEX, NO_TABLE, Table, aligned, as_frame, is_frame, read_table
from .data.transform import Preprocessor, TransformLike, described, fit_transform, log_derivative
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
    residual: np.ndarray | None = None  # where `values` are components: squares of what is beside, their rows less 1
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
        is_known: bool = False,
    ) -> "Model":
        """Read and check a table, and choose columns and covariance, of which nothing is learnt where it is known."""
        X = as_frame(X)
        rows = X.index if is_frame(X) else None
        groups, errors = aligned("groups", groups, rows), aligned("errors", errors, rows)
        table = read_table(X, allow_missing=not is_known, are_groups_named=groups is not None)
        table, transformer = fit_transform(table, transform)
        leaves = read_leaves(table, noise, groups, errors)
        values = table.values[leaves.kept]
        covariance, used, info = choose_columns(values, table.features, covariance, is_known)
        if not is_known and "covariance_choice" not in info:
            warn_of_scales(covariance, table)
        values = values if used is None else np.ascontiguousarray(values[:, used])
        values, tied = _apart(values, table, leaves, used, "tied" in covariance.cannot_take)
        if tied.any():
            names = named_columns(np.flatnonzero(tied) if used is None else used[tied], table.features)
            info["ties"] = f"equal values spread over the step they are recorded in: {names}"
        if transformer is not None:
            info["transform"] = described(transformer)
        spread = values[leaves.places] if tied.any() else None
        if not is_known or isinstance(covariance, Scaled):
            covariance = covariance.adapt(values)
        if isinstance(covariance, Components) and not is_known:
            info["components"] = covariance.summary()
        return cls.of_parts(table, leaves, covariance, noise, used, spread, transformer, info)._with_index(rows, groups)

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
        missing = np.isnan(values)
        return cls(
            values,
            covariance,
            noise_model(noise, recorded, errors),
            leaves.replicates,
            missing if missing.any() else None,
            table=table,
            leaves=leaves,
            used=used,
            is_spread=spread is not None,
            transform=transform,
            info=info or {},
        )

    def _with_index(self, rows: Any, groups: Any) -> "Model":
        """With what its leaves are called where X was a DataFrame: its index, or the groups of its rows."""
        if rows is None:
            return self
        import pandas

        index = rows if groups is None else pandas.Index(groups).unique()
        fits = tuple(map(str, index)) == self.leaves.labels  # else equal names were numbered
        name, is_integer = index.name, getattr(index.dtype, "kind", "O") in "iu"
        about = {"name": None if name is None else str(name), "is_integer": is_integer}
        return self._replace(index=index if fits else None, info={**self.info, INDEX: about if fits else {}})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self.first_difference(other) is None

    def __ne__(self, other: object) -> bool:  # a tuple has one of its own
        return not self == other

    def first_difference(self, other: "Model") -> str | None:
        """The first field by whose value another model differs, such as "covariance"; None where none does."""
        names = (name for name in ("table", "leaves", *self._fields) if name not in ("info", "index"))
        return next((name for name in names if not is_same(getattr(self, name), getattr(other, name))), None)

    def of_chains(self) -> "Model":
        """What chains need of it; the rows of a leaf are put together where they enter by sums alone.

        That is where all is observed, under normal noise.
        """
        model = self._replace(table=NO_TABLE, leaves=NO_LEAVES, used=None, transform=None, info={}, index=None)
        if model.missing is None:
            model = model.complete(np.empty(0))
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
        return X if self.leaves.groups is None else leaf_means(X, self.leaves.groups)

    def completed(self, draws: Draws, t: int) -> np.ndarray:
        """X (rows, d) as it was given, with the missing entries that were drawn together with tree t.

        A column that is not in the model keeps its missing entries.
        """
        values = np.array(self.table.values)
        if draws.imputed is not None:
            entries = np.isnan(values)
            if self.used is not None:
                entries &= np.isin(np.arange(values.shape[1]), self.used)
            values[entries] = draws.imputed[t]
        return self._undone(values)

    def _undone(self, values: np.ndarray) -> np.ndarray:
        can_undo = isinstance(self.transform, Preprocessor) and self.transform.is_by_columns
        return self.transform.inverse_transform(values) if can_undo else values

    def log_jacobian(self, values: np.ndarray) -> np.ndarray:
        """(m,) Σ log |dy/dx| of transformed rows y (m, d) over what they have in the columns of the model.

        It turns log densities of y into those of rows as they were given; NaN where the derivative is not known.
        """
        is_lost = self.transform is None and "transform" in self.info  # files keep a `Preprocessor` alone
        derivative = np.where(np.isnan(values), 0.0, np.nan if is_lost else log_derivative(self.transform, values))
        return np.asarray((derivative if self.used is None else derivative[:, self.used]).sum(axis=1))

    # What chains see

    @property
    def n(self) -> int:
        """Number of distinct leaves."""
        return len(self.values) if self.replicates is None else self.replicates.n

    @property
    def n_missing(self) -> int:
        """Number of missing entries."""
        return 0 if self.missing is None else int(self.missing.sum())

    def filled(self, imputed: np.ndarray) -> np.ndarray:
        """Rows (N, k) with their missing entries filled in."""
        if self.missing is None:
            return self.values
        values = self.values.copy()
        values[self.missing] = imputed
        return values

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of what the covariance is of: columns in the model, or components."""
        if not isinstance(self.covariance, Components):
            return self.used_columns
        return tuple(f"component {k + 1}" for k in range(self.covariance.n_components))

    def coordinates(self, imputed: np.ndarray) -> np.ndarray:
        """Complete rows (N, k) in the columns of the model, or in components where these carry the tree."""
        values = self.filled(imputed)
        if isinstance(self.covariance, Components) and self.residual is None:
            return self.covariance.project(values)
        return values

    def complete(self, imputed: np.ndarray) -> "Model":
        """The same with `coordinates` for its values, nothing missing."""
        residual = self.residual
        if isinstance(self.covariance, Components) and residual is None:
            residual = self.covariance.residual_squares(self.filled(imputed))
        return self._replace(values=self.coordinates(imputed), missing=None, residual=residual)

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
        values = self.coordinates(state.imputed)
        whitener = state.covariance.whitener(values.shape[1])
        return np.ascontiguousarray(whitener.whiten(values - values.mean(axis=0))), whitener

    def problem(self, state: State, *, rotate: bool = True, columns: np.ndarray | None = None) -> Problem:
        """Rows whitened for a sampler, in all columns or in some alone."""
        complete, variances = self.complete(state.imputed), row_variances(self.noise, state.noise)
        problem = make_problem(
            complete.values, state.covariance, variances, replicates=self.replicates, rotate=rotate, columns=columns
        )
        if self.within is not None:
            whitener = state.covariance.whitener(complete.values.shape[1])
            problem = problem._replace(log_beside=self.within.log_density(whitener, state.noise.level))
        if isinstance(state.covariance, Components) and complete.residual is not None:
            log_beside = problem.log_beside + state.covariance.residual_log_density(complete.residual)
            problem = problem._replace(log_beside=log_beside)
        return problem

    def log_joint(self, state: State, problem: Problem | None = None) -> float:
        """Log p(X, tree | θ) + log p(θ), up to a constant; `problem` is that of the state, if it is known."""
        return sum(self.log_priors(state).values()) + (0.0 if self.n == 1 else self.log_likelihood(state, problem))

    def log_likelihood(self, state: State, problem: Problem | None = None) -> float:
        """Log p(X | tree, θ), up to a constant."""
        problem = self.problem(state) if problem is None else problem
        return float(problem.log_likelihood(*state.tree))

    def log_priors(self, state: State) -> dict[str, float]:
        """Log priors of tree, covariance and noise; 0 of a covariance without priors, which is known."""
        has_priors = set(state.covariance.priors) >= set(state.covariance.learnt)
        return {
            "tree": float(log_prior(state.tree[1])),
            "covariance": float(state.covariance.log_prior()) if has_priors else 0.0,
            "noise": noise_log_prior(self.noise, state.noise),
        }

    def leaf_messages(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """(n, k) values, or components, and (n,) variances of the distinct leaves."""
        values, variances = self.coordinates(state.imputed), row_variances(self.noise, state.noise)
        if self.replicates is None:
            return values, variances
        leaves = collapse(values, variances, self.replicates)
        return leaves.mean, leaves.var

    def expand(self, draws: Draws) -> Draws:
        """Draws over all rows of the table, from those over the distinct ones."""
        children, times = self.leaves.distinct.expand(draws.children, draws.times)
        scales = None if draws.tail_scale is None else draws.tail_scale[:, self.leaves.places]
        return draws._replace(children=children.astype(np.int32), times=times, tail_scale=scales)

    def contract(self, draws: Draws) -> Draws:
        """Undo `expand`."""
        children, times = restricted_trees(draws.children, draws.times, self.leaves.distinct.first)
        scales = None if draws.tail_scale is None else draws.tail_scale[:, self.leaves.kept]
        return draws._replace(children=children, times=times, tail_scale=scales)

    def state_of(self, draws: Draws, t: int) -> State:
        """Draw t of those over all rows, as a state over the distinct ones."""
        tree = restricted(draws.children[t].astype(np.int64), draws.times[t], self.leaves.distinct.first)
        noise = self.noise_of(draws, t)
        if noise.tail_scale is not None:
            noise = noise._replace(tail_scale=noise.tail_scale[self.leaves.kept])
        imputed = np.full(self.n_missing, np.nan) if draws.imputed is None else draws.imputed[t]
        return State(tree, self.covariance_of(draws, t), noise, imputed)

    def covariance_of(self, draws: Draws, t: int) -> Covariance:
        """The covariance as it was drawn together with tree t."""
        names = [name for name in self.covariance.parameters if name in draws.theta]
        return self.covariance.with_theta({name: draws.theta[name][t] for name in names})

    def noise_of(self, draws: Draws, t: int) -> NoiseDraw:
        """Level and scales as they were drawn together with tree t."""
        level = float(draws.theta[NOISE_LEVEL][t]) if self.noise.level is None else self.noise.level
        return NoiseDraw(level, None if draws.tail_scale is None else draws.tail_scale[t])


def _apart(
    values: np.ndarray, table: Table, leaves: Leaves, used: np.ndarray | None, cannot_be_tied: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Values of distinct rows, ties spread where they must be, and in which columns they were.

    Rows that are equal in every column that both have must stand apart, too: they are no copies, for two of them may
    differ where a third has no values, and have no density at distance 0.
    """
    pair = None if leaves.has_density else agreeing_pair(values)
    if pair is None and not cannot_be_tied:
        return values, np.zeros(values.shape[1], dtype=bool)
    spread, tied = spread_ties(values, leaves.kept, np.arange(values.shape[1]) if used is None else used)
    if not leaves.has_density and (pair := agreeing_pair(spread)) is not None:
        one, other = (repr(table.labels[leaves.kept[i]]) for i in pair)
        raise InputError(
            f"rows {one} and {other} are equal in every column that both have, so their distance is 0; drop one of "
            "them, or give a fixed noise, such as noise=0.1."
        )
    return spread, tied


def is_same(a: Any, b: Any) -> bool:
    """Whether two values are equal, in nested tuples and objects to the last field; NaN equals itself."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == b.dtype.kind == "f")
    if type(a) is not type(b):
        return False
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(is_same(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(is_same, a, b))
    if is_dataclass(a):
        return all(is_same(getattr(a, field.name), getattr(b, field.name)) for field in fields(a) if field.init)
    return is_same(vars(a), vars(b)) if hasattr(a, "__dict__") and not isinstance(a, type) else bool(a == b)

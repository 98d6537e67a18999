"""The rows that a posterior holds, as they were given and as the model saw them; a part of `Posterior`."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..model.data.replicates import leaf_means
from ..model.data.table import as_double
from ..model.process.noise import Noise
from .given import noise_levels
from .trees.stacked import read_only


class HeldRows:
    """The methods of `Posterior` that are about the rows of its table."""

    if TYPE_CHECKING:  # what they need of it
        X: np.ndarray | None
        columns: tuple[str, ...] | None
        imputed: np.ndarray | None
        used: np.ndarray | None
        fitted: np.ndarray | None
        groups: np.ndarray | None
        errors: np.ndarray | None
        noise: Noise
        theta: Mapping[str, np.ndarray]
        tail_scale: np.ndarray | None

        @property
        def n(self) -> int: ...
        @cached_property
        def weights(self) -> np.ndarray: ...

    def completed(self, index: int) -> np.ndarray:
        """X (rows, d) with its missing entries as they were drawn together with tree `index`."""
        if self.X is None:
            raise InputError("this posterior does not include its data X.")
        filled = np.array(self.X, dtype=np.float64)
        if self.imputed is not None:
            filled[np.isnan(filled)] = self.imputed[index]
        return filled

    def leaf_values(self) -> np.ndarray:
        """(n, d) the values of each leaf: its row of X, or the mean of its rows; NaN where nothing is observed."""
        if self.X is None:
            raise InputError("this posterior does not include its data X.")
        X = as_double(self.X)
        return X if self.groups is None else leaf_means(X, self.groups)

    @property
    def model_columns(self) -> tuple[str, ...]:
        """Names of the columns that are in the model, their numbers where they have none."""
        d = 0 if self.X is None else self.X.shape[1]
        names = self.columns or tuple(map(str, range(d)))
        return names if self.used is None else tuple(names[j] for j in self.used)

    def model_values(self, index: int | None = None) -> np.ndarray:
        """X (rows, k) as the model saw it: the columns in use, with equal values spread.

        Missing entries are as they were drawn together with tree `index`; without it they are NaN.
        """
        X = self.completed(index) if index is not None else np.array(self.X, dtype=np.float64)
        values = X if self.used is None else np.ascontiguousarray(X[:, self.used])
        return values if self.fitted is None else np.where(np.isnan(self.fitted), values, self.fitted)

    @cached_property
    def oddness(self) -> np.ndarray | None:
        """How odd each row of X is: the posterior mean of its noise's scale, about 1 for an ordinary row.

        None where the noise has no Student tails.
        """
        return None if self.tail_scale is None else read_only(self.weights @ self.tail_scale)

    def row_variances(self, index: int) -> np.ndarray:
        """(rows of X,) variances of the rows' noise as multiples of the covariance, as drawn with tree `index`."""
        n_rows = self.n if self.groups is None else len(self.groups)
        level = noise_levels(self.theta)[index] if self.noise.is_learnt else self.noise.level
        variances = np.full(n_rows, float(level))
        if self.errors is not None:
            variances *= np.square(self.errors)
        return variances if self.tail_scale is None else variances * self.tail_scale[index]

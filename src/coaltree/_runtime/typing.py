"""What users may give, as types that signatures share.

`CovarianceLike` and `SamplerLike` stand beside what they name, in `model.covariance` and `samplers.base`.
"""

import os
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["ArrayLike", "OutputLike", "PathLike", "ProgressLike", "RandomState"]

OutputLike = Literal["numpy", "pandas"] | None
PathLike = str | os.PathLike[str]
RandomState = int | np.integer | np.random.Generator | None
ProgressLike = bool | Literal["auto"] | Callable[[int, int], object]

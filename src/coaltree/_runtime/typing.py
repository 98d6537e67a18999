"""Types that signatures share: what users may give, and integers in kernels."""

import os
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike as ArrayLike

Int = int | np.integer[Any]
PathLike = str | os.PathLike[str]
RandomState = int | np.integer[Any] | np.random.Generator | None
ProgressLike = bool | Literal["auto"] | Callable[[int, int], object]

"""Matrices as text: a cell is one character (64 levels) or two (4096) of base64's alphabet, decoded by the script.

Every character stands for itself in HTML and JSON, needs no library to read, and a page of them mails well.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from .._runtime.typing import ArrayLike

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_CODES = np.frombuffer(ALPHABET.encode("ascii"), dtype=np.uint8)
COARSE, FINE = 63, 4095  # the highest level of one character, and of two


def shares(values: ArrayLike) -> str:
    """Numbers from 0 to 1, one character each."""
    levels = np.rint(np.clip(values, 0.0, 1.0) * COARSE).astype(np.int64)
    return _CODES[levels.ravel()].tobytes().decode("ascii")


def numbers(whole: np.ndarray) -> str:
    """Whole numbers from 0 to 63, one character each."""
    return _CODES[whole].tobytes().decode("ascii")


def values(matrix: np.ndarray, low: float, high: float) -> str:
    """Numbers from low to high, two characters each: level 0 is missing, levels 1 … 4095 run from low to high."""
    matrix = np.asarray(matrix, dtype=float)
    place = (np.clip(matrix, low, high) - low) / (high - low)
    levels = np.where(np.isnan(place), 0, 1 + np.rint(np.nan_to_num(place) * (FINE - 1))).astype(np.int64).ravel()
    return _CODES[np.stack([levels >> 6, levels & 63], axis=1)].tobytes().decode("ascii")


def blocks(n: int, most: int) -> np.ndarray:
    """Boundaries of min(n, most) blocks of nearly equal size: block i is from floor(i n / m) on."""
    m = min(n, most)
    return np.arange(m + 1) * n // m


def block_names(names: Sequence[str], most: int) -> list[str]:
    """What each of the `blocks` of named columns is called, from its first to its last."""
    edges = pairwise(blocks(len(names), most))
    return [names[a] if b - a == 1 else f"{names[a]} … {names[b - 1]}" for a, b in edges]


def shrink(matrix: np.ndarray, n_rows: int, n_columns: int) -> np.ndarray:
    """Mean of blocks of rows and columns, missing cells (NaN) left out; NaN where a block has no others."""
    matrix = np.asarray(matrix, dtype=float)
    rows, columns = blocks(matrix.shape[0], n_rows)[:-1], blocks(matrix.shape[1], n_columns)[:-1]
    if len(rows) == matrix.shape[0] and len(columns) == matrix.shape[1]:
        return matrix
    seen = ~np.isnan(matrix)
    total = np.add.reduceat(np.add.reduceat(np.where(seen, matrix, 0.0), rows, axis=0), columns, axis=1)
    number = np.add.reduceat(np.add.reduceat(seen.astype(np.int64), rows, axis=0), columns, axis=1)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)

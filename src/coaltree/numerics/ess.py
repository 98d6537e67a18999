"""How well chains mix: rank-normalised R-hat and bulk effective sample size of many scalars at once.

After Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021). Every chain is split into two halves, and the draws of a
scalar are replaced by normal scores of their ranks over all halves,

    z = Φ⁻¹((rank - 3/8) / (S + 1/4)),    S the number of its draws.

With W the mean variance within the m halves of N draws and B / N the variance of their means,

    V = W (N-1)/N + B/N,    R-hat² = V / W,    ESS = m N / (1 + 2 Σ_s ρ_s),    ρ_s = 1 - (W - mean C_s) / V

R-hat is the larger one of z and of z of |x - median|, which sees halves that differ in spread alone. The sum of the
autocorrelations is taken in pairs of lags, while pairs are positive and made non-increasing (Geyer 1992).
ArviZ has the same figures, scalar by scalar, and takes five times as long for many; the tests compare.
"""

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

MIN_DRAWS = 4  # of a chain, of which its halves have two each


def mixing(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """R-hat (k,) and bulk effective sample size (k,) of k scalars from draws (k, chains, N), N ≥ 4.

    NaN for one that never changes.
    """
    half = draws.shape[2] // 2
    halves = np.concatenate([draws[:, :, :half], draws[:, :, -half:]], axis=1)
    spread = np.abs(halves - np.median(halves, axis=(1, 2), keepdims=True))
    z = _normal_scores(halves)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.fmax(_r_hat(z), _r_hat(_normal_scores(spread))), _ess(z)


def _normal_scores(values: np.ndarray) -> np.ndarray:
    flat = values.reshape(len(values), -1)
    ranks = np.empty(flat.shape)
    np.put_along_axis(ranks, np.argsort(flat, axis=1), _ranks_of_sorted(np.sort(flat, axis=1)), axis=1)
    return ndtri((ranks - 0.375) / (flat.shape[1] + 0.25)).reshape(values.shape)


def _ranks_of_sorted(values: np.ndarray) -> np.ndarray:
    """Ranks from 1 of values in order; equal ones share their mean."""
    size = values.shape[1]
    place = np.arange(size)
    changes = np.ones((len(values), size + 1), dtype=bool)
    changes[:, 1:-1] = values[:, 1:] != values[:, :-1]
    first = np.maximum.accumulate(np.where(changes[:, :-1], place, 0), axis=1)
    last = np.minimum.accumulate(np.where(changes[:, 1:], place, size)[:, ::-1], axis=1)[:, ::-1]
    return 1.0 + 0.5 * (first + last)


def _r_hat(z: np.ndarray) -> np.ndarray:
    length = z.shape[2]
    within, between = z.var(axis=2, ddof=1).mean(axis=1), z.mean(axis=2).var(axis=1, ddof=1)
    return np.sqrt((length - 1) / length + between / within)


def _ess(z: np.ndarray) -> np.ndarray:
    _, n_halves, length = z.shape
    covariance = _mean_autocovariance(z)
    within = covariance[:, :1] * length / (length - 1)
    variance = covariance[:, :1] + z.mean(axis=2).var(axis=1, ddof=1)[:, None]
    correlation = 1.0 - (within - covariance) / variance
    correlation[:, 0] = 1.0
    n_pairs = max(1, (length - 1) // 2)
    pairs = correlation[:, 0 : 2 * n_pairs : 2] + correlation[:, 1 : 2 * n_pairs : 2]
    counts = np.logical_and.accumulate(pairs > 0.0, axis=1)
    counts[:, -1] = False  # at the latest
    sums = np.where(counts, np.minimum.accumulate(pairs, axis=1), 0.0).sum(axis=1)
    ends = 2 * counts.sum(axis=1)  # the first lag that is not in the sum; it counts once, where it is positive
    last = np.maximum(np.take_along_axis(correlation, ends[:, None], axis=1)[:, 0], 0.0)
    size = n_halves * length
    return np.where(variance[:, 0] > 0.0, size / np.maximum(2.0 * sums + last - 1.0, 1.0 / np.log10(size)), np.nan)


def _mean_autocovariance(z: np.ndarray) -> np.ndarray:
    """(k, N) the autocovariance at every lag, divided by N at each, mean over halves."""
    length = z.shape[2]
    size = next_fast_len(2 * length, real=True)
    spectrum = rfft(z - z.mean(axis=2, keepdims=True), size, axis=2)
    power = (spectrum.real**2 + spectrum.imag**2).mean(axis=1)
    return irfft(power, size, axis=1)[:, :length] / length

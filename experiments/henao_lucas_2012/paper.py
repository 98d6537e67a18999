"""The numbers that the paper prints, in natural units (its powers of ten taken out); times in seconds."""

from typing import NamedTuple


class Figure(NamedTuple):
    """Mean and standard deviation over replicates."""

    mean: float
    sd: float


def _table(samplers, text):
    """Lines of: n, quantity, measure, the factor printed with it, then mean and sd for each sampler."""
    table = {}
    for line in text.strip().splitlines():
        n, quantity, measure, factor, *numbers = line.split()
        values = [float(number) / float(factor) for number in numbers]
        pairs = zip(values[::2], values[1::2], strict=True)
        table[int(n), quantity, measure] = dict(zip(samplers, (Figure(*pair) for pair in pairs), strict=True))
    return table


STRUCTURE = _table(
    ("PostPost", "MPost1", "SMC1", "MPost2"),
    """
    32 time     mse 1e1   0.52 0.22  0.44 0.18   0.66 0.28  0.45 0.18
    32 time     mae 1e1   1.88 0.45  1.68 0.39   2.01 0.46  1.72 0.40
    32 time     mab 1e1   5.13 1.23  4.93 1.12   6.09 1.30  4.91 1.08
    64 time     mse 1e2   4.06 1.08  3.04 0.90   5.37 2.23  3.30 0.94
    64 time     mae 1e1   1.73 0.26  1.42 0.26   1.83 0.39  1.49 0.27
    64 time     mab 1e1   4.47 0.73  4.40 0.78   5.97 1.39  4.39 0.73
    32 distance mse 1e1   0.79 0.50  0.70 0.49   1.32 0.63  0.70 0.42
    32 distance mae 1e1   2.24 0.78  2.13 0.76   3.03 0.90  2.14 0.72
    32 distance mab 1e1   6.77 1.20  6.50 1.12   8.77 1.96  6.48 1.13
    64 distance mse 1e2   5.79 3.15  4.89 2.92  11.36 5.68  5.27 2.94
    64 distance mae 1e1   1.95 0.68  1.78 0.65   2.85 0.83  1.85 0.65
    64 distance mab 1e1   6.06 0.79  5.75 0.73   8.54 2.01  5.81 0.69
    32 cost     rt  1e0  18.65 0.24  2.29 0.04   3.76 0.07  1.98 0.03
    64 cost     rt  1e-1 14.50 0.06  1.08 0.00   1.39 0.01  0.61 0.00
    """,
)

COVARIANCE = _table(
    ("MPost1", "SMC1", "MPost2"),
    """
    32 time     mse 1e1   1.20 0.51   1.26 0.44  1.24 0.53
    32 time     mae 1e1   3.02 0.80   2.98 0.62  3.06 0.81
    32 time     mab 1e1   6.43 1.26   7.01 1.50  6.52 1.38
    64 time     mse 1e2   5.38 1.66   6.32 1.94  5.61 1.76
    64 time     mae 1e1   2.02 0.36   2.01 0.36  2.07 0.36
    64 time     mab 1e1   4.75 0.72   6.16 1.35  4.73 0.62
    32 distance mse 1e1   1.31 0.87   2.85 1.76  1.33 0.86
    32 distance mae 1e1   2.94 1.19   4.53 1.69  2.96 1.19
    32 distance mab 1e1   8.77 2.18   9.60 1.73  8.84 2.13
    64 distance mse 1e1   0.64 0.35   1.54 0.67  0.66 0.34
    64 distance mae 1e1   2.08 0.63   3.29 0.94  2.08 0.65
    64 distance mab 1e1   6.77 1.13   8.41 1.42  6.76 1.15
    32 length2  mse 1e4   2.36 3.20   2.93 4.51  2.38 3.23
    32 length2  mae 1e2   1.17 0.99   1.24 1.09  1.18 0.99
    32 length2  mab 1e2   1.40 1.14   2.06 2.18  1.38 1.15
    64 length2  mse 1e4   2.86 3.22   3.55 4.48  2.83 3.17
    64 length2  mae 1e2   1.35 1.02   1.44 1.14  1.34 1.01
    64 length2  mab 1e2   1.57 1.29   2.39 2.24  1.55 1.27
    32 cost     rt  1e-1  5.69 0.02  13.65 0.06  4.86 0.02
    64 cost     rt  1e-2  2.72 0.07   5.12 0.05  1.49 0.01
    """,
)

GREEDY = _table(
    ("Greedy", "MGreedy"),
    """
    32  time     mse 1e1  1.26 0.48  0.90 0.36
    32  time     mae 1e1  3.10 0.67  2.53 0.59
    32  time     mab 1e1  7.03 1.54  6.38 1.50
    128 time     mse 1e2  0.98 0.23  0.78 0.19
    128 time     mae 1e1  0.81 0.11  0.71 0.10
    128 time     mab 1e1  2.74 0.49  2.59 0.49
    32  distance mse 1e1  1.33 0.74  1.02 0.60
    32  distance mae 1e1  3.04 1.02  2.58 0.93
    32  distance mab 1e1  8.90 1.70  8.24 1.69
    128 distance mse 1e1  0.14 0.11  0.12 0.09
    128 distance mae 1e1  0.95 0.38  0.87 0.35
    128 distance mab 1e1  4.05 0.69  3.90 0.68
    32  length2  mse 1e4  2.03 2.61  2.03 2.58
    32  length2  mae 1e2  1.10 0.91  1.10 0.90
    32  length2  mab 1e2  1.24 1.00  1.24 0.99
    128 length2  mse 1e4  2.79 3.54  2.79 3.56
    128 length2  mae 1e2  1.32 1.03  1.32 1.03
    128 length2  mab 1e2  1.39 1.06  1.43 1.15
    32  cost     rt  1e0  1.65 0.09  1.66 0.08
    128 cost     rt  1e-1 3.86 2.42  3.79 2.31
    """,
)

# Digits: name → subtree score, area under the ARI curve, seconds. The prior's area is of the one subset it draws.
USPS = {
    "MPost2": (Figure(0.77, 0.02), Figure(0.89, 0.01), 17.30 * 60),
    "MGreedy": (Figure(0.78, 0.02), Figure(0.88, 0.02), 2.65 * 60),
    "average link": (Figure(0.76, 0.02), Figure(0.85, 0.02), 60.0),
}
USPS_PRIOR_AREA = 0.36

# Motion capture: seconds; effective sample size and largest weight of the 50 particles at the last iteration.
MOCAP_SECONDS = {"MPost2": 5 * 60, "MPost1": 7 * 60, "MGreedy": 60, "SMC1": 12 * 60, "PostPost": 75 * 60}
MOCAP_ESS, MOCAP_LARGEST_WEIGHT = 24.108, 0.129

FASTER = 50.0  # how many times faster than the paper every experiment is to be

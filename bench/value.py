"""How `value` compares with the same formula written by hand in NumPy, on arrays of a million elements.

Run from the root of the repository: `.venv/bin/python bench/value.py`. Each row alternates the two and prints
the median of the ratios of neighbouring runs, with their quartiles. It exits with 1 if the median of a row with
a limit exceeds the limit.

What `value` adds is the check that every number is finite and positive: one reading of each array, which costs
about as much as one operation on it. So a formula of a single operation lies far above the limit, one of few
operations on four arrays near it, and the ends of the flat bottom, which SymPy writes with more roots than one
would by hand, above it. These rows have no limit: they are shown so that the price is known.
"""

import os
import platform
import sys
from statistics import quantiles
from time import perf_counter

import numpy as np

from youngdaly import formulas
from youngdaly.evaluation import value

ELEMENTS, RUNS, LIMIT = 10**6, 31, 1.5

rng = np.random.default_rng(0)
RANGES = {
    "tau": (60, 6000), "delta": (1, 300), "M": (1e4, 1e6), "r": (10, 900),
    "S": (1e12, 1e13), "B": (1e11, 1e13), "L": (0.2, 0.4), "x": (0.01, 0.2),
}  # fmt: skip
ARRAYS = {name: rng.uniform(low, high, ELEMENTS) for name, (low, high) in RANGES.items()}


def longest(delta, M, r, x):
    best = np.sqrt(2 * delta * M)
    extra = x * (1 + r / best)
    return best * (1 + extra + np.sqrt(extra * (extra + 2)))


# Name, formula, the same by hand, the limit of the ratio.
ROWS = [
    ("YOUNG", formulas.YOUNG, lambda delta, M: np.sqrt(2 * delta * M), LIMIT),
    ("LOSS", formulas.LOSS, lambda tau, delta, M, r: delta / tau + tau / (2 * M) + r / M, LIMIT),
    ("LEAST_LOSS", formulas.LEAST_LOSS, lambda delta, M, r: np.sqrt(2 * delta / M) + r / M, LIMIT),
    (
        "NEEDED M", formulas.NEEDED["M"],
        lambda L, delta, r: (np.sqrt(delta) + np.sqrt(2 * L * r + delta)) ** 2 / (2 * L**2), LIMIT,
    ),
    ("NEEDED B", formulas.NEEDED["B"], lambda L, S, M, r: 2 * M * S / (L * M - r) ** 2, None),
    ("WRITE_TIME", formulas.WRITE_TIME, lambda S, B: S / B, None),
    ("LONGEST", formulas.LONGEST, longest, None),
]  # fmt: skip


def seconds(function, arrays):
    start = perf_counter()
    function(**arrays)
    return perf_counter() - start


def main():
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, NumPy {np.__version__}; "
        f"{ELEMENTS:,} elements, {RUNS} paired runs"
    )
    print(f"{'formula':12}{'by hand':>10}{'ratio':>8}{'quartiles':>14}{'limit':>8}")
    over = False
    for name, formula, by_hand, limit in ROWS:
        arrays = {str(symbol): ARRAYS[str(symbol)] for symbol in formula.free_symbols}

        def from_formula(**arrays):
            return value(formula, **arrays)

        np.testing.assert_allclose(from_formula(**arrays), by_hand(**arrays), rtol=1e-9)  # and compiles
        runs = [(seconds(by_hand, arrays), seconds(from_formula, arrays)) for _ in range(RUNS)]
        low, ratio, high = quantiles([formulaic / handwritten for handwritten, formulaic in runs])
        hand = sorted(run[0] for run in runs)[RUNS // 2]
        print(f"{name:12}{1e3 * hand:7.2f} ms{ratio:8.2f}{low:8.2f} –{high:5.2f}{limit or 'none':>8}")
        over |= limit is not None and ratio > limit
    return int(over)


if __name__ == "__main__":
    sys.exit(main())

"""Failure processes: where the gaps between failures come from when no log gives them.

A gap is the time on the wall clock from one failure to the next. Every process has a `mean`, the failure interval
M, and `draw(rng, size)`, which draws independent gaps with a seeded generator.
"""

from dataclasses import dataclass
from math import gamma, inf
from numbers import Real

import numpy as np


def check(name, number, zero=False):
    """A `ValueError` unless `number` is finite and greater than 0, or 0 where `zero` allows it."""
    real = isinstance(number, Real) and not isinstance(number, bool)
    if not (real and 0 <= number < inf and (number or zero)):
        raise ValueError(f"{name} = {number!r}: give a finite number{', 0 or more' if zero else ' greater than 0'}")


@dataclass(frozen=True)
class Exponential:
    """Failures at random, at a constant rate: how long the job has run says nothing about the next failure.

    mean : the failure interval M.
    """

    mean: float

    def __post_init__(self):
        check("mean", self.mean)

    def draw(self, rng, size):
        return rng.exponential(self.mean, size)


@dataclass(frozen=True)
class Weibull:
    """Gaps with a Weibull distribution, given by mean and shape.

    mean : the failure interval M.
    shape : 1 is the exponential. Below 1 failures bunch: short gaps and very long ones are both more frequent.
    """

    mean: float
    shape: float

    def __post_init__(self):
        check("mean", self.mean)
        check("shape", self.shape)

    def draw(self, rng, size):
        return rng.weibull(self.shape, size) * (self.mean / gamma(1 + 1 / self.shape))


@dataclass(frozen=True)
class Bursts:
    """Failures that come together: after each one, the next follows soon with a fixed chance, as when a rack goes.

    mean : the failure interval M, over all failures.
    size : failures in a burst on average, 1 or more; 1 is the exponential.
    gap : mean gap inside a burst, shorter than `mean`.
    """

    mean: float
    size: float
    gap: float

    def __post_init__(self):
        check("mean", self.mean)
        check("gap", self.gap)
        check("size", self.size)
        if self.size < 1:
            raise ValueError(f"size = {self.size!r}: give a number of 1 or more")
        if self.gap >= self.mean:
            raise ValueError(f"gap = {self.gap!r}: give a gap shorter than mean = {self.mean!r}")

    def draw(self, rng, size):
        between = self.size * self.mean - (self.size - 1) * self.gap  # so that the mean of all gaps is `mean`
        return rng.exponential(np.where(rng.random(size) * self.size < 1, between, self.gap))


@dataclass(frozen=True, eq=False)
class Recorded:
    """Real gaps, drawn with replacement: their distribution is kept, their order is not.

    gaps : one or more gaps, 0 or more, not all 0. To keep their order, replay them as they are.
    """

    gaps: np.ndarray

    def __post_init__(self):
        gaps = np.asarray(self.gaps, dtype=float)
        if gaps.ndim != 1 or not (gaps.size and gaps.min() >= 0 and 0 < gaps.max() < inf):
            raise ValueError(f"gaps = {self.gaps!r}: give one or more finite times, 0 or more, not all of them 0")
        object.__setattr__(self, "gaps", gaps)

    @property
    def mean(self):
        return float(self.gaps.mean())

    def draw(self, rng, size):
        return rng.choice(self.gaps, size)


def of_devices(lifetimes, devices, window, rng, settle=0.0):
    """When a job of many devices fails, if each is replaced by a new one at the moment it fails.

    Parameters
    ----------
    lifetimes : the process from which every device's lifetimes are drawn, independently.
    devices : how many devices the job has; the job fails when any of them does.
    window : how long the job is watched, in the unit of the lifetimes.
    rng : a NumPy random generator.
    settle : how long the devices have run before. At 0 all are new; several mean lifetimes mix their ages.

    Returns
    -------
    array of times of failures since the start of the window, in order.

    Raises
    ------
    ValueError for devices that are no whole number of at least 1, and for impossible times.
    """
    if isinstance(devices, bool) or not isinstance(devices, int) or devices < 1:
        raise ValueError(f"devices = {devices!r}: give a whole number, 1 or more")
    check("window", window)
    check("settle", settle, zero=True)
    failures, clock = [], np.zeros(devices)
    while clock.min() < settle + window:
        clock = clock + lifetimes.draw(rng, devices)
        failures.append(clock[(settle < clock) & (clock <= settle + window)] - settle)
    return np.sort(np.concatenate(failures))

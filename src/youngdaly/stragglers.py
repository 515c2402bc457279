"""Stragglers: what each rank measures in lockstep, and which rank is slow.

Times are in units of one step without noise. A rank computes, then waits in a collective until the last has come.
"""

from numbers import Integral, Real

import numpy as np
from scipy import stats

NOISE = ("Gaussian", "exponential", "power law")  # from light to heavy tail


def noise(law, rng, size):
    """Random numbers with mean 0 and standard deviation 1.

    law : one of `NOISE`. The exponential and the power law, with exponent 3, lean to long times.
    size : as for a NumPy generator.

    Raises
    ------
    ValueError for another law.
    """
    if law == "Gaussian":
        return rng.standard_normal(size)
    if law == "exponential":
        return rng.standard_exponential(size) - 1
    if law == "power law":
        return (rng.pareto(3, size) - 0.5) / np.sqrt(0.75)  # NumPy's begins at 0: mean 1/2, variance 3/4
    raise ValueError(f"law = {law!r}: choose one of {', '.join(NOISE)}")


def simulated_slowest(law, ranks, steps, rng):
    """Noise of the slowest rank, averaged over steps, in standard deviations: what `formulas.SLOWEST` is for large N.

    law : one of `NOISE`; ranks, steps : whole numbers, 1 or more.

    Raises
    ------
    ValueError for anything else.
    """
    for name, number in {"ranks": ranks, "steps": steps}.items():
        _check_whole(name, number)
    return float(np.mean([noise(law, rng, ranks).max() for _ in range(steps)]))


def times_before_collective(ranks, steps, sigma, rng, law="Gaussian", slow=None, longer=0.0):
    """The time that each rank needs in each step before it enters the collective.

    Parameters
    ----------
    ranks, steps : whole numbers, 1 or more.
    sigma : standard deviation of the noise, 0 or more.
    slow : the rank that is slow, if any, from 0 on.
    longer : by how much its steps are longer, 0 or more.

    Returns
    -------
    Array of the shape (steps, ranks). With much Gaussian noise a time can be negative; nothing is cut off.

    Raises
    ------
    ValueError for anything else.
    """
    for name, number in {"ranks": ranks, "steps": steps}.items():
        _check_whole(name, number)
    for name, number in {"sigma": sigma, "longer": longer}.items():
        if not (isinstance(number, Real) and 0 <= number < np.inf):
            raise ValueError(f"{name} = {number!r}: give a finite number, 0 or more")
    times = 1 + sigma * noise(law, rng, (steps, ranks))
    if slow is not None:
        if not (isinstance(slow, Integral) and 0 <= slow < ranks):
            raise ValueError(f"slow = {slow!r}: give a rank from 0 to {ranks - 1}, or None")
        times[:, slow] += longer
    return times


def robust_z(times):
    """How far each rank is from the median rank, in standard deviations estimated from the ranks themselves.

    Median and median absolute deviation, along the last axis: a slow rank moves neither, while it would move the
    mean and widen the standard deviation behind which it hides.

    times : array with one entry for each rank, at least 3, more than half of them not equal.

    Raises
    ------
    ValueError for anything else.
    """
    times = np.asarray(times, dtype=float)
    if times.ndim == 0 or times.shape[-1] < 3 or not np.all(np.isfinite(times)):
        raise ValueError("times: give finite times of at least 3 ranks")
    off = times - np.median(times, axis=-1, keepdims=True)
    scale = np.median(np.abs(off), axis=-1, keepdims=True) / stats.norm.ppf(0.75)
    if not np.all(scale > 0):
        raise ValueError("times: half of the ranks or more took the same time, so nothing says how much they scatter")
    return off / scale


def alarm_threshold(ranks, false_alarm):
    """The z above which a rank is called slow, if all ranks together may raise a false alarm this rarely.

    Šidák's correction: if each of `ranks` healthy ranks stays below with the chance (1 − false_alarm)^(1/ranks),
    all of them do with the chance 1 − false_alarm. Right for Gaussian times and a known scatter.

    Parameters
    ----------
    ranks : whole number, 1 or more.
    false_alarm : chance of one or more false alarms in one look at all ranks, between 0 and 1, both excluded.

    Raises
    ------
    ValueError for anything else.
    """
    _check_whole("ranks", ranks)
    if not (isinstance(false_alarm, Real) and 0 < false_alarm < 1):
        raise ValueError(f"false_alarm = {false_alarm!r}: give a number between 0 and 1, both excluded")
    return float(stats.norm.isf(-np.expm1(np.log1p(-false_alarm) / ranks)))


def measured_false_alarms(ranks, averaged, windows, threshold, rng, law="Gaussian"):
    """The share of windows in which some healthy rank passes the threshold, by simulation.

    A rank's time in a window is a mean over `averaged` steps. It is drawn at once: the mean of normal numbers is
    normal, the mean of exponential ones a gamma variable.

    law : "Gaussian" or "exponential".

    Raises
    ------
    ValueError for anything else.
    """
    for name, number in {"ranks": ranks, "averaged": averaged, "windows": windows}.items():
        _check_whole(name, number)
    if law not in NOISE[:2]:
        raise ValueError(f"law = {law!r}: choose one of {', '.join(NOISE[:2])}")
    alarms = 0
    for _ in range(windows):  # one by one, so that memory does not grow with their number
        times = rng.standard_normal(ranks) if law == "Gaussian" else rng.standard_gamma(averaged, ranks)
        alarms += bool(robust_z(times).max() > threshold)
    return alarms / windows


def _check_whole(name, number):
    if not (isinstance(number, Integral) and not isinstance(number, bool) and number >= 1):
        raise ValueError(f"{name} = {number!r}: give a whole number, 1 or more")

"""Statistics of failures: how often a job fails, how surely that is known, and whether its failures are random.

Failures that strike at random, at a constant rate, leave exponential gaps. All times share one unit.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import optimize, stats


_LOG_SHAPES = (-9.0, 9.0)  # where the shape of a Weibull distribution is looked for


class Estimate(NamedTuple):
    """A number with the two ends of its confidence interval."""

    best: float
    low: float
    high: float


def poisson_interval(count, confidence=0.95):
    """The exact interval for the expected number of events, of which `count` were seen in a fixed window.

    Between the ends, seeing so few or so many is not improbable (Garwood 1936, by the χ² distribution).

    Parameters
    ----------
    count : whole number, 0 or more, or an array of them.
    confidence : between 0 and 1.

    Returns
    -------
    low, high : floats or arrays of the shape of `count`. With a count of 0, low is 0.

    Raises
    ------
    ValueError for anything else.
    """
    count = np.asarray(count)
    if count.dtype.kind not in "iu" or count.size == 0 or count.min() < 0:
        raise ValueError(f"count = {count}: give whole numbers, 0 or more")
    tail = _tail(confidence)
    low = np.where(count > 0, stats.chi2.ppf(tail, 2 * np.maximum(count, 1)) / 2, 0.0)
    high = stats.chi2.isf(tail, 2 * (count + 1)) / 2
    return (float(low), float(high)) if count.ndim == 0 else (low, high)


def failure_interval(failures, running, confidence=0.95, ends_with_failure=False):
    """The failure interval M from a count of failures within a running time: M = running / failures.

    The last gap, whose end was not seen, is part of the running time, which is all that the best estimate
    needs. The interval is exact for failures at random: Poisson for a window that ends at a date; for one
    that ends with its last failure, 2·running/M is χ² with 2·failures degrees of freedom.

    Parameters
    ----------
    failures : whole number. With 0, best and high are infinite and low is the M that would make
        seeing none as improbable as (1 − confidence)/2.
    running : the time in which the job could fail, greater than 0.

    Returns
    -------
    Estimate, in the unit of `running`.
    """
    if not 0 < running < np.inf:
        raise ValueError(f"running = {running!r}: give a finite time greater than 0")
    low_count, high_count = poisson_interval(failures, confidence)
    if ends_with_failure and failures:
        high_count = float(stats.chi2.isf(_tail(confidence), 2 * failures) / 2)
    with np.errstate(divide="ignore"):
        best, high = np.float64(running) / np.array([failures, low_count])
    return Estimate(float(best), running / high_count, float(high))


class WeibullFit(NamedTuple):
    """A Weibull distribution fitted to gaps. Shape 1 is the exponential: failures at random.

    shape : an Estimate. Below 1, a failure makes another one soon more likely; above 1, less likely.
    scale : in the unit of the gaps.
    p_exponential : how probable a fit at least this much better than the exponential is, if shape 1 is true.
    """

    shape: Estimate
    scale: float
    p_exponential: float


def weibull_fit(gaps, unfinished=(), confidence=0.95):
    """The Weibull distribution that makes the gaps most likely.

    The likelihood is profiled: for a given shape k the best scale is (Σ tᵏ / failures)^(1/k), with the sum
    over all gaps. The interval of k and the test of k = 1 are those of the likelihood ratio.

    Parameters
    ----------
    gaps : at least 2 gaps that ended with a failure, greater than 0.
    unfinished : gaps that did not end within the window (censored), 0 or more.

    Raises
    ------
    ValueError for anything else.
    """
    _tail(confidence)  # checks it
    gaps = _gaps(gaps, at_least=2)
    unfinished = np.atleast_1d(np.asarray(unfinished, dtype=float))
    unfinished = unfinished[unfinished != 0]  # the window ended with the failure: nothing was missed
    if not (np.all(unfinished > 0) and np.all(np.isfinite(unfinished))):
        raise ValueError(f"unfinished = {unfinished}: give finite times, 0 or more")
    unit = gaps.max()  # so that no power overflows
    logs, n = np.log(np.r_[gaps, unfinished] / unit), len(gaps)
    sum_of_logs = logs[:n].sum()

    def log_likelihood(shape):
        """Profile log-likelihood in units of the longest gap."""
        return n * np.log(shape) + (shape - 1) * sum_of_logs - n * _log_sum_exp(shape * logs) + n * np.log(n) - n

    def to_minimise(log_shape):
        return -log_likelihood(np.exp(log_shape))

    found = optimize.minimize_scalar(to_minimise, bounds=_LOG_SHAPES, method="bounded", options={"xatol": 1e-10})
    best, most = np.exp(found.x), -found.fun
    drop = stats.chi2.ppf(confidence, 1) / 2

    def end(log_shape):
        if -to_minimise(log_shape) > most - drop:  # gaps so equal that no shape is too high for them
            return np.exp(log_shape)
        return np.exp(optimize.brentq(lambda x: most - drop + to_minimise(x), *sorted((found.x, log_shape))))

    shape = Estimate(*map(float, (best, *map(end, _LOG_SHAPES))))
    scale = unit * np.exp((_log_sum_exp(best * logs) - np.log(n)) / best)
    return WeibullFit(shape, float(scale), float(stats.chi2.sf(2 * max(most - log_likelihood(1.0), 0.0), 1)))


def exponential_p(gaps, rng, simulations=999):
    """How often random failures would leave gaps that look at least as little exponential as these.

    The distance is that of Anderson and Darling to the exponential with the gaps' own mean; its distribution
    is simulated, because the mean is estimated too. The unfinished gap is left out.

    Parameters: gaps, at least 3; a NumPy random generator; the number of simulated sets of gaps.
    Returns a share between 1/(simulations + 1) and 1.
    """
    gaps = _gaps(gaps, at_least=3)
    test = stats.goodness_of_fit(
        stats.expon, gaps, known_params={"loc": 0}, statistic="ad", n_mc_samples=simulations, rng=rng
    )
    return float(test.pvalue)


def survival(gaps, unfinished=0.0):
    """Which share of the gaps lasts longer than a time (Kaplan–Meier; the unfinished gap counts while it was seen).

    Returns two arrays, times from 0 on and shares from 1 on down; each share holds from its time on.
    """
    gaps = _gaps(gaps, at_least=1)
    curve = stats.ecdf(stats.CensoredData(gaps, right=[unfinished] if unfinished > 0 else [])).sf
    return np.r_[0, curve.quantiles], np.r_[1, curve.probabilities]


@dataclass(frozen=True)
class Finding:
    """A test: the number that was measured, what it is for random failures, and how probable so extreme a one is."""

    measured: float
    expected: float
    p: float


def dispersion(gaps, unfinished=0.0):
    """Are the failures spread evenly over time? Variance over mean of counts in equal spans (Fisher).

    The running time is cut into spans in which 4 failures are expected, at least 2 spans. Random failures
    give 1; above it failures come in clusters, below it they keep a distance.
    """
    gaps = _gaps(gaps, at_least=8)
    running = gaps.sum() + unfinished
    spans = len(gaps) // 4
    counts = np.histogram(np.cumsum(gaps), bins=spans, range=(0, running))[0]
    index = counts.var(ddof=1) / counts.mean()
    chi2 = index * (spans - 1)
    p = 2 * min(stats.chi2.cdf(chi2, spans - 1), stats.chi2.sf(chi2, spans - 1))
    return Finding(float(index), 1.0, float(min(p, 1.0)))


def trend(gaps, unfinished=0.0, ends_with_failure=False):
    """Do failures become rarer or more frequent? The test of Laplace.

    measured : failures in the first half of the running time; expected : half of them. The p-value comes from the
    mean of all failure times: at random they are uniform over the running time, and so is each but the last in a
    window that ends with a failure. Their mean is taken as normal, which is close from 4 failures on.
    """
    gaps = _gaps(gaps, at_least=4)
    times = np.cumsum(gaps)
    running = times[-1] + unfinished
    uniform = times[:-1] / running if ends_with_failure else times / running
    z = (uniform.mean() - 0.5) * np.sqrt(12 * len(uniform))
    return Finding(float((times <= running / 2).sum()), len(times) / 2, float(2 * stats.norm.sf(abs(z))))


def bursts(gaps, within, interval):
    """How many failures follow the one before them within a given time, and how many would at random.

    within : the time; interval : the failure interval M. The first gap has no failure before it and is
    left out. p is the chance of at least so many (binomial).
    """
    gaps = _gaps(gaps, at_least=2)[1:]
    if not (within > 0 and interval > 0):
        raise ValueError(f"within = {within!r}, interval = {interval!r}: give times greater than 0")
    close, chance = int((gaps <= within).sum()), -np.expm1(-within / interval)
    return Finding(close, len(gaps) * chance, float(stats.binomtest(close, len(gaps), chance, "greater").pvalue))


def _tail(confidence):
    if not 0 < confidence < 1:
        raise ValueError(f"confidence = {confidence!r}: give a share between 0 and 1, such as 0.95")
    return (1 - confidence) / 2


def _gaps(gaps, at_least):
    gaps = np.asarray(gaps, dtype=float)
    if gaps.ndim != 1 or len(gaps) < at_least or not (np.all(gaps > 0) and np.all(np.isfinite(gaps))):
        shown = gaps if gaps.size < 6 else f"{gaps.size} numbers from {gaps.min():g} to {gaps.max():g}"
        raise ValueError(f"gaps = {shown}: give at least {at_least} finite times greater than 0")
    return gaps


def _log_sum_exp(exponents):
    largest = exponents.max()
    return largest + np.log(np.exp(exponents - largest).sum())

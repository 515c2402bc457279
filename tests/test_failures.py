"""The statistics of failures, against SciPy, against what defines them, and against failures drawn at random."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from youngdaly.data import fact
from youngdaly.failures import (
    bursts,
    dispersion,
    exponential_p,
    failure_interval,
    poisson_interval,
    survival,
    trend,
    weibull_fit,
)

some_gaps = st.lists(st.floats(1e-3, 1e6), min_size=8, max_size=40)


# --- Counts ---------------------------------------------------------------------------------------------------------

@given(st.integers(1, 10**5), st.floats(0.5, 0.999))
def test_at_the_ends_of_the_poisson_interval_the_count_is_as_improbable_as_allowed(count, confidence):
    low, high = poisson_interval(count, confidence)
    assert stats.poisson.sf(count - 1, low) == pytest.approx((1 - confidence) / 2, rel=1e-6)
    assert stats.poisson.cdf(count, high) == pytest.approx((1 - confidence) / 2, rel=1e-6)


def test_poisson_interval_of_nothing_and_of_arrays():
    assert poisson_interval(0) == (0.0, pytest.approx(-np.log(0.025)))
    low, high = poisson_interval(np.array([0, 3, 419]))
    assert [(a, b) for a, b in zip(low, high)] == [poisson_interval(n) for n in (0, 3, 419)]


def test_the_failure_interval_of_llama3():
    M = failure_interval(int(fact("llama3_unexpected")), fact("llama3_window"))
    assert [round(part / 3600, 2) for part in M] == [3.09, 2.81, 3.41]


def test_few_failures_give_the_failure_interval_within_a_factor():
    assert [round(part, 2) for part in failure_interval(3, 3.0)] == [1.0, 0.34, 4.85]
    assert failure_interval(0, 3.0) == (np.inf, pytest.approx(3 / -np.log(0.025)), np.inf)


@pytest.mark.parametrize("ends_with_failure", [False, True])
def test_the_interval_covers_the_truth(ends_with_failure):
    """In 95 % of random logs, or a little more for a window of fixed length, since counts are whole numbers."""
    rng, M, runs = np.random.default_rng(1), 2.0, 4000
    covered = 0
    for _ in range(runs):
        if ends_with_failure:
            n, running = 6, rng.exponential(M, 6).sum()
        else:
            n, running = rng.poisson(6), 6 * M
        _, low, high = failure_interval(n, running, ends_with_failure=ends_with_failure)
        covered += low <= M <= high
    allowed = 3 * np.sqrt(0.95 * 0.05 / runs)
    assert covered / runs > 0.95 - allowed
    assert covered / runs < (0.95 + allowed if ends_with_failure else 0.99)


# --- Weibull --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [0.5, 1.0, 2.5])
@pytest.mark.parametrize("unfinished", [0.0, 40.0])
def test_the_weibull_fit_is_that_of_scipy(shape, unfinished):
    gaps = np.random.default_rng(2).weibull(shape, 60) * 30
    censored = stats.CensoredData(gaps, right=[unfinished] if unfinished else [])
    scipy_shape, _, scipy_scale = stats.weibull_min.fit(censored, floc=0)
    fit = weibull_fit(gaps, unfinished)
    assert (fit.shape.best, fit.scale) == (pytest.approx(scipy_shape, rel=1e-4), pytest.approx(scipy_scale, rel=1e-4))


@given(some_gaps, st.floats(1e-3, 1e3))
def test_the_weibull_shape_has_no_unit(gaps, unit):
    fit, scaled = weibull_fit(gaps), weibull_fit(np.multiply(gaps, unit))
    assert scaled.shape == pytest.approx(fit.shape, rel=1e-5)
    assert scaled.scale == pytest.approx(fit.scale * unit, rel=1e-5)


@given(some_gaps)
def test_the_interval_of_the_shape_contains_1_unless_the_test_rejects_it(gaps):
    shape, _, p = weibull_fit(gaps)
    assert shape.low <= shape.best <= shape.high
    assert (shape.low <= 1 <= shape.high) == (p >= 0.05)


def test_the_interval_of_the_shape_covers_the_truth():
    rng, shape, runs = np.random.default_rng(3), 0.8, 1000
    fits = [weibull_fit(rng.weibull(shape, 40)).shape for _ in range(runs)]
    covered = np.mean([low <= shape <= high for _, low, high in fits])
    assert abs(covered - 0.95) < 0.025  # the likelihood ratio is exact only for many failures


# --- At random? -----------------------------------------------------------------------------------------------------
TESTS = {
    "trend": lambda gaps, rng: trend(gaps, ends_with_failure=True).p,
    "dispersion": lambda gaps, rng: dispersion(gaps).p,
    "weibull": lambda gaps, rng: weibull_fit(gaps).p_exponential,
    "exponential": lambda gaps, rng: exponential_p(gaps, rng, simulations=99),
    "bursts": lambda gaps, rng: bursts(gaps, 0.1, 1.0).p,
}


@pytest.mark.parametrize("name", TESTS)
def test_failures_at_random_are_seldom_called_odd(name):
    rng, runs = np.random.default_rng(4), 600
    p = np.array([TESTS[name](rng.exponential(1.0, 40), rng) for _ in range(runs)])
    for level in (0.05, 0.2):
        # A test on whole numbers may reject less often than its level, none more often.
        assert np.mean(p <= level) < level + 4 * np.sqrt(level * (1 - level) / runs)
    if name in ("trend", "weibull", "exponential"):
        assert np.mean(p <= 0.2) > 0.2 - 4 * np.sqrt(0.2 * 0.8 / runs)


ODD = {
    "trend": lambda rng: np.geomspace(1, 30, 40) * rng.exponential(1.0, 40),  # failures become rare
    "dispersion": lambda rng: rng.exponential(np.repeat([0.2, 5.0], 20)),  # a bad month, then a good one
    "weibull": lambda rng: rng.weibull(0.5, 40),
    "exponential": lambda rng: rng.weibull(3.0, 40),
    "bursts": lambda rng: np.tile([0.01, 0.01, 3.0, 1.0], 10),
}


@pytest.mark.parametrize("name", TESTS)
def test_failures_not_at_random_are_called_odd(name):
    rng = np.random.default_rng(5)
    assert np.mean([TESTS[name](ODD[name](rng), rng) <= 0.05 for _ in range(20)]) > 0.8


def test_the_measured_numbers_of_the_tests():
    gaps = np.array([1.0, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4])
    assert (trend(gaps).measured, trend(gaps).expected) == (8, 6)
    close = bursts(gaps, 1.0, gaps.mean())
    assert close.measured == 3 and close.expected == pytest.approx(11 * (1 - np.exp(-1 / gaps.mean())))
    counts = np.histogram(gaps.cumsum(), bins=3, range=(0, 28))[0]
    assert dispersion(gaps).measured == pytest.approx(counts.var(ddof=1) / counts.mean())


def test_an_unfinished_gap_is_time_too():
    gaps = np.full(12, 1.0)
    assert trend(gaps, 12.0).measured == 12 and trend(gaps, 12.0).p < 0.05 < trend(gaps, 0.5).p


@given(some_gaps)
def test_the_trend_of_a_log_read_backwards_is_as_odd(gaps):
    """Failure times that are uniform stay so when time runs backwards."""
    assert trend(gaps[::-1], ends_with_failure=True).p == pytest.approx(trend(gaps, ends_with_failure=True).p, rel=1e-6)
    first, *others = gaps
    assert trend([50.0, *others[::-1]], first).p == pytest.approx(trend(gaps, 50.0).p, rel=1e-6)


def test_survival_without_and_with_an_unfinished_gap():
    times, shares = survival([3.0, 1.0, 2.0])
    assert times.tolist() == [0, 1, 2, 3] and shares == pytest.approx([1, 2 / 3, 1 / 3, 0])
    _, shares = survival([3.0, 1.0, 2.0], 2.5)
    assert shares[-1] == 0 and shares[1:3] == pytest.approx([3 / 4, 1 / 2])


# --- Bad input ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("call", "message"), [
    (lambda: poisson_interval(-1), "count = -1: give whole numbers"),
    (lambda: poisson_interval(2.5), "count = 2.5: give whole numbers"),
    (lambda: poisson_interval([]), "count = "),
    (lambda: poisson_interval(3, 1.0), "confidence = 1.0: give a share"),
    (lambda: failure_interval(3, 0.0), "running = 0.0: give a finite time"),
    (lambda: failure_interval(3, np.nan), "running = nan"),
    (lambda: weibull_fit([1.0]), "gaps = .*at least 2"),
    (lambda: weibull_fit([1.0, 0.0]), "gaps = .*greater than 0"),
    (lambda: weibull_fit([1.0, 2.0], -1.0), "unfinished = "),
    (lambda: weibull_fit([1.0, 2.0], confidence=95), "confidence = 95"),
    (lambda: exponential_p([1.0, np.inf, 2.0], np.random.default_rng(0)), "gaps = "),
    (lambda: dispersion(np.ones(7)), "at least 8"),
    (lambda: bursts([1.0, 2.0], 0.0, 1.0), "within = 0.0"),
    (lambda: survival([]), "at least 1"),
])  # fmt: skip
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()

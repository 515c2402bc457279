"""Many devices in one job: the 1/N law, when gaps become exponential, and how well a failure interval must be known."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from youngdaly import figures, formulas
from youngdaly.data import UNITS, fact, table
from youngdaly.evaluation import needed, value
from youngdaly.failures import failure_interval
from youngdaly.processes import Exponential, Weibull, of_devices
from youngdaly.scale import interval_for, largest_jobs, least_loss, losses_by_size

times = st.floats(1, 1e4)
devices = st.integers(1, 10**6)


def spread(gaps):
    return gaps.std() / gaps.mean()


# --- Failures of many devices -----------------------------------------------------------------------


@pytest.mark.parametrize("settle", [0.0, 5.0])
def test_exponential_devices_make_an_exponential_job_at_any_age(settle):
    failures = of_devices(Exponential(3.0), 50, 120.0, np.random.default_rng(1), settle)
    assert abs(len(failures) - 2000) < 5 * 2000**0.5  # N · window / m
    assert stats.kstest(np.diff(failures), "expon", args=(0, 3.0 / 50)).pvalue > 1e-3


@pytest.mark.parametrize("shape", [0.5, 0.8, 2.0, 4.0])
def test_devices_of_mixed_ages_fail_n_over_m_times_and_at_random_as_they_become_many(shape):
    rng = np.random.default_rng(2)
    gaps = {n: np.diff(of_devices(Weibull(1.0, shape), n, 6000 / n, rng, 25.0)) for n in (1, 10, 1000)}
    for n, each in gaps.items():
        assert each.mean() * n == pytest.approx(1, abs=5 * spread(gaps[1]) / 6000**0.5)
    away = [abs(spread(each) - 1) for each in gaps.values()]
    assert away[0] > away[1] > away[2] and away[2] < 0.06
    assert stats.kstest(gaps[1000], "expon", args=(0, 1 / 1000)).pvalue > 1e-3
    assert stats.kstest(gaps[1], "expon", args=(0, 1)).pvalue < 1e-6


@pytest.mark.parametrize("shape", [0.5, 2.0])
def test_new_devices_fail_as_their_first_lifetimes_say_and_not_n_over_m_times(shape):
    lifetimes, window, n = Weibull(1.0, shape), 0.02, 200_000
    count = len(of_devices(lifetimes, n, window, np.random.default_rng(3)))
    scale = 1 / stats.weibull_min(shape).mean()
    failed = stats.weibull_min(shape, scale=scale).cdf(window)  # once; a second time in the window is rarer still
    assert failed * n - 5 * (failed * n) ** 0.5 < count < (failed + failed**2) * n + 5 * (failed * n) ** 0.5
    assert (count > 1.5 * n * window) == (shape < 1)
    assert (count < 0.5 * n * window) == (shape > 1)


def test_the_first_of_new_devices_fails_after_m_over_the_root_of_n():
    """The equation of the chapter, by simulation: the mean of the minimum of N Weibull lifetimes is m N^(−1/κ)."""
    shape, n = 0.5, 20
    first = Weibull(1.0, shape).draw(np.random.default_rng(4), (40_000, n)).min(axis=1)
    assert first.mean() == pytest.approx(n ** (-1 / shape), abs=5 * first.std() / 200)


def test_failures_are_sorted_and_inside_the_window():
    failures = of_devices(Weibull(1.0, 0.7), 30, 2.0, np.random.default_rng(5), settle=3.0)
    assert (np.diff(failures) >= 0).all() and 0 < failures[0] and failures[-1] <= 2.0


@pytest.mark.parametrize(
    ("wrong", "name"),
    [({"devices": 0}, "devices"), ({"devices": 2.5}, "devices"), ({"devices": True}, "devices"),
     ({"window": 0.0}, "window"), ({"window": float("nan")}, "window"), ({"settle": -1.0}, "settle")],
)  # fmt: skip
def test_impossible_jobs_are_refused(wrong, name):
    given = {"devices": 3, "window": 1.0, "settle": 0.0} | wrong
    with pytest.raises(ValueError, match=f"{name} = .*give"):
        of_devices(Exponential(1.0), rng=np.random.default_rng(6), **given)


def test_the_published_projections_follow_the_published_rate():
    for count, key, digits in ((16384, "rsc1_projected_16384", 1), (131072, "rsc1_projected_131072", 2)):
        M = value(formulas.FAILURE_INTERVAL, m=fact("devices_per_node") / fact("rsc1_rate"), N=count)
        assert round(M / UNITS["h"], digits) == pytest.approx(fact(key) / UNITS["h"])


# --- The loss of a large job ------------------------------------------------------------------------


@given(devices, st.floats(1e6, 1e9), times, times)
def test_exact_theory_never_loses_more_than_first_order_or_than_there_is(count, m, delta, r):
    assume(r * count / m < 500)  # beyond, a float does not hold e^(r/M)
    exact, first = least_loss(count, m, delta, r)
    assert 0 < exact <= first * (1 + 1e-12) and exact <= 1 + 1e-12


@given(devices, st.floats(1e6, 1e9), times, times, st.floats(2, 100))
def test_the_loss_holds_if_write_and_restart_follow_or_the_devices_do(count, m, delta, r, more):
    assume(r * count / m < 30)
    now = least_loss(count, m, delta, r)
    assert least_loss(count * more, m, delta / more, r / more) == pytest.approx(now, rel=1e-9)
    assert least_loss(count * more, m * more, delta, r) == pytest.approx(now, rel=1e-9)


@given(times, times, st.floats(0.01, 0.95))
def test_interval_for_inverts_the_exact_loss_and_is_shorter_than_first_order(delta, r, loss):
    M = interval_for(loss, delta, r)
    assert value(formulas.EXACT_LEAST_LOSS, delta=delta, M=M, r=r) == pytest.approx(loss, rel=1e-6)
    assert M <= needed("M", loss, delta=delta, r=r)


def test_tables_say_what_the_functions_give():
    intervals, job = {"a": 1.8e8, "b": 3.2e7}, {"delta": 3.24, "r": 600.0}
    lost = losses_by_size(np.array([8, 10**6]), intervals, **job)
    exact, first = least_loss(10**6, 1.8e8, **job)
    assert list(lost["devices"]) == ["8", "1,000,000"] and list(lost) == ["devices", "a", "b"]
    assert lost["a"][1] == f"{100 * exact:.1f}\xa0% ({100 * first:.0f}\xa0%)" and first > 1
    sizes = largest_jobs([0.1], intervals, **job)
    assert list(sizes["lost"]) == ["10 %, first order", "10 %, exact"]
    for theory, row in sizes.iterrows():
        size = float(row["b"].replace(",", ""))
        assert least_loss(size, 3.2e7, **job)[1 - theory] == pytest.approx(0.1, rel=0.05)


# --- How well the failure interval must be known ----------------------------------------------------


@given(st.floats(0.01, 100), times, st.floats(1e3, 1e7))
def test_a_wrong_failure_interval_costs_what_its_root_costs(g, delta, M):
    """By hand: the optimisable loss at the interval that is planned with g·M, over the least one."""

    def optimisable(tau):
        return delta / tau + tau / (2 * M)

    extra = optimisable((2 * delta * g * M) ** 0.5) / optimisable((2 * delta * M) ** 0.5) - 1
    assert value(formulas.MISS_BY_M, g=g) == pytest.approx(extra, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 100])
def test_the_expected_extra_is_that_of_simulated_estimates(n):
    gaps = np.random.default_rng(7).exponential(1.0, (100_000, n))
    extra = value(formulas.MISS_BY_M, g=gaps.mean(axis=1))
    assert extra.mean() == pytest.approx(value(formulas.EXPECTED_MISS, n=n), abs=5 * extra.std() / 100_000**0.5)


def test_for_many_failures_the_extra_is_one_over_eight_times_the_count():
    n = np.array([1e2, 1e3, 1e4])  # the gamma functions themselves would overflow from 172 on
    ratio = value(formulas.EXPECTED_MISS, n=n) / value(formulas.ROUGH_MISS, n=n)
    assert formulas.ROUGH_MISS == 1 / (8 * formulas.n)
    assert (np.diff(ratio) < 0).all() and (ratio > 1).all() and ratio == pytest.approx(1 + 7 / 8 / n, rel=1e-3)


def test_three_failures_fix_the_failure_interval_within_a_factor_of_fourteen():
    _, low, high = failure_interval(3, 3.0)
    assert (round(low, 2), round(high, 2)) == (0.34, 4.85)


# --- Their pictures ---------------------------------------------------------------------------------


def test_the_pareto_chart_falls_and_its_line_ends_at_the_total():
    causes = table("llama3_interruptions").sample(frac=1, random_state=1)
    axes = figures.pareto(causes["component"], causes["count"], causes["category"] == "GPU").axes[0]
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == sorted(causes["count"], reverse=True)
    assert list(axes.lines[0].get_xdata()) == list(np.cumsum(widths)) and axes.lines[0].get_xdata()[-1] == 419
    dark = {bar.get_width() for bar in axes.patches if bar.get_facecolor() == axes.patches[0].get_facecolor()}
    assert dark == set(causes.loc[causes["category"] == "GPU", "count"])


def test_first_order_is_not_drawn_where_it_means_nothing():
    N = np.geomspace(8, 1e6, 50)
    exact, first = least_loss(N, 1.8e8, 3.24, 600.0)
    lines = figures.loss_against_devices(N, {"job": (exact, first)}, (0.1,)).axes[0].lines
    assert np.array_equal(lines[0].get_ydata(), exact)
    drawn = lines[1].get_ydata()
    assert np.array_equal(np.isnan(drawn), first > 1) and np.nanmax(drawn) <= 1


def test_gaps_at_random_lie_on_the_straight_line():
    gaps = np.random.default_rng(8).exponential(1.0, 4000)
    straight, drawn = figures.gaps_of_devices({"job": gaps}).axes[0].lines
    assert straight.get_ydata() == pytest.approx(np.exp(-straight.get_xdata()))
    x, y = drawn.get_data()
    assert np.abs(y - np.exp(-x)).max() < 2 / 4000**0.5

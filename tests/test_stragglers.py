"""Stragglers: the slowest of many ranks, the barrier, the detector and how often it is wrong."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from youngdaly import figures
from youngdaly import formulas as f
from youngdaly.evaluation import value
from youngdaly.stragglers import (
    NOISE,
    alarm_threshold,
    measured_false_alarms,
    noise,
    robust_z,
    simulated_slowest,
    times_before_collective,
)

LAWS = {  # frozen SciPy distributions, with their mean and standard deviation
    "Gaussian": (stats.norm(), 0, 1),
    "exponential": (stats.expon(), 1, 1),
    "power law": (stats.pareto(3), 1.5, 0.75**0.5),
}
each_law = pytest.mark.parametrize("law", NOISE)


def slowest_by_quadrature(law, ranks):
    """The expectation of the largest of `ranks`: −ranks·log(1 − tail) of the largest is a standard exponential."""
    distribution, mean, deviation = LAWS[law]
    largest = integrate.quad(
        lambda log_y: distribution.isf(-np.expm1(-np.exp(log_y) / ranks)) * np.exp(log_y - np.exp(log_y)),
        -40, 4, limit=400,
    )[0]  # fmt: skip
    return (largest - mean) / deviation


# --- The slowest of many ----------------------------------------------------------------------------


@each_law
@pytest.mark.parametrize("ranks", [8, 1024, 16384, 131072])
def test_the_formula_for_many_ranks_nears_the_exact_expectation(law, ranks):
    exact = slowest_by_quadrature(law, ranks)
    allowed = {"Gaussian": 0.6, "exponential": 0.3, "power law": 0.3}[law] / np.log(ranks) ** 2
    assert value(f.SLOWEST[law], N=ranks) == pytest.approx(exact, rel=allowed)


@each_law
@pytest.mark.parametrize("ranks", [8, 1024])
def test_the_simulation_draws_the_exact_expectation(law, ranks):
    rng, steps = np.random.default_rng(1), 20_000
    simulated = [simulated_slowest(law, ranks, steps // 20, rng) for _ in range(20)]
    error = np.std(simulated, ddof=1) / 20**0.5
    assert abs(np.mean(simulated) - slowest_by_quadrature(law, ranks)) < 5 * error


def test_ten_times_the_ranks_tell_the_tails_apart():
    """√log N hardly grows, log N grows by a constant, N^(1/3) by a factor."""
    at = {law: [value(f.SLOWEST[law], N=n) for n in (1e4, 1e5, 1e6)] for law in NOISE}
    assert np.diff(at["exponential"]) == pytest.approx([np.log(10)] * 2)
    assert np.diff(at["Gaussian"])[1] < np.diff(at["Gaussian"])[0] < 1
    power = np.array(at["power law"]) + 1.5 / 0.75**0.5
    assert power[1:] / power[:-1] == pytest.approx([10 ** (1 / 3)] * 2)


@each_law
def test_noise_is_standardised(law):
    drawn = noise(law, np.random.default_rng(2), 4_000_000)
    assert drawn.mean() == pytest.approx(0, abs=3e-3)
    assert np.median(drawn) == pytest.approx((LAWS[law][0].median() - LAWS[law][1]) / LAWS[law][2], abs=3e-3)
    assert drawn.std() == pytest.approx(1, abs=0.02 if law == "power law" else 2e-3)


def test_collectives_within_a_step_cost_with_their_root():
    """The exercise: K collectives with the same noise of a whole step cost √K times as much."""
    rng, ranks = np.random.default_rng(3), 256
    parts = 1 / 16 + 0.01 / 4 * noise("Gaussian", rng, (500, 16, ranks))
    one = parts.sum(axis=1).max(axis=1).mean() - 1
    sixteen = parts.max(axis=2).sum(axis=1).mean() - 1
    assert sixteen / one == pytest.approx(4, rel=0.05)


# --- One slow device --------------------------------------------------------------------------------


def test_a_slow_device_costs_as_much_as_a_failure_when_the_formula_says():
    """Llama 3, by hand: 600 s of restart and half of 268.9 s, at 3/13 of the speed."""
    assert value(f.STRAGGLER_LOSS, h=0.3) == pytest.approx(3 / 13)
    assert value(f.UNNOTICED, h=0.3, r=600, tau=268.92) == pytest.approx((600 + 134.46) * 13 / 3)
    assert 52 < value(f.UNNOTICED, h=0.3, r=600, tau=268.92) / 60 < 54


@given(st.floats(0.01, 2), st.floats(10, 1e4), st.floats(1, 1e4), st.floats(0.1, 100), st.floats(1e5, 1e7))
def test_work_missed_by_a_slow_device_is_counted_step_by_step(h, U, r, delta, F):
    steps = U / (1 + h)  # of length 1 without it
    missed = U - steps
    assert value(f.LOSS_STRAGGLERS, U=U, h=h, delta=delta, r=r, F=F) == pytest.approx((missed + delta + r) / F)


# --- The barrier ------------------------------------------------------------------------------------


def test_only_the_slow_rank_is_longer_before_the_collective():
    before = times_before_collective(64, 400, 0.01, np.random.default_rng(4), slow=17, longer=0.1)
    assert before.shape == (400, 64)
    mean = before.mean(axis=0)
    assert mean.argmax() == 17 and mean[17] == pytest.approx(1.1, abs=0.003)
    assert np.delete(mean, 17) == pytest.approx(np.ones(63), abs=0.003)
    assert before.max(axis=1).mean() == pytest.approx(1.1, abs=0.003)  # what every rank reports


def test_without_noise_and_without_a_slow_rank_all_are_equal():
    assert (times_before_collective(4, 3, 0.0, np.random.default_rng(0)) == 1).all()


@pytest.mark.parametrize("bad, message", [
    ({"ranks": 0}, "ranks = 0: give a whole number, 1 or more"),
    ({"ranks": 2.0}, "ranks = 2.0: give a whole number, 1 or more"),
    ({"steps": -1}, "steps = -1: give a whole number, 1 or more"),
    ({"sigma": -0.1}, "sigma = -0.1: give a finite number, 0 or more"),
    ({"sigma": float("nan")}, "sigma = nan: give a finite number, 0 or more"),
    ({"longer": -0.1}, "longer = -0.1: give a finite number, 0 or more"),
    ({"slow": 8}, "slow = 8: give a rank from 0 to 7, or None"),
    ({"slow": 1.0}, "slow = 1.0: give a rank from 0 to 7, or None"),
    ({"law": "Cauchy"}, "law = 'Cauchy': choose one of Gaussian, exponential, power law"),
])  # fmt: skip
def test_ranks_that_cannot_be_are_refused(bad, message):
    with pytest.raises(ValueError) as error:
        times_before_collective(**{"ranks": 8, "steps": 2, "sigma": 0.1, "rng": np.random.default_rng(0)} | bad)
    assert str(error.value) == message


# --- The detector -----------------------------------------------------------------------------------


def test_the_score_is_in_standard_deviations_and_cannot_be_hidden_from():
    rng = np.random.default_rng(5)
    healthy = 3 + 0.2 * rng.standard_normal(100_000)
    assert robust_z(healthy).std() == pytest.approx(1, abs=0.02)
    assert np.median(robust_z(healthy)) == pytest.approx(0, abs=1e-12)
    eight = np.r_[1 + 0.01 * rng.standard_normal(7), 1.3]
    assert robust_z(eight)[7] > 8
    assert (eight[7] - eight.mean()) / eight.std() < 2.7  # the usual score of eight ranks cannot reach three


@given(st.floats(0.1, 100), st.floats(-100, 100))
def test_the_score_knows_no_unit(scale, shift):
    times = np.array([1.0, 1.1, 0.9, 1.05, 2.0])
    assert robust_z(scale * times + shift) == pytest.approx(robust_z(times), rel=1e-6, abs=1e-6)


def test_each_row_is_a_look_of_its_own():
    rows = np.random.default_rng(6).standard_normal((3, 50))
    assert robust_z(rows) == pytest.approx(np.array([robust_z(row) for row in rows]))


@pytest.mark.parametrize("times", [[1.0, 2.0], 3.0, [1.0, np.nan, 2.0], [1.0, np.inf, 2.0], [1.0, 1.0, 1.0, 2.0]])
def test_times_that_cannot_be_scored_are_refused(times):
    with pytest.raises(ValueError, match="^times: "):
        robust_z(times)


@given(st.integers(1, 10**6), st.floats(1e-6, 0.5))
def test_all_healthy_ranks_stay_below_the_threshold_with_the_chance_asked_for(ranks, false_alarm):
    below = stats.norm.logcdf(alarm_threshold(ranks, false_alarm)) * ranks
    assert -np.expm1(below) == pytest.approx(false_alarm, rel=1e-6)


def test_at_16384_ranks_the_false_alarms_are_counted():
    rng, windows = np.random.default_rng(8), 1500
    limit = alarm_threshold(16384, 0.01)
    counted = measured_false_alarms(16384, 1, windows, limit, rng)
    assert abs(counted - 0.01) < 4 * (0.01 * 0.99 / windows) ** 0.5
    assert measured_false_alarms(16384, 1, 50, 3.0, rng) == 1.0  # three is passed in every look


def test_few_ranks_and_heavy_tails_raise_more_than_asked_for():
    rng = np.random.default_rng(9)
    assert measured_false_alarms(8, 1, 4000, alarm_threshold(8, 0.01), rng) > 0.05
    limit = alarm_threshold(1024, 0.01)
    by_steps = [measured_false_alarms(1024, n, 1000, limit, rng, "exponential") for n in (1, 30, 3000)]
    assert by_steps[0] > 0.9 > by_steps[1] > 3 * by_steps[2]


def test_a_mean_that_is_drawn_at_once_is_the_mean_of_steps():
    rng = np.random.default_rng(10)
    steps = 1 + noise("exponential", rng, (20, 50_000))
    at_once = rng.standard_gamma(20, 50_000) / 20
    assert stats.ks_2samp(steps.mean(axis=0), at_once).pvalue > 1e-3


@pytest.mark.parametrize("longer", [0.005, 0.01, 0.3])
def test_a_slow_rank_is_seen_after_the_steps_of_the_formula(longer):
    """With a margin of 2.33 above the threshold, 99 of 100 times."""
    rng, ranks, sigma = np.random.default_rng(11), 2048, 0.01
    limit = alarm_threshold(ranks, 0.01)
    steps = int(np.ceil(value(f.STEPS_TO_SEE, z=limit + 2.33, sigma=sigma, h=longer)))
    looks = 1 + sigma / steps**0.5 * rng.standard_normal((400, ranks))
    looks[:, 3] += longer
    seen = (robust_z(looks)[:, 3] > limit).mean()
    assert seen > 0.96
    assert longer > 0.1 or seen < 1  # and hardly earlier


@pytest.mark.parametrize("call, message", [
    (lambda: alarm_threshold(0, 0.01), "ranks = 0: give a whole number, 1 or more"),
    (lambda: alarm_threshold(8, 0), "false_alarm = 0: give a number between 0 and 1, both excluded"),
    (lambda: alarm_threshold(8, 1), "false_alarm = 1: give a number between 0 and 1, both excluded"),
    (lambda: measured_false_alarms(8, 1, 0, 3.0, None), "windows = 0: give a whole number, 1 or more"),
    (lambda: measured_false_alarms(8, 1, 5, 3.0, None, "power law"),
     "law = 'power law': choose one of Gaussian, exponential"),
    (lambda: simulated_slowest("Gaussian", 8, True, None), "steps = True: give a whole number, 1 or more"),
])  # fmt: skip
def test_a_detector_that_cannot_be_is_refused(call, message):
    with pytest.raises(ValueError) as error:
        call()
    assert str(error.value) == message


# --- The pictures -----------------------------------------------------------------------------------


def test_curves_and_points_of_the_slowest_are_scaled_by_the_noise():
    drawn = {law: [1.0, 2.0] for law in NOISE}
    axes = figures.slowest_of(0.01, [64, 1024], drawn).axes[0]
    for law, curve, points in zip(NOISE, axes.lines[::2], axes.lines[1::2], strict=True):
        assert curve.get_ydata()[0] == pytest.approx(0.01 * value(f.SLOWEST[law], N=64))
        assert points.get_xydata() == pytest.approx(np.array([[64, 0.01], [1024, 0.02]]))


def test_in_lockstep_all_bars_end_together_and_the_slow_one_has_no_wait():
    before = np.array([1.0, 1.3, 0.9])
    axes = figures.lockstep(before, 1.3, 1).axes[0]
    computing, waiting = axes.containers
    assert [bar.get_width() for bar in computing] == pytest.approx(before)
    assert [bar.get_x() + bar.get_width() for bar in waiting] == pytest.approx([1.3] * 3)
    assert waiting[1].get_width() == pytest.approx(0)


def test_every_rank_is_in_the_histogram_once():
    score = np.r_[np.random.default_rng(12).standard_normal(500), 9.0]
    axes = figures.alarms(score, {"three": 3.0}, 500).axes[0]
    healthy, slow = axes.containers
    assert sum(bar.get_height() for bar in healthy) == 500
    assert [bar.get_x() for bar in slow if bar.get_height()] == [9.0]

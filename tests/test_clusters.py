"""Bunched failures: what the chapter on them claims, checked against integrals and by replay."""

import numpy as np
import pytest
from scipy import integrate, stats

from youngdaly.evaluation import exact_split
from youngdaly.processes import Bursts, Exponential, Weibull
from youngdaly.replay import Policy, replay, simulate

M, R, TAU, DELTA = 11_160.0, 600.0, 267.0, 3.24
POLICY = Policy(interval=TAU, stall=DELTA, drain=0.0, restart=R)


def shares(process):
    ledger = simulate(process, POLICY, 100, 4_000, np.random.default_rng(1))
    return ledger.shares(), ledger.standard_errors()


@pytest.mark.parametrize("shape", [0.5, 0.7, 1.0, 2.0])
def test_the_share_of_restarts_is_the_mean_of_the_shorter_of_gap_and_restart(shape):
    gaps = stats.weibull_min(shape, scale=Weibull(M, shape).mean / stats.weibull_min(shape).mean())
    shorter, _ = integrate.quad(gaps.sf, 0, R)
    replayed, errors = shares(Weibull(M, shape))
    assert replayed["restarts"] == pytest.approx(shorter / M, abs=4 * errors["restarts"])


@pytest.mark.parametrize("bunched", [Weibull(M, 0.7), Weibull(M, 0.5), Bursts(M, 4.0, 120.0)])
def test_bunched_failures_cost_one_level_less_than_the_theory_says(bunched):
    replayed, errors = shares(bunched)
    theory = exact_split(TAU, DELTA, M, R)
    for name in ("restarts", "redone"):
        assert replayed[name] < theory[name] - 4 * errors[name]
    assert replayed["useful"] > theory["useful"] + 4 * errors["useful"]


def test_bursts_whose_gaps_hold_several_intervals_can_cost_more():
    """Less than a constant rate is no law: quiet times save nothing if each gap of a burst is long enough."""
    rng, gap = np.random.default_rng(1), R + 20 * TAU
    inside = rng.normal(gap, 0.01 * gap, (100, 1000, 4))
    gaps = np.concatenate([inside, rng.exponential(5 * M - 4 * gap, (100, 1000, 1))], axis=2).reshape(100, -1)
    ledger = replay(gaps, POLICY)
    useful, error = ledger.shares()["useful"], ledger.standard_errors()["useful"]
    assert useful < exact_split(TAU, DELTA, M, R)["useful"] - 4 * error


def test_regular_failures_cost_more():
    replayed, errors = shares(Weibull(M, 3.0))
    assert replayed["useful"] < exact_split(TAU, DELTA, M, R)["useful"] - 4 * errors["useful"]


def test_at_a_constant_rate_the_theory_is_right():
    replayed, errors = shares(Exponential(M))
    assert replayed["useful"] == pytest.approx(exact_split(TAU, DELTA, M, R)["useful"], abs=4 * errors["useful"])

"""Sharded and asynchronous writes: limits of the formulas, and the replay, which shares none of them."""

import numpy as np
import pytest

from youngdaly import formulas
from youngdaly.evaluation import value
from youngdaly.processes import Exponential
from youngdaly.replay import Policy, simulate

M, R = 1e6, 600.0  # failures are rare, so that first order is close


def replayed(tau, stall, drain, overrun=None):
    policy = Policy(interval=tau, stall=stall, drain=drain, restart=R, overrun=overrun)
    ledger = simulate(Exponential(M), policy, 100, 2_000, np.random.default_rng(1))
    return 1 - ledger.shares()["useful"], ledger.standard_errors()["useful"]


def test_writers_help_until_the_storage_is_the_limit():
    S, one, all_together = 1e12, 1e9, 64e9
    times = value(formulas.SHARDED_TIME, S=S, K=np.array([1, 2, 64, 1000]), B_1=one, B=all_together)
    assert times[0] == value(formulas.GATHERED_TIME, S=S, B_1=one) == 2 * times[1]
    assert times[2] == times[3] == S / all_together
    assert value(formulas.ENOUGH_WRITERS, B=all_together, B_1=one) == 64


@pytest.mark.parametrize(("tau", "stall", "drain"), [(500.0, 2.0, 0.0), (500.0, 2.0, 300.0), (2000.0, 0.5, 2000.0)])
def test_a_drain_makes_the_newest_durable_save_older_by_itself(tau, stall, drain):
    loss, error = replayed(tau, stall, drain)
    first_order = value(formulas.ASYNC_LOSS, s=stall, D=drain, tau=tau, M=M, r=R)
    assert loss == pytest.approx(first_order, rel=0.01, abs=4 * error)


@pytest.mark.parametrize("tau", [50.0, 82.0, 200.0, 320.0])
def test_saves_that_wait_stop_the_job(tau):
    loss, error = replayed(tau, 0.1, 324.0, "wait")
    first_order = value(formulas.ASYNC_LOSS, s=0.1, D=324.0, tau=tau, M=M, r=R)
    # Per interval, first order charges the wait against the work; of elapsed time it is the share x/(1 + x).
    assert loss == pytest.approx(value(formulas.SHARE_OF_ELAPSED, L=first_order), rel=0.02, abs=4 * error)


def test_saves_that_are_skipped_make_the_interval_longer():
    skipped, error = replayed(82.0, 0.1, 324.0, "skip")
    longer, _ = replayed(4 * 82.0, 0.1, 324.0)
    assert skipped == pytest.approx(longer, abs=4 * error + 1e-4)


def test_the_naive_formula_promises_what_waiting_cannot_give():
    """A stall of 0.1 s, an interval of 82 s, a drain of 324 s, with the failures of Llama 3."""
    promised = 1 - value(formulas.LOSS, delta=0.1, tau=82.0, M=11_160.0, r=R)
    policy = Policy(interval=82.0, stall=0.1, drain=324.0, restart=R, overrun="wait")
    given = simulate(Exponential(11_160.0), policy, 50, 2_000, np.random.default_rng(1)).shares()["useful"]
    assert (round(promised, 2), round(given, 2)) == (0.94, 0.23)


def test_a_save_that_fails_unnoticed_costs_whole_intervals():
    rng, chance = np.random.default_rng(1), 0.3
    failed = rng.random((100_000, 60)) < chance  # the last saves before a failure, the newest first
    missed = np.argmin(failed, axis=1).mean()
    assert value(formulas.MISSED_SAVES, f=chance) == pytest.approx(missed, rel=0.02)


def test_as_many_copies_are_held_as_saves_drain_and_one_more():
    assert list(value(formulas.COPIES, D=np.array([1.0, 100.0, 101.0]), tau=100.0)) == [2, 2, 3]

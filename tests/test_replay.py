"""The replay: against a slow loop over events, against the exact theory, and against its own promises."""

import subprocess
import sys
import tracemalloc
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from youngdaly import replay as module
from youngdaly.evaluation import exact_split
from youngdaly.processes import Exponential, Recorded, Weibull
from youngdaly.replay import Ledger, Policy, replay, simulate, study

ENTRIES = ("useful", "writing", "redone", "restarts")
POLICY = Policy(interval=1, stall=0, drain=0, restart=0)
WRONG_GAPS = ([], 5, [[]], [1, -1], [1, np.nan], [np.inf], ["1"], None, [True])


def by_events(gaps, policy):
    """Walk through one run from event to event: the second oracle, slow, with no arithmetic over intervals."""
    now, booked = 0, dict.fromkeys(ENTRIES, 0)
    for gap in gaps:
        failure = now + gap
        doing, until, work = "restarts", now + policy.restart, 0
        unsafe, draining = 0, []  # work that no durable checkpoint keeps, and (when durable, how much it keeps)
        while now < failure or (until == now and doing != "work"):
            event = min([until, failure] + [when for when, _ in draining])
            if doing == "work":
                unsafe, work = unsafe + event - now, work + event - now
            else:
                booked["writing" if doing == "waiting" else doing] += event - now
            now = event
            for when, amount in draining:
                if when <= now:
                    booked["useful"], unsafe = booked["useful"] + amount, unsafe - amount
            draining = [entry for entry in draining if entry[0] > now]
            if now == until and doing == "work" and draining and policy.overrun == "skip":
                until = now + policy.interval
            elif now == until and doing == "work" and draining:
                doing, until = "waiting", draining[-1][0]
            elif now == until and doing in ("work", "waiting"):
                doing, until = "writing", now + policy.stall
            elif now == until:
                if doing == "writing" and policy.drain:
                    draining.append((now + policy.drain, unsafe))
                elif doing == "writing":
                    booked["useful"], unsafe = booked["useful"] + unsafe, 0
                doing, until = "work", now + policy.interval
        booked["redone"] += unsafe
    return booked


whole = st.integers(0, 40)


@st.composite
def policies(draw, times=whole):
    interval = draw(st.integers(1, 40))
    drain = draw(st.integers(0, 4 * interval))
    overrun = draw(st.sampled_from(["wait", "skip"]))
    return Policy(interval=interval, stall=draw(times), drain=drain, restart=draw(times), overrun=overrun)


@given(st.lists(st.integers(0, 400), min_size=1, max_size=12), policies())
def test_every_second_is_booked_as_a_walk_from_event_to_event_books_it(gaps, policy):
    ledger = replay(gaps, policy)
    assert {name: getattr(ledger, name) for name in ENTRIES} == by_events(gaps, policy)
    assert ledger.elapsed == sum(gaps)


@given(st.lists(st.floats(0, 1e7), min_size=1, max_size=30), st.floats(1e-2, 1e6), st.floats(0, 1e5), st.floats(0, 1e5))
def test_the_four_entries_add_up_and_none_is_negative(gaps, interval, stall, restart):
    ledger = replay(gaps, Policy(interval=interval, stall=stall, drain=interval / 3, restart=restart))
    assert ledger.elapsed == pytest.approx(sum(gaps), rel=1e-12)
    assert min(vars(ledger).values()) >= 0


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=20), policies(), st.floats(1e-6, 1e6))
def test_a_change_of_the_time_unit_changes_no_share(gaps, policy, unit):
    unit = 2.0 ** round(np.log2(unit))  # a power of two, so that no failure moves across the end of a write
    times = ("interval", "stall", "drain", "restart")
    scaled = replace(policy, **{name: unit * getattr(policy, name) for name in times})
    before, after = replay(gaps, policy), replay(np.array(gaps) * unit, scaled)
    assert vars(after) == {name: unit * entry for name, entry in vars(before).items()}


@pytest.mark.parametrize(("interval", "stall"), [(0.1, 0.2), (0.125, 0.25), (268.92, 3.24)])
def test_a_write_counts_only_once_it_has_ended(interval, stall):
    """One float before the end of a write, the quotient is often rounded up to a whole number."""
    policy, cycles = Policy(interval=interval, stall=stall, drain=0, restart=0), np.arange(1, 200_001)
    end = cycles[:, None] * (interval + stall)
    before, after = replay(np.nextafter(end, 0), policy), replay(end * (1 + 4e-16), policy)
    np.testing.assert_allclose(before.useful, interval * (cycles - 1))
    np.testing.assert_allclose(before.redone, interval)
    np.testing.assert_allclose(after.useful, interval * cycles)
    assert after.redone.max() < 1e-6 and before.writing.min() > 0


# Interval, write, failure interval, restart: from mild to hopeless, with δ ≈ M and with r > M.
PARAMETERS = [
    (268.92, 3.24, 11160, 600), (2689.2, 324, 11160, 600), (60, 5, 3600, 30), (7000, 300, 86400, 600),
    (1000, 10, 1000, 1000), (100, 100, 100, 50), (80, 120, 100, 1), (30, 3, 100, 150), (50, 40, 30, 45),
    (1, 1e-3, 1, 1e-3),
]  # fmt: skip


@pytest.mark.parametrize(("tau", "delta", "M", "r"), PARAMETERS)
def test_the_replay_of_random_failures_agrees_with_the_exact_theory(tau, delta, M, r):
    policy = Policy(interval=tau, stall=delta, drain=0, restart=r)
    ledger = simulate(Exponential(M), policy, runs=100, failures=250_000, rng=np.random.default_rng(2006))
    exact, errors = exact_split(tau, delta, M, r), ledger.standard_errors()
    for name, share in ledger.shares().items():
        assert errors[name] < 1e-4
        assert abs(share - exact[name]) < 3 * errors[name], name


def test_bunched_failures_at_the_same_mean_cost_less():
    policy = Policy(interval=268.92, stall=3.24, drain=0, restart=600)
    ledger = simulate(Weibull(11160, shape=0.7), policy, runs=100, failures=10_000, rng=np.random.default_rng(7))
    useful, error = ledger.shares()["useful"], ledger.standard_errors()["useful"]
    assert useful - exact_split(268.92, 3.24, 11160, 600)["useful"] > 10 * error


@pytest.mark.parametrize("process", [Exponential(50), Weibull(50, 0.6), Weibull(50, 3), Recorded([20, 80, 50])])
def test_a_process_draws_gaps_of_its_mean(process):
    gaps = process.draw(np.random.default_rng(3), (200, 500))
    assert gaps.shape == (200, 500) and gaps.min() >= 0
    assert abs(gaps.mean() - process.mean) < 4 * gaps.std() / np.sqrt(gaps.size)
    assert process.mean == 50


def test_the_shape_of_a_weibull_process_is_its_shape():
    gaps = Weibull(1, shape=0.7).draw(np.random.default_rng(4), 10**5)
    assert np.isin(Recorded([1, 2]).draw(np.random.default_rng(4), 9), [1, 2]).all()
    assert gaps.std() == pytest.approx(1.4624, rel=0.03)  # √(Γ(1 + 2/0.7)/Γ(1 + 1/0.7)² − 1)


@pytest.mark.parametrize("shape", [(20_000,), (3, 9000), (5000, 7), (2, 3, 40)])
def test_blocks_and_shapes_do_not_show(shape, monkeypatch):
    policy = Policy(interval=10, stall=1, drain=4, restart=3)
    gaps = np.random.default_rng(1).integers(0, 100, shape)
    ledger = replay(gaps, policy)
    assert all(np.shape(entry) == shape[:-1] for entry in vars(ledger).values())
    for block in (7, 10**6):
        monkeypatch.setattr(module, "_BLOCK", block)
        again = replay(gaps.astype(float), policy)
        assert all(np.array_equal(vars(again)[name], entry) for name, entry in vars(ledger).items())
    padded = replay(np.concatenate([gaps, np.zeros((*shape[:-1], 2))], axis=-1), policy)
    assert all(np.array_equal(vars(padded)[name], entry) for name, entry in vars(ledger).items())


@pytest.mark.parametrize("process", [Exponential(50.0), Weibull(50.0, 0.6), Recorded(np.arange(100.0))])
@pytest.mark.parametrize(("runs", "failures"), [(3, 20_000), (5000, 4)])
def test_drawing_in_blocks_gives_the_gaps_of_one_draw(process, runs, failures):
    policy = Policy(interval=10, stall=1, drain=0, restart=3)
    at_once = replay(process.draw(np.random.default_rng(5), (runs, failures)), policy)
    in_blocks = simulate(process, policy, runs, failures, np.random.default_rng(5))
    np.testing.assert_array_equal(in_blocks.useful, at_once.useful)
    np.testing.assert_allclose(in_blocks.elapsed, at_once.elapsed, rtol=1e-12)


def test_memory_does_not_grow_with_the_failures():
    policy, peaks = Policy(interval=268, stall=3, drain=0, restart=600), []
    for failures in (10**4, 10**6):
        tracemalloc.start()
        simulate(Exponential(11160), policy, runs=1, failures=failures, rng=np.random.default_rng(0))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0] + 1e5 and peaks[1] < 2e6


def test_standard_errors_tell_how_far_shares_scatter():
    policy = Policy(interval=20, stall=2, drain=0, restart=10)
    true = exact_split(20, 2, 100, 10)["useful"]
    off = []
    for seed in range(300):
        ledger = simulate(Exponential(100), policy, runs=40, failures=50, rng=np.random.default_rng(seed))
        off.append((ledger.shares()["useful"] - true) / ledger.standard_errors()["useful"])
    assert abs(np.mean(off)) < 0.25 and 0.85 < np.std(off) < 1.2


def test_the_replay_knows_no_formula():
    code = "import sys, youngdaly.replay; print(*(m for m in sys.modules if m.startswith('youngdaly.')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(loaded) == {"youngdaly.processes", "youngdaly.replay"}


@pytest.fixture
def grid():
    policies = [Policy(interval=tau, stall=3, drain=0, restart=600) for tau in (100, 300, 900)]
    return {"clusters": [Exponential(11160), Weibull(11160, 0.7)], "policies": policies, "seeds": [1, 2]}


def test_a_study_gives_the_same_on_cores_and_on_a_dask_cluster(grid):
    import distributed  # here, since it is slow to import

    here = study(**grid, runs=20, failures=100)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client, joblib.parallel_config(backend="dask"):
            there = study(**grid, runs=20, failures=100)
            assert len(client.scheduler_info()["workers"]) == 2
    pd.testing.assert_frame_equal(here.drop(columns="cluster"), there.drop(columns="cluster"), check_exact=True)
    assert here["cluster"].tolist() == there["cluster"].tolist()
    first = simulate(grid["clusters"][0], grid["policies"][0], 20, 100, np.random.default_rng(1))
    assert len(here) == 12 and dict(here.loc[0, list(ENTRIES)]) == first.shares()


@pytest.mark.parametrize("gaps", WRONG_GAPS)
def test_gaps_that_are_no_gaps_are_refused(gaps):
    with pytest.raises(ValueError, match="gaps .*give"):
        replay(gaps, Policy(interval=10, stall=1, drain=0, restart=1))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"interval": 0}, "interval = 0: give a finite number greater than 0"),
        ({"interval": np.nan}, "interval = nan"),
        ({"stall": -1}, "stall = -1: give a finite number, 0 or more"),
        ({"restart": np.inf}, "restart = inf"),
        ({"restart": "10 min"}, "restart = '10 min'"),
        ({"stall": True}, "stall = True"),
        ({"drain": 11}, "drain = 11 is longer than interval = 10.*give an interval of at least the drain"),
    ],
)
def test_a_policy_that_cannot_be_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Policy(**{"interval": 10, "stall": 1, "drain": 0, "restart": 1} | wrong)


def test_what_is_no_policy_or_no_process_is_refused():
    with pytest.raises(ValueError, match="policy = None: give a Policy"):
        replay([1.0], None)
    with pytest.raises(ValueError, match="process = 1000: give a failure process"):
        simulate(1000, POLICY, 2, 2, np.random.default_rng(1))
    with pytest.raises(ValueError, match="gaps = .*give an array"):
        replay([[1.0], [1.0, 2.0]], POLICY)


def test_a_policy_has_all_its_fields():
    with pytest.raises(TypeError, match="missing .*'drain' and 'restart'"):
        Policy(interval=10, stall=1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Exponential(0), "mean = 0"),
        (lambda: Weibull(1, -1), "shape = -1"),
        (lambda: Recorded([]), "gaps = "),
        (lambda: Recorded([0, 0]), "not all of them 0"),
        (lambda: Recorded([1, np.nan]), "gaps = "),
        (lambda: simulate(Exponential(1), POLICY, 0, 1, np.random.default_rng(0)), "runs = 0"),
        (lambda: simulate(Exponential(1), POLICY, 1, 2.5, np.random.default_rng(0)), "failures = 2.5"),
        (lambda: simulate(Exponential(1), POLICY, 1, 1, 42), "rng = 42: give a seeded generator"),
        (lambda: replay([1e300], POLICY), "interval = 1 is too short for a gap"),
        (lambda: replay([0, 0], POLICY).shares(), "no time has elapsed"),
        (lambda: replay([1, 2], POLICY).standard_errors(), "one run has no spread"),
    ],
)
def test_other_bad_input_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()


def test_a_ledger_of_several_runs_weighs_them_by_their_time():
    ledger = Ledger(*np.array([[1, 8], [1, 0], [1, 1], [1, 1]], dtype=float))
    assert ledger.elapsed.tolist() == [4, 10]
    assert ledger.shares()["useful"] == pytest.approx(9 / 14)

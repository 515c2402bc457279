"""Spares, going on without a node, and warnings: each against a count, a search or a walk that shares no formula."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import poisson

from youngdaly import figures
from youngdaly import formulas as f
from youngdaly.data import UNITS, fact, table
from youngdaly.evaluation import value
from youngdaly.processes import Exponential, Recorded, Weibull
from youngdaly.spares import shortage, simulated_shortage, simulations, spares_needed

loads = st.floats(1e-3, 500)
REPAIRS = {"all the same": Recorded((8.0,)), "exponential": Exponential(8.0), "heavy tail": Weibull(8.0, 0.5)}


# --- How many spares --------------------------------------------------------------------------------


@given(loads, st.floats(1e-9, 0.999))
def test_the_number_is_the_least_that_keeps_the_shortage_within_the_chance(in_repair, chance):
    spares = spares_needed(in_repair, chance)
    assert spares >= 1
    assert shortage(spares, in_repair) <= chance < shortage(spares - 1, in_repair)


@given(loads)
def test_the_shortage_is_what_is_left_of_the_poisson_counts(in_repair):
    """Written out as e⁻ᵃ Σ aⁿ/n!, for a few spares."""
    term, seen = np.exp(-in_repair), 0.0
    for spares in range(6):
        assert shortage(spares, in_repair) == pytest.approx(1 - seen, abs=1e-12)
        seen += term
        term *= in_repair / (spares + 1)


def test_without_a_spare_every_failure_waits():
    assert shortage(0, 1e-6) == 1.0
    assert simulated_shortage(Exponential(1e6), Exponential(1.0), 0, 1000, np.random.default_rng(1)) == 1.0


def test_arrays_are_answered_one_by_one():
    loads = np.array([0.1, 8.0, 80.0])
    assert list(spares_needed(loads, 0.01)) == [spares_needed(a, 0.01) for a in loads]
    assert list(shortage(9, loads)) == [shortage(9, a) for a in loads]


@pytest.mark.parametrize("repairs", REPAIRS.values(), ids=REPAIRS)
@pytest.mark.parametrize("spares", [4, 8, 12, 14])
def test_a_job_that_goes_on_runs_short_as_poisson_says_whatever_the_law_of_the_repairs(repairs, spares):
    rng, count = np.random.default_rng(2), 400_000
    expected = shortage(spares, 8.0)
    error = (expected * (1 - expected) * (2 * 8.0 + 1) / count) ** 0.5  # neighbours see the same repairs
    assert abs(simulated_shortage(Exponential(1.0), repairs, spares, count, rng) - expected) < 5 * error


@pytest.mark.parametrize("repairs", REPAIRS.values(), ids=REPAIRS)
@pytest.mark.parametrize("spares", [4, 8, 12])
def test_a_job_that_waits_runs_short_as_erlang_says_and_less_often_than_poisson(repairs, spares):
    """While it waits it cannot fail: Erlang's loss formula, whatever the law of the repairs."""
    rng, count = np.random.default_rng(3), 400_000
    erlang = poisson.pmf(spares, 8.0) / poisson.cdf(spares, 8.0)
    error = (erlang * (1 - erlang) * (2 * 8.0 + 1) / count) ** 0.5
    simulated = simulated_shortage(Exponential(1.0), repairs, spares, count, rng, waits=True)
    assert abs(simulated - erlang) < 5 * error
    assert simulated < shortage(spares, 8.0)


def test_failures_that_are_not_random_break_the_count():
    """The departure that theory promises: bunched failures meet an empty shelf more often."""
    rng, count = np.random.default_rng(4), 200_000
    bunched = simulated_shortage(Weibull(1.0, 0.5), Exponential(8.0), 14, count, rng)
    assert bunched > 2 * shortage(14, 8.0)


def test_a_table_of_simulations():
    rows = simulations(Exponential(1.0), REPAIRS, [8, 14], 20_000, np.random.default_rng(5))
    assert list(rows.columns) == ["repairs", "job", 8, 14]
    assert list(rows["repairs"]) == [name for name in REPAIRS for _ in range(2)]
    assert list(rows["job"]) == ["goes on", "waits"] * 3
    assert (rows[8] > rows[14]).all() and rows[[8, 14]].stack().between(0, 1).all()
    goes_on, waits = (rows.loc[rows["job"] == job, 8].to_numpy() for job in ("goes on", "waits"))
    assert (waits < 0.7 * goes_on).all()  # by Poisson 55 %, by Erlang 24 %


def test_the_same_seed_gives_the_same_shortage():
    one, two = (
        simulated_shortage(Exponential(1.0), Weibull(8.0, 0.5), 9, 5000, np.random.default_rng(6)) for _ in range(2)
    )
    assert one == two


@pytest.mark.parametrize("spares", [-1, 1.5, True, "3", None, float("nan")])
def test_a_number_of_spares_that_is_none_is_refused(spares):
    for call in (
        lambda: shortage(spares, 8.0),
        lambda: simulated_shortage(Exponential(1.0), Exponential(8.0), spares, 10, np.random.default_rng(0)),
    ):
        with pytest.raises(ValueError, match=r"^spares = .*: give a whole number, 0 or more$"):
            call()


@pytest.mark.parametrize("chance", [0, 1, -0.1, 1.1, float("nan"), "1 %", None])
def test_a_chance_that_is_none_is_refused(chance):
    with pytest.raises(ValueError, match=r"^chance = .*: give a number between 0 and 1, both excluded$"):
        spares_needed(8.0, chance)


@pytest.mark.parametrize("in_repair", [0, -1, np.nan, np.inf])
def test_a_load_that_is_none_is_refused(in_repair):
    for call in (shortage, lambda n, a: spares_needed(a, 0.01)):
        with pytest.raises(ValueError, match="^in_repair = .*: give finite numbers greater than 0$"):
            call(3, in_repair)


# --- What a second costs ----------------------------------------------------------------------------


def test_idle_devices_are_the_share_of_time_in_restarts_and_grow_with_the_square():
    numbers = {"r": 600.0, "m": 1.8e8}
    idle = value(f.IDLE_BY_DEVICES, N=16384, **numbers)
    assert idle == pytest.approx(16384 * 600 / (1.8e8 / 16384))
    assert value(f.IDLE_BY_DEVICES, N=2 * 16384, **numbers) == pytest.approx(4 * idle)


# --- Wait, or go on with fewer ----------------------------------------------------------------------


def lost(wait, delta, r, q, M=None, goes_on=True):
    """Walk through the time from the failure on: what the job did not do, in time at full speed.

    It grows back when the node comes after `wait`, or at the next failure after M if that is given.
    """
    if not goes_on:
        return wait + r  # stands still, then starts
    useful, clock = 0.0, r
    end = r + M if M else wait
    useful += q * (end - clock)
    clock = end if M else end + delta + r  # the next failure's own restart is not this one's
    return clock - useful


@given(st.floats(1, 100), st.floats(10, 3600), st.floats(0.05, 0.999), st.floats(1e3, 1e6))
def test_at_the_break_even_both_choices_lose_the_same(delta, r, q, M):
    wait = value(f.BREAK_EVEN, delta=delta, q=q, r=r)
    assert lost(wait, delta, r, q) == pytest.approx(lost(wait, delta, r, q, goes_on=False))
    assert lost(2 * wait, delta, r, q) < lost(2 * wait, delta, r, q, goes_on=False)
    until_next = value(f.BREAK_EVEN_NEXT, q=q, M=M)
    assert lost(until_next, delta, r, q, M) == pytest.approx(lost(until_next, delta, r, q, goes_on=False))
    assert lost(2 * until_next, delta, r, q, M) < lost(2 * until_next, delta, r, q, goes_on=False)


def test_the_break_even_of_a_large_job_is_one_restart_and_one_save():
    assert sp.simplify(f.BREAK_EVEN - (f.r + f.delta / f.q)) == 0
    assert sp.simplify(f.BREAK_EVEN_NEXT - (1 - f.q) * f.M) == 0


# --- Warnings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("warning, write, step, chance", [
    (30, 40, 5, 0.0),  # shorter than the save: never
    (40, 40, 5, 0.0),
    (120, 40, 105, 80 / 105),  # BLOOM with two minutes
    (145, 40, 105, 1.0),  # exactly one step and a save: always
    (600, 40, 105, 1.0),
])  # fmt: skip
def test_a_save_on_a_warning(warning, write, step, chance):
    assert value(f.SAVED_IN_TIME, G=warning, delta=write, t=step) == pytest.approx(chance)
    left_of_step = np.random.default_rng(7).uniform(0, step, 100_000)  # when the warning comes
    assert (left_of_step + write <= warning).mean() == pytest.approx(chance, abs=0.01)


@given(st.floats(0.1, 100), st.floats(1e3, 1e6), st.floats(1, 1e3), st.floats(0.001, 0.99))
def test_the_best_interval_with_warnings_is_the_one_a_search_finds(delta, M, r, w):
    def loss(log_tau):
        tau = np.exp(log_tau)
        return delta / tau + (1 - w) * tau / 2 / M + r / M + w * delta / M

    found = minimize_scalar(loss, bounds=(-5, 25), method="bounded", options={"xatol": 1e-9})
    assert value(f.BEST_WARNED, delta=delta, M=M, w=w) == pytest.approx(np.exp(found.x), rel=1e-3)
    assert value(f.LEAST_LOSS_WARNED, delta=delta, M=M, r=r, w=w) == pytest.approx(found.fun, rel=1e-9)


def test_almost_no_warnings_leave_young():
    job = {"delta": 3.24, "M": 11160.0}
    assert value(f.BEST_WARNED, w=1e-12, **job) == pytest.approx(value(f.YOUNG, **job))
    least = value(f.LEAST_LOSS, r=600, **job)
    assert value(f.LEAST_LOSS_WARNED, r=600, w=1e-12, **job) == pytest.approx(least)


# --- The published parts ----------------------------------------------------------------------------


def test_the_waterfall_has_one_slow_and_one_short_figure_for_each_part():
    rows = table("restart_parts")
    rows["seconds"] = rows["value"] * rows["unit"].map(UNITS)
    parts = ["detect", "replace", "initialise", "load", "warm up"]
    assert set(rows["part"]) == {*parts, "whole"}
    assert set(rows["restart"].dropna()) == {"plain", "prepared"}
    slow, short = (rows[rows["restart"] == kind] for kind in ("plain", "prepared"))
    assert list(slow["part"]) == list(short["part"]) == parts
    assert (short["seconds"].to_numpy() < slow["seconds"].to_numpy()).all()


def test_derived_figures_follow_from_what_is_printed():
    rows = table("restart_parts").set_index("key")["value"]
    assert rows["replace_standby"] == pytest.approx(rows["replace_requeue"] / 10.87, abs=0.05)
    assert rows["load_bandwidth"] == fact("llama3_write_time")
    operations = 6 * fact("llama3_parameters") * 2**24  # of one step: 16 Mi tokens
    assert fact("llama3_iteration") == pytest.approx(operations / (fact("llama3_devices") * 400e12), abs=0.05)
    assert [rows["warm_up_steps"], rows["warm_up_step"]] == [10 * fact("llama3_iteration"), fact("llama3_iteration")]


# --- The pictures -----------------------------------------------------------------------------------


def test_the_waterfall_steps_down_from_the_slow_sum_to_the_short_one():
    slow, short = {"detect": 600.0, "load": 130.0}, {"detect": 10.0, "load": 30.0}
    axes = figures.waterfall(slow, short).axes[0]
    first, last, detect, load = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches]
    assert first == (0, 730) and last == (0, 40)
    assert detect == (140, 730) and load == (40, 140)
    assert [text.get_text() for text in axes.texts] == ["12 min", "−9.8 min", "−1.7 min", "40 s"]


@pytest.mark.parametrize("after", [{"detect": 700.0}, {"detect": -1.0}, {}, {"detect": 1.0, "load": 1.0}])
def test_a_waterfall_that_does_not_fall_is_refused(after):
    with pytest.raises(ValueError, match="^after = "):
        figures.waterfall({"detect": 600.0}, after)


def test_spares_are_drawn_for_every_repair_time_and_the_marks_lie_on_their_curves():
    axes = figures.spares_against_nodes(1e7, [7200.0, 172800.0], 0.01, (0.05, 0.1), {"here": (64, 172800.0)}).axes[0]
    *curves, mark = axes.lines
    for curve, repair in zip(curves, (7200.0, 172800.0), strict=True):
        nodes, shares = curve.get_xydata()[::20].T
        assert shares == pytest.approx([spares_needed(n * repair / 1e7, 0.01) / n for n in nodes])
    assert mark.get_xydata()[0] == pytest.approx([64, spares_needed(64 * 172800 / 1e7, 0.01) / 64])


def test_the_marks_of_going_on_are_where_its_curves_cross():
    axes = figures.going_on(3.24, 11160.0, 600.0, 127 / 128).axes[0]
    wait, grow, small, *marks = (line.get_xydata() for line in axes.lines)
    for curve, mark in zip((grow, small), marks, strict=True):
        at_mark = [np.interp(mark[0, 0], *line.T) for line in (wait, curve)]
        assert at_mark == pytest.approx([mark[0, 1]] * 2, rel=1e-3)

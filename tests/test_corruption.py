"""Silent corruption: flips and checks in the small run; the formulas against walks that know none of them."""

from itertools import pairwise
from math import ceil, exp, sqrt

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from scipy.optimize import minimize_scalar

from youngdaly import corruption, figures, formulas, toy
from youngdaly.evaluation import value

HALF = toy.STEPS // 2
DAY = 86400.0
JOB = {"interval": 8000.0, "write": 3.24, "restart": 600.0, "silent_interval": 9 * DAY}


@pytest.fixture(scope="module")
def run():
    """A run half-way: data, state, losses so far."""
    data = toy.dataset(1)
    state, losses = toy.train(toy.start(1), data, HALF)
    return data, state, losses


# --- Bits -------------------------------------------------------------------------------------------


@given(number=st.floats(width=32, allow_nan=False, allow_infinity=False), bit=st.integers(0, 31))
def test_a_flip_changes_one_bit_and_twice_is_none(number, bit):
    vector = np.array([number, 1.0], np.float32)
    flipped = corruption.flip(vector, bit, [0])
    assert vector.view(np.uint32)[0] ^ flipped.view(np.uint32)[0] == 1 << bit
    assert flipped[1] == 1 and vector[0] == np.float32(number)
    assert corruption.flip(flipped, bit, [0]).tobytes() == vector.tobytes()


@pytest.mark.parametrize("bit, flipped", [(31, -1.5), (22, 1.0), (23, 0.75), (0, 1.5 + 2**-23)])
def test_bits_are_numbered_as_the_hardware_does(bit, flipped):
    assert corruption.flip(np.array([1.5], np.float32), bit, [0])[0] == np.float32(flipped)


def test_each_copy_gets_a_flip_of_its_own():
    vectors = corruption.flip(np.ones((3, 5), np.float32), [31, 31, 23], [0, 4, 2])
    assert vectors.tolist() == [[-1, 1, 1, 1, 1], [1, 1, 1, 1, -1], [1, 1, 0.5, 1, 1]]


@pytest.mark.parametrize("bad", [-1, 32, 1.0, [0, 32]])
def test_a_bit_that_no_number_has_is_refused(bad):
    with pytest.raises(ValueError, match=r"^bit = .*: give whole numbers from 0 to 31$"):
        corruption.flip(np.ones((2, 3), np.float32), bad, [0, 1])


# --- The rule on the loss ---------------------------------------------------------------------------


def test_the_rule_calls_on_a_spike_and_on_what_is_no_number_and_not_on_a_slow_rise():
    before = np.ones(20)
    assert corruption.spikes(np.array([3.9, 4.1, np.inf, 1.0]), before).tolist() == [False, True, True, False]
    assert corruption.spikes(np.array([np.nan, 1.0, 1.0]), before).all()  # as long as it lies in the window
    rising = 1.1 ** np.arange(60)  # to three hundred times where it began
    assert not corruption.spikes(rising, before).any()


def test_the_rule_does_not_call_in_runs_left_alone():
    for seed in range(1, 13):
        _, losses = toy.train(toy.start(seed), toy.dataset(seed), toy.STEPS)
        assert not corruption.spikes(losses[corruption.WINDOW :], losses[: corruption.WINDOW]).any()


# --- One bit ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", corruption.PLACES)
def test_one_of_many_flips_is_the_same_flip_made_alone(run, place):
    data, state, losses = run
    entries = np.array([3, 200])
    flips = corruption.every_flip(state, data, losses, place, entries, 20)
    assert flips.called.shape == flips.off.shape == flips.differs.shape == (32, 2)
    for bit, column in ((30, 0), (25, 1), (3, 1)):
        entry = entries[column : column + 1]
        if place == "gradient":
            once = iter([True])
            broken, after = toy.train(state, data, 20, lambda g: corruption.flip(g, bit, entry) if next(once, 0) else g)
        else:
            broken, after = toy.train(state | {place: corruption.flip(state[place], bit, entry)}, data, 20)
        whole, _ = toy.train(state, data, 20)
        calls = np.flatnonzero(corruption.spikes(after, losses))
        assert flips.called[bit, column] == (calls[0] + 1 if calls.size else 0)
        off = toy.held_out_loss(broken, data) / toy.held_out_loss(whole, data) - 1
        assert flips.off[bit, column] == pytest.approx(off, abs=1e-6, nan_ok=True)
        assert flips.differs[bit, column] == (toy.digest(broken) != toy.digest(whole))


def test_few_bits_are_loud_and_those_at_once(run):
    data, state, losses = run
    entries = np.random.default_rng(0).choice(toy.SIZE, 12, replace=False)
    outcomes = {
        place: corruption.every_flip(state, data, losses, place, entries, HALF) for place in corruption.PLACES
    }
    assert {place: flips.loud_bits.tolist() for place, flips in outcomes.items()} == {
        "weights": [30], "gradient": [], "first_moment": [30], "second_moment": [31],
    }  # fmt: skip
    for flips in outcomes.values():
        assert flips.loud[~np.isfinite(flips.off)].all()
        assert np.abs(flips.off[~flips.loud]).max() < 0.2
        assert flips.differs[~np.isfinite(flips.off)].all()


@given(scale=st.floats(3, 15), sign=st.sampled_from([1, -1]))
def test_no_gradient_however_large_moves_a_weight_further_than_the_formula_says(scale, sign):
    data = toy.dataset(1)
    state, _ = toy.train(toy.start(1), data, 5)
    size = np.float32(sign * 10**scale)
    after, _ = toy.step(state, data, lambda gradient: np.full_like(gradient, size))
    moved = np.abs(after["weights"] - state["weights"]) / toy.RATE
    bound = value(formulas.LARGEST_STEP, beta_1=toy.BETA_1, beta_2=toy.BETA_2, j=6)
    assert moved.max() == pytest.approx(bound, rel=0.02)


def test_the_largest_step_is_one_at_first_and_the_root_of_ten_late():
    adam = {"beta_1": 0.9, "beta_2": 0.999}
    assert value(formulas.LARGEST_STEP, **adam, j=1) == pytest.approx(1)
    assert value(formulas.LARGEST_STEP, **adam, j=1e6) == pytest.approx(sqrt(10))


# --- Three checks -----------------------------------------------------------------------------------


def test_each_check_sees_what_the_others_do_not(run):
    data, state, losses = run
    row = np.arange(toy.HIDDEN)
    faults = {
        "memory": {"at_rest": lambda s: s | {"weights": corruption.flip(s["weights"], 24, [5])}},
        "lasting": {"in_gradient": lambda _, gradient: corruption.flip(gradient, 31, row)},
        "none": {},
    }
    seen = {name: corruption.noticed(state, data, losses, HALF, 8, **fault) for name, fault in faults.items()}
    assert seen == {
        "memory": {"loss spike": 0, "step computed again": 0, "replicas compared": 8},
        "lasting": {"loss spike": 0, "step computed again": 8, "replicas compared": 0},
        "none": {"loss spike": 0, "step computed again": 0, "replicas compared": 0},
    }


@pytest.mark.parametrize("every", [1, 3, 8])
def test_a_fault_that_happens_once_is_found_if_its_step_is_checked(run, every):
    """So a check of every k-th step finds one in k of them, for one k-th of the computing."""
    data, state, losses = run
    for struck in range(1, 2 * every + 1):
        once = {"in_gradient": lambda number, g: corruption.flip(g, 24, [5]) if number == struck else g}
        found = corruption.noticed(state, data, losses, 2 * every, every, **once)["step computed again"]
        assert found == (struck if struck % every == 0 else 0)


def test_replicas_that_are_all_broken_agree(run):
    """One weight of 10³⁸ makes every gradient no number, and the average of those is the same for all."""
    data, state, losses = run
    loud = {"at_rest": lambda s: s | {"weights": corruption.flip(s["weights"], 30, [5])}}
    late, soon = (corruption.noticed(state, data, losses, 8, every, **loud) for every in (8, 1))
    assert late["loss spike"] == 1 and soon["replicas compared"] == 1
    assert not late["replicas compared"]


@pytest.mark.parametrize("bad", [0, -1, 2.0, float("nan"), True])
def test_a_check_that_never_comes_is_refused(run, bad):
    data, state, losses = run
    with pytest.raises(ValueError, match=r"^every = .*: give a whole number of steps, 1 or more$"):
        corruption.noticed(state, data, losses, 8, bad)


def test_a_place_that_is_none_is_refused(run):
    data, state, losses = run
    with pytest.raises(ValueError, match="^place = 'activations': choose one of weights, gradient, "):
        corruption.every_flip(state, data, losses, "activations", [0], 2)


# --- Verified saves: the walk, event by event -------------------------------------------------------


def walked(interval, write, verification, restart, silent_interval, checkpoints, rng):
    """The same job on one clock, second by second in events, one decision at a time."""
    clock = {"useful": 0.0, "writing": 0.0, "redone": 0.0, "restarts": 0.0}
    next_error = rng.exponential(silent_interval)  # in working time from here on
    saved = 0
    while saved < checkpoints:
        struck = next_error < interval
        next_error = rng.exponential(silent_interval) if struck else next_error - interval
        clock["writing"] += verification
        if struck:
            clock["redone"] += interval
            clock["restarts"] += restart
        else:
            clock["useful"] += interval
            clock["writing"] += write
            saved += 1
    elapsed = sum(clock.values())
    return {name: time / elapsed for name, time in clock.items()}


def test_the_fast_walk_is_the_slow_one():
    policy = (20000.0, 30.0, 90.0, 600.0, 100000.0)
    fast = corruption.verified_run(*policy, (10, 20_000), np.random.default_rng(1)).shares()
    slow = walked(*policy, 100_000, np.random.default_rng(2))
    for name, share in slow.items():
        assert fast[name] == pytest.approx(share, abs=2e-3)


@pytest.mark.parametrize("interval", [500.0, 8000.0, 60_000.0])
def test_the_walk_is_the_exact_result(interval):
    """An attempt fails with the chance 1 − e^(−τ/M), so there are e^(τ/M) of them for each that is kept."""
    write, verification, restart, silent = 3.24, 88.5, 600.0, 9 * DAY
    attempts = exp(interval / silent)
    elapsed = attempts * (interval + verification) + (attempts - 1) * restart + write
    rng = np.random.default_rng(3)
    ledger = corruption.verified_run(interval, write, verification, restart, silent, (20, 50_000), rng)
    error = 4 * ledger.standard_errors()["useful"]
    assert ledger.shares()["useful"] == pytest.approx(interval / elapsed, abs=error)
    assert sum(ledger.shares().values()) == pytest.approx(1)


def test_the_best_verified_interval_has_no_factor_two():
    """Found by trying on the walk: the smallest loss lies at √(M(δ + V)), and √2 times that is measurably worse."""
    write, verification, silent = 3.24, 88.5, 9 * DAY
    best = sqrt(silent * (write + verification))
    assert value(formulas.VERIFIED_BEST, V=verification, delta=write, M_s=silent) == pytest.approx(best)

    def lost(factor):
        rng = np.random.default_rng(4)  # the same for all: their difference is not noise
        ledger = corruption.verified_run(factor * best, write, verification, 600.0, silent, (1, 4_000_000), rng)
        return 1 - ledger.shares()["useful"]

    losses = [lost(factor) for factor in (0.5, 1 / sqrt(2), 1, sqrt(2), 2)]
    assert losses[2] == min(losses)
    optimisable = losses[2] - 600 / silent
    assert (losses[3] - losses[2]) / optimisable == pytest.approx((sqrt(2) + 1 / sqrt(2)) / 2 - 1, abs=0.02)
    assert (losses[4] - losses[2]) / optimisable == pytest.approx(0.25, abs=0.04)


@given(
    V=st.floats(1, 1e4), delta=st.floats(0.1, 1e3), M_s=st.floats(1e5, 1e8), r=st.floats(1, 1e4),
)  # fmt: skip
def test_a_search_over_a_handwritten_verified_loss_finds_the_same(V, delta, M_s, r):
    def lost(tau):
        return (V + delta) / tau + (tau + r) / M_s

    found = minimize_scalar(lambda log_tau: lost(np.exp(log_tau)), bounds=(0, 30), method="bounded")
    numbers = {"V": V, "delta": delta, "M_s": M_s}
    assert value(formulas.VERIFIED_BEST, **numbers) == pytest.approx(np.exp(found.x), rel=1e-2)
    assert value(formulas.VERIFIED_LEAST, **numbers, r=r) == pytest.approx(found.fun, rel=1e-6)
    assert value(formulas.VERIFIED_LOSS, tau=1234.5, **numbers, r=r) == pytest.approx(lost(1234.5))


# --- Late detection ---------------------------------------------------------------------------------


@pytest.mark.parametrize("detection", [0.0, 100.0, 8003.24, 3 * 8003.24, 50_000.0])
def test_a_late_error_never_needs_more_checkpoints_than_the_formula_and_sometimes_all_of_them(detection):
    _, needed = corruption.late_run(**JOB, detection=detection, errors=200_000, rng=np.random.default_rng(5))
    period = JOB["interval"] + JOB["write"]
    assert needed.max() == ceil(round(detection / period, 9)) + 1
    if detection:
        assert needed.max() <= value(formulas.KEEP, d=detection, tau=JOB["interval"])


def test_saves_since_an_error_counted_one_by_one():
    """The last trusted checkpoint on a clock: saves end every 8003.24 s, an error spoils all that end after it."""
    detection = 30_000.0
    _, needed = corruption.late_run(**JOB, detection=detection, errors=500, rng=np.random.default_rng(7))
    struck = np.random.default_rng(7).exponential(JOB["silent_interval"], 500)
    for moment, count in zip(struck, needed):
        saves = np.arange(0, moment + detection, JOB["interval"] + JOB["write"])  # the first: where it restarted from
        assert (saves > moment).sum() + 1 == count


@pytest.mark.parametrize("detection", [60.0, 12_390.0, DAY])
def test_the_loss_of_late_detection_is_the_walks_to_first_order(detection):
    numbers = JOB | {"interval": 268.9}
    ledger, _ = corruption.late_run(**numbers, detection=detection, errors=400_000, rng=np.random.default_rng(8))
    lost = 1 - ledger.shares()["useful"]
    loss = value(formulas.LATE_LOSS, tau=268.9, delta=3.24, M_s=9 * DAY, r=600.0, d=detection)
    assert lost == pytest.approx(loss, abs=loss**2 + 4 * ledger.standard_errors()["redone"])
    assert sum(ledger.shares().values()) == pytest.approx(1)


def test_the_latency_does_not_move_the_best_interval():
    slope = sp.diff(formulas.LATE_LOSS, formulas.tau)
    assert not slope.has(formulas.d)
    assert sp.simplify(slope - sp.diff(formulas.LOSS.subs(formulas.M, formulas.M_s), formulas.tau)) == 0


@pytest.mark.parametrize("name", ["interval", "write", "silent_interval"])
@pytest.mark.parametrize("bad", [0, -1.0, float("nan")])
def test_impossible_times_are_refused(name, bad):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=rf"^{name} = "):
        corruption.late_run(**JOB | {name: bad}, detection=1.0, errors=2, rng=rng)
    with pytest.raises(ValueError, match=rf"^{name} = "):
        corruption.verified_run(**JOB | {name: bad}, verification=1.0, kept=(1, 2), rng=rng)


# --- The pictures -----------------------------------------------------------------------------------


def test_the_picture_of_flips_marks_the_loud_ones():
    called, off = np.zeros((32, 3), int), np.full((32, 3), 1e-3)
    called[30], off[30] = 1, np.nan
    called[5, 0], off[0] = 40, 0  # a call long after, and no change at all
    flips = corruption.Flips(called, off, off != 0)
    figure = figures.flipped_bits(dict.fromkeys(corruption.PLACES, flips), corruption.PLACES)
    assert [ax.get_title(loc="left") for ax in figure.axes] == list(corruption.PLACES.values())
    for ax in figure.axes:
        silent, loud = ax.lines
        assert set(loud.get_xdata()) == {30} and len(loud.get_xdata()) == 3
        assert len(silent.get_xdata()) == 31 * 3 and (silent.get_ydata() > 0).all()
        assert loud.get_ydata().min() > silent.get_ydata().max()


def test_the_picture_of_runs_draws_means_over_steps_where_they_end():
    losses = np.arange(1.0, 11)
    panels = {"a": (losses, 2 * losses), "b": (losses, losses)}
    figure = figures.loss_curves(panels, ("alone", "broken"), first=20, over=4)
    first, second = figure.axes[0].lines
    assert first.get_xdata().tolist() == list(range(24, 31))
    assert first.get_ydata() == pytest.approx([np.mean(losses[i - 4 : i]) for i in range(4, 11)])
    assert second.get_ydata() == pytest.approx(2 * first.get_ydata())
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["alone", "broken"]


def test_the_picture_of_verified_saves_is_the_ledger():
    numbers = {"delta": 3.24, "V": 88.5, "M_s": 9 * DAY}
    replayed = {8446.0: 0.022}
    axes = figures.verified_loss(**numbers, r=600.0, replayed=replayed).axes[0]
    layers = axes.collections[:3]
    assert [to_hex(layer.get_facecolor()[0]) for layer in layers] == [figures.COLOURS[n] for n in figures.STACK]
    tops = [layer.get_paths()[0].vertices[:, 1].max() for layer in layers]
    assert all(low < high for low, high in pairwise(tops))
    corners = layers[-1].get_paths()[0].vertices
    best = sqrt(91.74 * 9 * DAY)
    at_best = corners[np.abs(np.log(corners[:, 0] / best)) < 0.02, 1].max()
    assert at_best == pytest.approx(2 * sqrt(91.74 / (9 * DAY)) + 600 / (9 * DAY), rel=1e-2)
    assert axes.lines[-1].get_xydata().tolist() == [[8446.0, 0.022]]

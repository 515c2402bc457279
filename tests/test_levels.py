"""Several levels of checkpoints: the replay against an event-by-event loop, one level, and first order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from youngdaly import formulas
from youngdaly.evaluation import value
from youngdaly.levels import Level, replay_levels, simulate_levels
from youngdaly.processes import Exponential
from youngdaly.replay import Policy, replay


def walked(gaps, severities, levels):
    """The same run, second by second of what happens next: an independent computation with a list of checkpoints."""
    every = [round(level.interval / levels[0].interval) for level in levels]
    checkpoints = []  # (progress in intervals of level 1, level, running time at which it is durable)
    booked = {"writing": 0.0, "worked": 0.0, "restarts": 0.0}
    severity, position = 0, 0
    for gap, struck in zip(gaps, severities):
        left = gap
        restart = levels[severity].restart
        if left < restart:
            booked["restarts"] += left
            severity = max(severity, struck)
        else:
            booked["restarts"] += restart
            left -= restart
            now, made, progress, cut_short = 0.0, [], position, False
            while not cut_short:
                work = min(left, levels[0].interval)
                booked["worked"] += work
                left, now = left - work, now + work
                if work < levels[0].interval:
                    break
                progress += 1
                for i in (i for i in range(len(levels)) if progress % every[i] == 0):
                    stall = min(left, levels[i].stall)
                    booked["writing"] += stall
                    left, now = left - stall, now + stall
                    if cut_short := stall < levels[i].stall:
                        break
                    made.append((progress, i, now + levels[i].drain))
            checkpoints += [(p, i) for p, i, durable in made if durable <= now]
            severity = struck
        checkpoints = [(p, i) for p, i in checkpoints if i >= severity]
        position = max((p for p, _ in checkpoints), default=0)
    useful = position * levels[0].interval
    return useful, booked["writing"], booked["worked"] - useful, booked["restarts"]


def level(interval, stall=0.0, drain=0.0, restart=0.0, share=1.0):
    return Level(interval=interval, stall=stall, drain=drain, restart=restart, share=share)


@st.composite
def cases(draw):
    """Times are multiples of 1/8, so that the sums of both computations are exact."""
    eighths = st.integers(0, 40).map(lambda n: n / 8)
    count = draw(st.integers(1, 3))
    interval, levels = draw(st.integers(8, 24)) / 8, []
    for _ in range(count):
        stall, restart = draw(eighths), draw(eighths)
        drain = min(draw(eighths), interval)
        levels.append(level(interval, stall, drain, restart, 1 / count))
        interval *= draw(st.integers(1, 4))
    length = draw(st.integers(1, 12))
    gaps = draw(st.lists(st.integers(1, 800).map(lambda n: n / 8), min_size=length, max_size=length))
    severities = draw(st.lists(st.integers(0, count - 1), min_size=length, max_size=length))
    return gaps, severities, levels


@settings(max_examples=400, deadline=None)
@given(cases())
def test_the_replay_books_what_an_event_loop_books(case):
    gaps, severities, levels = case
    ledger = replay_levels(gaps, severities, levels)
    expected = walked(gaps, severities, levels)
    assert [ledger.useful, ledger.writing, ledger.redone, ledger.restarts] == pytest.approx(expected, abs=1e-9)
    assert ledger.elapsed == pytest.approx(sum(gaps))


@given(st.integers(0, 10**6), st.floats(0.1, 5), st.floats(0, 2), st.floats(0, 1), st.floats(0, 3))
def test_one_level_is_the_replay_of_a_policy(seed, interval, stall, drain, restart):
    numbers = {"interval": interval, "stall": stall, "drain": drain * interval, "restart": restart}
    gaps = Exponential(10.0).draw(np.random.default_rng(seed), (3, 50))
    before = replay(gaps, Policy(**numbers))
    now = replay_levels(gaps, np.zeros(gaps.shape, dtype=int), [Level(**numbers, share=1.0)])
    for name, entry in vars(before).items():
        assert getattr(now, name) == pytest.approx(entry, abs=1e-9)


# The issue of two levels: a share of 0.9 served from memory, the rest from storage.
FIRST = level(157.5, stall=1.0, restart=60.0, share=0.9)
M = 11_160.0


def test_two_levels_are_close_to_first_order():
    numbers = {"delta": np.array([1.0, 30.0]), "p": np.array([0.9, 0.1])}
    best = value(formulas.LEVEL_BEST, M=M, **numbers)
    loss = value(formulas.LEVEL_LOSS, tau=best, M=M, r=np.array([60.0, 600.0]), D=0.0, **numbers).sum()
    assert best == pytest.approx([157.48, 2587.66], abs=0.01) and 100 * (1 - loss) == pytest.approx(95.39, abs=0.005)
    levels = [FIRST, level(157.5 * 16, stall=30.0, restart=600.0, share=0.1)]
    ledger = simulate_levels(Exponential(M), levels, 400, 500, np.random.default_rng(1))
    useful, error = ledger.shares()["useful"], ledger.standard_errors()["useful"]
    assert 1 - loss < useful < 1 - loss + 0.002  # first order is a little pessimistic, as for one level
    assert error < 2e-4


def test_two_levels_drawn_agree_with_the_event_loop():
    levels = [FIRST, level(157.5 * 16, stall=30.0, drain=100.0, restart=600.0, share=0.1)]
    rng = np.random.default_rng(1)
    gaps = Exponential(M).draw(rng, (40, 100))
    severities = (rng.random(gaps.shape) < 0.1).astype(int)
    ledger = replay_levels(gaps, severities, levels)
    walks = np.array([walked(*run, levels) for run in zip(gaps, severities)])
    assert np.stack(list(vars(ledger).values()), axis=1) == pytest.approx(walks, rel=1e-9, abs=1e-5)


def test_the_severities_are_drawn_by_the_shares():
    """With nothing but restarts that differ, their share tells how often each severity was drawn."""
    levels = [level(1.0, restart=0.0, share=0.75), level(1.0, restart=2.0, share=0.25)]
    ledger = simulate_levels(Exponential(1000.0), levels, 100, 1000, np.random.default_rng(1))
    assert ledger.shares()["restarts"] == pytest.approx(0.25 * 2 / 1000, rel=0.03)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([], "give one or more Level objects"),
        ([level(2.0, share=0.5), level(5.0, share=0.5)], "do not nest.*here 4"),
        ([level(4.0, share=0.5), level(2.0, share=0.5)], "do not nest: give the most frequent level first"),
        ([level(2.0, share=0.5), level(4.0, share=0.6)], "add up to 1.1"),
    ],
)
def test_levels_that_cannot_be_are_refused(levels, message):
    with pytest.raises(ValueError, match=message):
        simulate_levels(Exponential(1.0), levels, 2, 2, np.random.default_rng(1))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"share": 1.5}, "share = 1.5: give a share of the failures, 0 to 1"),
        ({"share": -0.1}, "share = -0.1"),
        ({"drain": 3.0}, "drain = 3.0 is longer than interval = 2.0"),
    ],
)
def test_a_level_that_cannot_be_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        level(**{"interval": 2.0} | wrong)


def test_severities_that_are_none_are_refused():
    with pytest.raises(ValueError, match="severities run from 0 to 1: give 0 to 0"):
        replay_levels([1.0, 2.0], [0, 1], [level(1.0)])
    with pytest.raises(ValueError, match="give one whole number for each gap"):
        replay_levels([1.0, 2.0], [0], [level(1.0)])

"""The exact theory: its derivation, its optimum, its limits and its digits. The replay tests it in test_replay."""

import mpmath
import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from youngdaly import formulas
from youngdaly.evaluation import exact_root, exact_split, exp_beyond_first, split, value
from youngdaly.formulas import M, delta, r, tau

MINUTE, HOUR = 60, 3600
SHARES = {"WRITING": formulas.WRITING, "REDONE": formulas.REDONE, "RESTARTS": formulas.RESTARTS}

# Times in units of the failure interval, wherever a job can be said to run at all.
writes = st.floats(1e-12, 10)
restarts = st.floats(1e-9, 10)
factors = st.floats(1e-2, 10)
failure_intervals = st.floats(1e-3, 1e9)


def relative_error(number, truth):
    return float(abs(mpmath.mpf(float(number)) / truth - 1))


def with_fifty_digits(d):
    """The best interval for write time d, both in units of the failure interval."""
    with mpmath.workdps(50):
        return 1 + mpmath.lambertw(-mpmath.exp(-1 - mpmath.mpf(float(d)))).real


def test_the_elapsed_time_is_the_one_that_daly_gives():
    daly = M * sp.exp(r / M) * (sp.exp((tau + delta) / M) - 1)
    assert sp.simplify(formulas.EXACT_ELAPSED - daly) == 0


def test_the_shares_add_up_to_one():
    assert sp.simplify(formulas.EXACT_EFFECTIVE + formulas.EXACT_LOSS) == 1


@given(writes, factors, failure_intervals, restarts)
def test_the_numbers_of_the_shares_add_up_to_one(d, factor, interval, ratio):
    shares = exact_split(factor * interval, d * interval, interval, ratio * interval)
    assert list(shares) == list(split(100, 1, 1e6, 1)), "the book's names in the book's order"
    assert min(shares.values()) >= 0 and sum(shares.values()) == pytest.approx(1, rel=1e-13)


def test_the_slope_vanishes_at_the_best_interval():
    slope = sp.numer(sp.together(sp.diff(formulas.EXACT_EFFECTIVE, tau)))
    w = sp.Symbol("w", negative=True)  # the Lambert function there, so that w·exp(w) is its argument
    argument = next(iter(formulas.EXACT_BEST.atoms(sp.LambertW))).args[0]
    at_best = sp.expand(slope.subs(tau, formulas.EXACT_BEST.replace(sp.LambertW, lambda _: w)), power_exp=True)
    assert sp.simplify(at_best.subs(sp.exp(w), argument / w)) == 0


def test_there_is_no_other_best_interval():
    cost = sp.diff(formulas.EXACT_ELAPSED / tau, tau) * tau**2  # has the sign of the slope, and only rises
    assert sp.simplify(sp.diff(cost, tau) - tau * sp.exp((r + tau + delta) / M) / M) == 0


def test_the_restart_time_does_not_move_the_best_interval():
    assert sp.simplify(sp.diff(sp.log(formulas.EXACT_EFFECTIVE), tau, r)) == 0
    assert r not in formulas.EXACT_BEST.free_symbols


@given(writes, failure_intervals, restarts, st.floats(0.5, 2))
def test_the_best_interval_beats_its_neighbours_whatever_the_restart_time(d, interval, ratio, factor):
    numbers = {"delta": d * interval, "M": interval, "r": ratio * interval}
    best = value(formulas.EXACT_BEST, delta=numbers["delta"], M=interval)
    least = value(formulas.EXACT_LOSS, tau=best, **numbers)
    assert value(formulas.EXACT_LOSS, tau=best * factor, **numbers) >= least * (1 - 1e-14)
    assert value(formulas.EXACT_LEAST_LOSS, **numbers) == pytest.approx(least, rel=1e-13)
    at_best = value(formulas.EXACT_EFFECTIVE_AT_BEST, tau=best, M=interval, r=numbers["r"])
    assert at_best == pytest.approx(1 - least, abs=1e-14)


@given(writes, factors, failure_intervals, restarts, st.floats(1e-4, 1e4))
def test_a_change_of_the_time_unit_changes_no_share(d, factor, interval, ratio, unit):
    times = np.array([factor * interval, d * interval, interval, ratio * interval])
    for share, scaled in zip(exact_split(*times).values(), exact_split(*(unit * times)).values()):
        assert scaled == pytest.approx(share, rel=1e-12)
    best = value(formulas.EXACT_BEST, delta=times[1], M=interval)
    assert value(formulas.EXACT_BEST, delta=unit * times[1], M=unit * interval) == pytest.approx(unit * best, rel=1e-13)


@pytest.mark.parametrize("share", SHARES)
def test_each_share_tends_to_its_first_order_form(share):
    assert sp.simplify(formulas.first_order(getattr(formulas, f"EXACT_{share}")) - SHARES[share]) == 0


def test_the_least_loss_tends_to_its_first_order_form():
    e = 1e-7
    exact = value(formulas.EXACT_LEAST_LOSS, delta=e**2, M=1, r=3 * e)
    assert exact == pytest.approx(value(formulas.LEAST_LOSS, delta=e**2, M=1, r=3 * e), rel=1e-6)


def test_the_series_solves_the_condition_of_the_best_interval():
    u, terms = sp.Symbol("u"), 8
    x = sum(a * u**n for n, a in enumerate(formulas.exact_series(terms), start=1))
    rest = sp.series(-sp.log(1 - x) - x - u**2 / 2, u, 0, terms + 2).removeO()
    assert sp.expand(rest) == 0


def test_daly_is_the_series_up_to_its_third_term_and_no_further():
    u = sp.Symbol("u", positive=True)
    below = formulas.RULES["daly"].tau.args[0].expr
    daly = sp.Poly(sp.expand(sp.simplify(below.subs(delta, M * u**2 / 2) / M)), u)
    exact = formulas.exact_series(4)
    assert daly.all_coeffs()[::-1] == [0, *exact[:3]]
    assert exact[3] == sp.Rational(1, 270)


@pytest.mark.parametrize(("interval", "minutes"), [(24 * HOUR, "117"), (6 * HOUR, "57"), (15 * MINUTE, "9.1")])
def test_daly_prints_these_intervals(interval, minutes):
    """Captions of figures 3 to 5: a write of 5 min, a restart of 10 min."""
    number = value(formulas.RULES["daly"].tau, delta=5 * MINUTE, M=interval) / MINUTE
    assert f"{number:.{len(minutes.partition('.')[2])}f}" == minutes
    assert value(formulas.EXACT_BEST, delta=5 * MINUTE, M=interval) / MINUTE == pytest.approx(number, rel=0.005)


def test_beyond_its_domain_daly_recommends_the_failure_interval():
    write = np.array([1.99, 2, 3, 500])
    interval = value(formulas.RULES["daly"].tau, delta=write, M=1)
    assert interval[0] < 0.9 and list(interval[1:]) == [1, 1, 1]


def test_the_best_interval_has_fourteen_digits():
    d = np.concatenate([np.geomspace(1e-12, 1e3, 301), np.nextafter(0.125, [0, 1]), [2, 4]])
    for numbers in (exact_root(d), value(formulas.EXACT_BEST, delta=d, M=1)):
        assert max(map(relative_error, numbers, map(with_fifty_digits, d))) <= 1e-14


@pytest.mark.parametrize("name", ["EXACT_WRITING", "EXACT_REDONE", "EXACT_RESTARTS", "EXACT_LOSS", "EXACT_EFFECTIVE"])
@pytest.mark.parametrize("factor", [1e-3, 1, 30])
def test_the_shares_keep_their_digits(name, factor):
    formula = getattr(formulas, name)
    symbols = sorted(formula.free_symbols, key=str)
    d = np.geomspace(1e-12, 5, 41)
    numbers = {"delta": d, "M": np.ones_like(d), "r": np.sqrt(d) / 7, "tau": np.minimum(factor * exact_root(d), 50)}
    got = value(formula, **{str(symbol): numbers[str(symbol)] for symbol in symbols})
    with mpmath.workdps(50):
        true = sp.lambdify(symbols, formula, "mpmath")
        for i, number in enumerate(got):
            assert relative_error(number, true(*(mpmath.mpf(float(numbers[str(s)][i])) for s in symbols))) < 1e-13


@given(st.floats(1e-12, 500))
def test_the_exponential_beyond_its_first_order_keeps_its_digits(y):
    with mpmath.workdps(50):
        assert relative_error(exp_beyond_first(y), mpmath.expm1(y) - mpmath.mpf(y)) < 1e-14


def test_numbers_and_arrays_give_the_same():
    d = np.array([[1e-9, 0.1, 0.2], [1, 2, 300]])
    assert exact_root(d).shape == d.shape
    assert exact_root(d)[1, 2] == exact_root(300) and exact_root(d)[0, 0] == exact_root(1e-9)


def test_a_job_that_never_gets_on_is_an_error_and_not_a_number():
    with pytest.raises(ValueError, match="too large"):
        value(formulas.EXACT_LOSS, tau=1e3, delta=1, M=1, r=1)

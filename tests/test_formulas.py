"""The first-order formulas, each against something that does not share their code."""

from importlib import import_module
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import sympy as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sympy.printing.numpy import NumPyPrinter

from youngdaly import formulas
from youngdaly.evaluation import value

writes = st.floats(1e-2, 1e4)
failure_intervals = st.floats(1e3, 1e7)
restarts = st.floats(1, 1e4)
factors = st.floats(1e-3, 1e3)


def lost(tau, delta, M, r, redone=0.5):
    """The loss written by hand: a write per interval; the given part of it, and a restart, per failure."""
    return delta / tau + (redone * tau + r) / M


def best_by_search(delta, M, r, redone=0.5):
    """The best interval and its loss, found by trying."""
    found = minimize_scalar(
        lambda log_tau: lost(np.exp(log_tau), delta, M, r, redone),
        bounds=(np.log(1e-4), np.log(1e9)), method="bounded", options={"xatol": 1e-10},
    )  # fmt: skip
    return np.exp(found.x), found.fun


def altered(name, replacement):
    """A copy of the module in which the one line that defines `name` reads differently."""
    line = re.compile(rf"^{name} = .*$", re.MULTILINE)
    source, count = line.subn(f"{name} = {replacement}", Path(formulas.__file__).read_text(encoding="utf-8"))
    assert count == 1
    copy = ModuleType("altered")
    exec(compile(source, "altered formulas.py", "exec"), vars(copy))
    return copy


# --- The optimum ------------------------------------------------------------------------------------


def test_the_slope_vanishes_at_youngs_interval_and_the_curve_is_convex_there():
    at_best = {formulas.tau: formulas.YOUNG.doit()}
    assert sp.simplify(sp.diff(formulas.LOSS, formulas.tau).subs(at_best)) == 0
    assert sp.simplify(sp.diff(formulas.LOSS, formulas.tau, 2).subs(at_best)).is_positive


def test_writing_equals_redone_work_at_youngs_interval():
    at_best = {formulas.tau: formulas.YOUNG.doit()}
    assert sp.simplify((formulas.WRITING - formulas.REDONE).subs(at_best)) == 0


@given(delta=writes, M=failure_intervals, r=restarts)
def test_a_search_over_a_handwritten_loss_finds_the_same_optimum(delta, M, r):
    tau, loss = best_by_search(delta, M, r)
    assert value(formulas.YOUNG, delta=delta, M=M) == pytest.approx(tau, rel=1e-4)
    assert value(formulas.LEAST_LOSS, delta=delta, M=M, r=r) == pytest.approx(loss, rel=1e-8)


@given(delta=writes, M=failure_intervals, r=restarts, tau=st.floats(1, 1e6))
def test_the_loss_is_the_handwritten_one_and_effective_is_what_it_leaves(delta, M, r, tau):
    loss = lost(tau, delta, M, r)
    assert value(formulas.LOSS, tau=tau, delta=delta, M=M, r=r) == pytest.approx(loss, rel=1e-12)
    assert value(formulas.EFFECTIVE, tau=tau, delta=delta, M=M, r=r) == pytest.approx(1 - loss, rel=1e-9, abs=1e-9)


@given(delta=writes, M=failure_intervals, r=restarts)
def test_the_least_loss_is_what_no_interval_can_touch_plus_what_the_best_one_leaves(delta, M, r):
    least = value(formulas.LEAST_LOSS, delta=delta, M=M, r=r)
    optimisable = value(formulas.LEAST_OPTIMISABLE, delta=delta, M=M)
    assert least == pytest.approx(optimisable + r / M)
    assert value(formulas.RESTARTS_OF_LEAST, delta=delta, M=M, r=r) * least == pytest.approx(r / M)


@given(delta=writes, M=failure_intervals, r=restarts, c=factors)
def test_the_unit_of_time_does_not_matter(delta, M, r, c):
    young, least = formulas.YOUNG, formulas.LEAST_LOSS
    assert value(young, delta=c * delta, M=c * M) == pytest.approx(c * value(young, delta=delta, M=M))
    assert value(least, delta=c * delta, M=c * M, r=c * r) == pytest.approx(value(least, delta=delta, M=M, r=r))


@given(delta=writes, M=failure_intervals, c=factors)
def test_the_best_interval_grows_as_the_root_of_write_time_and_of_failure_interval(delta, M, c):
    before = value(formulas.YOUNG, delta=delta, M=M)
    assert value(formulas.YOUNG, delta=c * delta, M=M) == pytest.approx(c**0.5 * before)
    assert value(formulas.YOUNG, delta=delta, M=c * M) == pytest.approx(c**0.5 * before)


def test_failures_at_random_moments_cost_half_an_interval_each():
    rng = np.random.default_rng(1974)
    tau, M, failures = 270.0, 11160.0, 10**6
    redone = rng.uniform(0, failures * M, failures) % tau  # worked since the last save, writes taking no time
    share, error = redone.mean() / M, redone.std() / failures**0.5 / M
    assert abs(value(formulas.REDONE, tau=tau, M=M) - share) < 4 * error


def test_the_first_of_n_devices_fails_n_times_as_often_as_one():
    rng = np.random.default_rng(2006)
    m, N, jobs = 3.0e7, 64, 20_000
    first = rng.exponential(m, (jobs, N)).min(axis=1)
    assert abs(value(formulas.FAILURE_INTERVAL, m=m, N=N) - first.mean()) < 4 * first.std() / jobs**0.5
    assert value(formulas.DEVICE_INTERVAL, M=m / N, N=N) == pytest.approx(m)


# --- What dominates ---------------------------------------------------------------------------------


@given(delta=writes, M=failure_intervals, r=restarts)
def test_restarts_exceed_the_other_two_together_exactly_when_one_is_longer_than_the_best_interval(delta, M, r):
    tau = value(formulas.YOUNG, delta=delta, M=M)
    assume(abs(r / tau - 1) > 1e-9)
    assert (r > tau) == (r / M > delta / tau + tau / 2 / M)
    assert value(formulas.DOMINANT_RESTART, delta=delta, M=M) == pytest.approx(tau)


# --- How flat the bottom is -------------------------------------------------------------------------


@given(delta=writes, M=failure_intervals, k=factors)
def test_missing_the_best_interval_by_a_factor_costs_what_the_law_says(delta, M, k):
    tau = (2 * delta * M) ** 0.5
    extra = lost(k * tau, delta, M, 0) / lost(tau, delta, M, 0) - 1
    assert value(formulas.MISS, k=k) == pytest.approx(extra, rel=1e-9, abs=1e-12)
    assert value(formulas.MISS, k=k) == pytest.approx((k + 1 / k) / 2 - 1, rel=1e-12, abs=1e-12)


@given(k=factors)
def test_too_short_by_a_factor_costs_as_much_as_too_long(k):
    assert value(formulas.MISS, k=k) == pytest.approx(value(formulas.MISS, k=1 / k), rel=1e-9, abs=1e-12)


def test_twice_or_half_the_best_interval_costs_a_quarter_more():
    assert value(formulas.MISS, k=1) == 0
    assert value(formulas.MISS, k=2) == value(formulas.MISS, k=0.5) == 0.25


@given(extra=st.floats(1e-4, 10))
def test_the_flat_factor_is_the_inverse_of_the_miss(extra):
    factor = value(formulas.FLAT, x=extra)
    assert factor > 1
    assert value(formulas.MISS, k=factor) == pytest.approx(extra, rel=1e-6)


def test_at_the_ends_of_the_flat_bottom_the_loss_is_exactly_what_is_tolerated():
    job = {formulas.delta: sp.Rational(81, 25), formulas.M: 11160, formulas.r: 600, formulas.x: sp.Rational(1, 10)}
    tolerated = ((1 + formulas.x) * formulas.LEAST_LOSS).subs(job)
    for end in (formulas.SHORTEST, formulas.LONGEST):
        loss = formulas.LOSS.subs(formulas.tau, end).subs(job)
        assert abs(sp.N(loss - tolerated, 50)) < sp.Float(10) ** -45


@given(delta=writes, M=failure_intervals, r=restarts, x=st.floats(1e-3, 3))
def test_inside_the_flat_bottom_less_is_lost_and_outside_more(delta, M, r, x):
    job = {"delta": delta, "M": M, "r": r}
    tolerated = (1 + x) * value(formulas.LEAST_LOSS, **job)
    shortest, longest = (value(end, x=x, **job) for end in (formulas.SHORTEST, formulas.LONGEST))
    assert shortest < value(formulas.YOUNG, delta=delta, M=M) < longest
    assert lost(shortest, **job) == pytest.approx(tolerated, rel=1e-6)
    assert lost(longest, **job) == pytest.approx(tolerated, rel=1e-6)
    assert max(lost(1.01 * shortest, **job), lost(longest / 1.01, **job)) < tolerated
    assert min(lost(shortest / 1.01, **job), lost(1.01 * longest, **job)) > tolerated


# --- Two definitions of a loss ----------------------------------------------------------------------


def test_the_two_definitions_on_a_ledger_small_enough_to_count():
    useful, elapsed = 9, 10  # hours: nine kept, one lost
    of_elapsed, per_useful = (elapsed - useful) / elapsed, (elapsed - useful) / useful
    assert value(formulas.PER_USEFUL, L=of_elapsed) == pytest.approx(per_useful)
    assert value(formulas.SHARE_OF_ELAPSED, L=per_useful) == pytest.approx(of_elapsed)


@given(share=st.floats(1e-6, 0.999))
def test_the_two_definitions_undo_each_other(share):
    assert value(formulas.SHARE_OF_ELAPSED, L=value(formulas.PER_USEFUL, L=share)) == pytest.approx(share)
    assert value(formulas.PER_USEFUL, L=value(formulas.SHARE_OF_ELAPSED, L=share)) == pytest.approx(share)


# --- The inverse questions --------------------------------------------------------------------------


@given(B=st.floats(1e8, 1e13), S=st.floats(1e9, 1e14), M=failure_intervals, r=restarts)
def test_the_inverse_questions_give_back_what_the_least_loss_was_made_of(B, S, M, r):
    delta = S / B
    loss, tau = (2 * delta / M) ** 0.5 + r / M, (2 * delta * M) ** 0.5
    digits = 1e-9 * (1 + r / tau + tau / r)  # a small part of the loss is known to fewer digits than the whole
    assert value(formulas.NEEDED["B"], L=loss, S=S, M=M, r=r) == pytest.approx(B, rel=digits)
    assert value(formulas.NEEDED["r"], L=loss, delta=delta, M=M) == pytest.approx(r, rel=digits)
    assert value(formulas.NEEDED["M"], L=loss, delta=delta, r=r) == pytest.approx(M, rel=1e-9)


@given(B=st.floats(1e8, 1e13), S=st.floats(1e9, 1e14), M=failure_intervals, r=restarts)
def test_the_floor_lies_below_every_loss_and_is_approached(B, S, M, r):
    job = {"delta": S / B, "M": M, "r": r}
    perfect = {"B": job | {"delta": S / B / 1e30}, "r": job | {"r": r / 1e30}, "M": job | {"M": M * 1e30}}
    for unknown, formula in formulas.FLOOR.items():
        floor = value(formula, **{name: job[name] for name in map(str, formula.free_symbols)})
        assert floor < value(formulas.LEAST_LOSS, **job)
        assert floor == pytest.approx(value(formulas.LEAST_LOSS, **perfect[unknown]), rel=1e-6, abs=1e-9)


# --- How the formulas are written -------------------------------------------------------------------


def public_formulas():
    rooms = [formulas, *map(import_module, formulas.ROOMS)]
    named = {name: e for room in rooms for name, e in vars(room).items() if isinstance(e, sp.Expr) and name[0] != "_"}
    named |= {f"NEEDED {unknown}": e for unknown, e in formulas.NEEDED.items()}
    named |= {f"FLOOR {unknown}": e for unknown, e in formulas.FLOOR.items()}
    # Printed in a chapter and never given numbers: two left-hand sides, and a step with symbols of its own.
    return {n: e for n, e in named.items() if n not in ("tau_best", "loss_least", "moment", "TIME_UNTIL_UNDISTURBED")}


@pytest.mark.parametrize("formula", public_formulas().values(), ids=public_formulas())
def test_every_symbol_of_every_formula_has_a_meaning_and_a_unit(formula):
    for symbol in formula.free_symbols:
        quantity = formulas.QUANTITIES[str(symbol)]
        assert quantity.meaning and quantity.unit
        assert symbol.is_positive


@pytest.mark.parametrize("split", [
    sp.sqrt(2) * sp.sqrt(formulas.M) * sp.sqrt(formulas.delta),
    sp.sqrt(formulas.delta) / sp.sqrt(formulas.M),
    3 * formulas.r * sp.sqrt(formulas.S) / (formulas.b * sp.sqrt(formulas.B) * sp.sqrt(formulas.M)),
    formulas.r / formulas.M + sp.sqrt(2) * sp.sqrt(formulas.delta) / sp.sqrt(formulas.M),
])  # fmt: skip
def test_joining_roots_keeps_the_value_and_leaves_one(split):
    joined = formulas.one_root(split)
    assert sp.simplify(joined.doit() - split) == 0
    assert sp.latex(joined).count(r"\sqrt") == 1
    assert NumPyPrinter().doprint(joined).count("sqrt") == 1


@pytest.mark.parametrize("plain", [formulas.M, sp.sqrt(formulas.M), formulas.r / formulas.M, sp.S.Zero])
def test_joining_leaves_alone_what_has_no_two_roots(plain):
    assert formulas.one_root(plain) == plain


@pytest.mark.parametrize("formula, reads", [
    (formulas.LOSS, r"\frac{\delta}{\tau} + \frac{r}{M} + \frac{\tau}{2 M}"),
    (formulas.YOUNG, r"\sqrt{2 M \delta}"),
    (formulas.DOMINANT_RESTART, r"\sqrt{2 M \delta}"),
    (formulas.LEAST_LOSS, r"\sqrt{\frac{2 \delta}{M}} + \frac{r}{M}"),
    (formulas.WRITE_TIME, r"\frac{S}{B}"),
    (formulas.FAILURE_INTERVAL, r"\frac{m}{N}"),
    (formulas.MISS, r"\frac{k}{2} - 1 + \frac{1}{2 k}"),
    (formulas.NEEDED["B"], r"\frac{2 M S}{\left(L M - r\right)^{2}}"),
    (formulas.NEEDED["r"], r"L M - \sqrt{2 M \delta}"),
])  # fmt: skip
def test_equations_read_as_in_the_literature(formula, reads):
    assert sp.latex(formula) == reads


# --- The chain is derived, not typed ----------------------------------------------------------------

JOB = {"delta": 3.24, "M": 11160.0, "r": 600.0}


def test_a_change_of_the_redone_work_reaches_everything_that_follows_from_it():
    whole = altered("REDONE", "tau / M")  # as if a failure always struck at the end of an interval
    tau, loss = best_by_search(**JOB, redone=1)
    delta, M, r = JOB.values()
    assert value(whole.YOUNG, delta=delta, M=M) == pytest.approx(tau, rel=1e-5)
    assert value(whole.LEAST_LOSS, **JOB) == pytest.approx(loss)
    assert value(whole.DOMINANT_RESTART, delta=delta, M=M) == pytest.approx(2 * tau, rel=1e-5)
    assert value(whole.RESTARTS_OF_LEAST, **JOB) == pytest.approx(r / M / loss)
    assert value(whole.NEEDED["M"], L=loss, delta=delta, r=r) == pytest.approx(M)
    assert value(whole.NEEDED["r"], L=loss, delta=delta, M=M) == pytest.approx(r)
    assert value(whole.NEEDED["B"], L=loss, S=2 * delta, M=M, r=r) == pytest.approx(2)
    for end in (whole.SHORTEST, whole.LONGEST):
        assert lost(value(end, x=0.1, **JOB), **JOB, redone=1) == pytest.approx(1.1 * loss)
    assert "2" not in sp.latex(whole.YOUNG)


def test_a_change_of_the_restarts_moves_the_loss_and_not_the_interval():
    double = altered("RESTARTS", "2 * r / M")
    assert double.YOUNG.equals(formulas.YOUNG)
    assert value(double.LEAST_LOSS, **JOB) == pytest.approx(best_by_search(JOB["delta"], JOB["M"], 1200.0)[1])

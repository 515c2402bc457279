"""Published rules and slips: each agrees with its own reasoning, with its printed form, and nowhere beats the exact."""

import re
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from hypothesis import assume, given
from hypothesis import strategies as st

from youngdaly import formulas
from youngdaly.data import SEEN, fact
from youngdaly.evaluation import claimed, recommended, value
from youngdaly.formulas import RULES, SLIPS, M, delta, r, tau

ALL = RULES | SLIPS
PRINTED = {  # the interval as the source defines it
    "young": sp.sqrt(2 * delta * M),
    "young_less_write": sp.sqrt(2 * delta * M),
    "daly_first_order": sp.sqrt(2 * delta * (M + r)),
    "saxena": delta + sp.sqrt(2 * (M + r) * delta + delta**2),
    "herault_robert": sp.sqrt(2 * (M - r) * delta),
    "root_two": sp.sqrt(delta * M),
}
numbers = {"delta": st.floats(1e-3, 1e4), "M": st.floats(1, 1e6), "r": st.floats(1e-3, 1e5)}


@pytest.mark.parametrize("key", PRINTED)
def test_a_rule_reads_as_printed(key):
    assert sp.simplify(sp.expand(ALL[key].own_interval - PRINTED[key])) == 0
    if ALL[key].interval == "work":
        assert ALL[key].own_interval == ALL[key].tau


@pytest.mark.parametrize("key", [*PRINTED, "kokolis"])
def test_a_rule_maximises_its_own_estimate(key):
    slope = sp.diff(ALL[key].effective, tau)
    assert sp.simplify(slope.subs(tau, ALL[key].tau)) == 0
    best = ALL[key].tau.subs({delta: 1, M: 1000, r: 10})
    curvature = sp.diff(slope, tau).subs({tau: best, delta: 1, M: 1000, r: 10})
    assert best.evalf() > 0 > curvature.evalf()


def test_the_best_interval_does_not_exist_without_redone_work():
    assert sp.diff(SLIPS["redone"].effective, tau).is_positive


@pytest.mark.parametrize("key", ALL)
def test_all_rules_agree_when_saving_is_short(key):
    tau = recommended(ALL[key], delta=1e-12, M=1, r=1e-9)
    assert tau / np.sqrt(2e-12) == pytest.approx(np.sqrt(0.5) if key == "root_two" else 1, rel=1e-5)


@pytest.mark.parametrize("key", ALL)
def test_a_rule_is_a_row_that_can_be_checked(key):
    rule = ALL[key]
    sources = re.findall(r"^@\w+\{(\w+),", Path(__file__).parents[1].joinpath("references.bib").read_text(), re.M)
    assert rule.source in sources or (key in SLIPS and rule.source == "")
    assert rule.seen in (*SEEN, "derived")
    assert rule.interval in ("work", "work and write")
    assert rule.name and rule.note


@given(st.sampled_from(list(ALL)), st.fixed_dictionaries(numbers))
def test_a_rule_holds_exactly_where_it_has_an_interval(key, given_numbers):
    rule, (write, interval, restart) = ALL[key], given_numbers.values()
    edges = interval - restart, 2 * (interval - restart) - write, 2 * interval - write
    assume(min(map(abs, edges)) > 1e-6 * max(given_numbers.values()))
    exact = {getattr(formulas, name): sp.Rational(number) for name, number in given_numbers.items()}
    if key in ("daly", "exact"):  # positive everywhere, by their own tests
        inside = True
    else:
        interval = rule.tau.subs(exact).evalf(30)
        inside = bool(interval.is_real and interval > 0)
    if inside:
        assert recommended(rule, **given_numbers) > 0
    else:
        assert np.isnan(recommended(rule, **given_numbers, outside=np.nan))
        with pytest.raises(ValueError, match=f"{rule.name}: no interval .* needs"):
            recommended(rule, **given_numbers)


@given(st.sampled_from(list(ALL)), st.floats(1e-9, 5), st.floats(1e-9, 5))
def test_no_rule_beats_the_exact_interval(key, d, ratio):
    interval = recommended(ALL[key], delta=d, M=1, r=ratio, outside=np.nan)
    assume(interval > 0)
    effective = value(formulas.EXACT_EFFECTIVE, tau=interval, delta=d, M=1, r=ratio)
    assert effective <= (1 - value(formulas.EXACT_LEAST_LOSS, delta=d, M=1, r=ratio)) * (1 + 1e-12) + 1e-15


@given(st.sampled_from(list(ALL)), st.floats(0.1, 10), st.fixed_dictionaries(numbers))
def test_an_estimate_is_a_share_of_time_or_an_error(key, factor, given_numbers):
    tau = factor * value(formulas.YOUNG, delta=given_numbers["delta"], M=given_numbers["M"])
    assume((tau + given_numbers["delta"] + given_numbers["r"]) / given_numbers["M"] < 300)
    promised = claimed(ALL[key], tau, **given_numbers, outside=np.nan)
    if np.isnan(promised):
        with pytest.raises(ValueError, match="no share of time"):
            claimed(ALL[key], tau, **given_numbers)
    else:
        assert 0 < promised <= 1


def test_arrays_keep_what_lies_inside_the_domain():
    ratios = np.array([[0.5], [2.0]])
    tau = recommended(RULES["kokolis"], delta=np.array([0.1, 0.2, 0.3]), M=1, r=ratios, outside=np.nan)
    assert tau.shape == (2, 3) and np.isfinite(tau[0]).all() and np.isnan(tau[1]).all()
    assert tau[0, 1] == recommended(RULES["kokolis"], delta=0.2, M=1, r=0.5)
    promised = claimed(RULES["young"], np.array([0.01, 0.5]), delta=0.1, M=1, r=0.1, outside=np.nan)
    assert np.isnan(promised[0]) and promised[1] == pytest.approx(0.45)


def llama3(share_of_bandwidth=1.0):
    state = value(formulas.STATE, P=fact("llama3_parameters"), b=16)
    write = value(formulas.WRITE_TIME, S=state, B=fact("llama3_bandwidth") * share_of_bandwidth)
    return {"delta": write, "M": fact("llama3_failure_interval"), "r": fact("llama3_restart")}


def test_llama3_by_three_definitions_of_effective():
    numbers = llama3()
    young = recommended(RULES["young"], **numbers)
    loss = value(formulas.LEAST_LOSS, **numbers)
    assert f"{claimed(RULES['young'], young, **numbers):.2%}" == f"{1 - loss:.2%}" == "92.21%"
    assert f"{1 - value(formulas.SHARE_OF_ELAPSED, L=loss):.2%}" == "92.78%"
    assert f"{value(formulas.EXACT_EFFECTIVE, tau=young, **numbers):.2%}" == "92.50%"


def test_llama3_at_a_hundredth_of_its_bandwidth():
    numbers = llama3(0.01)
    assert f"{1 - value(formulas.LEAST_LOSS, **numbers):.1%}" == "70.5%"
    assert f"{1 - value(formulas.EXACT_LEAST_LOSS, **numbers):.1%}" == "73.7%"


def test_a_million_devices_are_beyond_first_order():
    numbers = llama3()
    numbers["M"] *= fact("llama3_devices") / 1e6
    assert value(formulas.LEAST_LOSS, **numbers) > 1
    with pytest.raises(ValueError, match="Young: an effective time of -.* outside its domain"):
        claimed(RULES["young"], recommended(RULES["young"], **numbers), **numbers)
    assert 0 < value(formulas.EXACT_LEAST_LOSS, **numbers) < 1

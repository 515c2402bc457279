"""Numbers from formulas: what goes in, what comes out, and what is refused with which words."""

import re

import numpy as np
import pandas as pd
import pytest
import sympy as sp
from hypothesis import assume, given
from hypothesis import strategies as st

from youngdaly import evaluation, formulas
from youngdaly.evaluation import needed, split, value

JOB = {"delta": 3.24, "M": 11160.0, "r": 600.0}
STORAGE = {"S": 6.48e12, "M": 11160.0, "r": 600.0}


def refused(function, *args, **numbers):
    """The words of the `ValueError` that the call must end with."""
    with pytest.raises(ValueError) as error:
        function(*args, **numbers)
    return str(error.value)


# --- What goes in and comes out ---------------------------------------------------------------------


@pytest.mark.parametrize("M", [11160.0, 11160, np.float32(11160), np.int64(11160), np.array(11160), np.uint16(11160)])
def test_a_single_number_of_any_kind_gives_a_float(M):
    result = value(formulas.YOUNG, delta=3, M=M)
    assert type(result) is float
    assert result == (2 * 3 * 11160) ** 0.5


@pytest.mark.parametrize("M", [[11160, 86400], (11160, 86400), np.array([11160, 86400]), pd.Series([11160, 86400])])
def test_a_sequence_of_any_kind_gives_an_array(M):
    result = value(formulas.YOUNG, delta=3.24, M=M)
    assert type(result) is np.ndarray and result.dtype == float
    assert result == pytest.approx([(6.48 * 11160) ** 0.5, (6.48 * 86400) ** 0.5])


def test_arrays_broadcast():
    delta, M = np.array([[1.0], [2.0], [3.0]]), np.array([1e4, 1e5])
    result = value(formulas.LEAST_LOSS, delta=delta, M=M, r=600)
    assert result.shape == (3, 2)
    for i, j in np.ndindex(3, 2):
        assert result[i, j] == pytest.approx(value(formulas.LEAST_LOSS, delta=delta[i, 0], M=M[j], r=600))


def test_views_and_reversed_arrays_are_read_in_their_own_order():
    M = np.arange(1.0, 13).reshape(3, 4).T[::-2]
    assert value(formulas.YOUNG, delta=0.5, M=M) == pytest.approx(np.sqrt(M))


def test_the_input_is_left_as_it_was():
    M = np.array([1.0, 4.0])
    value(formulas.YOUNG, delta=0.5, M=M)
    assert M.tolist() == [1, 4]


def test_a_formula_without_symbols_has_a_value():
    assert value(sp.S.Zero) == 0.0


def test_a_formula_is_compiled_once(monkeypatch):
    before = value(formulas.YOUNG, delta=3.24, M=11160)
    assert evaluation._compiled(formulas.YOUNG) is evaluation._compiled(formulas.YOUNG)
    monkeypatch.setattr(sp, "lambdify", None)
    assert value(formulas.YOUNG, delta=3.24, M=11160) == before


# --- What is refused --------------------------------------------------------------------------------

NO_NUMBER = {
    "text": "3.24", "list of texts": ["3.24"], "bool": True, "bools": [True, False], "None": None,
    "missing entry": [1.0, None], "complex": 3 + 1j, "rows of different lengths": [[1, 2], [3]],
    "empty": [], "empty in one direction": np.empty((0, 3)), "object": object(), "dict": {"delta": 3.24},
    "beyond 64 bits": 10**400, "duration": np.timedelta64(3, "s"),
}  # fmt: skip


@pytest.mark.parametrize("bad", NO_NUMBER.values(), ids=NO_NUMBER)
def test_what_is_no_real_number_is_refused(bad):
    message = refused(value, formulas.YOUNG, delta=bad, M=11160)
    assert message.startswith(f"delta (checkpoint write time, during which training stands still; s) = {bad!r}: ")
    assert message.endswith("give a real number or a non-empty array of real numbers")


OUT_OF_RANGE = {
    "zero": (0, "0"), "negative": (-3.24, "-3.24"), "minus zero": (-0.0, "-0.0"), "nan": (np.nan, "nan"),
    "inf": (np.inf, "inf"), "minus inf": (-np.inf, "-inf"), "one zero": ([1.0, 0.0, 2.0], "0.0"),
    "one negative": ([[1, 2], [3, -4]], "-4"), "one nan": ([1.0, np.nan, 2.0], "nan"),
    "one inf": ([1.0, 2.0, np.inf], "inf"), "late in a large array": (np.r_[np.ones(10**5), -7.0], "-7.0"),
}  # fmt: skip


@pytest.mark.parametrize("bad, shown", OUT_OF_RANGE.values(), ids=OUT_OF_RANGE)
def test_numbers_that_are_not_finite_and_positive_are_refused(bad, shown):
    message = refused(value, formulas.YOUNG, delta=3.24, M=bad)
    assert message == f"M (failure interval of the job (MTBF); s) = {shown}: give finite numbers greater than 0"


@given(st.floats(max_value=0) | st.just(np.nan) | st.just(np.inf), st.integers(0, 4))
def test_one_bad_number_anywhere_in_an_array_is_found(bad, place):
    M = np.ones(5)
    M[place] = bad
    assert f"= {np.float64(bad)}: give finite numbers greater than 0" in refused(value, formulas.YOUNG, delta=1, M=M)


def test_a_missing_and_an_unknown_quantity_are_named_with_what_the_formula_takes():
    message = refused(value, formulas.YOUNG, delta=3.24)
    assert message == "sqrt(2*M*delta): M is missing; it takes M, delta"
    message = refused(value, formulas.YOUNG, delta=3.24, M=11160, r=600)
    assert message == "sqrt(2*M*delta): r = 600 is not in the formula; it takes M, delta"
    message = refused(value, formulas.YOUNG, delta=3.24, mtbf=11160)
    assert "M is missing; mtbf = 11160 is not in the formula; it takes M, delta" in message
    assert refused(value, sp.S.Zero, M=1).endswith("it takes nothing")


@pytest.mark.parametrize("bad", ["YOUNG", None, 3.24, [formulas.YOUNG], sp.Eq(formulas.tau, formulas.YOUNG)])
def test_what_is_no_formula_is_refused(bad):
    message = refused(value, bad, delta=3.24, M=11160)
    assert message == f"expression = {bad!r}: give a SymPy expression, such as formulas.YOUNG"


def test_shapes_that_do_not_broadcast_are_named():
    message = refused(value, formulas.YOUNG, delta=[1, 2, 3], M=[1, 2])
    assert message == "these shapes do not broadcast: M (2,), delta (3,); give equal shapes or single numbers"
    message = refused(split, tau=[100, 200], r=[1, 2, 3], delta=3.24, M=11160)
    assert "M (), delta (), r (3,), tau (2,); give equal shapes or single numbers" in message
    message = refused(needed, "r", [0.1, 0.2], delta=[1, 2, 3], M=11160)
    assert "L (2,), M (), delta (3,); give equal shapes or single numbers" in message


@pytest.mark.parametrize("M", [1e300, [1.0, 1e300]])
def test_a_result_beyond_the_largest_float_is_refused(M):
    message = refused(value, formulas.YOUNG, delta=1e300, M=M)
    assert message == (
        f"sqrt(2*M*delta) is too large for a float at M = {M!r}, delta = 1e+300; give less extreme numbers"
    )


def test_a_division_by_zero_is_refused():
    assert "L/(1 - L) is too large for a float at L = 1" in refused(value, formulas.PER_USEFUL, L=1)


# --- The ledger -------------------------------------------------------------------------------------


@given(tau=st.floats(1, 1e6), delta=st.floats(1e-2, 1e4), M=st.floats(1e3, 1e7), r=st.floats(1, 1e4))
def test_the_ledger_adds_up_to_one_in_the_order_of_the_book(tau, delta, M, r):
    assume(delta / tau + (tau / 2 + r) / M < 1)
    ledger = split(tau, delta, M, r)
    assert list(ledger) == ["useful", "writing", "redone", "restarts"]
    assert sum(ledger.values()) == pytest.approx(1, abs=1e-12)
    assert list(ledger.values())[1:] == pytest.approx([delta / tau, tau / 2 / M, r / M])
    assert all(0 < share < 1 for share in ledger.values())


def test_the_ledger_of_many_intervals_adds_up_for_each():
    ledger = split(np.array([60.0, 269.0, 3600.0]), **JOB)
    assert sum(ledger.values()) == pytest.approx(np.ones(3))


def test_a_ledger_that_loses_everything_is_refused():
    message = refused(split, tau=np.array([269.0, 1e6]), **JOB)
    assert message.startswith("M = 11160.0 is too short for tau = ") and "delta = 3.24, r = 600.0" in message
    assert "a first-order loss of 44.9 is no share of time" in message
    assert message.endswith("give an interval, write time and restart time well below the failure interval")
    assert "loss of 1 " in refused(split, tau=2.0, delta=1.0, M=4.0, r=1.0)  # exactly 1/2 + 1/4 + 1/4


@pytest.mark.parametrize("name", ["tau", "delta", "M", "r"])
@pytest.mark.parametrize("bad", [0, -1, np.nan, np.inf, "1", None])
def test_the_ledger_names_the_quantity_that_is_bad(name, bad):
    message = refused(split, **{"tau": 269, **JOB, name: bad})
    assert re.match(rf"{name} \(.*\) = {bad!r}: give ", message)


# --- The inverse questions --------------------------------------------------------------------------


@given(st.floats(0.001, 0.9), st.floats(1e9, 1e14), st.floats(1e3, 1e7), st.floats(1, 1e4))
def test_with_what_is_needed_the_least_loss_is_the_target(target, S, M, r):
    assume(target > 1.01 * r / M)
    delta = S / needed("B", target, S=S, M=M, r=r)
    assert (2 * delta / M) ** 0.5 + r / M == pytest.approx(target)
    M = needed("M", target, delta=delta, r=r)
    assert (2 * delta / M) ** 0.5 + r / M == pytest.approx(target)
    r = needed("r", target, delta=delta, M=M)
    assert (2 * delta / M) ** 0.5 + r / M == pytest.approx(target)


def test_targets_and_quantities_broadcast():
    targets = np.array([[0.06], [0.1]])
    bandwidth = needed("B", targets, S=6.48e12, M=11160, r=[60, 600])
    assert bandwidth.shape == (2, 2)
    assert value(formulas.LEAST_LOSS, delta=6.48e12 / bandwidth, M=11160, r=[60, 600]) == pytest.approx(
        np.broadcast_to(targets, (2, 2))
    )
    assert type(needed("r", 0.1, delta=3.24, M=11160)) is float


@pytest.mark.parametrize("unknown, numbers, floor", [
    ("B", STORAGE, 600 / 11160),
    ("r", {"delta": 3.24, "M": 11160.0}, (6.48 / 11160) ** 0.5),
])  # fmt: skip
def test_a_target_at_or_below_the_floor_cannot_be_met(unknown, numbers, floor):
    for target in (floor, floor / 2, [0.5, floor / 2]):
        assert refused(needed, unknown, target, **numbers) == (
            f"target = {target!r} cannot be met by {unknown} alone: however good it is, {floor:.4g} is lost; "
            "give a target above that"
        )
    assert needed(unknown, floor * 1.0001, **numbers) > 0


def test_rare_enough_failures_meet_every_target():
    assert needed("M", 1e-6, delta=3.24, r=600) > 600 / 1e-6


@pytest.mark.parametrize("target", [1, 1.5, [0.1, 1.0]])
def test_no_target_reaches_one(target):
    assert refused(needed, "B", target, **STORAGE) == f"target = {target!r}: give a share of time below 1"


@pytest.mark.parametrize("target", [0, -0.1, np.nan, np.inf, "0.1", None, True, []])
def test_a_target_that_is_no_share_is_refused(target):
    assert re.match(r"target = .*: give (finite numbers greater than 0|a real number)", refused(needed, "M", target))


@pytest.mark.parametrize("unknown", ["tau", "delta", "b", "", None, 3])
def test_only_three_questions_can_be_asked(unknown):
    assert refused(needed, unknown, 0.1, **STORAGE) == f"unknown = {unknown!r}: choose one of B, r, M"


def test_the_inverse_questions_name_what_is_missing_or_too_much():
    assert "S is missing" in refused(needed, "B", 0.1, M=11160, r=600)
    assert "r is missing" in refused(needed, "B", 0.1, S=6.48e12, M=11160)
    assert "M is missing" in refused(needed, "r", 0.1, delta=3.24)
    assert "r = 600 is not in the formula" in refused(needed, "r", 0.1, delta=3.24, M=11160, r=600)
    assert re.match(r"M \(.*\) = -1: give ", refused(needed, "B", 0.1, S=6.48e12, M=-1, r=600))


@pytest.mark.parametrize(("formula", "numbers"), [("LEVEL_LOSS", {"p": 1.5}), ("MISSED_SAVES", {"f": 2})])
def test_a_share_above_one_is_refused(formula, numbers):
    job = {"tau": 100, "delta": 1, "M": 1e4, "r": 60, "D": 0} if formula == "LEVEL_LOSS" else {}
    (name, share), *_ = numbers.items()
    with pytest.raises(ValueError, match=rf"^{name} \(.*\) = {share}.*: give finite numbers greater than 0 and at most 1"):
        value(getattr(formulas, formula), **job, **numbers)

"""From a formula to numbers: floats or arrays that broadcast, checked before they are used."""

from functools import cache
from math import factorial, inf, lgamma

import numpy as np
import sympy as sp
from numpy.polynomial.polynomial import polyval
from sympy.codegen.cfunctions import expm1
from sympy.codegen.rewriting import expm1_opt, optimize

from youngdaly import formulas


def _beyond_first(total):
    """eʸ − 1 − y in a sum as one function."""
    for term in total.args:
        if isinstance(term, expm1) and -term.args[0] in total.args:
            return total - term + term.args[0] + sp.Function("exp_beyond_first")(*term.args)
    return total


def stable(expression):
    """The same formula, written with functions that keep their digits when a formula's own terms cancel."""
    if not expression.has(sp.exp, sp.gamma):
        return expression
    expression = expression.replace(sp.LambertW, lambda z: sp.Function("exact_root")(-1 - sp.log(-z)) - 1)
    if expression.has(sp.gamma):  # the ratio of two gammas does not overflow where they would
        expression = sp.powsimp(expression.replace(sp.gamma, lambda z: sp.exp(sp.loggamma(z))), deep=True)
    return optimize(expression, [expm1_opt]).replace(lambda e: e.is_Add, _beyond_first)


@cache
def _compiled(expression):
    """Names of the free symbols, sorted, and the NumPy function of them."""
    symbols = sorted(expression.free_symbols, key=str)
    own = {"exact_root": exact_root, "exp_beyond_first": exp_beyond_first, "loggamma": np.vectorize(lgamma, otypes=[float])}
    return tuple(map(str, symbols)), sp.lambdify(symbols, stable(expression), [own, "numpy"])


def checked(name, number):
    """`number` as a float array, or a `ValueError` that names it.

    Accepted: a real number or an array of real numbers, each finite and greater than 0.
    """
    quantity = formulas.QUANTITIES.get(name)
    label = f"{name} ({quantity.meaning}; {quantity.unit})" if quantity else name
    try:
        array = np.asarray(number)
    except ValueError:  # rows of different lengths
        array = np.asarray(None)
    if array.dtype.kind not in "iuf" or array.size == 0:
        raise ValueError(f"{label} = {number!r}: give a real number or a non-empty array of real numbers")
    # Block by block, so that a large array comes from memory once. A NaN fails the first comparison.
    blocks = np.nditer(array, flags=["external_loop", "buffered"], buffersize=2**15)
    quantity = quantity or formulas.Quantity(name, "1")
    allowed = np.greater_equal if quantity.zero else np.greater
    within = np.less_equal if quantity.most < inf else np.less
    if not all(allowed(block.min(), 0) and within(block.max(), quantity.most) for block in blocks):
        bad = array[~(allowed(array, 0) & within(array, quantity.most))].flat[0]
        accepted = "of 0 or more" if quantity.zero else "greater than 0"
        most = f" and at most {quantity.most:g}" if quantity.most < inf else ""
        raise ValueError(f"{label} = {bad}: give finite numbers {accepted}{most}")
    return array.astype(float, copy=False)


def value(expression, **numbers):
    """Evaluate a formula of `youngdaly.formulas`.

    Parameters
    ----------
    expression : SymPy expression, for example `formulas.YOUNG`; compiled once, then cached.
    **numbers : one number or array for each symbol in it, by name: `value(YOUNG, delta=3.24, M=11160)`.
        Arrays broadcast. Units as in `formulas.QUANTITIES`.

    Returns
    -------
    float, or an array of the broadcast shape.

    Raises
    ------
    ValueError
        if a symbol has no number, a number has no symbol, a number is not finite and positive,
        the shapes do not broadcast, or the result is too large for a float.
    """
    if not isinstance(expression, sp.Expr):
        raise ValueError(f"expression = {expression!r}: give a SymPy expression, such as formulas.YOUNG")
    names, function = _compiled(expression)
    missing, unknown = sorted(set(names) - set(numbers)), sorted(set(numbers) - set(names))
    if missing or unknown:
        wrong = [f"{name} is missing" for name in missing]
        wrong += [f"{name} = {numbers[name]!r} is not in the formula" for name in unknown]
        raise ValueError(f"{expression}: {'; '.join(wrong)}; it takes {', '.join(names) or 'nothing'}")
    arrays = [checked(name, numbers[name]) for name in names]
    try:
        np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in zip(names, arrays))
        raise ValueError(f"these shapes do not broadcast: {shapes}; give equal shapes or single numbers") from None
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            result = function(*arrays)
    except FloatingPointError:
        given = ", ".join(f"{name} = {numbers[name]!r}" for name in names)
        raise ValueError(
            f"{expression} is too large for a float at {given}; give less extreme numbers"
        ) from None
    return float(result) if np.ndim(result) == 0 else result


def split(tau, delta, M, r):
    """The ledger to first order: where elapsed time goes.

    Parameters: interval, write time, failure interval and restart time, numbers or arrays, one unit.
    Returns a dict in the book's order, useful · writing · redone · restarts: shares that add up to 1.
    Raises a `ValueError` for bad input, and where the losses reach 1: first order means nothing there.
    """
    loss = value(formulas.LOSS, tau=tau, delta=delta, M=M, r=r)
    if np.max(loss) >= 1:
        raise ValueError(
            f"M = {M!r} is too short for tau = {tau!r}, delta = {delta!r}, r = {r!r}: a first-order loss of "
            f"{np.max(loss):.3g} is no share of time; give an interval, write time and restart time well below the "
            "failure interval"
        )
    return {
        "useful": 1 - loss,
        "writing": value(formulas.WRITING, delta=delta, tau=tau),
        "redone": value(formulas.REDONE, tau=tau, M=M),
        "restarts": value(formulas.RESTARTS, r=r, M=M),
    }


class CannotBeMet(ValueError):
    """A target that one quantity alone cannot meet, however good it becomes."""


def needed(unknown, target, **numbers):
    """What one quantity must be for the least loss to equal `target`.

    Parameters
    ----------
    unknown : "B" (storage bandwidth; give S, M, r), "r" (restart time; give delta, M)
        or "M" (failure interval; give delta, r).
    target : the wanted least loss, to first order, a share of elapsed time between 0 and 1.
    **numbers : the other quantities.

    Returns
    -------
    float or array: bandwidth in bytes per second, or a time.

    Raises
    ------
    ValueError
        for bad input.
    CannotBeMet
        for a target that this one quantity cannot meet; the error names what remains.
    """
    if unknown not in formulas.NEEDED:
        raise ValueError(f"unknown = {unknown!r}: choose one of {', '.join(formulas.NEEDED)}")
    if np.max(checked("target", target)) >= 1:
        raise ValueError(f"target = {target!r}: give a share of time below 1")
    floor_formula = formulas.FLOOR[unknown]
    given = {n: numbers[n] for n in _compiled(floor_formula)[0] if n in numbers}
    floor = value(floor_formula, **given)
    if np.any(value(formulas.L - floor_formula, L=target, **given) <= 0):
        raise CannotBeMet(
            f"target = {target!r} cannot be met by {unknown} alone: however good it is, "
            f"{np.max(floor):.4g} is lost; give a target above that"
        )
    return value(formulas.NEEDED[unknown], L=target, **numbers)


# --- Exact theory and published rules ---------------------------------------------------------------
EXPONENTIAL = [1 / factorial(n) for n in range(2, 22)]
SERIES = [0, *map(float, formulas.exact_series(20))]
NEWTON_STEPS = 6
SERIES_BELOW = 0.5  # in √(2δ/M): there each term is less than a seventh of the one before it


def exp_beyond_first(y):
    """e^y − 1 − y for y ≥ 0 (number or array), with all its digits also where y is small."""
    y = np.asarray(y, dtype=float)
    with np.errstate(under="ignore"):
        return np.piecewise(
            y, [y < 1], [lambda y: y * y * polyval(y, EXPONENTIAL), lambda y: np.expm1(y) - y]
        )  # fmt: skip


def exact_root(d):
    """The exact best interval in units of the failure interval: x = 1 + W₀(−e^(−1−d)) for d = δ/M.

    d : number or array greater than 0. The relative error stays below 1e-14 for d from 1e-12 to 1e3, where the
    Lambert function itself loses its digits: for small d this sums `formulas.exact_series`, otherwise it solves
    x − 1 + e^(−x−d) = 0 by Newton's method.
    """

    def by_newton(u):
        d, x = u * u / 2, np.ones_like(u)
        for _ in range(NEWTON_STEPS):  # from the right of the root of a convex function: every step comes closer
            growth = np.expm1(-(x + d))
            x = x + (x + growth) / growth
        return x

    u = np.sqrt(2 * np.asarray(d, dtype=float))
    with np.errstate(under="ignore"):
        return np.piecewise(u, [u < SERIES_BELOW], [lambda u: polyval(u, SERIES), by_newton])


def exact_split(tau, delta, M, r):
    """The exact ledger for exponential failures: shares of elapsed time that add up to 1.

    Parameters and order as in `split`. Raises a `ValueError` for bad input.
    """
    return {
        "useful": value(formulas.EXACT_EFFECTIVE, tau=tau, delta=delta, M=M, r=r),
        "writing": value(formulas.EXACT_WRITING, tau=tau, delta=delta, M=M, r=r),
        "redone": value(formulas.EXACT_REDONE, tau=tau, delta=delta, M=M, r=r),
        "restarts": value(formulas.EXACT_RESTARTS, M=M, r=r),
    }


def recommended(rule, delta, M, r, outside=None):
    """The interval that a rule of `formulas.RULES` or `formulas.SLIPS` recommends: work only, write excluded.

    Parameters
    ----------
    rule : a `formulas.Rule`.
    delta, M, r : write time, failure interval, restart time; numbers or arrays that broadcast, one unit.
    outside : what to put where the rule has no interval to recommend, for example `nan`; by default an error.

    Returns a float or an array. Raises a `ValueError` for bad input and outside the rule's domain.
    """
    given = {"delta": checked("delta", delta), "M": checked("M", M), "r": checked("r", r)}
    given = dict(zip(given, np.broadcast_arrays(*given.values())))
    names, condition = _compiled(rule.holds)
    inside = np.broadcast_to(condition(*(given[name] for name in names)), given["M"].shape)
    if outside is None and not inside.all():
        example = ", ".join(f"{name} = {array[~inside].flat[0]:g}" for name, array in given.items())
        raise ValueError(f"{rule.name}: no interval at {example}; this rule needs {rule.holds}")
    tau = np.full(inside.shape, outside, dtype=float)
    if inside.any():
        tau[inside] = value(rule.tau, **{name: given[name][inside] for name in _compiled(rule.tau)[0]})
    return float(tau) if tau.ndim == 0 else tau


def claimed(rule, tau, delta, M, r, outside=None):
    """The effective time that a rule's own estimate promises at the interval tau, a share of elapsed time.

    Parameters as in `recommended`. Where the estimate is not above 0 it means nothing: a `ValueError`, or `outside`.
    """
    given = {"tau": tau, "delta": delta, "M": M, "r": r}
    effective = value(rule.effective, **{name: given[name] for name in _compiled(rule.effective)[0]})
    if outside is None and np.min(effective) <= 0:
        raise ValueError(
            f"{rule.name}: an effective time of {np.min(effective):.3g} is no share of time, the estimate is outside "
            "its domain; give an interval, write time and restart time well below the failure interval"
        )
    return effective if np.min(effective) > 0 else np.where(effective > 0, effective, outside)[()]

"""From a formula to numbers: floats or arrays that broadcast, checked before they are used."""

from functools import cache
from math import inf

import numpy as np
import sympy as sp

from youngdaly import formulas


@cache
def _compiled(expression):
    """Names of the free symbols, sorted, and the NumPy function of them."""
    symbols = sorted(expression.free_symbols, key=str)
    return tuple(map(str, symbols)), sp.lambdify(symbols, expression, "numpy")


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
    if not all(block.min() > 0 and block.max() < inf for block in blocks):
        bad = array[~((array > 0) & (array < inf))].flat[0]
        raise ValueError(f"{label} = {bad}: give finite numbers greater than 0")
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
        the shapes do not broadcast, or a step of the result is too large or too small for a float.
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
        with np.errstate(all="raise"):
            result = function(*arrays)
    except FloatingPointError:
        given = ", ".join(f"{name} = {numbers[name]!r}" for name in names)
        raise ValueError(
            f"{expression} is too large or too small for a float at {given}; give numbers of a usual size"
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
            f"a first-order loss of {np.max(loss):.3g} (writing + redone + restarts) is no share of time: "
            "give an interval, write time and restart time well below the failure interval"
        )
    return {
        "useful": 1 - loss,
        "writing": value(formulas.WRITING, delta=delta, tau=tau),
        "redone": value(formulas.REDONE, tau=tau, M=M),
        "restarts": value(formulas.RESTARTS, r=r, M=M),
    }


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
        for bad input, and for a target that this one quantity cannot meet; the error names the floor.
    """
    if unknown not in formulas.NEEDED:
        raise ValueError(f"unknown = {unknown!r}: choose one of {', '.join(formulas.NEEDED)}")
    if np.max(checked("target", target)) >= 1:
        raise ValueError(f"target = {target!r}: give a share of time below 1")
    floor_formula = formulas.FLOOR[unknown]
    given = {n: numbers[n] for n in _compiled(floor_formula)[0] if n in numbers}
    floor = value(floor_formula, **given)
    if np.any(value(formulas.L - floor_formula, L=target, **given) <= 0):
        raise ValueError(
            f"target = {target!r} cannot be met by {unknown} alone: however good it is, "
            f"{np.max(floor):.4g} is lost; give a target above that"
        )
    return value(formulas.NEEDED[unknown], L=target, **numbers)

"""How the loss of a job grows with its devices: tables by size, and the size at which too much is lost."""

import pandas as pd
from scipy.optimize import brentq

from youngdaly import formulas
from youngdaly.evaluation import needed, value
from youngdaly.text import duration


def least_loss(devices, m, delta, r):
    """The least loss of a job of so many devices: by the exact theory of failures at random, and to first order.

    devices, m : numbers or arrays that broadcast, m the failure interval of one device; delta, r : write time and
    restart time; all times in one unit. First order may exceed 1: there it means nothing.
    """
    M = value(formulas.FAILURE_INTERVAL, m=m, N=devices)
    return tuple(value(e, delta=delta, M=M, r=r) for e in (formulas.EXACT_LEAST_LOSS, formulas.LEAST_LOSS))


def interval_for(loss, delta, r):
    """The failure interval at which the exact least loss is `loss`, a share between 0 and 1."""
    first_order = needed("M", loss, delta=delta, r=r)  # at least as long, since first order loses more

    def excess(M):
        return value(formulas.EXACT_LEAST_LOSS, delta=delta, M=M, r=r) - loss

    shorter = first_order
    while excess(shorter) < 0:
        shorter /= 2
    return first_order if shorter == first_order else float(brentq(excess, shorter, first_order))


def by_size(devices, columns):
    """A table with a row for each number of devices: DataFrame of the columns, dict from a name to texts."""
    return pd.DataFrame({"devices": [f"{count:,}" for count in devices], **columns})


def losses_by_size(devices, intervals, delta, r):
    """`least_loss` as a table: rows by size, a column for each device interval, "exact (first order)"."""

    def digits(share):
        return f"{float(f'{100 * share:.3g}'):,g}\N{NO-BREAK SPACE}%"

    columns = {name: zip(*least_loss(devices, m, delta, r)) for name, m in intervals.items()}
    return by_size(
        devices, {name: [f"{digits(e)} ({digits(f)})" for e, f in pairs] for name, pairs in columns.items()}
    )


def largest_jobs(losses, intervals, delta, r):
    """Where the least loss reaches each of `losses`: a table with the failure interval and the number of devices.

    Two rows for each loss, first order and exact; a column for each of the device intervals. Two digits.
    """
    rows = []
    for loss in losses:
        for theory, M in (("first order", needed("M", loss, delta=delta, r=r)), ("exact", interval_for(loss, delta, r))):
            sizes = [f"{float(f'{m / M:.2g}'):,.0f}" for m in intervals.values()]
            rows.append((f"{100 * loss:g} %, {theory}", duration(M), *sizes))
    return pd.DataFrame(rows, columns=["lost", "at one failure every", *intervals])

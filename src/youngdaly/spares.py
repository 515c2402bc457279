"""Spare nodes: how many must stand ready for a failed node to be replaced at once.

Whoever plans spares needs two numbers: how often a node fails that has to be repaired, and how long its repair
takes on average. All times share one unit.
"""

import heapq
from numbers import Integral, Real

import numpy as np
import pandas as pd
from scipy import stats

from youngdaly.evaluation import checked


def shortage(spares, in_repair):
    """The chance that a failing node finds no spare, because `spares` or more others are being repaired.

    At random failures the number of nodes in repair is a Poisson variable, whatever the law of the repair times
    (Palm's theorem), and a failing node meets the average number of others.

    Parameters
    ----------
    spares : whole number, 0 or more. With none, every failure waits: the chance is 1.
    in_repair : nodes in repair on average, greater than 0: `formulas.IN_REPAIR`. Number or array.

    Returns
    -------
    float, or an array of the shape of `in_repair`.

    Raises
    ------
    ValueError for anything else.
    """
    _check_spares(spares)
    chance = stats.poisson.sf(spares - 1, checked("in_repair", in_repair))
    return float(chance) if np.ndim(chance) == 0 else chance


def spares_needed(in_repair, chance):
    """The least number of spares with which at most a share `chance` of the failures finds none.

    At least 1, however rare failures are: without a spare every failure waits.

    Parameters
    ----------
    in_repair : nodes in repair on average, greater than 0, number or array.
    chance : between 0 and 1, both excluded.

    Returns
    -------
    int, or an array of whole numbers.

    Raises
    ------
    ValueError for anything else.
    """
    if not (isinstance(chance, Real) and 0 < chance < 1):
        raise ValueError(f"chance = {chance!r}: give a number between 0 and 1, both excluded")
    spares = stats.poisson.isf(chance, checked("in_repair", in_repair)) + 1
    return int(spares) if np.ndim(spares) == 0 else spares.astype(int)


def simulated_shortage(failures, repairs, spares, count, rng, waits=False):
    """The share of `count` failing nodes that find no spare, by following every node through its repair.

    Shares no formula with `shortage`. The first tenth, in which the repair shop fills, is not counted.

    Parameters
    ----------
    failures, repairs : processes (`youngdaly.processes`) of the gaps between failures and of the repair times.
    spares : whole number, 0 or more.
    waits : True if the job stands still, and so cannot fail, until a node comes back; False if it goes on with
        fewer nodes, failing as before.

    Raises
    ------
    ValueError for a number of spares that is none.
    """
    _check_spares(spares)
    clock, short = 0.0, 0
    back = []  # when each node in repair returns, the first at the front
    for number, (gap, repair) in enumerate(zip(failures.draw(rng, count), repairs.draw(rng, count), strict=True)):
        clock += gap
        while back and back[0] <= clock:
            heapq.heappop(back)
        found_none = len(back) >= spares
        short += found_none and number >= count // 10
        heapq.heappush(back, clock + repair)
        if found_none and waits:
            clock = heapq.heappop(back)
    return short / (count - count // 10)


def simulations(failures, repairs, spares, count, rng):
    """`simulated_shortage` for several laws of repair times, a job that goes on and one that waits.

    repairs : dict from a name to a process; spares : several whole numbers.

    Returns
    -------
    DataFrame with the columns repairs, job and one for each number of spares: shares of the failures.
    """
    rows = [
        (law, job, *(simulated_shortage(failures, process, n, count, rng, job == "waits") for n in spares))
        for law, process in repairs.items()
        for job in ("goes on", "waits")
    ]
    return pd.DataFrame(rows, columns=["repairs", "job", *spares])


def _check_spares(spares):
    whole = isinstance(spares, Integral) and not isinstance(spares, bool)
    if not (whole and spares >= 0):
        raise ValueError(f"spares = {spares!r}: give a whole number, 0 or more")

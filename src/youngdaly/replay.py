"""What a job really did between its failures: the book's oracle, which knows no formula.

A gap is the time on the wall clock from one failure to the next, and the first gap begins with a failure too. So
every gap begins with a restart from the newest durable checkpoint. If the gap is shorter than the restart, the
failure strikes in the restart, which begins anew in the next gap. Otherwise training runs until the failure: an
interval of work, a save that stalls training, the next interval. A save is durable once its stall and then its
drain, during which training runs, have ended. The run ends with its last failure; work that is not durable by then
is redone work.

A second is booked by what the job did in it. Work is useful if a durable checkpoint keeps it, and redone otherwise.
A save or a restart that a failure cuts short is still writing, or restarting.

Where gaps are measured on a clock that stands still while the job is down, no failure strikes in a restart: add the
restart time to each of them.
"""

from dataclasses import dataclass
from itertools import product
from math import ceil, inf

import joblib
import numpy as np
import pandas as pd

from youngdaly.processes import check

_BLOCK = 8192  # gaps at a time: the arrays of one block stay in the cache, and memory stays bounded


@dataclass(frozen=True, kw_only=True)
class Policy:
    """How a job saves and restarts. All times in the unit of the gaps; each has to be given.

    interval : work between two saves, greater than 0.
    stall : how long a save stops training.
    drain : how long a save then goes on beside training until it is durable.
    restart : from a failure until training runs again.
    overrun : needed only if the drain is longer than the interval: what happens to a save that comes due while the one
        before it still drains. "wait": training stands still until it has drained, and that is writing. "skip": the
        save is left out, and the next one comes due an interval later.
    """

    interval: float
    stall: float
    drain: float
    restart: float
    overrun: str | None = None

    def __post_init__(self):
        for name in ("interval", "stall", "drain", "restart"):
            check(name, getattr(self, name), zero=name != "interval")
        if self.overrun not in (None, "wait", "skip"):
            raise ValueError(f'overrun = {self.overrun!r}: give "wait" or "skip"')
        if self.drain > self.interval and self.overrun is None:
            raise ValueError(
                f"drain = {self.drain!r} is longer than interval = {self.interval!r}: a save would come due while the one "
                'before it drains; give an interval of at least the drain, or say what happens with overrun="wait" '
                'or overrun="skip"'
            )

    @property
    def rhythm(self):
        """Work between two saves, and the wait before the second, once the first save after a restart is made."""
        if self.drain <= self.interval:
            return self.interval, 0.0
        if self.overrun == "wait":
            return self.interval, self.drain - self.interval
        return self.interval * ceil(self.drain / self.interval), 0.0


@dataclass(frozen=True)
class Ledger:
    """Where the time of one or more runs went: numbers, or arrays with one entry for each run."""

    useful: np.ndarray
    writing: np.ndarray
    redone: np.ndarray
    restarts: np.ndarray

    @property
    def elapsed(self):
        """The four entries together, which is the sum of the gaps."""
        return self.useful + self.writing + self.redone + self.restarts

    def shares(self):
        """Shares of the elapsed time of all runs together: a dict in the book's order."""
        elapsed = np.sum(self.elapsed)
        if elapsed == 0:
            raise ValueError("no time has elapsed, so there are no shares: give gaps greater than 0")
        return {name: float(np.sum(entry) / elapsed) for name, entry in vars(self).items()}

    def standard_errors(self):
        """The standard error of each share, from the spread between the runs (ratio estimator)."""
        runs = np.size(self.useful)
        if runs < 2:
            raise ValueError("one run has no spread: give gaps as runs × failures, with two or more runs")
        shares, elapsed = self.shares(), self.elapsed
        spread = {name: np.sum((entry - shares[name] * elapsed) ** 2) for name, entry in vars(self).items()}
        return {name: float(np.sqrt(s * runs / (runs - 1)) / np.sum(elapsed)) for name, s in spread.items()}


def _booked(gaps, policy):
    """The four entries of a block of gaps (runs × failures), each summed over the failures."""
    work, wait = policy.rhythm
    cycle = work + wait + policy.stall
    sooner = work + wait - policy.interval  # by which the first save after a restart comes: nothing drains then
    if not (gaps.min() >= 0 and gaps.max() < inf):  # min and max let NaN through to here
        raise ValueError(f"gaps contain {gaps[~((gaps >= 0) & (gaps < inf))][0]}: give finite times, 0 or more")
    if gaps.max() >= 2**53 * cycle:
        raise ValueError(f"interval = {policy.interval!r} is too short for a gap of {gaps.max():g}: give a longer one")
    restarting = np.minimum(gaps, policy.restart)
    running = gaps - restarting
    shifted = running + sooner if sooner else running
    saves = np.floor(shifted / cycle)
    rest = shifted - saves * cycle  # since the last of these saves stopped stalling
    if sooner:
        rest -= np.where(saves > 0, 0, sooner)
    working = np.minimum(rest, np.where(saves > 0, work, policy.interval) if sooner else work)
    # The last save had not drained; or it had not ended, and the quotient was rounded up: then rest is below 0.
    lost = (saves > 0) & (rest < policy.drain)
    firsts = np.count_nonzero(saves > 0, axis=-1) if sooner else 0
    firsts_lost = np.count_nonzero(lost & (saves == 1), axis=-1) if sooner else 0
    saves, lost = saves.sum(axis=-1), np.count_nonzero(lost, axis=-1)
    saved = work * saves - (work - policy.interval) * firsts
    unsaved = work * lost - (work - policy.interval) * firsts_lost
    return np.stack([
        saved - unsaved,
        policy.stall * saves + wait * (saves - firsts) + (rest - working).sum(axis=-1),
        unsaved + working.sum(axis=-1),
        restarting.sum(axis=-1),
    ])  # fmt: skip


def _in_blocks(block, runs, failures, policy):
    """Book `runs` runs of `failures` gaps each; `block(rows, columns)` gives the gaps of two slices."""
    if not isinstance(policy, Policy):
        raise ValueError(f"policy = {policy!r}: give a Policy")
    at_once = max(1, _BLOCK // failures)
    entries = []
    for top in range(0, runs, at_once):
        rows = slice(top, min(top + at_once, runs))
        starts = range(0, failures, _BLOCK)
        columns = (slice(start, min(start + _BLOCK, failures)) for start in starts)
        entries.append(sum(_booked(block(rows, column), policy) for column in columns))
    return np.concatenate(entries, axis=1)


def checked_gaps(gaps):
    """`gaps` as an array with at least one axis, or a `ValueError`. Their signs are checked block by block."""
    try:
        array = np.asarray(gaps)
    except ValueError:  # rows of different lengths
        array = np.asarray(None)
    if array.ndim == 0 or array.size == 0 or array.dtype.kind not in "iuf":
        raise ValueError(f"gaps = {gaps!r}: give an array of one or more times between failures")
    return array


def checked_sizes(runs, failures, rng):
    """A `ValueError` unless `runs` and `failures` are counts and `rng` is a generator."""
    for name, number in {"runs": runs, "failures": failures}.items():
        if isinstance(number, bool) or not (isinstance(number, int | np.integer) and number > 0):
            raise ValueError(f"{name} = {number!r}: give a whole number greater than 0")
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng = {rng!r}: give a seeded generator, numpy.random.default_rng(seed)")


def replay(gaps, policy):
    """Replay a policy over given gaps between failures.

    Parameters
    ----------
    gaps : array of any shape, 0 or more; its last axis runs through the failures of one run. A gap of 0 is a second
        failure in the same moment and books nothing, so runs of unequal length can be filled up with zeros.
    policy : a `Policy`.

    Returns
    -------
    Ledger, each entry with the shape of `gaps` without its last axis: one number for one run.

    Raises
    ------
    ValueError for gaps that are empty, negative, not finite or not numbers.
    """
    array = checked_gaps(gaps)
    runs = array.reshape(-1, array.shape[-1])

    def block(rows, columns):
        return runs[rows, columns].astype(float, copy=False)

    entries = _in_blocks(block, *runs.shape, policy)
    return Ledger(*(entry.reshape(array.shape[:-1])[()] for entry in entries))


def simulate(process, policy, runs, failures, rng):
    """Replay a policy over gaps that a failure process draws, in bounded memory.

    Parameters
    ----------
    process : one of `youngdaly.processes`.
    policy : a `Policy`.
    runs, failures : whole numbers: so many runs with so many failures each. The standard errors come from the
        spread between the runs; about a hundred of them, and at least ten, make a good estimate.
    rng : a NumPy generator, `numpy.random.default_rng(seed)`.

    Returns a `Ledger` with one entry for each run. Raises a `ValueError` for bad input.
    """
    checked_sizes(runs, failures, rng)
    if not hasattr(process, "draw"):
        raise ValueError(f"process = {process!r}: give a failure process, such as Exponential(mean)")

    def block(rows, columns):
        return process.draw(rng, (rows.stop - rows.start, columns.stop - columns.start))

    return Ledger(*_in_blocks(block, runs, failures, policy))


def _case(cluster, policy, seed, runs, failures):
    ledger = simulate(cluster, policy, runs, failures, np.random.default_rng(seed))
    errors = {f"{name}_error": error for name, error in ledger.standard_errors().items()}
    return {"cluster": cluster, "policy": policy, "seed": seed} | ledger.shares() | errors


def study(clusters, policies, seeds, runs, failures):
    """Simulate every cluster under every policy with every seed, in parallel.

    Runs on all cores of this machine. Within `joblib.parallel_config(backend="dask")` it runs on the Dask cluster of
    the current client instead, and gives the same numbers. Equal seeds give equal gaps, so policies are compared on
    the same failures.

    Parameters
    ----------
    clusters : failure processes of `youngdaly.processes`.
    policies : `Policy` objects.
    seeds : whole numbers.
    runs, failures : as in `simulate`, for each combination.

    Returns
    -------
    DataFrame, one row for each combination in the order of `itertools.product`: cluster, policy, seed, the four shares
    and the standard error of each (`useful_error` and so on).
    """

    cases = product(clusters, policies, seeds)
    rows = joblib.Parallel(n_jobs=-1)(joblib.delayed(_case)(*case, runs, failures) for case in cases)
    return pd.DataFrame(rows)

"""The replay with several kinds of checkpoint: fast ones that survive few failures, slow ones that survive more.

Level 1 is saved most often. The interval of each level is a whole multiple of the one below it, and where saves of
several levels come due together, the faster are written first. A failure has a severity: the lowest level that
survives it. The job goes back to the newest durable checkpoint of that level or a higher one, and the levels below
are lost. A failure that strikes in a restart leaves the graver of the two to recover from. A save of a higher level
that a failure prevents is not made up for: it comes due again after its whole interval.

Gaps, restarts and the booking of seconds are those of `youngdaly.replay`; like it, this module knows no formula.
"""

from dataclasses import dataclass

import numpy as np

from youngdaly.processes import check
from youngdaly.replay import Ledger, Policy, checked_gaps, checked_sizes

_DRAWN = 2**18  # gaps drawn at a time


@dataclass(frozen=True, kw_only=True)
class Level(Policy):
    """One kind of checkpoint: a `Policy`, and the share of the failures that need it.

    share : share of the failures that this level survives and the level below does not; 0 to 1.
    """

    share: float

    def __post_init__(self):
        super().__post_init__()
        if self.drain > self.interval:
            raise ValueError(
                f"drain = {self.drain!r} is longer than interval = {self.interval!r}: waiting and skipping are replayed "
                "for a single level only; give an interval of at least the drain"
            )
        check("share", self.share, zero=True)
        if self.share > 1:
            raise ValueError(f"share = {self.share!r}: give a share of the failures, 0 to 1")


def checked_levels(levels):
    """The levels as a tuple, and how many intervals of level 1 each one's interval holds.

    Raises a `ValueError` for levels that are out of order or do not nest, or whose shares do not add up to 1.
    """
    levels = tuple(levels)
    if not levels or not all(isinstance(level, Level) for level in levels):
        raise ValueError(f"levels = {levels!r}: give one or more Level objects, the most frequent first")
    total = sum(level.share for level in levels)
    if abs(total - 1) > 1e-9:
        raise ValueError(f"the shares of the levels add up to {total:g}: give shares that add up to 1")
    every = [1]
    for lower, upper in zip(levels, levels[1:]):
        ratio = upper.interval / lower.interval
        if ratio < 1 or abs(ratio - round(ratio)) > 1e-9 * ratio:
            raise ValueError(
                f"the intervals {lower.interval:g} and {upper.interval:g} do not nest: give the most frequent level first, "
                f"and each interval as a whole multiple of the one before, here {max(1, round(ratio)) * lower.interval:g}"
            )
        every.append(every[-1] * round(ratio))
    return levels, every


class _Clock:
    """Running time without failures against progress: n intervals of level 1 worked, their saves written."""

    def __init__(self, levels, every):
        self.interval, self.every = levels[0].interval, every
        self.stalls = [level.stall for level in levels]
        self.cycles = [self.at(n, upto=i) for i, n in enumerate(every)]

    def at(self, progress, upto=None):
        """Running time until the saves at this progress have ended, those of the levels above `upto` left out."""
        levels = range(len(self.every) if upto is None else upto + 1)
        return progress * self.interval + sum(progress // self.every[i] * self.stalls[i] for i in levels)

    def read(self, time):
        """For each level its newest save that has ended by this running time, as progress; and the work done."""
        newest, done, rest = [], np.zeros_like(time), time
        for i in reversed(range(len(self.every))):
            count = np.floor(rest / self.cycles[i])
            if i + 1 < len(self.every):  # the last cycle before a save of the level above ends with its stall
                count = np.minimum(count, self.every[i + 1] // self.every[i])
            rest = np.maximum(rest - count * self.cycles[i], 0)
            done = done + count * self.every[i]
            if i + 1 < len(self.every):
                stalled = count == self.every[i + 1] // self.every[i]
                rest = np.where(stalled, 0, rest)
            newest.insert(0, done)
        return newest, done * self.interval + np.minimum(rest, self.interval)


def _booked(blocks, runs, levels, every):
    """Ledger entries of runs that are replayed failure by failure, all runs at once.

    blocks : pairs of gaps and severities, each an array runs × failures; together they are the whole runs.
    """
    clock = _Clock(levels, every)
    restarts = np.array([level.restart for level in levels])
    rank = np.arange(len(levels))[:, None]
    saved = np.zeros((len(levels), runs))  # progress of the newest durable checkpoint of each level
    severity = np.zeros(runs, dtype=int)
    worked, restarted, elapsed, start = np.zeros((4, runs))
    for gaps, severities in blocks:
        for gap, struck in zip(gaps.T, severities.T):
            restarting = np.minimum(gap, restarts[severity])
            # Times count from the newest save of the slowest level, so that they keep their digits in a long run.
            base = start // every[-1] * every[-1]
            begun = clock.at(start - base)
            end = begun + (gap - restarting)
            newest, work = clock.read(end)
            for i, level in enumerate(levels):
                if level.drain:
                    newest[i] = clock.read(np.maximum(end - level.drain, 0))[0][i]
                saved[i] = np.where(base + newest[i] > start, base + newest[i], saved[i])
            severity = np.where(gap < restarts[severity], np.maximum(severity, struck), struck)
            saved[rank < severity] = 0
            worked += work - (start - base) * clock.interval
            restarted += restarting
            elapsed += gap
            start = saved.max(axis=0)
    useful = start * clock.interval
    return Ledger(useful, elapsed - worked - restarted, worked - useful, restarted)


def replay_levels(gaps, severities, levels):
    """Replay several levels of checkpoints over given gaps between failures.

    Parameters
    ----------
    gaps : as in `replay`, one long run or runs × failures.
    severities : whole numbers of the same shape: the failure at the end of each gap is survived by the checkpoints of
        this level (0 for the first, most frequent one) and of all above it. A run that is filled up with gaps of 0
        needs severity 0 there.
    levels : `Level` objects, the most frequent first; their shares are not used.

    Returns a `Ledger` with one entry for each run. Raises a `ValueError` for bad input.
    """
    levels, every = checked_levels(levels)
    array = checked_gaps(gaps)
    severities = np.asarray(severities)
    if severities.shape != array.shape or severities.dtype.kind not in "iu":
        raise ValueError(f"severities have the shape {severities.shape}: give one whole number for each gap {array.shape}")
    if severities.min() < 0 or severities.max() >= len(levels):
        raise ValueError(f"severities run from {severities.min()} to {severities.max()}: give 0 to {len(levels) - 1}")
    runs = array.reshape(-1, array.shape[-1]).astype(float)
    ledger = _booked([(runs, severities.reshape(runs.shape))], len(runs), levels, every)
    return Ledger(*(entry.reshape(array.shape[:-1])[()] for entry in vars(ledger).values()))


def simulate_levels(process, levels, runs, failures, rng):
    """Replay several levels over gaps that a failure process draws; each failure's severity is drawn by the shares.

    Parameters and result as in `simulate`. Runs advance side by side, so many short runs are faster than a few long
    ones; memory grows with the number of runs only.
    """
    levels, every = checked_levels(levels)
    checked_sizes(runs, failures, rng)
    least = np.cumsum([level.share for level in levels])[:-1]

    def blocks():
        steps = max(1, _DRAWN // runs)
        for begin in range(0, failures, steps):
            size = (runs, min(steps, failures - begin))
            yield process.draw(rng, size), np.searchsorted(least, rng.random(size), side="right")

    return _booked(blocks(), runs, levels, every)

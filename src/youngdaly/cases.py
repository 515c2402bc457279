"""A job as its log and its numbers describe it: what is known, where it is from, and the interval that follows."""

from dataclasses import dataclass
from functools import cached_property
from math import inf, isclose

import numpy as np

from youngdaly import formulas
from youngdaly.data import DATA, fact, table
from youngdaly.evaluation import checked, value
from youngdaly.failures import Estimate, failure_interval
from youngdaly.logs import READING, USED, Log, read
from youngdaly.text import duration

NUMBERS = {
    "write_s": "write time: training stands still for a save",
    "restart_s": "restart time: from a failure until training runs again",
    "interval_s": "interval now: work between two saves",
    "step_s": "time of one training step",
    "devices": "devices",
    "price_per_device_hour": "price of a device-hour",
    "detection_s": "detection latency: from a fault until it is noticed",
    "target_loss": "target for the time lost",
    "state_bytes": "state: bytes in one checkpoint",
    "bandwidth_bytes_per_s": "storage bandwidth, all writers together",
}
BY_BANDWIDTH = {"state_bytes", "bandwidth_bytes_per_s"}  # together they give the write time
SAME_WRITE = 0.01  # relative: two write times that are this close are the same
# The two logs that come with the book; each number of their jobs is the product of these facts.
PUBLISHED = {
    "glm130b_incidents": {
        "write_s": ["glm_write_time"],
        "interval_s": ["glm_interval_steps", "glm_iteration"],
        "step_s": ["glm_iteration"],
        "devices": ["glm_devices"],
        "detection_s": ["glm_detection_steps", "glm_iteration"],
    },
    "bloom176b_incidents": {
        "write_s": ["bloom_write_time"],
        "restart_s": ["bloom_restart"],
        "interval_s": ["bloom_later_interval_steps", "bloom_iteration"],
        "step_s": ["bloom_iteration"],
        "devices": ["bloom_devices"],
    },
}


@dataclass(frozen=True)
class Case:
    """A job: its log, its numbers, and the interval that follows. Losses are to first order.

    log : a `Log` with at least one failure.
    numbers : from the names in `NUMBERS` to numbers in SI units; what is not known is missing.
    origin : from the same names to where each number is from.
    M : the failure interval with its 95 % interval, in seconds.
    """

    log: Log
    numbers: dict
    origin: dict
    M: Estimate

    @property
    def costs(self):
        """What every formula of the loss takes besides the interval."""
        return {"delta": self.numbers["write_s"], "M": self.M.best, "r": self.numbers["restart_s"]}

    def loss(self, tau, **other):
        """The share of time lost at an interval, with another delta, M or r if given."""
        return value(formulas.LOSS, tau=tau, **(self.costs | other))

    def least_loss(self, **other):
        """The share of time lost at the best interval, with another delta, M or r if given."""
        return value(formulas.LEAST_LOSS, **(self.costs | other))

    @property
    def best(self):
        """Young's interval, in seconds."""
        return value(formulas.YOUNG, delta=self.numbers["write_s"], M=self.M.best)

    @cached_property
    def advised(self):
        """The interval to use, in seconds: the best one, in whole steps if the time of a step is known."""
        step = self.numbers.get("step_s")
        if step is None:
            return self.best
        below = max(1, int(self.best // step)) * step
        return min((below, below + step), key=self.loss)

    @property
    def now(self):
        """The interval now, in seconds; None if it is not known."""
        return self.numbers.get("interval_s")

    def policies(self):
        """The intervals to compare, from their labels: now, where it is known, and as advised."""
        now = {} if self.now is None else {f"now: {self.named(self.now)}": self.now}
        return now | {f"as advised: {self.named(self.advised)}": self.advised}

    def named(self, tau):
        """An interval in words: '58 steps (1.4 h)'."""
        step = self.numbers.get("step_s")
        if step is None:
            return duration(tau)
        steps = round(tau / step, 1)
        return f"{steps:,g} step{'s' * (steps != 1)} ({duration(tau)})"

    def per_day(self, share):
        """A share of time as device-hours a day, and as money if a price is known; '' if the devices are not."""
        if "devices" not in self.numbers:
            return ""
        hours = 24 * value(formulas.COST, L=share, c=self.numbers["devices"])
        words = f"{hours:,.0f} device-hours a day" if hours >= 10 else f"{hours:,.1f} device-hours a day"
        price = self.numbers.get("price_per_device_hour")
        return words if price is None else f"{words}, or {hours * price:,.0f} a day, in the currency of the price"


def read_case(log, reading=None, **numbers):
    """Read a log and complete the numbers of its job.

    Parameters
    ----------
    log : the path of a failure log, or the name of one that comes with the book (`PUBLISHED`): then numbers that
        are not given are the published ones.
    reading : a dict of options of `youngdaly.logs.read`.
    **numbers : those in `NUMBERS`, in SI units, or None where unknown. Without write_s, the write time is
        state_bytes over bandwidth_bytes_per_s; with it, the two must agree. Without restart_s, the restart time is
        the mean of the times that the log says the job was down after a failure: the mean, because lost time adds up.

    Returns
    -------
    Case

    Raises
    ------
    ValueError that names what is wrong or missing; also for a log without a failure, where it says what can still
    be concluded.
    """
    if not isinstance(log, str) or not log:
        raise ValueError(f"log = {log!r}: give the path of a failure log, or one of {', '.join(PUBLISHED)}")
    if not isinstance(reading, dict | None) or set(reading or {}) - set(READING):
        raise ValueError(f"reading = {reading!r}: give a dict with options among {', '.join(READING)}")
    if set(numbers) - set(NUMBERS):
        name = min(set(numbers) - set(NUMBERS))
        raise ValueError(f"{name} = {numbers[name]!r}: there are only {', '.join(NUMBERS)}")
    known = {name: float(checked(name, number)) for name, number in numbers.items() if number is not None}
    origin = dict.fromkeys(known, "given")
    if known.get("target_loss", 0) >= 1:
        raise ValueError(f"target_loss = {known['target_loss']}: give a share of time below 1")

    told = read(DATA / f"{log}.csv" if log in PUBLISHED else log, **(reading or {}))
    kinds = table("facts").set_index("key")["kind"]
    for name, keys in PUBLISHED.get(log, {}).items():
        if name not in known and not (name == "write_s" and BY_BANDWIDTH <= set(known)):
            known[name] = float(np.prod([fact(key) for key in keys]))
            origin[name] = max(kinds[keys], key=("published", "derived", "assumed").index)
    _complete(known, origin, told)
    M = failure_interval(len(told.gaps), told.running, ends_with_failure=told.ends_with_failure)
    if M.best == inf:
        raise ValueError(_without_failures(told, M, known["write_s"]))
    return Case(told, known, origin, M)


def _complete(known, origin, told):
    """Work out the write time and the restart time where they are not given."""
    if BY_BANDWIDTH <= set(known):
        write = value(formulas.WRITE_TIME, S=known["state_bytes"], B=known["bandwidth_bytes_per_s"])
        if "write_s" in known and not isclose(write, known["write_s"], rel_tol=SAME_WRITE):
            raise ValueError(
                f"write_s = {known['write_s']:g}, but state_bytes over bandwidth_bytes_per_s is {write:g} s: give "
                "the one or the other"
            )
        if "write_s" not in known:
            known["write_s"], origin["write_s"] = write, "state over bandwidth"
    if "write_s" not in known:
        raise ValueError("write_s = None: give the write time in seconds, or state_bytes and bandwidth_bytes_per_s")
    if "price_per_device_hour" in known and "devices" not in known:
        origin["price_per_device_hour"] += "; not used, as devices is not given"
    if "restart_s" not in known and len(told.gaps):
        if not told.restarts.sum() > 0:
            raise ValueError(
                "restart_s = None: the log does not say when the job ran again after a failure; give the restart time "
                "in seconds, or a log with an end or a downtime"
            )
        known["restart_s"] = float(told.restarts.mean())
        origin["restart_s"] = (
            f"log: mean after {len(told.restarts)} of {len(told.gaps)} failures (median "
            f"{duration(float(np.median(told.restarts)))})"
        )


def _without_failures(log, M, write):
    rows = log.accounting()
    fates = ", ".join(f"{count} {fate}" for fate, count in zip(rows["fate"], rows["rows"]) if fate != USED)
    return (
        f"{log.name}: no row counts as a failure ({fates}). A job that ran {duration(log.running)} without one has a "
        f"failure interval of at least {duration(M.low)} (with 97.5 % confidence), so it need not save more often than "
        f"every {duration(value(formulas.YOUNG, delta=write, M=M.low))}; give a longer log to learn more"
    )

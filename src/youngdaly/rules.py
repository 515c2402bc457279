"""Every published rule for the interval, brought to one definition. Found through `youngdaly.formulas`."""

from dataclasses import dataclass

import sympy as sp

from youngdaly.exact import EXACT_BEST, EXACT_EFFECTIVE
from youngdaly.formulas import EFFECTIVE, OPTIMISABLE, REDONE, RESTARTS, WRITING, YOUNG, M, delta, one_root, r, tau


@dataclass(frozen=True)
class Rule:
    """A rule for the interval, brought to this book's definition.

    name : as the tables print it.
    source : key of references.bib; empty for a slip that belongs to nobody.
    seen : how surely the formula was seen: "first-hand", "quoted", "second-hand" or "derived" (in this book).
    effective : the rule's own estimate of effective time at the interval tau, a share of elapsed time.
    tau : the interval that it recommends, work only.
    interval : what the source calls the interval, "work" or "work and write".
    holds : the condition under which the rule has an interval to recommend.
    note : what it assumes.
    """

    name: str
    source: str
    seen: str
    effective: sp.Expr
    tau: sp.Expr
    interval: str = "work"
    holds: sp.Basic = sp.true
    note: str = ""

    @property
    def own_interval(self):
        """The recommended interval as the source prints it."""
        return one_root(sp.Add(*sp.Add.make_args(self.tau), delta)) if self.interval == "work and write" else self.tau


def _best(effective):
    """The interval at which a rational estimate of effective time is largest."""
    slope = sp.Poly(sp.numer(sp.together(sp.diff(effective, tau))), tau)
    return one_root(max(sp.roots(slope), key=lambda root: root.subs({delta: 1, M: 100, r: 1})))


def _derived(name, source, seen, effective, **further):
    return Rule(name, source, seen, effective, _best(effective), **further)


# Four rules differ in two answers only. Do failures strike in the write too, so that half of it is lost as well?
# And are they counted in elapsed time (1 − loss per failure/M) or in running time (1/(1 + loss per failure/M))?
_cycle = tau + delta
_running = tau / _cycle  # the share of running time that is work
_lost, _lost_with_write = r + tau / 2, r + _cycle / 2  # per failure
_second_term = one_root(sp.sqrt(delta / (2 * M)) / 3)
_daly = sp.Mul(YOUNG, sp.Add(1, _second_term, delta / (18 * M), evaluate=False), evaluate=False)

RULES = {
    "young": _derived(
        "Young", "young1974", "quoted", EFFECTIVE,
        note="First order; the restart time drops out",
    ),
    "young_less_write": _derived(
        "Young, less the write", "daly2006", "second-hand", EFFECTIVE.subs(tau, _cycle),
        interval="work and write", holds=delta < 2 * M,
        note="First order, the interval read as work and write together",
    ),
    "daly_first_order": _derived(
        "Daly, first order", "daly2006", "second-hand", _running / (1 + _lost / M),
        note="Failures in running time, none in a write",
    ),
    "daly": Rule(
        "Daly, higher order", "daly2006", "second-hand", EXACT_EFFECTIVE,
        sp.Piecewise((sp.Add(_daly, -delta, evaluate=False), delta < 2 * M), (M, True)),
        note="Exact up to the third term of the series; from δ = 2M on, the interval is M",
    ),
    "saxena": _derived(
        "Saxena et al.", "saxena2024", "first-hand", _running / (1 + _lost_with_write / M),
        interval="work and write",
        note="Failures in running time, in a write too",
    ),
    "herault_robert": _derived(
        "Hérault and Robert", "herault2015", "second-hand", _running * (1 - _lost_with_write / M),
        interval="work and write", holds=2 * (M - r) > delta,
        note="Failures in elapsed time, in a write too; our r holds both their downtime and their recovery",
    ),
    "kokolis": _derived(
        "Kokolis et al.", "kokolis2025", "second-hand", _running * (1 - _lost / M),
        holds=M > r,
        note="Failures in elapsed time, none in a write; they give the estimate, the interval follows from it",
    ),
    "exact": Rule(
        "exact", "daly2006", "derived", EXACT_EFFECTIVE, EXACT_BEST,
        note="Daly's complete model, solved; exponential failures; the restart time drops out",
    ),
}  # fmt: skip
SLIPS = {
    "root_two": _derived(
        "√2 left out", "", "derived", 1 - WRITING - 2 * REDONE - RESTARTS,
        note="As if each failure lost a whole interval and not half of one",
    ),
    "redone": Rule(
        "redone work left out", "mlsysim", "first-hand", 1 - WRITING - RESTARTS, YOUNG,
        note="This loss has no best interval, longer is always better: the interval is taken from Young",
    ),
    "restart": Rule(
        "restart left out", "", "derived", 1 - OPTIMISABLE, YOUNG,
        note="The right interval, and a loss too small by r/M",
    ),
}  # fmt: skip

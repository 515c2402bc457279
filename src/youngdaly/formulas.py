"""Every formula of the book, written once, as a SymPy expression.

What SymPy can derive is derived here and not typed: change a term of `LOSS` and the optimum, the least
loss, the inverse questions, the equations in the chapters and every number follow.
All times in one expression share one unit (the book uses seconds), all sizes are bytes.
`youngdaly.evaluation.value` turns any of these expressions into numbers.

The formulas that only some chapters need stand in rooms of their own (`ROOMS`), derived when first asked for, so
that importing this module stays quick; `formulas.EXACT_BEST` finds them all the same.

Sources: Young 1974 (doi 10.1145/361147.361115), Daly 2006 (doi 10.1016/j.future.2004.11.016).
"""

from dataclasses import dataclass
from importlib import import_module
from math import inf

import sympy as sp

ROOMS = ("youngdaly.operations", "youngdaly.exact", "youngdaly.rules")


def __getattr__(name):
    """A formula from one of the rooms: called by Python for names that are not defined here."""
    if not name.startswith("_"):
        for room in map(import_module, ROOMS):
            if name in vars(room):
                return getattr(room, name)
    raise AttributeError(f"no formula {name!r} in {', '.join((__name__, *ROOMS))}")


@dataclass(frozen=True)
class Quantity:
    """What a symbol stands for, and the unit its numbers are given in."""

    meaning: str
    unit: str
    zero: bool = False  # whether 0 makes sense; all others are greater than 0
    most: float = inf  # the largest number that makes sense, for shares


QUANTITIES = {
    "tau": Quantity("interval: work between two saves, write time excluded", "s"),
    "delta": Quantity("checkpoint write time, during which training stands still", "s"),
    "M": Quantity("failure interval of the job (MTBF)", "s"),
    "r": Quantity("restart time: from a failure until training runs again", "s"),
    "S": Quantity("state size: bytes in one checkpoint", "B"),
    "B": Quantity("storage bandwidth, all writers together", "B/s"),
    "P": Quantity("parameters of the model", "1"),
    "b": Quantity("bytes of state per parameter", "B"),
    "m": Quantity("failure interval of one device", "s"),
    "N": Quantity("devices in the job", "1"),
    "L": Quantity("loss: a share of time, or a target for it", "1"),
    "k": Quantity("how many times the best interval an interval is", "1"),
    "x": Quantity("extra loss, as a share of the part of the loss that is named", "1"),
    "s": Quantity("stall of an asynchronous save, during which training stands still", "s"),
    "D": Quantity("drain of an asynchronous save: from its stall until it is durable", "s", zero=True),
    "c": Quantity("price of the whole job per hour, in any currency", "1/h"),
    "d": Quantity("detection latency: from a fault until it is noticed", "s"),
    "g": Quantity("how many times the true failure interval an estimate of it is", "1"),
    "n": Quantity("failures seen", "1"),
    "R": Quantity("repair time of a node, from its failure until it can be used again", "s"),
    "v": Quantity("share of failures after which a node has to be repaired", "1", most=1),
    "T": Quantity("wait until a replacement for a failed node is there", "s"),
    "q": Quantity("share of its speed that the job keeps with the failed part left out", "1", most=1),
    "G": Quantity("warning: how long before a node is taken away the job is told", "s"),
    "t": Quantity("time of one training step", "s"),
    "w": Quantity("share of stops with a warning in which the save still fits", "1", most=1),
    "h": Quantity("how much longer one slow device takes, as a share of the step", "1"),
    "sigma": Quantity("noise of one device's step time, a standard deviation as a share of the step", "1"),
    "U": Quantity("how long a slow device goes unnoticed", "s"),
    "F": Quantity("time from one device that turns slow to the next", "s"),
    "W": Quantity("steps over which the times of a device are averaged", "1"),
    "z": Quantity("how far off a device is, in standard deviations", "1"),
    "V": Quantity("verification: a check of the whole state before a save", "s"),
    "M_s": Quantity("interval between silent errors of the job", "s"),
    "beta_1": Quantity("share of its average of gradients that Adam keeps at an update", "1", most=1),
    "beta_2": Quantity("share of its average of squared gradients that Adam keeps at an update", "1", most=1),
    "j": Quantity("updates that Adam has counted", "1"),
    "p": Quantity("share of the failures that need one level of checkpoints", "1", most=1),
    "K": Quantity("writers of a checkpoint: devices or nodes that write at the same time", "1"),
    "B_1": Quantity("bandwidth of one writer", "B/s"),
    "f": Quantity("share of the background saves that fail unnoticed", "1", most=1),
}
(
    tau, delta, M, r, S, B, P, b, m, N, L, k, x, s, D, c, d, g, n, R, v, T, q, G, t, w, h, sigma, U, F, W, z, V, M_s,
    beta_1, beta_2, j, p, K, B_1, f,
) = sp.symbols(list(QUANTITIES), positive=True)  # fmt: skip
tau_best, loss_least = sp.Symbol(r"\tau^{*}", positive=True), sp.Symbol("L^{*}", positive=True)


def one_root(expression):
    """Join √a·√b/√c into √(ab/c).

    SymPy splits the root of a product of positive symbols. Joined, the equation reads as in the
    literature, and NumPy and JavaScript print the same operations in the same order.
    """

    if expression.is_Add:
        return sp.Add(*map(one_root, expression.args), evaluate=False)
    roots = [f for f in sp.Mul.make_args(expression) if f.is_Pow and abs(f.exp) == sp.S.Half]
    if len(roots) < 2:
        return expression
    others = [f for f in expression.args if f not in roots]
    root = sp.Pow(sp.Mul(*[f.base ** (2 * f.exp) for f in roots]), sp.S.Half, evaluate=False)
    return sp.Mul(*others, root, evaluate=False) if others else root


# --- What is written, and how long it takes -------------------------------------------------------
STATE = P * b
WRITE_TIME = S / B
BANDWIDTH = sp.solve(sp.Eq(delta, WRITE_TIME), B)[0]

# --- How often the job fails: the first of N independent devices stops all of them ------------------
FAILURE_INTERVAL = m / N
DEVICE_INTERVAL = sp.solve(sp.Eq(M, FAILURE_INTERVAL), m)[0]

# --- The three ways to lose time, to first order in τ/M, as shares of elapsed time ------------------
moment = sp.Symbol("t", positive=True)  # of a failure, under an integral
WRITING = delta / tau
REDONE = sp.integrate(moment / tau, (moment, 0, tau)) / M  # a failure strikes at any moment of the interval
RESTARTS = r / M
LOSS = WRITING + REDONE + RESTARTS
EFFECTIVE = 1 - LOSS
OPTIMISABLE = WRITING + REDONE  # the part of the loss that the choice of τ can change

# --- The best interval (Young 1974) and the least loss ----------------------------------------------
_young = sp.solve(sp.diff(LOSS, tau), tau)[0]
YOUNG = one_root(_young)
LEAST_LOSS = one_root(sp.expand(LOSS.subs(tau, _young)))
LEAST_OPTIMISABLE = one_root(sp.expand(OPTIMISABLE.subs(tau, _young)))
RESTARTS_OF_LEAST = RESTARTS / LEAST_LOSS  # the part of the least loss that no interval can touch

# Restarts cost as much as writing and redone work together exactly at this restart time: r = τ*.
DOMINANT_RESTART = one_root(sp.solve(sp.Eq(RESTARTS, OPTIMISABLE.subs(tau, _young)), r)[0])


def exact_series(terms):
    """The first coefficients of τ*/M as a series in √(2δ/M), from the power 1 on, as SymPy rationals.

    With x = τ*/M and u²/2 = δ/M, the condition −ln(1 − x) − x = u²/2 differentiates to x·x′ = u(1 − x), from
    which the coefficients follow one after the other. The series converges for δ/M < 2π.
    """
    a = [sp.S.Zero, sp.S.One]
    for n in range(2, terms + 1):
        a.append(-a[n - 1] / (n + 1) - sp.S.Half * sum(a[i] * a[n + 1 - i] for i in range(2, n)))
    return a[1:]


# --- How flat the bottom is -------------------------------------------------------------------------
# Being wrong about τ* by a factor k costs this much more of the optimisable loss: (k + 1/k)/2 − 1.
MISS = sp.expand(sp.simplify((OPTIMISABLE / OPTIMISABLE.subs(tau, _young)).subs(tau, k * _young))) - 1
# So an extra x of the optimisable loss allows intervals from τ*/FLAT to τ*·FLAT: the roots multiply to 1.
FLAT = max(sp.solve(sp.Eq(MISS, x), k), key=lambda root: root.subs(x, 1))
_flat_of_all = FLAT.subs(x, x * LEAST_LOSS / LEAST_OPTIMISABLE)
# The shortest and the longest interval whose whole loss is at most (1 + x) times the least.
SHORTEST, LONGEST = YOUNG / _flat_of_all, YOUNG * _flat_of_all

# --- Two definitions of a loss: per unit of useful work, and as a share of elapsed time -------------
SHARE_OF_ELAPSED = L / (1 + L)  # L lost for each unit of useful work, so L of every 1 + L that elapse
PER_USEFUL = L / (1 - L)  # the other way round

# --- The inverse questions: what must one quantity be, for the least loss to be L? ------------------
_root_of_M = sp.Symbol("sqrt_M", positive=True)
_by_bandwidth = LEAST_LOSS.subs(delta, WRITE_TIME)
_squared = (LEAST_LOSS.subs(M, _root_of_M**2) - L) * _root_of_M**2
NEEDED = {
    "B": sp.solve(sp.Eq(_by_bandwidth, L), B)[0],
    "r": one_root(sp.solve(sp.Eq(LEAST_LOSS, L), r)[0]),
    "M": next(root for root in sp.solve(sp.expand(_squared), _root_of_M) if root.is_positive) ** 2,
}
# The loss that remains however good that one quantity becomes: no target at or below it can be met.
FLOOR = {
    "B": sp.limit(_by_bandwidth, B, sp.oo),
    "r": one_root(sp.limit(LEAST_LOSS, r, 0)),
    "M": sp.limit(LEAST_LOSS, M, sp.oo),
}

# --- Sharded writes: every writer writes its own part, until the storage as a whole is the limit --------
GATHERED_TIME = S / B_1  # everything through one writer
SHARDED_TIME = S / sp.Min(K * B_1, B)
ENOUGH_WRITERS = sp.solve(sp.Eq(K * B_1, B), K)[0]  # more of them do not help

# --- Asynchronous saves: training stands still for the stall s, and the save is durable D later -------
# A failure strikes at any moment of the interval, and the newest durable save is older by the drain. A save that
# comes due while the one before still drains waits for it: below τ = D training stands still for the rest of D.
ASYNC_WRITING = (s + sp.Max(0, D - tau)) / tau
ASYNC_REDONE = REDONE + D / M
ASYNC_LOSS = ASYNC_WRITING + ASYNC_REDONE + RESTARTS
_streaming = ASYNC_LOSS.subs(sp.Max(0, D - tau), 0)  # τ ≥ D: nothing waits
ASYNC_YOUNG = one_root(sp.solve(sp.diff(_streaming, tau), tau)[0])  # the stall counts, the drain does not
ASYNC_BEST = sp.Max(D, ASYNC_YOUNG)  # below D the loss falls with the interval as long as D < 2M

# A save fails unnoticed with chance f: the newest durable one is then older by whole intervals, f/(1 − f) on average.
MISSED_SAVES = f / (1 - f)  # mean of the geometric distribution
UNNOTICED_REDONE = REDONE + MISSED_SAVES * tau / M
# How many checkpoints to hold, so that one is durable while another drains.
COPIES = sp.ceiling(D / tau) + 1

# --- Several levels of checkpoints: each is saved on its own, and serves its share p of the failures --
# The whole loss is the sum over the levels. With p = 1 this is the asynchronous loss of one level.
LEVEL_LOSS = WRITING + p * (REDONE + D / M + RESTARTS)
LEVEL_BEST = one_root(sp.solve(sp.diff(LEVEL_LOSS, tau), tau)[0])

# --- What the loss costs, per hour ------------------------------------------------------------------
COST = L * c

# --- How many checkpoints to keep: the newest ones may hold a fault that was not yet noticed ---------------
KEEP = sp.ceiling(d / tau) + 1

"""Every formula of the book, written once, as a SymPy expression.

What SymPy can derive is derived here and not typed: change a term of `LOSS` and the optimum, the least
loss, the inverse questions, the equations in the chapters and every number follow.
All times in one expression share one unit (the book uses seconds), all sizes are bytes.
`youngdaly.evaluation.value` turns any of these expressions into numbers.

Sources: Young 1974 (doi 10.1145/361147.361115), Daly 2006 (doi 10.1016/j.future.2004.11.016).
"""

from dataclasses import dataclass

import sympy as sp


@dataclass(frozen=True)
class Quantity:
    """What a symbol stands for, and the unit its numbers are given in."""

    meaning: str
    unit: str


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
    "x": Quantity("tolerated extra loss, as a share of the least loss", "1"),
}
tau, delta, M, r, S, B, P, b, m, N, L, k, x = sp.symbols(list(QUANTITIES), positive=True)
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

# --- How often the job fails: the first of N independent devices stops all of them ------------------
FAILURE_INTERVAL = m / N
DEVICE_INTERVAL = sp.solve(sp.Eq(M, FAILURE_INTERVAL), m)[0]

# --- The three ways to lose time, to first order in τ/M, as shares of elapsed time ------------------
_moment = sp.Symbol("t", positive=True)
WRITING = delta / tau
REDONE = sp.integrate(_moment / tau, (_moment, 0, tau)) / M  # a failure strikes at any moment of the interval
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

# --- How flat the bottom is -------------------------------------------------------------------------
# Being wrong about τ* by a factor k costs this much more of the optimisable loss: (k + 1/k)/2 − 1.
MISS = sp.expand(sp.simplify((OPTIMISABLE / OPTIMISABLE.subs(tau, _young)).subs(tau, k * _young))) - 1
# So an extra L of the optimisable loss allows intervals from τ*/FLAT to τ*·FLAT: the roots multiply to 1.
FLAT = max(sp.solve(sp.Eq(MISS, L), k), key=lambda root: root.subs(L, 1))
_flat_of_all = FLAT.subs(L, x * LEAST_LOSS / LEAST_OPTIMISABLE)
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

# --- Exact theory: failures at a constant rate 1/M strike in work, in a write and in a restart -------
# One kept interval is followed from its first attempt until its write has ended. A second is booked by what the
# job did in it: work is useful once a write that ended keeps it, and redone otherwise; a write or a restart that
# a failure cuts short is still writing, or restarting. The replay books by the same rule.
_span, _after, _mean = sp.symbols("a b E", positive=True)
_undisturbed = sp.exp(-_moment / M)  # the chance that no failure strikes within the time t
_density = _undisturbed / M  # of the moment at which the first failure strikes


def time_until_undisturbed(span, after):
    """Expected time until a span of time has passed without a failure, if each failure costs `after` more.

    The renewal equation E = a·P(no failure in a) + ∫₀ᵃ (t + after + E)·density(t) dt, solved for E: a failure
    at t has cost t and `after`, and then everything begins anew.
    """
    struck = sp.integrate((_moment + _after + _mean) * _density, (_moment, 0, _span))
    balance = sp.Eq(_mean, _span * _undisturbed.subs(_moment, _span) + struck)
    return sp.factor(sp.solve(balance, _mean)[0]).subs({_span: span, _after: after})


def _tidy(expression):
    """Collect the exponentials, and write M(eʸ − 1 − y) for Meʸ − M − My: that form keeps its digits for small y."""
    return sp.factor(sp.expand(expression)).replace(lambda e: e.is_Add and e.has(tau), lambda e: M * sp.expand(e / M))


# Expected times per kept interval. A restart that is struck begins anew; so does an interval, after a restart.
EXACT_RESTART = time_until_undisturbed(r, 0)
EXACT_ELAPSED = time_until_undisturbed(tau + delta, _after)
EXACT_ELAPSED = EXACT_ELAPSED.subs(M + _after, sp.simplify(M + EXACT_RESTART))
_attempts = 1 / _undisturbed.subs(_moment, tau + delta)
_struck_in_work = _tidy(_attempts * sp.integrate(_moment * _density, (_moment, 0, tau)))
_struck_in_write = _tidy(_attempts * tau * sp.integrate(_density, (_moment, tau, tau + delta)))
_writing = _tidy(_attempts * sp.integrate(_undisturbed, (_moment, tau, tau + delta)))

# The exact ledger: shares of elapsed time that add up to 1.
EXACT_EFFECTIVE = tau / EXACT_ELAPSED
EXACT_WRITING = _writing / EXACT_ELAPSED
EXACT_REDONE = (_struck_in_work + _struck_in_write) / EXACT_ELAPSED
EXACT_RESTARTS = sp.expand(sp.cancel((_attempts - 1) * EXACT_RESTART / EXACT_ELAPSED))
EXACT_LOSS = EXACT_WRITING + EXACT_REDONE + EXACT_RESTARTS

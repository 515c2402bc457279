"""The exact theory for failures at a constant rate, in SymPy. Found through `youngdaly.formulas`."""

import sympy as sp

from youngdaly.formulas import M, delta, moment, r, tau

# Failures at a constant rate 1/M strike in work, in a write and in a restart.
# One kept interval is followed from its first attempt until its write has ended. A second is booked by what the
# job did in it: work is useful if a write that ended keeps it, and redone otherwise; a write or a restart that a
# failure cuts short is still writing, or restarting. The replay books by the same rule.
_span, _after, _mean = sp.symbols("a rho E", positive=True)
_undisturbed = sp.exp(-moment / M)  # the chance that no failure strikes within a time t
_density = _undisturbed / M  # of the moment at which the first failure strikes

# Expected time until a has passed without a failure, if each failure costs ρ more: a failure at t has cost t and
# ρ, and then everything begins anew. This renewal equation, solved for E:
RENEWAL = sp.Eq(
    _mean,
    _span * _undisturbed.subs(moment, _span)
    + sp.Integral((moment + _after + _mean) * _density, (moment, 0, _span)),
)
TIME_UNTIL_UNDISTURBED = sp.factor(sp.solve(RENEWAL.doit(), _mean)[0])


def _collected(expression):
    """Exponentials collected, and M(eʸ − 1 − y) for Meʸ − M − My: that form keeps its digits when y is small."""
    return sp.factor(sp.expand(expression)).replace(
        lambda e: e.is_Add and -tau in e.args, lambda e: M * sp.expand(e / M)
    )


# Expected times per kept interval.
EXACT_RESTART = TIME_UNTIL_UNDISTURBED.subs({_span: r, _after: 0})  # one restart; those struck begin anew
_elapsed = sp.factor(sp.expand(TIME_UNTIL_UNDISTURBED.subs(_after, EXACT_RESTART)))
EXACT_ELAPSED = _elapsed.subs(_span, tau + delta)  # Daly 2006
_attempts = 1 / _undisturbed.subs(moment, tau + delta)
_struck_in_work = _collected(_attempts * sp.integrate(moment * _density, (moment, 0, tau)))
_struck_in_write = _collected(_attempts * tau * sp.integrate(_density, (moment, tau, tau + delta)))
_writing = _collected(_attempts * sp.integrate(_undisturbed, (moment, tau, tau + delta)))

# The exact ledger: shares of elapsed time, which add up to 1.
EXACT_EFFECTIVE = tau / EXACT_ELAPSED
EXACT_WRITING = _writing / EXACT_ELAPSED
EXACT_REDONE = (_struck_in_work + _struck_in_write) / EXACT_ELAPSED
EXACT_RESTARTS = sp.expand(sp.cancel((_attempts - 1) * EXACT_RESTART / EXACT_ELAPSED))
EXACT_LOSS = EXACT_WRITING + EXACT_REDONE + EXACT_RESTARTS

# The best interval: the other root of the derivative is τ = −δ. The restart time drops out.
_slope = sp.diff(EXACT_EFFECTIVE, tau)
_roots = sp.solve(_slope, tau, simplify=False, check=False)
EXACT_BEST = sp.collect(next(root for root in _roots if root.has(sp.LambertW)), M)
# At the best interval, and only there, e^((τ+δ)/M) = 1/(1 − τ/M).
_growth = sp.Symbol("y", positive=True)
_at_best = sp.solve(_slope.subs(_attempts, _growth), _growth)[0]
EXACT_EFFECTIVE_AT_BEST = sp.factor(EXACT_EFFECTIVE.subs(_attempts, _at_best))
EXACT_LEAST_LOSS = EXACT_RESTARTS + sp.exp(-r / M) * EXACT_BEST / M


def first_order(exact):
    """The leading term of an exact share when saving, restarting and the interval are all short against M.

    δ shrinks like ε² when τ and r shrink like ε, as at the best interval.
    """
    small = sp.Symbol("epsilon", positive=True)
    scaled = exact.subs({tau: small * tau, delta: small**2 * delta, r: small * r}, simultaneous=True)
    return sp.expand(sp.series(scaled, small, 0, 2).removeO().coeff(small, 1))

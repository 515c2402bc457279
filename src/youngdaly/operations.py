"""Formulas of running a cluster: how well M must be known, silent corruption, restarts and spares, slow devices.

They extend `youngdaly.formulas`, whose letters and terms they use, and are found through it.
"""

import sympy as sp

from youngdaly.formulas import FAILURE_INTERVAL, MISS, REDONE, RESTARTS, WRITING, YOUNG, moment, one_root
from youngdaly.formulas import F, G, M, M_s, N, R, T, U, V, W, beta_1, beta_2, d, delta, g, h, j, k, n, q, r, sigma
from youngdaly.formulas import t, tau, v, w, z

# --- How well the failure interval must be known ----------------------------------------------------
# The best interval goes with its root: planning with g·M instead of M misses τ* by a factor √g.
MISS_BY_M = MISS.subs(k, sp.simplify(YOUNG.subs(M, g * M) / YOUNG))
# After n failures at random the estimate of M is M/n times a gamma-distributed number of shape n.
_of_estimate = n**n * g ** (n - 1) * sp.exp(-n * g) / sp.gamma(n)
_expected_miss = sp.integrate(sp.expand(MISS_BY_M * _of_estimate), (g, 0, sp.oo), conds="none")
EXPECTED_MISS = sp.factor(sp.expand_func(sp.powsimp(sp.expand(_expected_miss))) + 1) - 1
# For many failures: an estimate off by a factor eᵘ costs u²/8, and the variance of u tends to 1/n.
_log_of_estimate = sp.Symbol("u", real=True)
ROUGH_MISS = sp.series(MISS_BY_M.subs(g, sp.exp(_log_of_estimate)), _log_of_estimate, 0, 3).removeO().coeff(
    _log_of_estimate, 2
) / n  # fmt: skip

# --- Silent corruption --------------------------------------------------------------------------------
# An error strikes at any moment of an interval and is noticed d later; the newest checkpoint from before it is the
# last trusted one, so what was done since is done again.
LATE_REDONE = sp.expand(sp.integrate((moment + d) / tau, (moment, 0, tau))) / M_s
LATE_LOSS = WRITING + LATE_REDONE + RESTARTS.subs(M, M_s)
# With a verification before every save nothing shows until the interval has ended: all of it is done again.
VERIFIED_WRITING = (delta + V) / tau
VERIFIED_REDONE = sp.integrate(tau / tau, (moment, 0, tau)) / M_s
VERIFIED_LOSS = VERIFIED_WRITING + VERIFIED_REDONE + RESTARTS.subs(M, M_s)
_verified_best = sp.solve(sp.diff(VERIFIED_LOSS, tau), tau)[0]
VERIFIED_BEST = one_root(_verified_best)
VERIFIED_LEAST = one_root(sp.simplify(VERIFIED_LOSS.subs(tau, _verified_best)))

# --- Adam: how far one gradient can move a weight ---------------------------------------------------
# In learning rates, at the update numbered j: of a gradient that dwarfs all before it, or of any gradient when the
# two averages of the optimiser were lost.
_gradient, _first, _second = sp.symbols("g m v", positive=True)
_average = (beta_1 * _first + (1 - beta_1) * _gradient) / (1 - beta_1**j)
_square = (beta_2 * _second + (1 - beta_2) * _gradient**2) / (1 - beta_2**j)
LARGEST_STEP = (_average / sp.sqrt(_square)).subs({_first: 0, _second: 0})

# --- Restarting: what it costs, and what shortens it --------------------------------------------------
IDLE = N * r / M  # devices that, on average, stand still in a restart
IDLE_BY_DEVICES = IDLE.subs(M, FAILURE_INTERVAL)
IN_REPAIR = v * R / M  # nodes that, on average, are being repaired

# A node failed and no spare is free. Time lost, in time of the whole job: by waiting for a replacement; by going on
# without it and growing back, after a save, when it is there; by going on without it until the next failure, which
# restarts the job anyway. While the job is smaller it keeps the share q of its speed.
WAITING = T + r
GROWING = r + (1 - q) * (T - r) + delta + r
SMALL_UNTIL_NEXT = r + (1 - q) * M
BREAK_EVEN = sp.expand(sp.solve(sp.Eq(WAITING, GROWING), T)[0])  # go on if the wait is longer than this
BREAK_EVEN_NEXT = sp.collect(sp.solve(sp.Eq(WAITING, SMALL_UNTIL_NEXT), T)[0], M)

# A warning comes at any moment of a step. The step ends, then the save must fit into what is left.
SAVED_IN_TIME = sp.Min(1, sp.Max(0, (G - delta) / t))
LOSS_WARNED = WRITING + (1 - w) * REDONE + RESTARTS + w * delta / M
_unwarned = sp.Symbol("u", positive=True)
_best_warned = sp.solve(sp.diff(LOSS_WARNED.subs(w, 1 - _unwarned), tau), tau)[0]
BEST_WARNED = one_root(_best_warned.subs(_unwarned, 1 - w))
LEAST_LOSS_WARNED = sp.expand(LOSS_WARNED.subs(w, 1 - _unwarned).subs(tau, _best_warned)).subs(_unwarned, 1 - w)

# --- Stragglers: the slowest device sets the pace -----------------------------------------------------
STRAGGLER_LOSS = h / (1 + h)  # of the speed of the whole job
UNNOTICED = sp.factor(sp.solve(sp.Eq(U * STRAGGLER_LOSS, r + tau / 2), U)[0])  # costs as much as one failure
LOSS_STRAGGLERS = (U * STRAGGLER_LOSS + delta + r) / F  # unnoticed for U, then one planned stop
STEPS_TO_SEE = sp.solve(sp.Eq(z, h * sp.sqrt(W) / sigma), W)[0]

# The largest of N draws lies about where one of N is expected beyond.
_far = sp.Symbol("x", positive=True)
_tails = {"Gaussian": sp.exp(-(_far**2) / 2), "exponential": sp.exp(-_far), "power law": _far**-3}
LARGEST_OF = {law: one_root(sp.solve(sp.Eq(N * tail, 1), _far)[0]) for law, tail in _tails.items()}

# Its expectation for large N, in standard deviations above the mean of the noise. For the Gaussian, one step of
# Newton's method from the tail above to the true one, e^(−x²/2)/(x√(2π)); then the mean of the extreme-value law:
# γ scales beyond (Gumbel), or the factor Γ(1 − 1/3) (Fréchet).
_gaussian = LARGEST_OF["Gaussian"]
_true_tail = _tails["Gaussian"] / (_far * sp.sqrt(2 * sp.pi))
_power_density = -sp.diff(_tails["power law"], _far)
_power_mean = sp.integrate(_far * _power_density, (_far, 1, sp.oo))
_power_variance = sp.integrate((_far - _power_mean) ** 2 * _power_density, (_far, 1, sp.oo))
SLOWEST = {
    "Gaussian": _gaussian + (sp.log(N * _true_tail.subs(_far, _gaussian)) + sp.EulerGamma) / _gaussian,
    "exponential": LARGEST_OF["exponential"] + sp.EulerGamma - 1,
    "power law": (LARGEST_OF["power law"] * sp.gamma(sp.Rational(2, 3)) - _power_mean) / sp.sqrt(_power_variance),
}

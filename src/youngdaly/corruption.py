"""Silent corruption: bits flipped in the small run of `toy`, the rules that may notice, and what it costs by replay.

A bit is numbered as the hardware numbers it: 31 is the sign, 30 to 23 are the exponent, 22 to 0 the fraction.
"""

from typing import NamedTuple

import numpy as np

from youngdaly import toy
from youngdaly.processes import check
from youngdaly.replay import Ledger

BITS = 32
VECTORS = ("weights", "first_moment", "second_moment")
PLACES = {
    "weights": "weights",
    "gradient": "gradient",
    "first_moment": "optimiser, first moment",
    "second_moment": "optimiser, second moment",
}
SPIKE, WINDOW = 4, 16  # a spike: more than four times the median of the sixteen losses before it


def flip(vector, bit, entries):
    """A copy of a 32-bit vector (…, SIZE) with one bit flipped: everywhere that `entries` picks on the last axis.

    bit : whole number from 0 to 31, or one for each copy on the first axis, as `entries` then is.
    Raises a `ValueError` for another bit.
    """
    bits = np.asarray(bit)
    if bits.dtype.kind not in "iu" or bits.min() < 0 or bits.max() >= BITS:
        raise ValueError(f"bit = {bit!r}: give whole numbers from 0 to {BITS - 1}")
    flipped = np.array(vector, dtype=np.float32)
    where = (..., entries) if bits.ndim == 0 else (np.arange(len(flipped)), entries)
    flipped.view(np.uint32)[where] ^= np.uint32(1) << bits.astype(np.uint32)
    return flipped


def copies(state, count):
    """`count` copies of a run, which train side by side on the same samples."""
    return {key: np.tile(state[key], (count, 1)) if key in VECTORS else part for key, part in state.items()}


def spikes(losses, before):
    """Where the rule would have called: `losses` (steps, …) that are no number or far above the losses before them.

    After a loss that was no number it calls as long as that lies in its window.

    before : the losses that led up to them, shape (WINDOW or more, …).
    """
    window = np.concatenate([before[-WINDOW:], losses])
    usual = [np.median(window[number : number + WINDOW], axis=0) for number in range(len(losses))]
    return ~(losses <= SPIKE * np.array(usual))  # no comparison with what is no number is true


class Flips(NamedTuple):
    """What became of one flipped bit, for each bit and each of some entries: arrays of shape (BITS, entries).

    called : steps after which the rule called, counted from 1; 0 where it never did.
    off : the held-out loss in the end, as a share above (or below) that of the run left alone; may be no number.
    differs : whether a bit of the state in the end is another one.
    """

    called: np.ndarray
    off: np.ndarray
    differs: np.ndarray

    @property
    def loud(self):
        """Whether the rule called at once: after the step in which the bit was used, or after the next."""
        return (self.called > 0) & (self.called <= 2)

    @property
    def loud_bits(self):
        """The bits that were loud in most of the entries, the highest first."""
        return np.flatnonzero(self.loud.mean(axis=1) > 0.5)[::-1]


def every_flip(state, data, before, place, entries, steps):
    """Flip every bit of some entries, one bit in each of as many copies of a run, and train on.

    Parameters
    ----------
    state, data : the run, as `toy` has it. before : its losses so far.
    place : "weights", "first_moment" or "second_moment", flipped before the next step, or "gradient", flipped in it.
    entries : which of the numbers in that vector. steps : how many steps to train on.

    Returns
    -------
    `Flips`.
    """
    if place not in PLACES:
        raise ValueError(f"place = {place!r}: choose one of {', '.join(PLACES)}")
    bits, numbers = (grid.ravel() for grid in np.meshgrid(np.arange(BITS), entries, indexing="ij"))
    broken = copies(state, len(bits))
    if place == "gradient":
        broken, first = toy.step(broken, data, lambda gradient: flip(gradient, bits, numbers))
        broken, rest = toy.train(broken, data, steps - 1)
        losses = np.concatenate([first[None], rest])
    else:
        broken, losses = toy.train(broken | {place: flip(broken[place], bits, numbers)}, data, steps)
    alone, _ = toy.train(state, data, steps)
    called = spikes(losses, np.tile(before[:, None], len(bits)))
    differs = [broken[key].view(np.uint32) != alone[key].view(np.uint32) for key in VECTORS]
    results = (
        np.where(called.any(0), called.argmax(0) + 1, 0),
        toy.held_out_loss(broken, data) / toy.held_out_loss(alone, data) - 1,
        np.any(differs, axis=(0, 2)),
    )
    return Flips(*(result.reshape(BITS, -1) for result in results))


def noticed(state, data, before, steps, every, at_rest=None, in_gradient=None):
    """When each of three checks notices a fault in one of two replicas that average their gradients.

    The rule on the loss looks at every step. Every so many steps the last step is computed once more, from the same
    state and without the fault; and the replicas, which should hold the same bits, are compared.

    Parameters
    ----------
    state, data, before : the run and its losses so far. steps : how many to train on.
    every : steps between two checks, 1 or more.
    at_rest : a function that breaks the state of the first replica, called once before the first step.
    in_gradient : a function from step number (from 1) and gradient to what the first replica computes instead.

    Returns
    -------
    dict from check to the step after which it noticed, counted from 1; 0 if it never did.
    """
    if isinstance(every, bool) or not isinstance(every, (int, np.integer)) or every < 1:
        raise ValueError(f"every = {every!r}: give a whole number of steps, 1 or more")
    replicas = copies(state, 2)
    if at_rest is not None:
        broken = at_rest(state)
        replicas |= {key: np.stack([broken[key], state[key]]) for key in VECTORS}
    seen = dict.fromkeys(("loss spike", "step computed again", "replicas compared"), 0)

    def averaged(gradient):
        return np.tile((gradient[0] + gradient[1]) / 2, (2, 1))

    losses = []
    for number in range(1, steps + 1):
        def faulty(gradient):
            if in_gradient is not None:
                gradient = np.stack([in_gradient(number, gradient[0]), gradient[1]])
            return averaged(gradient)

        after, loss = toy.step(replicas, data, faulty)
        losses.append(loss.mean())
        if spikes(np.array(losses[-1:]), np.concatenate([before, losses[:-1]]))[0]:
            seen["loss spike"] = seen["loss spike"] or number
        if number % every == 0:
            again, _ = toy.step(replicas, data, averaged)
            if toy.digest(again) != toy.digest(after):
                seen["step computed again"] = seen["step computed again"] or number
            if any(after[key][0].tobytes() != after[key][1].tobytes() for key in VECTORS):
                seen["replicas compared"] = seen["replicas compared"] or number
        replicas = after
    return seen


def verified_run(interval, write, verification, restart, silent_interval, kept, rng):
    """A job that checks its state before it saves: interval, verification, and a save if nothing was wrong.

    Errors strike at random while it works, and nothing shows until the verification, which finds all of them. Then
    the job restarts from the newest checkpoint, which is good, and does the whole interval again. The four entries
    are summed over intervals and errors as they happen; no formula is used. Verification is booked as writing.

    Parameters
    ----------
    interval, write, verification, restart : times. silent_interval : the mean working time between errors.
    kept : how many checkpoints to reach, for each of several runs: the shape (runs, checkpoints) as a pair.
    rng : a NumPy generator.

    Returns
    -------
    `Ledger` with one entry for each run.
    """
    times = {"interval": interval, "write": write, "verification": verification, "silent_interval": silent_interval}
    for name, number in times.items():
        check(name, number)
    check("restart", restart, zero=True)
    runs, checkpoints = kept
    errors = np.zeros(runs)
    for run in range(runs):
        attempts = checkpoints
        while attempts:  # those that an error spoiled are tried again
            attempts = np.count_nonzero(rng.exponential(silent_interval, attempts) < interval)
            errors[run] += attempts
    return Ledger(
        np.full(runs, checkpoints * interval),
        checkpoints * (verification + write) + errors * verification,
        errors * interval,
        errors * restart,
    )


def late_run(interval, write, detection, restart, silent_interval, errors, rng):
    """A job whose errors are noticed late: it goes back to the newest checkpoint from before the error.

    The next error is waited for from the moment the job runs again. All times on the clock.

    Parameters
    ----------
    interval, write, restart : times. detection : from an error until it is noticed.
    silent_interval : the mean time between errors. errors : how many to go through. rng : a NumPy generator.

    Returns
    -------
    (ledger, needed) : a `Ledger` of the whole, and for each error how many checkpoints had to be kept for the
        last trusted one to be among them.
    """
    for name, number in {"interval": interval, "write": write, "silent_interval": silent_interval}.items():
        check(name, number)
    check("detection", detection, zero=True)
    check("restart", restart, zero=True)
    cycle = interval + write
    struck = rng.exponential(silent_interval, errors)
    good, written = np.floor(struck / cycle), np.floor((struck + detection) / cycle)
    elapsed, useful, writing = struck + detection, good * interval, written * write
    ledger = Ledger(useful, writing, elapsed - useful - writing, np.full(errors, restart))
    return ledger, (written - good + 1).astype(int)

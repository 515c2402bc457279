"""A training run small enough to break on purpose: a network of two layers, dropout, Adam, one pass over its data.

Its whole state is one plain dict, `start`; `step` takes such a dict and gives the next one, and reads nothing else
but the data. So what is missing from a checkpoint is missing from the run, and bits can be compared.

Every sum is taken in a fixed order and nothing but +, ×, ÷, √ and comparisons is used, in 32 bits: the bits
of a run are the same on every machine. A product of the machine's own library would not promise that.
"""

import hashlib
import json
from dataclasses import dataclass

import numpy as np

INPUTS, HIDDEN, BATCH, SAMPLES, HELD_OUT = 9, 26, 8, 1024, 1024
STEPS = SAMPLES // BATCH  # one pass over the data
SHAPES = {"in.weight": (INPUTS, HIDDEN), "in.bias": (HIDDEN,), "out.weight": (HIDDEN,), "out.bias": (1,)}
SIZES = {name: int(np.prod(shape)) for name, shape in SHAPES.items()}
SIZE = sum(SIZES.values())

RATE, BETA_1, BETA_2, TINY = 0.02, 0.9, 0.999, 1e-8  # Adam, with its usual constants
KEEP = 0.95  # dropout keeps this share of the hidden units
NOISE = 1.0  # of the targets: what can be learnt by heart but not understood

# What a checkpoint consists of, and under which keys of the state it lies.
PARTS = {
    "weights": ("weights",),
    "optimiser": ("first_moment", "second_moment", "updates"),
    "data position": ("position",),
    "random generator": ("generator",),
}
_TEACHER, _SAMPLES, _ORDER, _WEIGHTS, _DROPOUT = range(5)  # one stream of random numbers for each use
_one = np.float32(1)


def _whole(name, number, most=None):
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1 or (most and number > most):
        raise ValueError(f"{name} = {number!r}: give a whole number{f' from 1 to {most}' if most else ', 1 or more'}")
    return int(number)


def _generator(seed, use):
    return np.random.default_rng([_whole("seed", seed), use])


def _symmetric(generator, *shape):
    return 2 * generator.random(shape, dtype=np.float32) - _one


def views(vector):
    """The layers in a flat vector of shape (…, SIZE): a dict from name to an array of shape (…, *SHAPES[name])."""
    ends = np.cumsum(list(SIZES.values()))[:-1]
    pieces = np.split(vector, ends, axis=-1)
    return {name: piece.reshape(*vector.shape[:-1], *SHAPES[name]) for name, piece in zip(SHAPES, pieces)}


def joined(layers):
    """Layers as one flat vector, in the order of the dict: for that of SHAPES the inverse of `views`."""
    return np.concatenate([layer.ravel() for layer in layers.values()])


@dataclass(frozen=True)
class Data:
    """Samples with noisy targets, the order in which they are read, and as many held out.

    inputs (SAMPLES, INPUTS), targets (SAMPLES,), order (SAMPLES,); held_out_inputs, held_out_targets.
    """

    inputs: np.ndarray
    targets: np.ndarray
    order: np.ndarray
    held_out_inputs: np.ndarray
    held_out_targets: np.ndarray

    def read(self, position):
        """The numbers of the samples of the next batch; after the last sample the order begins again."""
        return self.order[np.arange(position, position + BATCH) % SAMPLES]


def dataset(seed):
    """The data of a run. Raises a `ValueError` for a seed that is no whole number, 1 or more."""
    inputs = _symmetric(_generator(seed, _SAMPLES), SAMPLES + HELD_OUT, INPUTS)
    slopes = 2 * _symmetric(_generator(seed, _TEACHER), 3, INPUTS)
    up, down, level = (np.maximum((inputs * slope).sum(-1), 0) for slope in slopes)
    noise = np.float32(NOISE) * _symmetric(_generator(seed, _TEACHER + 10), SAMPLES + HELD_OUT)
    targets = up - down + level + noise
    order = _generator(seed, _ORDER).permutation(SAMPLES)
    return Data(inputs[:SAMPLES], targets[:SAMPLES], order, inputs[SAMPLES:], targets[SAMPLES:])


def start(seed):
    """The state before the first step: a plain dict with everything that a step reads, apart from the data."""
    generator = _generator(seed, _WEIGHTS)
    spread = {name: 3 / np.sqrt(size) for name, size in (("in.weight", 3 * INPUTS), ("out.weight", 3 * HIDDEN))}
    weights = np.concatenate(
        [np.float32(spread.get(name, 0)) * _symmetric(generator, size) for name, size in SIZES.items()]
    )
    return {
        "weights": weights,
        "first_moment": np.zeros_like(weights),
        "second_moment": np.zeros_like(weights),
        "updates": 0,
        "position": 0,
        "generator": _generator(seed, _DROPOUT).bit_generator.state,
    }


def _outputs(layers, inputs, mask=_one):
    hidden = (inputs[:, :, None] * layers["in.weight"][..., None, :, :]).sum(-2) + layers["in.bias"][..., None, :]
    active = np.maximum(hidden, 0) * mask
    return hidden, active, (active * layers["out.weight"][..., None, :]).sum(-1) + layers["out.bias"]


def _gradient(weights, inputs, targets, mask):
    """Mean squared error and its gradient, by hand: backwards through the two layers."""
    layers = views(weights)
    hidden, active, outputs = _outputs(layers, inputs, mask)
    error = outputs - targets
    slope = np.float32(2 / BATCH) * error[..., None]
    back = slope * layers["out.weight"][..., None, :] * mask * (hidden > 0)
    into = (inputs[:, :, None] * back[..., None, :]).sum(-3)
    flat = [into.reshape(*weights.shape[:-1], -1), back.sum(-2), (slope * active).sum(-2), slope.sum(-2)]
    return (error * error).mean(-1), np.concatenate(flat, -1)


def step(state, data, on_gradient=None):
    """One training step.

    Parameters
    ----------
    state : a dict as `start` makes it. Its three vectors may have leading axes, shape (…, SIZE): copies of the
        run that read the same samples and drop the same units.
    data : the run's `Data`.
    on_gradient : a function from the gradient to the gradient that the optimiser gets; what goes wrong there.

    Returns
    -------
    (state, loss) : a new dict, and the training loss of this batch, shape (…).
    """
    samples = data.read(state["position"])
    generator = np.random.default_rng()
    generator.bit_generator.state = state["generator"]
    mask = (generator.random((BATCH, HIDDEN)) < KEEP).astype(np.float32) / np.float32(KEEP)
    with np.errstate(over="ignore", invalid="ignore"):  # a run that was broken on purpose may overflow
        loss, gradient = _gradient(state["weights"], data.inputs[samples], data.targets[samples], mask)
        if on_gradient is not None:
            gradient = on_gradient(gradient)
        first = np.float32(BETA_1) * state["first_moment"] + np.float32(1 - BETA_1) * gradient
        second = np.float32(BETA_2) * state["second_moment"] + np.float32(1 - BETA_2) * (gradient * gradient)
        updates = state["updates"] + 1
        direction = first / np.float32(1 - BETA_1**updates)
        size = np.sqrt(second / np.float32(1 - BETA_2**updates)) + np.float32(TINY)
        weights = state["weights"] - np.float32(RATE) * (direction / size)
    return {
        "weights": weights,
        "first_moment": first,
        "second_moment": second,
        "updates": updates,
        "position": state["position"] + BATCH,
        "generator": generator.bit_generator.state,
    }, loss


def train(state, data, steps, on_gradient=None):
    """`steps` steps from `state`: the state after them and the losses, shape (steps, …).

    Raises a `ValueError` for a number of steps that is no whole number, 1 or more.
    """
    losses = []
    for _ in range(_whole("steps", steps)):
        state, loss = step(state, data, on_gradient)
        losses.append(loss)
    return state, np.array(losses)


def held_out_loss(state, data):
    """Mean squared error on the samples held out, without dropout, shape (…)."""
    losses = []
    with np.errstate(over="ignore", invalid="ignore"):
        for weights in state["weights"].reshape(-1, SIZE):  # one copy at a time: all at once would fill the memory
            error = _outputs(views(weights), data.held_out_inputs)[-1] - data.held_out_targets
            losses.append((error * error).mean())
    return np.array(losses).reshape(state["weights"].shape[:-1])


def followed(state, data, steps, on_gradient=None):
    """As `train`, and the held-out loss after each step: the state, the losses, the held-out losses."""
    losses, held_out = [], []
    for _ in range(_whole("steps", steps)):
        state, loss = step(state, data, on_gradient)
        losses.append(loss)
        held_out.append(held_out_loss(state, data))
    return state, np.array(losses), np.array(held_out)


def restored(saved, seed, without=()):
    """What a trainer holds after loading a checkpoint from which parts were left out: those are as at the start.

    saved : a state. seed : of the fresh start. without : names of `PARTS`.
    Raises a `ValueError` for a part that no checkpoint has.
    """
    unknown = [part for part in without if part not in PARTS]
    if unknown:
        raise ValueError(f"without = {unknown[0]!r}: choose among {', '.join(PARTS)}")
    lost = {key for part in without for key in PARTS[part]}
    fresh = start(seed)
    return {key: fresh[key] if key in lost else value for key, value in saved.items()}


def interrupted(data, seed, stops, without=()):
    """One run of STEPS steps, stopped so many times at even distances, and resumed each time.

    stops : whole number from 1 to STEPS − 1. without : what every checkpoint lacked, names of `PARTS`.

    Returns
    -------
    (losses, held_out, read) : the losses after each step, and how often each sample was read, shape (SAMPLES,).
    """
    legs = np.diff(np.linspace(0, STEPS, _whole("stops", stops, STEPS - 1) + 2).astype(int))
    state, curves, read = start(seed), [], np.zeros(SAMPLES, int)
    for steps in legs:
        state = restored(state, seed, without)
        samples = [data.read(state["position"] + number * BATCH) for number in range(steps)]
        read += np.bincount(np.ravel(samples), minlength=SAMPLES)
        state, *curve = followed(state, data, steps)
        curves.append(curve)
    losses, held_out = np.concatenate(curves, axis=1)
    return losses, held_out, read


def digest(state):
    """A hash of every bit of a state: two states go on in the same way if and only if theirs are equal."""
    parts = [np.ascontiguousarray(state[key]).tobytes() for key in ("weights", "first_moment", "second_moment")]
    rest = {key: state[key] for key in ("updates", "position", "generator")}
    return hashlib.sha256(b"".join(parts) + json.dumps(rest, sort_keys=True).encode()).hexdigest()

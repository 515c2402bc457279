"""The small training run: its gradient and its optimiser against other code, its state against being resumed."""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from youngdaly import toy

DATA = toy.dataset(1)
START = toy.start(1)
LOST = [part for part in toy.PARTS if part != "weights"]


@pytest.fixture(scope="module")
def alone():
    """The run that nothing happens to: state, losses, held-out losses."""
    return toy.followed(START, DATA, toy.STEPS)


# --- It is a training run ---------------------------------------------------------------------------


def test_the_gradient_is_the_slope_of_the_loss():
    rng = np.random.default_rng(0)
    weights = START["weights"].astype(float)
    inputs, targets = DATA.inputs[: toy.BATCH].astype(float), DATA.targets[: toy.BATCH].astype(float)
    mask = (rng.random((toy.BATCH, toy.HIDDEN)) < 0.5) * 2.0
    _, gradient = toy._gradient(weights, inputs, targets, mask)
    for entry in rng.choice(toy.SIZE, 40, replace=False):
        nudge = np.zeros(toy.SIZE)
        nudge[entry] = 1e-6
        up, down = (toy._gradient(weights + sign * nudge, inputs, targets, mask)[0] for sign in (1, -1))
        assert gradient[entry] == pytest.approx((up - down) / 2e-6, abs=1e-6)


def test_the_optimiser_is_adam():
    """Against Adam as its paper writes it, number by number in 64 bits."""
    gradients = []
    state, _ = toy.train(START, DATA, 5, lambda gradient: gradients.append(gradient) or gradient)
    for entry in range(0, toy.SIZE, 20):
        weight, m, v = float(START["weights"][entry]), 0.0, 0.0
        for t, gradient in enumerate(gradients, start=1):
            g = float(gradient[entry])
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            weight -= toy.RATE * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)) ** 0.5 + 1e-8)
        assert state["weights"][entry] == pytest.approx(weight, rel=1e-3, abs=1e-4)
        assert state["first_moment"][entry] == pytest.approx(m, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("seed", range(1, 6))
def test_it_learns(seed):
    data = toy.dataset(seed)
    state, _ = toy.train(toy.start(seed), data, toy.STEPS)
    untrained, trained = toy.held_out_loss(toy.start(seed), data), toy.held_out_loss(state, data)
    noise = toy.NOISE**2 / 3  # its variance: nobody does better
    assert noise < trained < untrained / 4


def test_one_pass_reads_every_sample_once_in_the_order_drawn():
    read = np.concatenate([DATA.read(number * toy.BATCH) for number in range(toy.STEPS)])
    assert np.array_equal(read, DATA.order)
    assert np.array_equal(np.sort(read), np.arange(toy.SAMPLES))
    assert not np.array_equal(read, np.sort(read))


def test_views_are_the_layers_and_share_their_memory():
    vector = np.arange(toy.SIZE)
    layers = toy.views(vector)
    assert {name: layer.shape for name, layer in layers.items()} == toy.SHAPES
    assert np.array_equal(toy.joined(layers), vector)
    assert toy.views(np.zeros((2, 3, toy.SIZE)))["in.weight"].shape == (2, 3, *toy.SHAPES["in.weight"])


# --- Its bits ---------------------------------------------------------------------------------------


def test_a_step_leaves_the_state_it_began_from_as_it_was():
    before = copy.deepcopy(START)
    toy.train(START, DATA, 3)
    assert toy.digest(before) == toy.digest(START)


def test_copies_side_by_side_have_the_bits_of_one_run(alone):
    """Broken copies can be compared with the run left alone."""
    several = START | {key: np.stack([START[key]] * 3) for key in ("weights", "first_moment", "second_moment")}
    state, losses = toy.train(several, DATA, 20)
    one, losses_of_one = toy.train(START, DATA, 20)
    for key in ("weights", "first_moment", "second_moment"):
        assert all(copied.tobytes() == one[key].tobytes() for copied in state[key])
    assert np.array_equal(losses, np.stack([losses_of_one] * 3, axis=1))
    assert np.array_equal(toy.held_out_loss(state, DATA), [toy.held_out_loss(one, DATA)] * 3)


def test_the_bits_do_not_depend_on_the_instructions_of_the_machine(alone):
    """Once more without any of the instructions that NumPy chooses by what the processor can do."""
    from numpy._core._multiarray_umath import __cpu_dispatch__

    code = "from youngdaly import toy; print(toy.digest(toy.train(toy.start(1), toy.dataset(1), toy.STEPS)[0]))"
    environment = os.environ | {"NPY_DISABLE_CPU_FEATURES": " ".join(__cpu_dispatch__)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == toy.digest(alone[0])


@pytest.mark.parametrize("key", START)
def test_the_digest_sees_every_entry(key):
    state, _ = toy.train(START, DATA, 2)
    changed = copy.deepcopy(state)
    if key == "generator":
        changed[key]["state"]["state"] += 1
    elif isinstance(changed[key], int):
        changed[key] += 1
    else:
        changed[key].view(np.uint32)[-1] ^= 1  # the least bit of the last number
    assert toy.digest(changed) != toy.digest(state)


# --- Resuming ---------------------------------------------------------------------------------------


@given(stop=st.integers(1, toy.STEPS - 1))
@settings(max_examples=10)
def test_a_checkpoint_with_everything_resumes_to_the_same_bits(stop):
    state, _ = toy.train(START, DATA, stop)
    resumed, losses = toy.train(pickle.loads(pickle.dumps(state)), DATA, toy.STEPS - stop)
    whole, all_losses = toy.train(START, DATA, toy.STEPS)
    assert toy.digest(resumed) == toy.digest(whole)
    assert np.array_equal(losses, all_losses[stop:])


@pytest.mark.parametrize("part", toy.PARTS)
def test_a_checkpoint_without_one_part_does_not(part):
    state, _ = toy.train(START, DATA, 40)
    broken, whole = toy.restored(state, 1, (part,)), toy.restored(state, 1)
    assert toy.digest(whole) == toy.digest(state)
    for key, entry in broken.items():
        left = pickle.dumps(entry) == pickle.dumps(state[key])
        assert left != (key in toy.PARTS[part])
    assert toy.digest(toy.step(broken, DATA)[0]) != toy.digest(toy.step(state, DATA)[0])


def test_every_entry_of_the_state_is_a_part_of_the_checkpoint():
    assert sorted(key for keys in toy.PARTS.values() for key in keys) == sorted(START)


def test_interrupted_with_everything_is_the_run_left_alone(alone):
    losses, held_out, read = toy.interrupted(DATA, 1, 5)
    assert np.array_equal(losses, alone[1]) and np.array_equal(held_out, alone[2])
    assert (read == 1).all()


@pytest.mark.parametrize("stops", [1, 3, 15, toy.STEPS - 1])
def test_without_the_position_only_the_first_leg_is_read(stops):
    *_, read = toy.interrupted(DATA, 1, stops, ("data position",))
    first = DATA.order[: toy.SAMPLES // (stops + 1)]
    assert set(np.flatnonzero(read)) == set(first)
    assert (read[first] == stops + 1).all()


@pytest.mark.parametrize("seed", range(1, 9))
@pytest.mark.parametrize("stops", [15, 31])
def test_a_loss_on_repeated_samples_flatters(seed, stops):
    data = toy.dataset(seed)
    _, losses, held_out = toy.followed(toy.start(seed), data, toy.STEPS)
    repeated, repeated_held_out, _ = toy.interrupted(data, seed, stops, ("data position",))
    assert repeated[-16:].mean() < losses[-16:].mean()
    assert repeated_held_out[-1] > held_out[-1]


@pytest.mark.parametrize("seed", range(1, 9))
def test_without_the_optimiser_every_weight_moves_by_the_learning_rate(seed):
    data = toy.dataset(seed)
    state, _ = toy.train(toy.start(seed), data, 96)
    broken = toy.restored(state, seed, ("optimiser",))
    gradients = []
    after, _ = toy.step(broken, data, lambda gradient: gradients.append(gradient) or gradient)
    moved = np.abs(after["weights"] - broken["weights"])[np.abs(gradients[0]) > 1e-3]
    assert moved == pytest.approx(toy.RATE, rel=1e-3)
    usual = np.abs(toy.step(state, data)[0]["weights"] - state["weights"])
    assert np.linalg.norm(moved) > 2 * np.linalg.norm(usual)


# --- What is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [0, -1, 1.0, float("nan"), True, "1", None])
def test_a_seed_or_a_number_of_steps_that_is_none_is_refused(bad):
    for refused in (toy.dataset, toy.start):
        with pytest.raises(ValueError, match=r"^seed = .*: give a whole number, 1 or more$"):
            refused(bad)
    for refused in (toy.train, toy.followed):
        with pytest.raises(ValueError, match=r"^steps = .*: give a whole number, 1 or more$"):
            refused(START, DATA, bad)


@pytest.mark.parametrize("bad", [0, toy.STEPS, 1.5])
def test_more_stops_than_steps_are_refused(bad):
    with pytest.raises(ValueError, match=rf"^stops = {bad}: give a whole number from 1 to {toy.STEPS - 1}$"):
        toy.interrupted(DATA, 1, bad)


def test_a_part_that_no_checkpoint_has_is_refused():
    with pytest.raises(ValueError, match="^without = 'scheduler': choose among weights, optimiser, data position"):
        toy.restored(START, 1, ("optimiser", "scheduler"))

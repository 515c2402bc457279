"""State over ranks: every way there and back keeps every bit, and the bugs that shipped are found by name."""

from math import nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from youngdaly import layout, toy

shapes = st.dictionaries(
    st.text("abc.", min_size=1, max_size=4), st.lists(st.integers(1, 7), min_size=1, max_size=3).map(tuple),
    min_size=1, max_size=5,
)  # fmt: skip
ranks = st.integers(1, 12)
NUMBERED = toy.views(np.arange(toy.SIZE, dtype=np.float32))  # each entry is its own number


def numbered(shapes):
    """Tensors in which no number stands twice, so that one in a wrong place is seen."""
    tensors, start = {}, 1
    for name, shape in shapes.items():
        tensors[name] = np.arange(start, start + np.prod(shape), dtype=float).reshape(shape)
        start += tensors[name].size
    return tensors


def equal(one, other):
    return list(one) == list(other) and all(np.array_equal(one[name], other[name]) for name in one)


# --- The layouts ------------------------------------------------------------------------------------


@given(shapes=shapes, saved=ranks, loaded=ranks)
def test_any_number_of_ranks_to_any_other_keeps_everything(shapes, saved, loaded):
    tensors = numbered(shapes)
    shards = layout.reshard(layout.flat_shards(tensors, saved), shapes, loaded)
    assert len(shards) == loaded and len({shard.size for shard in shards}) == 1
    assert equal(layout.from_flat(shards, shapes), tensors)


@given(shapes=shapes, ranks=ranks)
def test_padding_is_never_read(shapes, ranks):
    """Whatever touches padding that is no number becomes no number."""
    poisoned = layout.flat_shards(numbered(shapes), ranks, padding=nan)
    assert equal(layout.from_flat(poisoned, shapes), numbered(shapes))


@given(shapes=shapes, ranks=ranks)
def test_there_is_as_little_padding_as_equal_pieces_need(shapes, ranks):
    shards = layout.flat_shards(numbered(shapes), ranks, padding=nan)
    padding = np.isnan(np.concatenate(shards)).sum()
    assert padding == sum(-int(np.prod(shape)) % ranks for shape in shapes.values())


@given(rows=st.integers(0, 30), ranks=st.integers(1, 40))
def test_rows_over_ranks_are_all_there_in_order_with_empty_shards_only_at_the_end(rows, ranks):
    array = np.arange(3 * rows).reshape(rows, 3)
    shards = layout.row_shards(array, ranks)
    assert len(shards) == ranks
    assert np.array_equal(np.concatenate(shards), array)
    lengths = [len(shard) for shard in shards]
    assert lengths == sorted(lengths, reverse=True)
    assert sum(0 < length < lengths[0] for length in lengths) <= 1


@pytest.mark.parametrize("rows, ranks, lengths", [
    (6, 4, [2, 2, 2, 0]), (6, 3, [2, 2, 2]), (6, 6, [1] * 6), (6, 8, [1] * 6 + [0] * 2), (9, 4, [3, 3, 3, 0]),
])  # fmt: skip
def test_six_rows_over_four_ranks_leave_one_empty(rows, ranks, lengths):
    assert [len(shard) for shard in layout.row_shards(np.zeros((rows, 2)), ranks)] == lengths


def test_the_flat_layout_by_hand():
    tensors = {"a": np.array([[1, 2], [3, 4], [5, 6]]), "b": np.array([7])}
    first, second, third, fourth = layout.flat_shards(tensors, 4, padding=0)
    assert [list(shard) for shard in (first, second, third, fourth)] == [[1, 2, 7], [3, 4, 0], [5, 6, 0], [0, 0, 0]]


# --- The run on other ranks -------------------------------------------------------------------------


def on_ranks(state, saved, loaded):
    vectors = {}
    for key in ("weights", "first_moment", "second_moment"):
        shards = layout.reshard(layout.flat_shards(toy.views(state[key]), saved), toy.SHAPES, loaded)
        vectors[key] = toy.joined(layout.from_flat(shards, toy.SHAPES))
    return state | vectors


@pytest.mark.parametrize("saved, loaded", [(4, 3), (4, 6), (4, toy.SIZE + 1), (1, 7), (6, 1), (4, 4)])
def test_the_run_goes_on_bit_by_bit_on_another_number_of_ranks(saved, loaded):
    data = toy.dataset(2)
    state, _ = toy.train(toy.start(2), data, 30)
    there = on_ranks(state, saved, loaded)
    assert toy.digest(toy.train(there, data, 10)[0]) == toy.digest(toy.train(state, data, 10)[0])


@given(ranks=ranks)
def test_adam_on_the_shards_is_adam_on_the_whole_and_leaves_the_padding_alone(ranks):
    def adam(weights, m, v, gradient):
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        return weights - 0.02 * m / (np.sqrt(v) + 1e-8)

    rng = np.random.default_rng(0)
    whole = [toy.views(rng.random(toy.SIZE)) for _ in range(4)]
    sharded = [layout.flat_shards(tensors, ranks) for tensors in whole]
    updated = [adam(*parts) for parts in zip(*sharded)]
    expected = {name: adam(*(tensors[name] for tensors in whole)) for name in toy.SHAPES}
    assert equal(layout.from_flat(updated, toy.SHAPES), expected)
    for name, vector in layout.padded(updated, toy.SHAPES).items():
        assert not vector[toy.SIZES[name] :].any()


# --- The bugs that shipped: each fails the property that the layout has -------------------------------


def test_dividing_without_the_remainder_loses_rows():
    def forgotten(rows, ranks):
        each = len(rows) // ranks
        return [rows[rank * each : (rank + 1) * each] for rank in range(ranks)]

    rows = np.arange(6)
    kept = {ranks: sum(map(len, forgotten(rows, ranks))) for ranks in range(1, 9)}
    assert kept == {1: 6, 2: 6, 3: 6, 4: 4, 5: 5, 6: 6, 7: 0, 8: 0}


def test_padding_left_in_is_seen_with_several_tensors_and_not_with_one():
    """The round trip of a single tensor is blind: nothing stands behind its padding."""
    def left_in(tensors, ranks):
        shapes = {name: tensor.shape for name, tensor in tensors.items()}
        joined = layout.padded(layout.flat_shards(tensors, ranks), shapes)
        return toy.joined(joined)[: sum(tensor.size for tensor in tensors.values())]

    one, two = {"a": np.arange(1.0, 8)}, {"a": np.arange(1.0, 8), "b": np.arange(8.0, 11)}
    assert np.array_equal(left_in(one, 4), np.arange(1.0, 8))
    assert list(left_in(two, 4)) == [1, 2, 3, 4, 5, 6, 7, 0, 8, 9]


def test_another_order_of_tensors_has_the_right_length_and_the_wrong_numbers():
    vector, right = toy.joined({name: NUMBERED[name] for name in sorted(NUMBERED)}), toy.joined(NUMBERED)
    assert vector.size == right.size and not np.array_equal(vector, right)
    assert not equal(layout.from_flat(layout.flat_shards(toy.views(vector), 4), toy.SHAPES), NUMBERED)


# --- What is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [0, -1, 2.0, nan, True, "4", None])
def test_no_ranks_are_refused(bad):
    for refused in (
        lambda: layout.row_shards(np.zeros(6), bad),
        lambda: layout.flat_shards(NUMBERED, bad),
        lambda: layout.pieces(toy.SHAPES, bad),
        lambda: layout.reshard(layout.flat_shards(NUMBERED, 2), toy.SHAPES, bad),
    ):
        with pytest.raises(ValueError, match=r"^ranks = .*: give a whole number of ranks, 1 or more$"):
            refused()


def test_no_shards_are_refused():
    with pytest.raises(ValueError, match="^number of shards = 0: "):
        layout.from_flat([], toy.SHAPES)


def test_shards_that_are_missing_or_of_other_shapes_are_refused():
    shards = layout.flat_shards(NUMBERED, 4)
    for broken in (shards[:3], [*shards[:3], shards[3][:-1]], layout.flat_shards({"a": np.zeros(9)}, 4)):
        with pytest.raises(ValueError, match=rf"^{len(broken)} shards of .*: these shapes on as many ranks need"):
            layout.from_flat(broken, toy.SHAPES)

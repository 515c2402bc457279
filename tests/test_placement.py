"""Copies in memory: counting against trying every case, and against random trials."""

from itertools import combinations

import numpy as np
import pytest

from youngdaly.placement import PLACEMENTS, chance_of_loss, chance_of_rack_loss, simulated_loss


def tried(nodes, copies, failed, placement):
    """The share of all ways to fail in which one node and everybody who holds its state are down."""

    def holders(node):
        if placement == "ring":
            return {(node + step) % nodes for step in range(copies)}
        return {other for other in range(nodes) if other // copies == node // copies}

    ways = [set(way) for way in combinations(range(nodes), failed)]
    return sum(any(holders(node) <= way for node in range(nodes)) for way in ways) / len(ways)


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize(("nodes", "copies"), [(8, 1), (8, 2), (12, 3), (12, 4)])
def test_counting_agrees_with_trying_every_way_to_fail(nodes, copies, placement):
    for failed in range(nodes + 1):
        assert chance_of_loss(nodes, copies, failed, placement) == pytest.approx(
            tried(nodes, copies, failed, placement), abs=1e-12
        )


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_counting_agrees_with_random_trials(placement):
    chance, trials = chance_of_loss(256, 2, 12, placement), 4000
    error = np.sqrt(chance * (1 - chance) / trials)
    assert simulated_loss(256, 2, 12, placement, trials, np.random.default_rng(1)) == pytest.approx(chance, abs=4 * error)


def test_a_ring_loses_twice_as_often_as_pairs_when_two_nodes_fail():
    pairs, ring = (chance_of_loss(2048, 2, 2, placement) for placement in PLACEMENTS)
    assert pairs == pytest.approx(1 / 2047) and ring == pytest.approx(2 / 2047)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"copies": 9}, "copies = 9 is more than the 8 nodes"),
        ({"failed": 9}, "failed = 9 is more than the 8 nodes"),
        ({"copies": 0}, "copies = 0: give a whole number, 1 or more"),
        ({"copies": 3}, "nodes = 8 cannot be parted into groups of 3"),
        ({"failed": 1.5}, "failed = 1.5: give a whole number"),
        ({"nodes": np.nan}, "nodes = nan: give a whole number, 2 or more"),
        ({"nodes": np.inf}, "nodes = inf: give a whole number, 2 or more"),
        ({"placement": "tree"}, "placement = 'tree': choose one of groups, ring"),
    ],
)
def test_a_placement_that_cannot_be_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        chance_of_loss(**{"nodes": 8, "copies": 2, "failed": 2, "placement": "groups"} | change)


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("copies", [2, 4])
def test_a_rack_takes_all_copies_inside_it_and_never_all_copies_laid_apart(copies, placement):
    assert chance_of_rack_loss(64, copies, 8, placement, apart=False) == 1
    assert chance_of_rack_loss(64, copies, 8, placement, apart=True) == 0


def test_a_rack_smaller_than_a_group_never_takes_it_whole():
    assert chance_of_rack_loss(64, 4, 2, "groups", apart=False) == 0


def test_racks_that_do_not_fill_the_nodes_are_refused():
    with pytest.raises(ValueError, match="rack = 7: give a divisor of the 64 nodes"):
        chance_of_rack_loss(64, 2, 7, "groups", apart=True)
    with pytest.raises(ValueError, match="copies = 4 do not fit into 2 racks"):
        chance_of_rack_loss(64, 4, 32, "groups", apart=True)

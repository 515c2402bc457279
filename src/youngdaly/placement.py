"""Where the copies of a checkpoint lie in the memory of other nodes, and the chance that all of one are lost at once."""

from math import comb

import numpy as np

PLACEMENTS = ("groups", "ring")


def _checked(nodes, copies, failed, placement):
    for name, number, least in (("nodes", nodes, 2), ("copies", copies, 1), ("failed", failed, 0)):
        if isinstance(number, bool) or not number >= least or number % 1:  # a NaN fails the comparison
            raise ValueError(f"{name} = {number!r}: give a whole number, {least} or more")
    if copies > nodes or failed > nodes:
        name, number = ("copies", copies) if copies > nodes else ("failed", failed)
        raise ValueError(f"{name} = {number!r} is more than the {nodes} nodes: give at most as many")
    if placement not in PLACEMENTS:
        raise ValueError(f"placement = {placement!r}: choose one of {', '.join(PLACEMENTS)}")
    if placement == "groups" and nodes % copies:
        raise ValueError(f"nodes = {nodes!r} cannot be parted into groups of {copies}: give a multiple of {copies}")


def chance_of_loss(nodes, copies, failed, placement):
    """The chance that some node's state is lost with all its copies when nodes fail at the same moment.

    Parameters
    ----------
    nodes : nodes in the job.
    copies : copies of each node's state, its own among them; 1 is no replica at all.
    failed : nodes that fail together, any of them with equal chance.
    placement : "groups": the nodes are parted into groups of `copies`, and each holds the state of its whole group.
        "ring": the nodes form a ring, and each node's state is on itself and on the next ones.

    Returns a float, by exact counting. Raises a `ValueError` for bad input.
    """
    _checked(nodes, copies, failed, placement)
    nodes, copies, failed = int(nodes), int(copies), int(failed)
    if placement == "groups":  # inclusion and exclusion over the groups that fail whole
        safe = sum(
            (-1) ** i * comb(nodes // copies, i) * comb(nodes - i * copies, failed - i * copies)
            for i in range(failed // copies + 1)
        )
    elif failed == nodes:
        safe = 0
    else:  # the failed nodes fall into the gaps between those that stay, fewer than `copies` into each
        gaps = nodes - failed
        spread = sum(
            (-1) ** i * comb(gaps, i) * comb(nodes - 1 - i * copies, gaps - 1) for i in range(failed // copies + 1)
        )
        safe = nodes * spread // gaps
    return 1 - safe / comb(nodes, failed)


def simulated_loss(nodes, copies, failed, placement, trials, rng):
    """The same chance, counted in random trials: the share of them in which some state is lost."""
    _checked(nodes, copies, failed, placement)
    holders = np.arange(nodes)[:, None] + np.arange(copies)  # the ring
    if placement == "groups":
        holders = np.arange(nodes).reshape(-1, copies)
    lost = 0
    for _ in range(trials):
        down = np.zeros(nodes, dtype=bool)
        down[rng.choice(nodes, failed, replace=False)] = True
        lost += down[holders % nodes].all(axis=1).any()
    return lost / trials


def chance_of_rack_loss(nodes, copies, rack, placement, apart):
    """The chance that some state is lost with all its copies when one whole rack of nodes goes.

    nodes, copies, placement : as in `chance_of_loss`.
    rack : nodes in a rack; the nodes fill the racks one after the other, so `nodes` is a multiple of it.
    apart : whether the copies of each state are laid into different racks, which takes as many racks as copies.

    Returns a float, by looking at every rack. Raises a `ValueError` for bad input.
    """
    _checked(nodes, copies, rack, placement)
    if rack < 1 or nodes % rack:
        raise ValueError(f"rack = {rack!r}: give a divisor of the {nodes} nodes")
    if apart and copies > nodes // rack:
        raise ValueError(f"copies = {copies!r} do not fit into {nodes // rack} racks: give at most as many")
    holders = (np.arange(nodes)[:, None] + np.arange(copies)) % nodes
    if placement == "groups":
        holders = np.arange(nodes).reshape(-1, copies)
    # Apart: neighbours in the order of placement stand in different racks, as when racks are dealt out in turn.
    rack_of = np.arange(nodes) % (nodes // rack) if apart else np.arange(nodes) // rack
    one_rack = (rack_of[holders] == rack_of[holders[:, :1]]).all(axis=1)
    return len(set(rack_of[holders[one_rack, 0]])) / (nodes // rack)

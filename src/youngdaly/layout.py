"""State spread over ranks, and spread again over another number of them.

Two layouts. By rows: a rank holds whole rows, as many as it takes to place all of them, so the last ranks may hold
fewer or none. Flat: every tensor is flattened, padded until it divides, and cut into equal pieces; a rank holds its
piece of each. What padding holds is no state: joining a layout drops it.
"""

from math import ceil, prod

import numpy as np


def _checked_ranks(name, ranks):
    if isinstance(ranks, bool) or not isinstance(ranks, (int, np.integer)) or ranks < 1:
        raise ValueError(f"{name} = {ranks!r}: give a whole number of ranks, 1 or more")
    return int(ranks)


def row_shards(rows, ranks):
    """The rows of an array over ranks: ⌈rows/ranks⌉ each, until none are left.

    rows : array of shape (rows, …). ranks : whole number, 1 or more; more than there are rows is allowed.
    Returns a list of `ranks` arrays, the last ones shorter or of no rows at all.
    """
    each = ceil(len(rows) / _checked_ranks("ranks", ranks))
    return [rows[rank * each : (rank + 1) * each] for rank in range(ranks)]


def pieces(shapes, ranks):
    """How many numbers of each tensor one rank holds in the flat layout, padding included: a dict by name."""
    ranks = _checked_ranks("ranks", ranks)
    return {name: ceil(prod(shape) / ranks) for name, shape in shapes.items()}


def flat_shards(tensors, ranks, padding=0.0):
    """Tensors in the flat layout.

    Parameters
    ----------
    tensors : dict from a name to an array; the order of the names is the order in the shards.
    ranks : whole number, 1 or more.
    padding : what the padding holds. Nothing may depend on it; a test fills it with NaN.

    Returns
    -------
    list of `ranks` flat arrays of one length, the sum of `pieces`.
    """
    each = pieces({name: tensor.shape for name, tensor in tensors.items()}, ranks)
    split = [
        np.pad(tensor.ravel(), (0, each[name] * ranks - tensor.size), constant_values=padding).reshape(ranks, -1)
        for name, tensor in tensors.items()
    ]
    return list(np.concatenate(split, axis=1))


def padded(shards, shapes):
    """The flat layout joined, padding and all: a dict from name to a flat array.

    Raises a `ValueError` if there are no shards, or if they are not of the length that these shapes need.
    """
    each = pieces(shapes, _checked_ranks("number of shards", len(shards)))
    lengths = sorted({len(shard) for shard in shards})
    if lengths != [sum(each.values())]:
        raise ValueError(
            f"{len(shards)} shards of {' and '.join(map(str, lengths))} numbers: these shapes on as many ranks "
            f"need {sum(each.values())} each; give the shards of one checkpoint, and the shapes it was saved with"
        )
    ends = np.cumsum(list(each.values()))[:-1]
    return dict(zip(shapes, (part.ravel() for part in np.split(np.stack(shards), ends, axis=1))))


def from_flat(shards, shapes):
    """The tensors in the flat layout's shards, padding dropped: a dict from name to an array of its shape."""
    return {name: vector[: prod(shapes[name])].reshape(shapes[name]) for name, vector in padded(shards, shapes).items()}


def reshard(shards, shapes, ranks):
    """Flat shards of one number of ranks as those of another."""
    return flat_shards(from_flat(shards, shapes), ranks)

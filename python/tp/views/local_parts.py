"""From whole arrays to what every rank has of them, and back."""
from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _runtime
from ..arrays import Array, from_bits, to_bits
from ..artifact import Port
from ..errors import RunError, plural
from ..program import Program
from .sharding import port_named, port_row

_Indices = list[list[np.ndarray[Any, Any]]]


def _indices(program: Program, name: str, what: str) -> tuple[Port, _Indices]:
    """The port, and for every rank and dimension the indices that the rank has."""
    if not isinstance(program, Program):
        raise RunError(f"{what}: expected a program, got {type(program).__name__}")
    artifact = program._artifact
    port = port_named(artifact, name)
    description = {"mesh": artifact.manifest["mesh"], "port": port_row(port, name)}
    ranks = _runtime.held_intervals(json.dumps(description))
    return port, [[np.concatenate([np.arange(start, start + size)
                                   for start, size in zip(dim[::2], dim[1::2])])
                   if dim else np.arange(0) for dim in rank] for rank in ranks]


def to_local(program: Program, name: str, array: Array) -> list[Array]:
    """What each rank has of a whole array under the layout of an argument or a result, as the
    `to_local` of torch's DTensor on that rank; without padding.

    Raises:
        RunError: there is no such name, or the array is of another shape or type.
    """
    port, ranks = _indices(program, name, "to_local")
    bits = to_bits(array, port.shape, port.dtype, f"'{name}'")
    return [from_bits(np.ascontiguousarray(bits[np.ix_(*dims)]), port.dtype, "numpy")
            for dims in ranks]


def from_local(program: Program, name: str, parts: Sequence[Array]) -> Array:
    """The whole array, for a call, of what each rank has of it, as the `from_local` of torch's
    DTensor does.

    Raises:
        RunError: there is no such name, or a part is of another shape or type; ranks that hold the
            same elements have different numbers.
    """
    port, ranks = _indices(program, name, "from_local")
    if len(parts) != len(ranks):
        raise RunError(f"from_local: '{name}': expected a part for each of "
                       f"{plural(len(ranks), 'rank')}, got {len(parts)}")
    whole = np.zeros(port.shape, port.dtype.bits)
    owner = np.full(port.shape, -1, np.int64)
    for rank, (dims, part) in enumerate(zip(ranks, parts)):
        shape = tuple(len(dim) for dim in dims)
        bits = to_bits(part, shape, port.dtype, f"part {rank} of '{name}'")
        place = np.ix_(*dims)
        known = owner[place]
        differs = (known >= 0) & (whole[place] != bits)
        if differs.any():
            raise RunError(f"from_local: '{name}': ranks {int(known[differs].flat[0])} and {rank} "
                           "hold the same elements and have different numbers")
        whole[place] = bits
        owner[place] = np.where(known >= 0, known, rank)
    return from_bits(whole, port.dtype, "numpy")

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


def _indices(program: Program, name: str, what: str) -> tuple[Port, str, _Indices]:
    """The port, its description, and for every rank and dimension the indices that the rank has."""
    if not isinstance(program, Program):
        raise RunError(f"{what}: expected a program, got {type(program).__name__}")
    artifact = program._artifact
    port = port_named(artifact, name)
    description = json.dumps({"mesh": artifact.manifest["mesh"], "port": port_row(port, name)})
    ranks = _runtime.held_intervals(description)
    return port, description, [[np.concatenate([np.arange(start, start + size)
                                   for start, size in zip(dim[::2], dim[1::2])])
                   if dim else np.arange(0) for dim in rank] for rank in ranks]


def to_local(program: Program, name: str, array: Array) -> list[Array]:
    """What each rank has of a whole array under the layout of an argument or a result, as the
    `to_local` of torch's DTensor on that rank; without padding. Where the port is partial, the parts
    reduce to the array: of a sum or a product the first rank has it, and the others have -0.0 or 1.

    Raises:
        RunError: there is no such name, or the array is of another shape or type.
    """
    port, description, ranks = _indices(program, name, "to_local")
    bits = to_bits(array, port.shape, port.dtype, f"'{name}'")
    parts = []
    for rank, dims in enumerate(ranks):
        part = np.ascontiguousarray(bits[np.ix_(*dims)])
        if identity := _runtime.held_identity(description, rank):
            part[...] = np.frombuffer(identity, port.dtype.bits)[0]
        parts.append(from_bits(part, port.dtype, "numpy"))
    return parts


def from_local(program: Program, name: str, parts: Sequence[Array]) -> Array:
    """The whole array, for a call, of what each rank has of it, as the `from_local` of torch's
    DTensor does. Where the port is partial, the parts are reduced.

    Raises:
        RunError: there is no such name, or a part is of another shape or type; ranks that hold the
            same elements have different numbers.
    """
    port, description, ranks = _indices(program, name, "from_local")
    if len(parts) != len(ranks):
        raise RunError(f"from_local: '{name}': expected a part for each of "
                       f"{plural(len(ranks), 'rank')}, got {len(parts)}")
    whole = np.zeros(port.shape, port.dtype.bits)
    owner = np.full(port.shape, -1, np.int64)
    for group in _runtime.reduction_groups(description):
        rank, dims = group[0], ranks[group[0]]
        shape = tuple(len(dim) for dim in dims)
        given = [to_bits(parts[number], shape, port.dtype, f"part {number} of '{name}'")
                 for number in group]
        bits = given[0]
        if port.is_partial:
            bits = np.empty(shape, port.dtype.bits)
            _runtime.reduce_parts(description, [np.ascontiguousarray(part) for part in given], bits)
        place = np.ix_(*dims)
        known = owner[place]
        differs = (known >= 0) & (whole[place] != bits)
        if differs.any():
            raise RunError(f"from_local: '{name}': ranks {int(known[differs].flat[0])} and {rank} "
                           "hold the same elements and have different numbers")
        whole[place] = bits
        owner[place] = np.where(known >= 0, known, rank)
    return from_bits(whole, port.dtype, "numpy")

"""The state of a program in a .safetensors file, which tp-run writes and reads too."""
from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Bits
from ..artifact import Port
from ..errors import RunError, listed
from ..files import Part, write_whole
from ..safetensors import NAMES, SafeTensors, Stored

if TYPE_CHECKING:
    from ..program_ranks import ProgramRanks

TYPES = {**{ours: theirs for theirs, ours in NAMES.items()}, "index": "I64"}


def save(ranks: ProgramRanks, path: str | os.PathLike[str]) -> None:
    """Writes what results update, over all entries. Every process of a launcher reads, and the
    first rank's writes."""
    states = states_of(ranks, "save_state")
    check_types(states, "save_state")
    header, end = {}, 0
    for key, (_, port) in states.items():
        begin, end = end, end + port.nbytes
        header[key] = {"dtype": TYPES[port.dtype.name], "shape": list(port.shape),
                       "data_offsets": [begin, end]}
    table = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    table += b" " * (-len(table) % 8)
    arrays = (ranks.read(entry, port) for entry, port in states.values())
    failure: RunError | None = None
    if ranks.writes_files():
        try:
            with ranks.working():
                write_whole(path, _parts(len(table).to_bytes(8, "little") + table, arrays),
                            durable=True)
        except RunError as error:
            failure = error
    # Reading waits for all ranks: behind the last array until the file is there.
    for _ in arrays:
        pass
    if ranks.launch == "torchrun" and not ranks.failed:
        ranks.read(*next(iter(states.values())))
    if failure is not None:
        raise failure


def load(ranks: ProgramRanks, path: str | os.PathLike[str]) -> None:
    """Gives the ranks the state of such a file, or, where it is another program's, nothing."""
    states = states_of(ranks, "load_state")
    path = os.fspath(path)
    file = SafeTensors(path)
    lacking = [key for key in states if key not in file]
    unknown = [key for key in file if key not in states]
    if len(lacking) == len(states):
        raise RunError(f"{path}: expected a saved state with {listed(states)}, got "
                       + (f"one of another model, with {listed(unknown)}" if unknown else
                          "no tensor"))
    if lacking:
        raise RunError(f"{path}: lacks the state {listed(lacking)}, expected a file that save_state "
                       "wrote of this model")
    if unknown:
        raise RunError(f"{path}: has {listed(unknown)}, which is no state of the model, expected "
                       f"{listed(states)}")
    for key, (_, port) in states.items():
        stored = file[key]
        check_tensor(f"{path}: ", key, port, stored)
        check_booleans(f"{path}: ", key, port, stored)
    for key, (entry, port) in states.items():
        ranks.write(entry, port, file[key].bits)


def check_types(states: Mapping[str, tuple[str, Port]], what: str) -> None:
    """Raises RunError where no .safetensors file can hold a state."""
    for key, (_, port) in states.items():
        if "FNUZ" in port.dtype.name:
            raise RunError(f"{what}: '{key}' is {port.dtype.name}, which no .safetensors file "
                           "can hold")


def check_tensor(where: str, key: str, port: Port, stored: Stored) -> None:
    """Raises RunError where a file's tensor has another shape or type than the state."""
    if stored.shape != port.shape or TYPES[stored.dtype.name] != TYPES[port.dtype.name]:
        raise RunError(f"{where}tensor '{key}': expected {port.dtype.name}{list(port.shape)}, "
                       f"got {stored.dtype.name}{list(stored.shape)}")


def check_booleans(where: str, key: str, port: Port, stored: Stored) -> None:
    """Raises RunError where a boolean is neither 0 nor 1."""
    if port.dtype.name == "i1" and stored.bits.size and int(np.max(stored.bits)) > 1:
        raise RunError(f"{where}tensor '{key}': an element of a boolean array is neither 0 nor 1")


def states_of(ranks: ProgramRanks, what: str) -> dict[str, tuple[str, Port]]:
    """What results of some entry update and ranks hold, by key, in order."""
    states: dict[str, tuple[str, Port]] = {}
    for tensor, (entry, port) in ranks.stateful.items():
        if tensor not in ranks.updated or port.dead:
            continue
        key = port.source_keys[0] if port.is_weight and port.source_keys else port.name
        if key in states:
            raise RunError(f"{what}: two states have the key '{key}': give them different names in "
                           "the model")
        states[key] = (entry, port)
    if not states:
        raise RunError(f"{what}: the program has no state: no result updates an argument")
    return dict(sorted(states.items(), key=lambda row: row[0].encode()))


def _parts(header: bytes, arrays: Iterator[Bits]) -> Iterator[Part]:
    yield header
    yield from arrays

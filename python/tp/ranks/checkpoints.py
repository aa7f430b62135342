"""Checkpoints of a program: parameters and all that goes on from step to step."""
from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..arrays import Bits
from ..artifact import Port
from ..errors import RunError, listed
from . import checkpoint_folder, state_files
from .checkpoint_folder import Checkpoint, Tensor
from .state_files import TYPES

if TYPE_CHECKING:
    from ..program_ranks import ProgramRanks

Row = tuple[str, Port]
_UNITS = {"": 1, "KB": 10 ** 3, "MB": 10 ** 6, "GB": 10 ** 9, "TB": 10 ** 12,
          "KIB": 2 ** 10, "MIB": 2 ** 20, "GIB": 2 ** 30, "TIB": 2 ** 40}


def save(ranks: ProgramRanks, folder: str | os.PathLike[str], max_shard_size: int | str) -> None:
    """Writes a checkpoint, one tensor at a time. Every process of a launcher reads, and the first
    rank's writes."""
    most_bytes = _bytes_of(max_shard_size)
    model, state = _rows(ranks, "save_checkpoint")
    state_files.check_types({**model, **state}, "save_checkpoint")
    # Libraries look for a tied weight under a name of their choice: it has all of them.
    model = dict(sorted((name, row) for row in model.values() for name in row[1].source_keys))
    unread = [*model.values(), *state.values()]

    def read() -> Bits:
        return ranks.read(*unread.pop(0))

    def tensors(rows: Mapping[str, Row]) -> list[Tensor]:
        return [Tensor(key, TYPES[port.dtype.name], port.shape, port.nbytes, read)
                for key, (_, port) in rows.items()]
    last = unread[-1]
    failure: RunError | None = None
    if ranks.writes_files():
        try:
            with ranks.working():
                checkpoint_folder.write(folder, tensors(model), tensors(state), most_bytes)
        except RunError as error:
            failure = error
    if ranks.launch == "torchrun":
        # Reading waits for all ranks: behind the last tensor until the files are there.
        while unread and not ranks.failed:
            read()
        if not ranks.failed:
            ranks.read(*last)
    if failure is not None:
        raise failure


def load(ranks: ProgramRanks, folder: str | os.PathLike[str]) -> None:
    """Gives the ranks what a checkpoint has, or, where it is damaged or another model's, nothing."""
    model, state = _rows(ranks, "load_checkpoint", with_unset=True)
    found = checkpoint_folder.read(folder)
    tied = {name: key for key, (_, port) in model.items() for name in port.source_keys}
    found.model = {tied.get(key, key): stored for key, stored in found.model.items()}
    updated = {key: row for key, row in {**model, **state}.items()
               if row[1].tensor in ranks.updated}
    _check_names(ranks, found, model, state, updated)
    rows = [(key, row, stored) for rows, tensors in ((model, found.model), (state, found.state))
            for key, row in rows.items() if (stored := tensors.get(key)) is not None]
    for key, (_, port), stored in rows:
        state_files.check_tensor(f"{found.folder}: ", key, port, stored)
        state_files.check_booleans(f"{found.folder}: ", key, port, stored)
    for _, (entry, port), stored in rows:
        ranks.write(entry, port, stored.bits)


def _check_names(ranks: ProgramRanks, found: Checkpoint, model: Mapping[str, Row],
                 state: Mapping[str, Row], updated: Mapping[str, Row]) -> None:
    unused = {key for _, port in ranks.stateful.values() if port.dead for key in port.source_keys}
    lacking = [key for key in updated if key not in (found.model if key in model else found.state)]
    unknown = [key for tensors, rows in ((found.model, model), (found.state, state))
               for key in tensors if key not in rows and key not in unused]
    if lacking and len(lacking) == len(updated):
        raise RunError(f"{found.folder}: expected a checkpoint with {listed(updated)}, got one of "
                       f"another model, with {listed([*found.model, *found.state]) or 'no tensor'}")
    if lacking:
        raise RunError(f"{found.folder}: lacks {listed(lacking)}: it is a checkpoint of a step with "
                       "another optimizer, or with other options")
    if unknown:
        raise RunError(f"{found.folder}: has {listed(unknown)}, which this step has not: it is a "
                       "checkpoint of a step with another optimizer, or with other options")


def _rows(ranks: ProgramRanks, what: str,
          with_unset: bool = False) -> tuple[dict[str, Row], dict[str, Row]]:
    """By key, in order: the parameters, and the buffers that steps update; all else that steps
    update."""
    state = state_files.states_of(ranks, what)
    model: dict[str, Row] = {}
    for key in [key for key, (_, port) in state.items() if port.kind in ("parameter", "buffer")]:
        model[key] = state.pop(key)
    with ranks.lock:
        ranks.start()
    for tensor, (entry, port) in ranks.stateful.items():
        if port.kind != "parameter" or port.dead or tensor in ranks.updated:
            continue
        if port.source_keys and not port.segments and (with_unset or tensor not in ranks.unset):
            model[port.source_keys[0]] = (entry, port)
    return dict(sorted(model.items())), state


def _bytes_of(size: Any) -> int:
    found = re.fullmatch(r"(\d+)\s*([A-Za-z]*)", size) if isinstance(size, str) else None
    if found is not None and found[2].upper() in _UNITS:
        size = int(found[1]) * _UNITS[found[2].upper()]
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise RunError("max_shard_size: expected bytes, or a text such as '5GB' or '500MB', got "
                       f"{size!r}")
    return size

"""Memory that processes share to hand each other whole arrays."""
from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Bits
from ..artifact import Artifact, Port
from ..errors import Code, RunError
from .group import empty, limit_text

_ALIGNMENT = 64


def _up(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


class Exchange:
    """A place for every input and every result that a step returns, the same for the steps of all
    entries, and one that holds any argument; `more` bytes follow them. That of a partial result has
    room for what every rank has of it. All processes compute the same offsets. The memory is zero at
    first, has no name, and ends with the last process. What updates an argument stays on the ranks
    and has no place: every process maps all of this, and states may be larger than its limit."""

    def __init__(self, artifact: Artifact, descriptor: int | None = None,
                 more: int = 0) -> None:
        self._offsets: dict[tuple[str, bool, int], int] = {}
        self._size = artifact.size
        entries = artifact.entries.values()
        first = _up(max((port.nbytes for entry in entries for port in entry.arguments), default=0))
        ends = [first]
        for entry in entries:
            offset = first
            for result, ports in ((False, entry.arguments), (True, entry.returned())):
                for port in ports:
                    if result or not port.is_weight:
                        self._offsets[entry.entry, result, port.index] = offset
                        ranks = artifact.size if result and port.is_partial else 1
                        offset += _up(ranks * port.nbytes)
            ends.append(offset)
        offset = max(ends)
        size = max(offset + more, mmap.PAGESIZE)
        self.descriptor = -1 if descriptor is None else descriptor
        try:
            if descriptor is None:
                self.descriptor = os.memfd_create("tp-exchange", os.MFD_CLOEXEC)
                os.ftruncate(self.descriptor, size)
            self._memory = np.frombuffer(mmap.mmap(self.descriptor, size), np.uint8)
        except OSError as error:
            self.close()
            raise _cannot_share(size, error) from error
        self.more = self._memory[offset:offset + more]

    def input(self, entry: str, port: Port) -> Bits:
        """The place of a step's input."""
        return self._at(port, self._offsets[entry, False, port.index])

    def result(self, entry: str, port: Port) -> Bits:
        """The place of a step's result."""
        return self._at(port, self._offsets[entry, True, port.index])

    def parts(self, entry: str, port: Port) -> np.ndarray[Any, Any]:
        """The place of what every rank has of a step's partial result: a row of bytes for each."""
        offset = self._offsets[entry, True, port.index]
        return self._memory[offset:offset + self._size * port.nbytes].reshape(self._size, -1)

    def argument(self, port: Port) -> Bits:
        """The place that all arguments have in common, for one at a time."""
        return self._at(port, 0)

    def close(self) -> None:
        """Closes the descriptor. The memory stays as long as arrays of it do."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def _at(self, port: Port, offset: int) -> Bits:
        part = self._memory[offset:offset + port.nbytes]
        return part.view(port.dtype.bits).reshape(port.shape)


def _cannot_share(size: int, error: OSError) -> RunError:
    """The error for memory that the ranks' processes cannot have together."""
    why = "out of memory: " if error.errno == errno.ENOMEM else ""
    return RunError(f"{why}cannot map {size} bytes for the arrays that processes of ranks hand each "
                    f"other: {error.strerror}{limit_text(error)}", code=Code.SYSTEM)


def whole_results(program: Any, exchange: Exchange, entry: str, ports: Sequence[Port]) -> list[Bits]:
    """The results that the ranks have left there, as arrays of their own."""
    results = []
    for port in ports:
        if port.is_partial:
            whole = empty(port)
            program.assemble_all(entry, port.index, exchange.parts(entry, port), whole)
            results.append(whole)
        else:
            results.append(exchange.result(entry, port).copy())
    return results

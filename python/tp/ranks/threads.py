"""Ranks as threads of this process."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Bits
from ..artifact import Artifact, Port
from .address_space import check_address_space
from .group import Group, empty, native, open_program, raises_run_error


class ThreadGroup(Group):
    """All ranks in this process, each on a thread of its own."""

    @raises_run_error
    def __init__(self, artifact: Artifact, timeout: float) -> None:
        super().__init__(artifact)
        check_address_space(artifact, artifact.size)
        runtime = native()
        program = open_program(artifact)
        self._program: Any = program
        transport = runtime.Transport.threads(program)
        self._ranks = [runtime.Rank(program, transport, rank, timeout)
                       for rank in range(program.size)]
        self._entries = {name: self._ranks if name == artifact.entry else
                         [rank.entry(name) for rank in self._ranks] for name in artifact.entries}
        self._threads = runtime.Threads(self._ranks)

    @raises_run_error
    def write(self, entry: str, port: Port, bits: Bits) -> None:
        for rank in self._entries[entry]:
            rank.scatter(port.index, bits)

    @raises_run_error
    def read(self, entry: str, port: Port) -> Bits:
        return self._assemble(entry, False, port)

    @raises_run_error
    def step(self, entry: str, inputs: Sequence[tuple[Port, Bits]]) -> list[Bits]:
        for port, bits in inputs:
            self.write(entry, port, bits)
        self._threads.step(self._entries[entry])
        return [self._reduce(entry, port) if port.is_partial else self._assemble(entry, True, port)
                for port in self.returned[entry]]

    def close(self) -> None:
        self._threads = None
        self._entries = {}
        self._ranks = []
        self._program = None

    def _assemble(self, entry: str, result: bool, port: Port) -> Bits:
        whole = empty(port)
        ranks = self._entries[entry]
        for rank in ranks if port.is_cut else ranks[:1]:
            rank.assemble(result, port.index, whole)
        return whole

    def _reduce(self, entry: str, port: Port) -> Bits:
        whole = empty(port)
        parts = np.empty((self.artifact.size, port.nbytes), np.uint8)
        for rank in self._entries[entry]:
            rank.copy_result(port.index, parts, port.dtype.size)
        self._program.assemble_all(entry, port.index, parts, whole)
        return whole

"""Ranks as threads of this process."""
from __future__ import annotations

from collections.abc import Sequence

from ..arrays import Bits
from ..artifact import Artifact, Port
from .group import Group, empty, native, open_program, raises_run_error


class ThreadGroup(Group):
    """All ranks in this process, each on a thread of its own."""

    @raises_run_error
    def __init__(self, artifact: Artifact, timeout: float) -> None:
        super().__init__(artifact)
        runtime = native()
        program = open_program(artifact)
        transport = runtime.Transport.threads(program)
        self._ranks = [runtime.Rank(program, transport, rank, timeout)
                       for rank in range(program.size)]
        self._threads = runtime.Threads(self._ranks)

    @raises_run_error
    def write(self, port: Port, bits: Bits) -> None:
        for rank in self._ranks:
            rank.scatter(port.index, bits)

    @raises_run_error
    def read(self, port: Port) -> Bits:
        return self._assemble(False, port)

    @raises_run_error
    def step(self, inputs: Sequence[tuple[Port, Bits]]) -> list[Bits]:
        for port, bits in inputs:
            for rank in self._ranks:
                rank.scatter(port.index, bits)
        self._threads.step()
        return [self._assemble(True, port) for port in self.returned]

    def close(self) -> None:
        self._threads = None
        self._ranks = []

    def _assemble(self, result: bool, port: Port) -> Bits:
        whole = empty(port)
        ranks = self._ranks if any("shard" in axis for axis in port.layout) else self._ranks[:1]
        for rank in ranks:
            rank.assemble(result, port.index, whole)
        return whole

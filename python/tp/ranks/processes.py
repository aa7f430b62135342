"""Ranks as processes of this host, each of which this one spawns."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from socket import AF_UNIX, SOCK_STREAM, socketpair
from typing import Any

from ..arrays import Bits
from ..artifact import Artifact, Port
from ..errors import RunError
from .exchange import Exchange, whole_results
from .group import Group, native, open_program, raises_run_error

_END_SECONDS = 2
_RANK_FAILED, _ASSERTION = 6, 7  # TP_RANK_FAILED, TP_ASSERT
_START = ("import sys; sys.path[:] = eval(sys.argv.pop(1)); "
          "from tp.ranks.rank_process import main; main()")


class ProcessGroup(Group):
    """One spawned process per rank. They share the ranks' memory and an exchange with this one, and
    end when it does."""

    @raises_run_error
    def __init__(self, artifact: Artifact, timeout: float) -> None:
        super().__init__(artifact)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._connections: list[Connection] = []
        runtime = native()
        self._program = program = open_program(artifact)
        self._transport = runtime.Transport.processes(program)
        self._exchange = Exchange(artifact)
        # A rank finds the packages that are found here, and none of its working directory.
        package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        path = [package, *[entry for entry in sys.path if entry]]
        try:
            for rank in range(artifact.size):
                ours, theirs = socketpair(AF_UNIX, SOCK_STREAM)
                with theirs:
                    descriptors = (artifact.file.descriptor, theirs.fileno(),
                                   self._transport.descriptor, self._exchange.descriptor)
                    self._processes.append(subprocess.Popen(
                        [sys.executable, "-c", _START, repr(path), artifact.path, str(rank),
                         str(timeout), *map(str, descriptors), *artifact.links],
                        pass_fds=descriptors, stdin=subprocess.DEVNULL))
                self._connections.append(Connection(ours.detach()))
            self._collect()
            artifact.check_unchanged()  # the ranks have read it by now
        except BaseException:
            self.close()
            artifact.check_unchanged()  # says more than what a rank makes of another file
            raise

    def write(self, entry: str, port: Port, bits: Bits) -> None:
        self._exchange.argument(port)[...] = bits
        self._call("write", entry, port.index)

    def read(self, entry: str, port: Port) -> Bits:
        self._call("read", entry, port.index)
        return self._exchange.argument(port).copy()

    def step(self, entry: str, inputs: Sequence[tuple[Port, Bits]]) -> list[Bits]:
        for port, bits in inputs:
            self._exchange.input(entry, port)[...] = bits
        self._call("step", entry, [port.index for port, _ in inputs])
        return whole_results(self._program, self._exchange, entry, self.returned[entry])

    def close(self) -> None:
        # A rank that is in a step, and waits for others there, ends too.
        self._transport.abort(0, "the program was closed")
        for connection in self._connections:
            connection.close()
        end = time.monotonic() + _END_SECONDS
        for process in self._processes:
            try:
                process.wait(max(end - time.monotonic(), 0))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._connections, self._processes = [], []
        self._exchange.close()

    def _call(self, command: str, entry: str, argument: object) -> None:
        for rank, connection in enumerate(self._connections):
            try:
                connection.send((command, entry, argument))
            except OSError:
                raise self._died(rank) from None
        self._collect()

    def _collect(self) -> None:
        """Waits for every rank's answer. The first failure ends the waits of the others."""
        waiting = dict(zip(self._connections, range(len(self._connections))))
        failures: list[tuple[int, str]] = []
        while waiting:
            # After a failure the others fail too, and no step follows: one that says nothing is
            # hung or stopped. A failed assertion is the status of all ranks, which go on.
            ending = any(code != _ASSERTION for code, _ in failures)
            answers = wait(list(waiting), _END_SECONDS if ending else None)
            if not answers:
                break
            for connection in answers:
                assert isinstance(connection, Connection)
                rank = waiting.pop(connection)
                try:
                    answer: Any = connection.recv()
                except (EOFError, OSError):
                    error = self._died(rank)
                    failures.insert(0, (error.code, str(error)))
                    continue
                if answer is not None:
                    failures.append(answer)
        if failures:
            # A rank's own failure says more than what it meant for the others.
            code, message = min(failures, key=lambda failure: failure[0] == _RANK_FAILED)
            raise RunError(message, code=code)

    def _died(self, rank: int) -> RunError:
        try:
            status = self._processes[rank].wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            status = 0
        how = (f"was ended by {signal.Signals(-status).name}" if status < 0
               else f"ended with status {status}")
        message = f"rank {rank}: its process {how}"
        self._transport.abort(rank, message)
        return RunError(message, code=6)

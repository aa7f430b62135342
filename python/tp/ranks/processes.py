"""Ranks as processes of this host, each of which this one spawns."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from socket import AF_UNIX, SOCK_STREAM, socketpair
from typing import Any

from ..arrays import Bits
from ..artifact import Artifact, Port, by_name
from ..errors import Code, RunError
from .exchange import Exchange, whole_results
from .group import Group, limit_text, native, open_program, raises_run_error
from .records import ranks_text

_END_SECONDS = 2
_WAIT_SECONDS = 0.1
_START = ("import sys; sys.path[:] = eval(sys.argv.pop(1)); "
          "from tp.ranks.rank_process import main; main()")


class ProcessGroup(Group):
    """One spawned process per rank. They share the ranks' memory and an exchange with this one, and
    end when it does.

    Nothing waits for them without end. The heartbeat of a rank is the processor time that its
    process uses: a rank that works is waited for, however long that takes. Those that use none for
    the time-out are stopped or hang.
    """

    @raises_run_error
    def __init__(self, artifact: Artifact, timeout: float) -> None:
        super().__init__(artifact)
        self._timeout = timeout
        self._processes: list[subprocess.Popen[bytes]] = []
        self._connections: list[Connection] = []
        runtime = native()
        self._program = program = open_program(artifact)
        self._transport: Any = None
        self._exchange = Exchange(artifact)
        # A rank finds the packages that are found here, and none of its working directory.
        package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        path = [package, *[entry for entry in sys.path if entry]]
        try:
            self._transport = runtime.Transport.processes(program)
            for rank in range(artifact.size):
                self._start(rank, path)
            self._collect(lambda: "the start of the program")
            artifact.check_unchanged()  # the ranks have read it by now
        except BaseException:
            self.close()
            self._transport = None  # and its file with it
            artifact.check_unchanged()  # says more than what a rank makes of another file
            raise

    def _start(self, rank: int, path: list[str]) -> None:
        artifact = self.artifact
        try:
            ours, theirs = socketpair(AF_UNIX, SOCK_STREAM)
            with ours, theirs, _interrupts_held():
                descriptors = (artifact.file.descriptor, theirs.fileno(),
                               self._transport.descriptor, self._exchange.descriptor)
                self._processes.append(subprocess.Popen(
                    [sys.executable, "-c", _START, repr(path), artifact.path, str(rank),
                     str(self._timeout), *map(str, descriptors), *artifact.links],
                    pass_fds=descriptors, stdin=subprocess.DEVNULL))
                self._connections.append(Connection(ours.detach()))
        except OSError as error:
            raise RunError(f"cannot start the process of rank {rank}: {error.strerror}"
                           f"{limit_text(error)}", code=Code.SYSTEM) from error

    def write(self, entry: str, port: Port, bits: Bits) -> None:
        self._exchange.argument(port)[...] = bits
        self._call("write", entry, port.index, lambda: f"{self._state(entry, port)} = array")

    def load(self, entry: str, port: Port, bits: Bits) -> None:
        self._exchange.argument(port)[...] = bits
        self._call("write", entry, port.index, lambda: f"the load of '{port.name}'")

    def read(self, entry: str, port: Port) -> Bits:
        self._call("read", entry, port.index, lambda: self._state(entry, port))
        return self._exchange.argument(port).copy()

    def step(self, entry: str, inputs: Sequence[tuple[Port, Bits]]) -> list[Bits]:
        for port, bits in inputs:
            self._exchange.input(entry, port)[...] = bits
        of = f" of entry '{entry}'" if len(self.artifact.entries) > 1 else ""
        self._call("step", entry, [port.index for port, _ in inputs], lambda: f"a step{of}")
        return whole_results(self._program, self._exchange, entry, self.returned[entry])

    def is_alive(self) -> bool:
        return all(process.poll() is None for process in self._processes)

    def close(self) -> None:
        # A rank that is in a step, and waits for others there, ends too.
        if self._transport is not None:
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

    def _state(self, entry: str, port: Port) -> str:
        names = by_name(self.artifact.entries[entry].arguments)
        name = next(name for name, other in names.items() if other.index == port.index)
        return f"program.state['{name}']"

    def _call(self, command: str, entry: str, argument: object, what: Callable[[], str]) -> None:
        for rank, connection in enumerate(self._connections):
            try:
                connection.send((command, entry, argument))
            except OSError:
                raise self._died(rank) from None
        self._collect(what)

    def _collect(self, what: Callable[[], str]) -> None:
        """Waits for every rank's answer to what `what` names. The first failure ends the waits of
        the others."""
        waiting = dict(zip(self._connections, range(len(self._connections))))
        failures: list[tuple[int, str]] = []
        waited, heartbeats = 0.0, [0]
        while waiting:
            # After a failure the others fail too, and no step follows: one that says nothing is
            # hung or stopped. A failed assertion is the status of all ranks, which go on.
            ending = any(code != Code.ASSERT for code, _ in failures)
            answers = wait(list(waiting), _WAIT_SECONDS)
            # Not what the clock says: time in which this process is stopped does not count.
            waited = 0.0 if answers else waited + _WAIT_SECONDS
            if not answers and ending and waited >= _END_SECONDS:
                break
            if not answers and not ending:
                now = [_heartbeat(self._processes[rank]) for rank in waiting.values()]
                if now != heartbeats:
                    waited, heartbeats = 0.0, now
                elif waited >= self._timeout:
                    failures.append(self._late(list(waiting.values()), what()))
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
            code, message = min(failures, key=lambda failure: failure[0] == Code.RANK_FAILED)
            raise RunError(message, code=code)

    def _late(self, ranks: Sequence[int], what: str) -> tuple[int, str]:
        """The failure of ranks that have used no processor time for the time-out."""
        numbers = [self._processes[rank].pid for rank in ranks]
        each = ", ".join(f"process {number} " + ("is stopped" if _is_stopped(number) else
                                                 "uses no processor time") for number in numbers)
        message = (f"{ranks_text(ranks)} {'has' if len(ranks) == 1 else 'have'} not answered for "
                   f"{self._timeout:g} s in {what}: {each}")
        self._transport.abort(ranks[0], message)
        return Code.TIMEOUT, message

    def _died(self, rank: int) -> RunError:
        try:
            status = self._processes[rank].wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            status = 0
        how = (f"was ended by {signal.Signals(-status).name}" if status < 0
               else f"ended with status {status}")
        message = f"rank {rank}: its process {how}"
        self._transport.abort(rank, message)
        return RunError(message, code=Code.RANK_FAILED)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Processes that are started here never see ^C, which reaches the whole process group: this one
    decides what it means. What a rank did about it itself would come behind its imports. ^C waits
    here meanwhile."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _heartbeat(process: subprocess.Popen[bytes]) -> int:
    """The processor time of a process, in nanoseconds. Where the system does not know it, one that
    grows."""
    try:
        # The clock that clock_getcpuclockid(3) of Linux names.
        return time.clock_gettime_ns(~process.pid << 3 | 2)
    except OSError:
        return time.monotonic_ns()


def _is_stopped(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            # The name stands in parentheses and may hold any character.
            return file.read().rpartition(")")[2].split()[0] in ("T", "t")
    except (OSError, IndexError):
        return False

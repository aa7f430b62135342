"""One rank in each of the processes that torchrun, or another launcher, started on this host."""
from __future__ import annotations

import atexit
import os
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..arrays import Bits
from ..artifact import Artifact, Port
from ..errors import Code, RunError, listed
from .address_space import check_address_space
from .connections import Connections
from .exchange import Exchange, whole_results
from .group import Group, native, open_program, raises_run_error
from .launcher import find_launcher
from .records import LOAD, READ, START, STEP, Records, checksum

_SECONDS_TO_HEAR = 10.0
_WAIT_SECONDS = 0.1  # of Threads.wait
# Programs start one after the other, in the same order in all processes: the number of a program's
# start is part of the address at which its ranks find each other.
_starting = threading.Lock()
_started = 0


def _why(rank: int, error: BaseException) -> str:
    """Why a rank has not started, for those that have joined."""
    if isinstance(error, RunError):
        return str(error)
    return f"rank {rank} has not started: {error.args[-1] if error.args else type(error).__name__}"


def tell_failure(error: RunError, timeout: float) -> None:
    """Tells the ranks in other processes that this one cannot load the program, from another
    thread. A script that ends waits a little for them to hear it."""
    global _started
    launched = find_launcher()
    if launched is None or launched.size == 1 or not launched.run:
        return
    with _starting:
        _started += 1
        connections = Connections(launched, _started, 0)
    why = f"rank {launched.rank} cannot load the program: {error}"
    thread = threading.Thread(target=connections.tell_failure, args=(why, timeout), daemon=True)
    thread.start()
    atexit.register(thread.join, _SECONDS_TO_HEAR)


class TorchrunGroup(Group):
    """This process's rank. Every process calls the program with the same whole arrays and gets the
    same whole results.

    Rank 0 makes the memory and hands its descriptors to the others over a socket. Before they do
    anything together the ranks compare what they are about to do, and what they have been given.
    """

    @raises_run_error
    def __init__(self, artifact: Artifact, timeout: float) -> None:
        super().__init__(artifact)
        if len(artifact.entries) > 1:
            raise RunError(f"{artifact.path}: the artifact has {len(artifact.entries)} entries "
                           f"({listed(artifact.entries)}), and ranks that a launcher started run "
                           "one: expected launch='thread' or launch='process'", code=4)
        global _started
        launched = find_launcher()
        assert launched is not None, "choose_launch has found it"
        if launched.local_size not in (None, artifact.size):
            raise RunError(f"{launched.by} started {launched.local_size} of {artifact.size} ranks "
                           "on this host, and ranks of target cpu share memory: start all of them "
                           "on one host", code=4)
        self._number = launched.rank
        self.writes_files = launched.rank == 0
        self._timeout = timeout
        self._same_files = self._has_died = False
        self._transport: Any = None
        self._exchange: Any = None
        runtime = native()
        self._program = program = open_program(artifact)
        identity = zlib.crc32(artifact.head)
        more = Records.nbytes(artifact)
        with _starting:
            _started += 1
            self._connections = Connections(launched, _started, identity)
            try:
                if self._number == 0:
                    self._transport = runtime.Transport.processes(program)
                    self._exchange = Exchange(artifact, more=more)
                    self._records = Records(artifact, 0, self._exchange.more)
                    self._connections.serve([self._transport.descriptor,
                                             self._exchange.descriptor], timeout)
                else:
                    memory, shared = self._connections.join(timeout)
                    try:
                        self._transport = runtime.Transport.attach(program, memory)
                    except BaseException:
                        os.close(shared)
                        raise
                    finally:
                        os.close(memory)
                    self._exchange = Exchange(artifact, shared, more)
                    self._records = Records(artifact, self._number, self._exchange.more)
                check_address_space(artifact, 1)
                self._rank = runtime.Rank(program, self._transport, self._number, timeout)
            except BaseException as error:
                if self._transport is not None:
                    self._transport.abort(self._number, _why(self._number, error))
                if self._exchange is not None:
                    self._exchange.close()
                self._connections.close()
                raise
        self._threads = runtime.Threads([self._rank])
        self._connections.watch(self._others_left, self._died)

    @raises_run_error
    def start_loading(self, files: str | None) -> None:
        # Files that all ranks have in common need not be read as a whole. Ranks without files
        # never have the same number.
        digest = self._number + 1 if files is None else 1 << 32 | zlib.crc32(files.encode())
        self._records.enter(START, digest=digest)
        self._barrier()
        self._same_files = self._records.is_same() and files is not None

    @raises_run_error
    def load(self, entry: str, port: Port, bits: Bits) -> None:
        if not self._same_files:
            self._records.write(port, checksum(bits))
        self._rank.scatter(port.index, bits)
        self._records.loads()

    @raises_run_error
    def end_loading(self) -> None:
        self._compare(LOAD)
        self._records.leave()

    @raises_run_error
    def write(self, entry: str, port: Port, bits: Bits) -> None:
        self._records.write(port, checksum(bits))
        self._rank.scatter(port.index, bits)

    @raises_run_error
    def refuse(self, message: str) -> None:
        self._compare(STEP, refusal=message)

    @raises_run_error
    def read(self, entry: str, port: Port) -> Bits:
        self._compare(READ, port.index)
        self._leave(False, port, self._exchange.argument(port))
        self._barrier()
        # No rank writes there before all ranks have begun what comes next.
        whole: Bits = self._exchange.argument(port).copy()
        self._records.leave()
        return whole

    @raises_run_error
    def step(self, entry: str, inputs: Sequence[tuple[Port, Bits]]) -> list[Bits]:
        self._compare(STEP, inputs=[(port, checksum(bits)) for port, bits in inputs])
        for port, bits in inputs:
            self._rank.scatter(port.index, bits)
        try:
            self._threads.step([self._rank])
        except native().Failure as failure:
            if failure.args[0] == Code.ASSERT:
                self._records.leave()  # the status of all ranks, which go on
            raise
        for port in self.returned[entry]:
            if port.is_partial:
                self._rank.copy_result(port.index, self._exchange.parts(entry, port),
                                       port.dtype.size)
            else:
                self._leave(True, port, self._exchange.result(entry, port))
        self._barrier()
        results = whole_results(self._program, self._exchange, entry, self.returned[entry])
        self._records.leave(steps=1)
        return results

    @contextmanager
    def working(self) -> Iterator[None]:
        ended = threading.Event()

        def give_heartbeats() -> None:
            while not ended.wait(_WAIT_SECONDS):
                self._records.works()
        thread = threading.Thread(target=give_heartbeats, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def is_alive(self) -> bool:
        return not self._has_died and not self._records.has_left()

    def close(self) -> None:
        self._records.end()
        self._connections.close()
        self._exchange.close()

    def _leave(self, result: bool, port: Port, whole: Bits) -> None:
        if self._number == 0 or port.is_cut:
            self._rank.assemble(result, port.index, whole)

    def _compare(self, kind: int, port: int = 0, *, inputs: Sequence[tuple[Port, int]] = (),
                 refusal: str = "") -> None:
        """Waits until every rank is about to do the same with the same data."""
        self._records.enter(kind, port, inputs=inputs, refusal=refusal)
        self._others_left()
        self._barrier()
        try:
            self._records.compare()
        except RunError as error:
            if error.code == Code.INVALID_ARGUMENT:
                self._records.leave()
            raise

    def _barrier(self) -> None:
        """Waits for all ranks; for one that loads as long as it goes on."""
        waited, seen = 0.0, self._records.heartbeats()
        self._threads.start_barrier()
        late = ""
        try:
            while not self._threads.wait():
                self._others_left()
                waited += _WAIT_SECONDS
                if seen != (now := self._records.heartbeats()):
                    waited, seen = 0.0, now
                elif waited >= self._timeout and not late:
                    late = self._records.late_text(self._timeout)
                    self._transport.abort(self._number, late)
        except BaseException as error:
            if late and isinstance(error, native().Failure):
                raise RunError(error.args[1], code=Code.TIMEOUT) from None
            if not isinstance(error, native().Failure):
                self._transport.abort(self._number, f"rank {self._number}: the wait for the other "
                                                    "ranks was interrupted")
                self._await_end()
            raise

    def _await_end(self) -> None:
        try:
            while not self._threads.wait():
                pass
        except native().Failure:
            pass

    def _others_left(self, _: int = 0) -> None:
        """Ends all waits if a rank waits for one that has closed its program."""
        rank = self._records.gone()
        if rank is not None:
            self._transport.abort(rank, self._records.gone_text(rank))

    def _died(self, rank: int, message: str) -> None:
        self._has_died = True
        self._transport.abort(rank, message)

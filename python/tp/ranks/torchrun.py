"""One rank in each of the processes that torchrun started on this host."""
from __future__ import annotations

import os
import socket
import struct
import threading
import time
import zlib
from collections.abc import Sequence

from ..arrays import Bits
from ..artifact import Artifact, Port
from ..errors import RunError
from .exchange import Exchange
from .group import Group, native, raises_run_error

_started = 0
_HELLO = struct.Struct("<qI")


class TorchrunGroup(Group):
    """This process's rank. Every process calls the program with the same whole arrays and gets the
    same whole results.

    Rank 0 makes the memory and hands its descriptors to the others over a socket without a place
    in the file system. The sockets stay open: a process that ends ends the waits of the others.
    """

    @raises_run_error
    def __init__(self, artifact: Artifact, timeout: float) -> None:
        super().__init__(artifact)
        self._number = int(os.environ["RANK"])
        self._sockets: list[socket.socket] = []
        self._closing = False
        local = os.environ.get("LOCAL_WORLD_SIZE", str(artifact.size))
        if local != str(artifact.size):
            raise RunError(f"torchrun started {local} of {artifact.size} ranks on this host, and "
                           "ranks of target cpu share memory: start all of them on one host", code=4)
        if not 0 <= self._number < artifact.size:
            raise RunError(f"RANK is {self._number}, expected 0 to {artifact.size - 1}")
        runtime = native()
        program = runtime.Artifact(artifact.path)
        with open(artifact.path, "rb") as file:
            identity = zlib.crc32(file.read())
        if self._number == 0:
            self._transport = runtime.Transport.processes(program)
            self._exchange = Exchange(artifact)
            self._serve(identity, timeout)
        else:
            descriptors = self._join(identity, timeout)
            self._transport = runtime.Transport.attach(program, descriptors[0])
            self._exchange = Exchange(artifact, descriptors[1])
        self._rank = runtime.Rank(program, self._transport, self._number, timeout)
        self._threads = runtime.Threads([self._rank])
        for other in self._sockets:
            threading.Thread(target=self._watch, args=[other], daemon=True).start()
        self._rank.barrier()

    @raises_run_error
    def write(self, port: Port, bits: Bits) -> None:
        self._rank.scatter(port.index, bits)

    @raises_run_error
    def read(self, port: Port) -> Bits:
        self._rank.barrier()
        self._leave(False, port, self._exchange.argument(port))
        self._rank.barrier()
        whole = self._exchange.argument(port).copy()
        self._rank.barrier()
        return whole

    @raises_run_error
    def step(self, inputs: Sequence[tuple[Port, Bits]]) -> list[Bits]:
        for port, bits in inputs:
            self._rank.scatter(port.index, bits)
        # No rank ends the step before all have begun it, and with it read the last results.
        self._threads.step(self.pairs)
        for port in self.returned:
            self._leave(True, port, self._exchange.result(port))
        self._rank.barrier()
        return [self._exchange.result(port).copy() for port in self.returned]

    def close(self) -> None:
        self._closing = True
        for other in self._sockets:
            try:
                other.sendall(b"b")  # a good-bye: the others may still use their programs
                other.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            other.close()
        self._sockets = []
        self._exchange.close()

    def _leave(self, result: bool, port: Port, whole: Bits) -> None:
        if self._number == 0 or any("shard" in axis for axis in port.layout):
            self._rank.assemble(result, port.index, whole)

    def _address(self) -> str:
        """The same in all processes of this run of torchrun, and in no other; every process starts
        its programs in the same order."""
        global _started
        _started += 1
        run = os.environ.get("TORCHELASTIC_RUN_ID", "none")
        port = os.environ.get("MASTER_PORT", "0")
        restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        return f"\0tp-{os.getuid()}-{run}-{port}-{restart}-{_started}"

    def _serve(self, identity: int, timeout: float) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
            server.bind(self._address())
            server.listen()
            server.settimeout(timeout)
            joined: set[int] = set()
            while len(joined) < self.artifact.size - 1:
                try:
                    other, _ = server.accept()
                except TimeoutError:
                    missing = set(range(1, self.artifact.size)) - joined
                    raise RunError(f"ranks {sorted(missing)} have not started in {timeout:g} s",
                                   code=5) from None
                other.settimeout(timeout)
                rank, theirs = _HELLO.unpack(other.recv(_HELLO.size, socket.MSG_WAITALL))
                if theirs != identity:
                    other.close()
                    raise RunError(f"rank {rank} runs another artifact than rank 0: compile the "
                                   "same model with the same options in every process")
                socket.send_fds(other, [b"f"], [self._transport.descriptor,
                                                self._exchange.descriptor])
                other.settimeout(None)
                self._sockets.append(other)
                joined.add(rank)

    def _join(self, identity: int, timeout: float) -> list[int]:
        address = self._address()
        end = time.monotonic() + timeout
        while True:
            server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                server.connect(address)
                break
            except OSError:
                server.close()
                if time.monotonic() > end:
                    raise RunError(f"rank 0 has not started in {timeout:g} s", code=5) from None
                time.sleep(0.01)  # rank 0 may still compile: only it says when it listens
        server.sendall(_HELLO.pack(self._number, identity))
        _, descriptors, _, _ = socket.recv_fds(server, 1, 2)
        if len(descriptors) != 2:
            raise RunError("rank 0 has refused this rank, or has ended: do all processes run the "
                           "same artifact?", code=6)
        self._sockets.append(server)
        return list(descriptors)

    def _watch(self, other: socket.socket) -> None:
        """A process that closes its program sends a byte; one that dies sends nothing."""
        try:
            closed = other.recv(1) == b"b"
        except OSError:
            closed = False
        if not closed and not self._closing:
            self._transport.abort(self._number, "the process of another rank has ended")

"""How the ranks of a run find each other, and notice when one of them ends."""
from __future__ import annotations

import errno
import hashlib
import os
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence

from ..errors import Code, RunError
from .launcher import Launched
from .records import ranks_text

_HELLO = struct.Struct("<qqI")
_PEER = struct.Struct("3i")
_WELCOME, _REFUSAL, _GOODBYE = b"f", b"x", b"b"
_REFUSAL_BYTES = 2048
# In a hello the size of a rank that has failed before it started; the reason follows.
_FAILED = -1
_SECONDS_TO_ANSWER = 60.0


def _process_of(peer: socket.socket) -> tuple[int, int]:
    """Number and user of the process at the other end."""
    number, user, _ = _PEER.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED,
                                                   _PEER.size))
    return number, user


def _end_of(process: int) -> str:
    """How a process ended that nobody has waited for yet; later the system does not know."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            # The name stands in parentheses and may hold any character.
            status = int(file.read().rpartition(")")[2].split()[-1])
    except (OSError, ValueError, IndexError):
        return "has ended without closing its program"
    if os.WIFSIGNALED(status):
        return f"was ended by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"ended with status {os.WEXITSTATUS(status)}, without closing its program"


class Connections:
    """The sockets of a rank: rank 0 has one to every other rank, each of them one to rank 0.

    Rank 0 listens at an address that has no place in the file system, as long as the program is
    open: a second process of a rank is refused at any time.
    """

    def __init__(self, launched: Launched, number: int, artifact: int) -> None:
        self._launched = launched
        self._artifact = artifact
        self._address = "\0tp-" + hashlib.sha256(
            f"{os.getuid()} {launched.run} {number}".encode()).hexdigest()[:32]
        self._server: socket.socket | None = None
        self._peers: dict[int, socket.socket] = {}
        self._processes: dict[int, int] = {}
        self._closing = False

    def serve(self, descriptors: Sequence[int], timeout: float) -> None:
        """On rank 0: waits for the others and hands them the descriptors. Raises RunError."""
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            server.bind(self._address)
        except OSError as error:
            server.close()
            if error.errno != errno.EADDRINUSE:
                raise RunError(f"rank 0 cannot listen: {error.strerror}",
                               code=Code.SYSTEM) from error
            raise RunError(self._taken(0, self._holder())) from None
        server.listen(self._launched.size)
        try:
            self._welcome(server, descriptors, timeout)
        except RunError as error:
            # Ranks that come later do not wait for their time-out.
            gave_up = "rank 0 has given up: " if error.code == Code.TIMEOUT else ""
            self._refuse_late(server, f"{gave_up}{error}")
            raise
        except BaseException:
            server.close()
            raise
        self._server = server
        self._refuse_late(server)

    def _welcome(self, server: socket.socket, descriptors: Sequence[int], timeout: float) -> None:
        end = time.monotonic() + timeout
        while missing := set(range(1, self._launched.size)) - set(self._peers):
            server.settimeout(max(end - time.monotonic(), 0.001))
            try:
                peer, _ = server.accept()
            except TimeoutError:
                raise RunError(f"{ranks_text(sorted(missing))} of {self._launched.size} "
                               f"{'has' if len(missing) == 1 else 'have'} not started in "
                               f"{timeout:g} s ({self._launched.run})", code=Code.TIMEOUT) from None
            rank, refusal = self._hear(peer)
            if rank is None:
                continue
            if refusal:
                self._refuse(peer, refusal)
                if rank in missing:
                    raise RunError(refusal)
                continue
            socket.send_fds(peer, [_WELCOME], list(descriptors))
            self._peers[rank], self._processes[rank] = peer, _process_of(peer)[0]

    def join(self, timeout: float) -> list[int]:
        """On another rank: finds rank 0 and gets the descriptors from it. Raises RunError."""
        end = time.monotonic() + timeout
        while True:
            server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                server.connect(self._address)
                break
            except OSError:
                server.close()
                if time.monotonic() > end:
                    raise RunError(f"rank 0 has not started in {timeout:g} s "
                                   f"({self._launched.run})", code=Code.TIMEOUT) from None
                time.sleep(0.01)  # rank 0 may still compile: only it says when it listens
        process, user = _process_of(server)
        if user != os.getuid():
            server.close()
            raise RunError(f"process {process} of another user listens where rank 0 should "
                           f"({self._launched.run})")
        descriptors: list[int] = []
        answer = b""
        try:
            server.settimeout(timeout)
            server.sendall(_HELLO.pack(self._launched.rank, self._launched.size, self._artifact))
            answer, received, _, _ = socket.recv_fds(server, _REFUSAL_BYTES, 2)
            descriptors = list(received)
            server.settimeout(None)
        except TimeoutError:
            server.close()
            raise RunError(f"rank 0, process {process}, has not answered in {timeout:g} s "
                           f"({self._launched.run})", code=Code.TIMEOUT) from None
        except OSError:
            pass
        if answer[:1] == _REFUSAL:
            server.close()
            raise RunError(answer[1:].decode(errors="replace"))
        if len(descriptors) != 2:
            server.close()
            raise RunError("rank 0 has ended before all ranks had started", code=Code.RANK_FAILED)
        self._peers[0], self._processes[0] = server, process
        return descriptors

    def tell_failure(self, why: str, timeout: float) -> None:
        """In place of `serve` or `join` on a rank that will not start: the others hear why, as soon
        as they come or rank 0 does."""
        if self._launched.rank == 0:
            self._refuse_all(why, timeout)
            return
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
                try:
                    server.connect(self._address)
                    if _process_of(server)[1] != os.getuid():
                        return
                    server.settimeout(max(end - time.monotonic(), 0.001))
                    server.sendall(_HELLO.pack(self._launched.rank, _FAILED, self._artifact)
                                   + why.encode()[:_REFUSAL_BYTES - 1])
                    server.shutdown(socket.SHUT_WR)
                    server.recv(1)  # until rank 0 has heard it
                    return
                except TimeoutError:
                    return
                except OSError:
                    time.sleep(0.01)  # rank 0 may still compile: only it says when it listens

    def _refuse_all(self, why: str, timeout: float) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
            try:
                server.bind(self._address)
            except OSError:
                return
            server.listen(self._launched.size)
            end = time.monotonic() + timeout
            missing = set(range(1, self._launched.size))
            while missing:
                server.settimeout(max(end - time.monotonic(), 0.001))
                try:
                    peer, _ = server.accept()
                except OSError:
                    return
                rank, _ = self._hear(peer)
                if rank is not None:
                    self._refuse(peer, why)
                    missing.discard(rank)

    def watch(self, left: Callable[[int], None], died: Callable[[int, str], None]) -> None:
        """From here on calls `left` with a rank that closes its program, and `died` with one whose
        process ends without that, and how it did; both from other threads."""
        for rank, peer in self._peers.items():
            threading.Thread(target=self._watch, args=(rank, peer, left, died),
                             daemon=True).start()

    def close(self) -> None:
        """Takes leave of the others, which may still use their programs."""
        self._closing = True
        for peer in self._peers.values():
            try:
                peer.sendall(_GOODBYE)
                peer.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            peer.close()
        self._peers = {}
        if self._server is not None:
            try:
                self._server.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            self._server.close()
            self._server = None

    def _hear(self, peer: socket.socket) -> tuple[int | None, str]:
        """The rank that has connected, None where it is no rank of this user, and why it is
        refused."""
        try:
            if _process_of(peer)[1] != os.getuid():
                raise OSError("another user")
            peer.settimeout(_SECONDS_TO_ANSWER)
            rank, size, artifact = _HELLO.unpack(peer.recv(_HELLO.size, socket.MSG_WAITALL))
            if size == _FAILED:
                return rank, peer.recv(_REFUSAL_BYTES, socket.MSG_WAITALL).decode(errors="replace")
            peer.settimeout(None)
        except (OSError, struct.error):
            peer.close()
            return None, ""
        if size != self._launched.size:
            return rank, (f"rank {rank} is one of {size} ranks, rank 0 one of "
                          f"{self._launched.size} ({self._launched.run})")
        if rank == 0 or rank in self._processes:
            return rank, self._taken(rank, self._processes.get(rank, os.getpid()))
        if artifact != self._artifact:
            return rank, (f"rank {rank} runs another artifact than rank 0: compile the same model "
                          "with the same options in every process")
        return rank, ""

    @staticmethod
    def _refuse(peer: socket.socket, why: str) -> None:
        try:
            peer.sendall(_REFUSAL + why.encode()[:_REFUSAL_BYTES - 1])
        except OSError:
            pass
        peer.close()

    def _taken(self, rank: int, process: int) -> str:
        return (f"rank {rank} has come already, as process {process}, where {self._launched.run}: "
                "give each rank a number of its own, and each job a MASTER_PORT of its own")

    def _holder(self) -> int:
        """The process that listens at the address; 0 if it has gone."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
            try:
                other.connect(self._address)
                return _process_of(other)[0]
            except OSError:
                return 0

    def _refuse_late(self, server: socket.socket, why: str = "") -> None:
        """From another thread, until `server` is closed."""
        def refuse() -> None:
            while True:
                try:
                    peer, _ = server.accept()
                except OSError:
                    return  # the program is closed
                rank, refusal = self._hear(peer)
                if rank is not None:
                    self._refuse(peer, why or refusal)
        server.settimeout(None)
        threading.Thread(target=refuse, daemon=True).start()

    def _watch(self, rank: int, peer: socket.socket, left: Callable[[int], None],
               died: Callable[[int, str], None]) -> None:
        try:
            last = peer.recv(1)
        except OSError:
            last = b""
        if self._closing:
            return
        if last == _GOODBYE:
            left(rank)
        else:
            died(rank, f"rank {rank}: its process {_end_of(self._processes[rank])}")

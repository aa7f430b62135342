"""The program of a spawned rank. Only ProcessGroup starts it, with ^C held."""
from __future__ import annotations

import contextlib
import sys
from multiprocessing.connection import Connection
from typing import Any

from ..artifact import Artifact, read
from ..errors import Error, RunError
from .address_space import check_address_space
from .exchange import Exchange
from .group import native, open_program


class RankProcess:
    """One rank: does what its parent asks for, and answers None or a failure."""

    def __init__(self, artifact: Artifact, rank: int, timeout: float, transport: int,
                 exchange: int) -> None:
        self._artifact = artifact
        self._first = rank == 0
        self._exchange = Exchange(artifact, exchange)
        runtime = native()
        program = open_program(artifact)
        attached = runtime.Transport.attach(program, transport)
        check_address_space(artifact, 1)  # the memory of the rank comes now
        self._rank = runtime.Rank(program, attached, rank, timeout)
        self._entries = {name: self._rank if name == artifact.entry else self._rank.entry(name)
                         for name in artifact.entries}
        self._threads = runtime.Threads([self._rank])

    def do(self, command: str, entry: str, argument: Any) -> None:
        """One command of the parent. Raises _runtime.Failure."""
        ports = self._artifact.entries[entry].arguments
        rank = self._entries[entry]
        if command == "write":
            rank.scatter(argument, self._exchange.argument(ports[argument]))
        elif command == "read":
            if self._first or ports[argument].is_cut:
                rank.assemble(False, argument, self._exchange.argument(ports[argument]))
        else:
            for index in argument:
                rank.scatter(index, self._exchange.input(entry, ports[index]))
            self._threads.step([rank])
            for port in self._artifact.entries[entry].returned():
                if port.is_partial:
                    rank.copy_result(port.index, self._exchange.parts(entry, port),
                                     port.dtype.size)
                elif self._first or port.is_cut:
                    rank.assemble(True, port.index, self._exchange.result(entry, port))


def main() -> None:
    """Runs until the parent closes the connection."""
    path, rank, timeout, descriptor, connection, transport, exchange, *links = sys.argv[1:]
    parent = Connection(int(connection))
    failure: type[BaseException] = native().Failure
    process: RankProcess | None = None
    try:
        artifact = read(path, int(descriptor))
        artifact.links = tuple(links)
        process = RankProcess(artifact, int(rank), float(timeout), int(transport), int(exchange))
        parent.send(None)
        while True:
            command, entry, argument = parent.recv()
            try:
                process.do(command, entry, argument)
                parent.send(None)
            except failure as error:
                parent.send(error.args)
    except failure as error:
        parent.send(error.args)
    except Error as error:
        parent.send((error.code if isinstance(error, RunError) else 3, str(error)))
    except Exception as error:
        # The parent has ended or closed the program, or says what is wrong here.
        if process is None or not isinstance(error, (EOFError, OSError)):
            with contextlib.suppress(OSError):
                parent.send((8, f"rank {rank}: {type(error).__name__}: {error}"))

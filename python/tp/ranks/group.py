"""What all kinds of rank groups have in common."""
from __future__ import annotations

import errno
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import numpy as np

from ..arrays import Bits
from ..artifact import Artifact, Port
from ..errors import RunError

Function = TypeVar("Function", bound=Callable[..., Any])


def native() -> Any:
    """The extension module. Raises RunError where it is not built for this Python."""
    try:
        from .. import _runtime
    except ImportError as error:
        raise RunError(f"tp's extension module cannot be loaded: {error}: install the wheel, or "
                       "build tp with -DTP_PYTHON=ON by this Python", code=8) from error
    return _runtime


def open_program(artifact: Artifact) -> Any:
    """The program of the bytes that the manifest was read from, ready to run. Raises RunError where
    the file has changed since, and the extension module's failures."""
    runtime = native()
    for library in artifact.links:
        runtime.link(library)
    try:
        program = runtime.Artifact(artifact.file.name)
    except runtime.Failure as failure:
        artifact.check_unchanged()
        code, message = failure.args
        raise runtime.Failure(code, message.replace(artifact.file.name, artifact.path)) from None
    artifact.check_unchanged()
    return program


def limit_text(error: OSError) -> str:
    """The limit of this process that a call of the system has met, for messages; may be empty."""
    return {errno.EMFILE: " (ulimit -n)", errno.ENOMEM: " (ulimit -v)"}.get(error.errno or 0, "")


def raises_run_error(function: Function) -> Function:
    """Turns the extension module's failures into RunError."""
    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except native().Failure as failure:
            code, message = failure.args
            raise RunError(message, code=code) from None
    return call  # type: ignore[return-value]


class Group(ABC):
    """All ranks of a program, as this process sees them. Arrays are whole ones, as bits.

    Attributes:
        writes_files: whether this process writes what is written once for all ranks.
    """

    writes_files = True

    def __init__(self, artifact: Artifact) -> None:
        self.artifact = artifact
        self.returned = {name: entry.returned() for name, entry in artifact.entries.items()}

    @abstractmethod
    def write(self, entry: str, port: Port, bits: Bits) -> None:
        """Gives every rank its part of an argument of an entry."""

    def start_loading(self, files: str | None) -> None:
        """Comes before the first `load`. `files` identifies the files that all weights are from;
        None if some are not from files."""

    def load(self, entry: str, port: Port, bits: Bits) -> None:
        """Gives every rank its part of a weight."""
        self.write(entry, port, bits)

    def end_loading(self) -> None:
        """Comes after the last `load`."""

    def refuse(self, message: str) -> None:
        """This process has refused a call of the program: ranks in other processes, which cannot
        run the step without this one, hear of it."""

    @abstractmethod
    def read(self, entry: str, port: Port) -> Bits:
        """The whole argument, from the parts of the ranks."""

    @abstractmethod
    def step(self, entry: str, inputs: Sequence[tuple[Port, Bits]]) -> list[Bits]:
        """Runs one step of an entry: the results that update no argument; the others become the arguments of
        the next step."""

    def working(self) -> AbstractContextManager[None]:
        """While its body runs this process works for the program by itself, as for a file: ranks in
        other processes wait for it."""
        return nullcontext()

    def is_alive(self) -> bool:
        """Whether all ranks are there, as far as this process knows. Any thread may ask."""
        return True

    @abstractmethod
    def close(self) -> None:
        """Ends the ranks and frees their memory."""


def empty(port: Port) -> Bits:
    """Room for a whole array."""
    return np.empty(port.shape, port.dtype.bits)

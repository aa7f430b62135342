"""The ranks of a program: started with the first step, loaded once, shared by its entries."""
from __future__ import annotations

import ctypes
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .arrays import Bits
from .artifact import Artifact, Port
from .errors import Code, RunError, listed, plural
from .progress import progress
from .ranks import choose_launch, start
from .ranks.group import Group
from .weights import (Finder, Weights, identity_of_files, missing_error, opened,
                      warn_of_replaced)

# Loading less than this is not worth a progress bar.
_PROGRESS_BYTES = 256 << 20
_WARNS_AT = 5  # frames up: who called tp.load or tp.compile

# What the runtime says of a state that a failed step has lost, and what Python has for it.
_SET_AGAIN = "; set it again before the next step"
_SET_ALL_AGAIN = (": write program.load_checkpoint(folder), or program.state[NAME] = array for all "
                  "that a step updates")

Tensor = tuple[str, int]


class ProgramRanks:
    """The ranks of a program and what they hold. Entries share parameters and state: what one sets
    or updates, the others read.

    Attributes:
        stateful: what stays on the ranks, with an entry that has it.
        unset: of these what was neither loaded nor written.
        lock: held during every use of the ranks.
        launch: how the ranks run: thread, process or torchrun.
        ended: what has ended the ranks; empty as long as nothing has.
        changes: how many steps and writes have changed what stays on the ranks.
        texts: how many texts of tp.generation were begun.
        text_lock: held while a text changes its cache.
    """

    def __init__(self, artifact: Artifact, weights: Weights, launch: str | None,
                 timeout: float) -> None:
        self._artifact = artifact
        self.launch = choose_launch(launch, artifact)
        check_timeout(timeout)
        self._timeout = float(timeout)
        self.sources = opened(weights, artifact.all_arguments())
        self._files = identity_of_files(self.sources)
        self.updated = {argument.tensor for entry in artifact.entries.values()
                        for _, argument in entry.update_pairs()}
        self.stateful: dict[Tensor, tuple[str, Port]] = {}
        for name, entry in artifact.entries.items():
            for port in entry.arguments:
                if self.stays(port):
                    self.stateful.setdefault(port.tensor, (name, port))
        self._updating = {name for name, entry in artifact.entries.items() if entry.update_pairs()}
        self.changes = self.texts = 0
        self.text_lock = threading.RLock()
        self.group: Group | None = None
        self._finalizer: Callable[[], object] | None = None
        self.unset: set[Tensor] = set()
        self._pid = os.getpid()
        self.lock = threading.Lock()
        self.closed = False
        self.ended = ""
        self._replaced = warn_of_replaced(self.sources, _WARNS_AT - 1)
        if self.sources:
            self._check_weights()

    def stays(self, port: Port) -> bool:
        """Whether an argument stays on the ranks from step to step."""
        return port.is_weight or port.tensor in self.updated

    @property
    def failed(self) -> bool:
        """Whether something has ended the ranks, other than `close`."""
        return bool(self.ended)

    def is_alive(self) -> bool:
        """Whether a call may succeed, as far as this process knows. Needs no lock."""
        group = self.group
        return (not self.closed and not self.ended and os.getpid() == self._pid
                and (group is None or group.is_alive()))

    def close(self) -> None:
        """Ends the ranks and frees their memory."""
        self.closed = True
        self._end()

    def start(self) -> Group:
        """The ranks, which the first call starts and loads. The caller holds the lock."""
        if self.closed:
            raise RunError("the program is closed: load or compile it again")
        if self.ended:
            raise RunError(f"an earlier use of this program {self.ended}, so its ranks have ended: "
                           "load or compile it again", code=Code.RANK_FAILED)
        if os.getpid() != self._pid:
            raise RunError(f"the program was made in process {self._pid}, and this process was "
                           "forked from it: ranks do not survive a fork, load it again here")
        if self.group is None:
            group = start(self._artifact, self.launch, self._timeout)
            self.group = group
            self._finalizer = weakref.finalize(self, _close, group, os.getpid())
            self.unset = {tensor for tensor, (_, port) in self.stateful.items() if not port.dead}
            try:
                group.start_loading(self._files)
                self._load_weights(group)
                group.end_loading()
            except BaseException:
                self._end()
                raise
        return self.group

    def _end(self, why: str = "") -> None:
        self.ended = self.ended or why
        self.group = None
        if self._finalizer is not None:
            self._finalizer()
            self._finalizer = None

    def _check_weights(self) -> None:
        """Checks names, shapes and types of all weights before a rank starts."""
        finder = Finder(self.sources)
        ports = [port for _, port in self.stateful.values() if not port.dead]
        missing = [port for port in ports if not finder.check(port)]
        for _, port in self.stateful.values():
            if port.dead:
                finder.used.update([*port.source_keys, f"{port.kind}:{port.name}"])
        # What is no parameter may be set later, by `state` or by a call; an input is, by the first.
        if any(port.kind == "parameter" for port in missing) or (
                len(missing) == len(ports) and any(port.is_weight for port in ports)):
            raise missing_error(missing, finder)
        if finder.other_type:  # and all names and shapes are right
            raise RunError(finder.other_type)
        unused = finder.unused()
        if unused:
            warnings.warn(f"the weights have {plural(len(unused), 'name')} that the program does "
                          f"not use: {listed(unused)}", stacklevel=_WARNS_AT)

    def _load_weights(self, group: Group) -> None:
        """Gives every rank its parts of all weights that there are."""
        warn_of_replaced(self.sources, _WARNS_AT - 1, told=self._replaced)
        finder = Finder(self.sources)
        ports = [row for row in self.stateful.values() if not row[1].dead]
        shown = sum(port.nbytes for _, port in ports) >= _PROGRESS_BYTES
        for entry, port in progress(ports, label="weights") if shown else ports:
            bits = finder.find(port)
            if bits is not None:
                group.load(entry, port, bits)
                self.unset.discard(port.tensor)

    def require(self, group: Group, ports: list[Port]) -> None:
        """Raises RunError if one of these, which a step needs, has no value."""
        if ports:
            error = missing_error(ports, Finder(self.sources))
            self._refuse_step(group, error)
            raise error

    def refuse(self, error: Exception) -> None:
        """Where ranks are in other processes too, their calls fail with this one."""
        if self.launch != "torchrun":
            return
        with self.lock:
            try:
                group = self.start()
            except RunError:
                return  # the others fail as these ranks do
            self._refuse_step(group, error)

    def _refuse_step(self, group: Group, error: Exception) -> None:
        try:
            self.guarded(lambda: group.refuse(str(error)))
        except RunError:
            pass  # the caller's own mistake says more

    def guarded(self, call: Callable[[], Any]) -> Any:
        """What `call`, which uses the ranks, returns. Most failures end them."""
        try:
            result = call()
        except RunError as error:
            # A failed assertion of the program leaves the ranks as they are.
            if error.code not in (Code.ASSERT, Code.INVALID_ARGUMENT):
                self._end("failed on a rank")
                if self.closed:  # which ends ranks that wait
                    raise self._closed_error() from error
            if _SET_AGAIN in str(error):
                raise RunError(str(error).replace(_SET_AGAIN, _SET_ALL_AGAIN),
                               code=error.code) from error
            raise
        except BaseException as error:
            what = "^C" if isinstance(error, KeyboardInterrupt) else type(error).__name__
            self._end(f"was interrupted by {what}")
            if self.closed and isinstance(error, Exception):
                raise self._closed_error() from error
            if isinstance(error, KeyboardInterrupt):
                error.with_traceback(None)  # where Python waited for ranks tells nobody anything
            raise
        if self.closed:
            raise self._closed_error()
        return result

    @staticmethod
    def _closed_error() -> RunError:
        return RunError("the program was closed while it was in use")

    def writes_files(self) -> bool:
        """Whether this process is the one that writes a file for all ranks."""
        with self.lock:
            return self.start().writes_files

    def working(self) -> AbstractContextManager[None]:
        """While its body runs this process works by itself, as for a file, and ranks in other
        processes wait for it however long that takes."""
        group = self.group
        return nullcontext() if group is None else group.working()

    def step(self, group: Group, entry: str, inputs: Sequence[tuple[Port, Bits]]) -> list[Bits]:
        """What a step of an entry returns. The caller holds the lock."""
        results: list[Bits] = self.guarded(lambda: group.step(entry, inputs))
        self.changes += entry in self._updating  # one that fails has changed nothing, or all ends
        return results

    def read(self, entry: str, port: Port) -> Bits:
        """The whole argument of an entry."""
        with self.lock:
            group = self.start()
            if port.tensor in self.unset:
                raise missing_error([port], Finder(self.sources))
            bits: Bits = self.guarded(lambda: group.read(entry, port))
        return bits

    def write(self, entry: str, port: Port, bits: Bits) -> None:
        """Gives every rank its part of an argument of an entry."""
        with self.lock:
            group = self.start()
            self.changes += 1  # one that fails may have changed some ranks
            self.guarded(lambda: group.write(entry, port, bits))
            self.unset.discard(port.tensor)


def check_timeout(timeout: object) -> None:
    """Raises RunError where a time-out is no number of seconds."""
    if not isinstance(timeout, (int, float)) or not timeout > 0:
        raise RunError(f"timeout: expected seconds above 0, got {timeout!r}")


def _close(group: Group, process: int) -> None:
    if os.getpid() == process:
        group.close()
    else:
        # A forked child has no ranks to end. Freeing them would wait for threads that it has not.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(group))

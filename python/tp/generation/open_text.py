"""Which text the cache of a program belongs to: the one that was begun last."""
from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..arrays import Bits
from ..artifact import Port
from ..errors import RunError
from ..ranks.group import Group

if TYPE_CHECKING:
    from ..program import Program

Result = TypeVar("Result")


class TextRanks:
    """The ranks of a program, which count what changes the cache that they hold.

    Attributes:
        texts: how many texts were begun.
        changes: how many steps and writes there were.
        lock: held while a text changes the cache.
    """

    def __init__(self, group: Group) -> None:
        self._group = group
        self._updating = {name for name, entry in group.artifact.entries.items()
                          if entry.update_pairs()}
        self.texts = self.changes = 0
        self.lock = threading.RLock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._group, name)

    def write(self, entry: str, port: Port, bits: Bits) -> None:
        self.changes += 1  # one that fails may have changed some ranks
        self._group.write(entry, port, bits)

    def step(self, entry: str, inputs: Sequence[tuple[Port, Bits]]) -> list[Bits]:
        results = self._group.step(entry, inputs)  # one that fails has changed nothing
        self.changes += entry in self._updating
        return results


class OpenText:
    """A text that begins now. No other text of the program goes on after that."""

    def __init__(self, program: Program) -> None:
        self._ranks = _ranks_of(program)
        with self._ranks.lock:
            self._ranks.texts += 1
            self._number = self._ranks.texts
            self._changes = self._ranks.changes

    def change(self, call: Callable[..., Result], *arguments: Any, **named: Any) -> Result:
        """What the call returns, which changes the cache once. Raises RunError if the cache is no
        longer that of this text."""
        with self._ranks.lock:
            self._require()
            result = call(*arguments, **named)
            self._changes += 1
            self._require()
        return result

    def _require(self) -> None:
        if self._ranks.texts != self._number:
            raise RunError("another text was begun on this program while this one was open, and "
                           "the program has one cache: read a text to its end before the next one "
                           "begins, read several as a batch, or load a program for each")
        if self._ranks.changes != self._changes:
            raise RunError("the program was called, reset or given state while a text was open on "
                           "it, so its cache is no longer that of the text: do so before a text or "
                           "behind it, or load another program for it")


def only_text(program: Program) -> threading.RLock:
    """A lock. No text of another thread begins or goes on while it is held."""
    return _ranks_of(program).lock


def _ranks_of(program: Program) -> TextRanks:
    """The ranks, which this starts where no call has."""
    shared = program._shared
    with shared.lock:
        group: Group | TextRanks = shared.start()
        if isinstance(group, TextRanks):
            return group
        ranks = TextRanks(group)
        shared.group = cast(Group, ranks)
        return ranks

"""Which text the cache of a program belongs to: the one that was begun last."""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import RunError

if TYPE_CHECKING:
    from ..program import Program

Result = TypeVar("Result")


class OpenText:
    """A text that begins now. No other text of the program goes on after that."""

    def __init__(self, program: Program) -> None:
        self._ranks = program._shared
        with self._ranks.text_lock:
            self._ranks.texts += 1
            self._number = self._ranks.texts
            self._changes = self._ranks.changes

    def change(self, call: Callable[..., Result], *arguments: Any, **named: Any) -> Result:
        """What the call returns, which changes the cache once. Raises RunError if the cache is no
        longer that of this text."""
        with self._ranks.text_lock:
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
    return program._shared.text_lock

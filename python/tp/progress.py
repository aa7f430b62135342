"""Progress bars: tqdm's where that package is there, and only on a terminal."""
from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")


def progress(items: Iterable[Item], *, label: str = "", total: int | None = None,
             status: Callable[[], str] | None = None) -> Iterator[Item]:
    """The items, with a bar on stderr while they are used: `for x, y in tp.progress(batches)`.

    Args:
        items: anything that can be iterated.
        label: what stands before the bar.
        total: the number of items, where `items` has no length.
        status: what stands behind the bar after each item, such as the loss.
    """
    bar = _tqdm()
    if bar is None:
        yield from items
        return
    shown = bar(items, desc=label or None, total=total, leave=False)
    for item in shown:
        yield item
        if status is not None:
            shown.set_postfix_str(status(), refresh=False)


class Stages:
    """What a call that takes long is doing, and for how long, where `progress` has a bar.

    with Stages("tp.export", 2) as stages:
        stages.begin("trace")
    """

    def __init__(self, label: str, total: int = 1) -> None:
        bar = _tqdm()
        self._label, self._total, self._begun = label, total, 0
        self._bar = None if bar is None else bar(desc=label, leave=False,
                                                 bar_format="{desc} [{elapsed}]")

    def __enter__(self) -> Stages:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def begin(self, name: str) -> None:
        """The next stage begins."""
        self._begun += 1
        if self._bar is not None:
            self._bar.set_description_str(f"{self._label} {self._begun}/{self._total}: {name}")

    def wait(self) -> None:
        """The stage goes on."""
        if self._bar is not None:
            self._bar.refresh()


def _tqdm() -> Callable[..., Any] | None:
    """The class of bars, where they are shown."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    try:
        bars = importlib.import_module("tqdm")
    except ImportError:
        return None
    return bars.tqdm  # type: ignore[no-any-return]

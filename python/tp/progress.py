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
    bar = _tqdm() if sys.stderr is not None and sys.stderr.isatty() else None
    if bar is None:
        yield from items
        return
    shown = bar(items, desc=label or None, total=total, leave=False)
    for item in shown:
        yield item
        if status is not None:
            shown.set_postfix_str(status(), refresh=False)


def _tqdm() -> Callable[..., Any] | None:
    try:
        bars = importlib.import_module("tqdm")
    except ImportError:
        return None
    return bars.tqdm  # type: ignore[no-any-return]

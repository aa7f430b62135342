"""Calls that have to fail."""
from __future__ import annotations

from collections.abc import Callable

import tp


def error_of(call: Callable[[], object], kind: type[Exception] = tp.Error) -> str:
    """The message of the exception that the call raises."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError("not refused")


def refused(call: Callable[[], object], expected: str, kind: type[Exception] = tp.Error) -> None:
    """The call raises an exception with this message."""
    message = error_of(call, kind)
    assert message == expected, f"{message}\nexpected {expected}"

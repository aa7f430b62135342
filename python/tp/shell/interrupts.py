"""^C in `python -m tp`: one line on stderr, and the exit status that shells have for it."""
from __future__ import annotations

import os
import signal

# As shells say of a command that ^C has ended.
STATUS = 130


def _end(*_: object) -> None:
    os.write(2, b"python -m tp: interrupted\n")
    os._exit(STATUS)


def end_at_once() -> None:
    """From here on ^C ends the process, which only imports and has nothing to leave whole. A
    process that ignores the signal goes on doing so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def raise_again() -> None:
    """From here on ^C raises KeyboardInterrupt, as in any Python program."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)

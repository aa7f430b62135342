"""The commands tp-compile and tp-run of the wheel, which become the tools in the package tp.

They do not import that package: with numpy it takes long enough that ^C would meet Python, which
prints a traceback, and not the tool.
"""
from __future__ import annotations

import os
import signal
import sys

_TOOLS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tp", "prefix",
                      "bin")

# From here on ^C ends this process as it ends the tool: without a word.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def tp_run() -> None:
    """The command tp-run."""
    _become("tp-run")


def tp_compile() -> None:
    """The command tp-compile."""
    _become("tp-compile")


def _become(name: str) -> None:
    """Replaces this process by a tool of the package. The search path has this very command, so it
    is not asked for the tool; the linker of the package, which tp-compile calls, comes last in it."""
    path = os.path.join(_TOOLS, name)
    folders = os.pathsep.join([os.environ.get("PATH", os.defpath), _TOOLS])
    try:
        os.execve(path, [path, *sys.argv[1:]], {**os.environ, "PATH": folders})
    except OSError as error:
        sys.exit(f"{path}: {error.strerror}")

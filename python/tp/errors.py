"""What goes wrong, as exceptions. A message says what is wrong, where, and what to write instead."""
from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import get_close_matches
from enum import IntEnum
from types import ModuleType, TracebackType

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Error(Exception):
    """The base of all errors of tp.

    Attributes:
        in_shell: the message for who types options of `python -m tp` and not Python; empty where it
            is the same.
    """
    in_shell = ""


class ExportError(Error):
    """A module or a function cannot be exported.

    Attributes:
        module: the path of the module that the message is about, None where it is about no module.
        op: the op that it is about, as torch or MLIR names it, or None.
    """

    def __init__(self, message: str, *, module: str | None = None, op: str | None = None) -> None:
        super().__init__(message)
        self.module = module
        self.op = op


class CompileError(Error):
    """A model cannot be compiled with this plan, mesh and options.

    Attributes:
        diagnostics: what tp-compile printed, with the locations in files.
        plan_entry: the key of the plan's dict that the first error is about, if it is about one.
    """

    def __init__(self, message: str, *, diagnostics: str = "",
                 plan_entry: str | None = None, in_shell: str = "") -> None:
        super().__init__(message)
        self.in_shell = in_shell
        self.diagnostics = diagnostics
        self.plan_entry = plan_entry


class ExportWarning(UserWarning):
    """A module or function is exported with the right numbers, but not as its code says, or not as is
    likely to be meant. The text says where, and what to write instead."""


class PlanWarning(UserWarning):
    """The compiler warns: an entry of the plan has no effect, ranks hold no part of any result, or
    every rank does all the work. The text says where.

    Attributes:
        plan_entry: the key of the plan's dict that it is about, if it is about one.
    """

    def __init__(self, message: str, *, plan_entry: str | None = None) -> None:
        super().__init__(message)
        self.plan_entry = plan_entry


class Code(IntEnum):
    """What kind of failure a RunError is: tp_code of tp/Runtime/Runtime.h. docs/python.md says what
    each one means for a program."""
    INVALID_ARGUMENT = 1
    FILE = 2
    FORMAT = 3
    UNSUPPORTED = 4
    TIMEOUT = 5
    RANK_FAILED = 6
    ASSERT = 7
    SYSTEM = 8
    DEVICE_FAILED = 9


class RunError(Error):
    """A program cannot be loaded or run, or is called wrongly.

    Attributes:
        code: the runtime's code, a number of `Code`; 1 for a wrong call.
    """

    def __init__(self, message: str, *, code: int = 1, in_shell: str = "") -> None:
        super().__init__(message)
        self.code = int(code)
        self.in_shell = in_shell


class UnknownNameError(RunError, KeyError):
    """A mapping has no such name. A KeyError too, so that `get` and `in` are those of a dict."""

    def __str__(self) -> str:
        return str(self.args[0])


def is_foreign(path: str, library: ModuleType) -> bool:
    """Whether a file is of the library or of this package, and not the user's."""
    of_library = os.path.dirname(os.path.abspath(library.__file__ or "")) + os.sep
    return os.path.abspath(path).startswith((of_library, _PACKAGE))


def source_line(trace: TracebackType | None, library: ModuleType) -> str:
    """`FILE:LINE: ` of the innermost line of a traceback that is not of the library, which calls
    the user's code, or of this package."""
    line = ""
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if not is_foreign(path, library):
            line = f"{path}:{trace.tb_lineno}: "
        trace = trace.tb_next
    return line


def described(error: Exception) -> str:
    """An error of the user's code, in one line: `KeyError: 'x'`."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}{': ' + lines[0].rstrip('.') if lines else ''}"


def near(name: str, names: Iterable[str]) -> str:
    """`, did you mean 'x'?`, or nothing where no name is near."""
    matches = get_close_matches(name, list(names), n=1, cutoff=0.6)
    return f", did you mean '{matches[0]}'?" if matches else ""


def listed(names: Iterable[str], most: int = 5) -> str:
    """The names in quotes; of many, the first ones and how many there are besides."""
    quoted = [f"'{name}'" for name in names]
    rest = len(quoted) - most
    return ", ".join(quoted[:most]) + (f" and {rest} more" if rest > 0 else "")


def unknown_name(what: str, name: object, names: Iterable[str]) -> UnknownNameError:
    """The error for a name that is none of `names`, with a near one or with all of them."""
    names = list(names)
    hint = near(str(name), names) or f"; there are {listed(names) or 'none'}"
    return UnknownNameError(f"{what} '{name}': no such name{hint}")


def shortened(text: str, most: int = 500) -> str:
    """The text; of a long one, as of a whole op with its constants, the beginning."""
    return text if len(text) <= most else f"{text[:most]} [... {len(text) - most:,} letters left out]"


def plural(count: int, noun: str) -> str:
    """`1 rank`, `4 ranks`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"

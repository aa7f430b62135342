"""`python -m tp export|compile|run|generate|report`: the package from a shell."""
from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from typing import TextIO

from .compiler import compile
from .errors import Error, RunError
from .files import check_outputs
from .program import load
from .shell import interrupts
from .shell.export import export
from .shell.generate import generate
from .shell.options import compiled_by, parser
from .shell.run import run


def _compile(options: argparse.Namespace) -> None:
    check_outputs([options.output], _read_by(options.model, options))
    program = compile(options.model, **compiled_by(options))
    program.save(options.output)
    print(f"{options.output}: {program!r}")


def _read_by(model: str, options: argparse.Namespace) -> list[str]:
    """The files and folders that a compilation may read, as far as they are there."""
    plan = (options.plan or "").removeprefix("hf:")
    return [model, *(path for path in (plan, options.hardware) if path and os.path.exists(path)),
            *(options.link or [])]


def _report(options: argparse.Namespace) -> None:
    compile_options = compiled_by(options)
    if options.output:
        check_outputs([options.output], _read_by(options.artifact, options))
    if compile_options:
        program = compile(options.artifact, **compile_options)
        if options.output:
            program.report(options.output)
            return
    else:
        program = load(options.artifact)
        if options.output:
            raise RunError("report: -o needs the model: give a model with --plan and --mesh")
    print(program, program.collectives, program.layouts, program.memory, sep="\n\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; the exit status."""
    options = parser(__doc__).parse_args(arguments)
    commands = {"export": export, "compile": _compile, "run": run, "generate": generate,
                "report": _report}
    show = warnings.showwarning

    def tell(message: Warning | str, category: type[Warning], filename: str, lineno: int,
             file: TextIO | None = None, line: str | None = None) -> None:
        if issubclass(category, UserWarning):
            print(f"python -m tp {options.command}: warning: {message}", file=sys.stderr)
        else:
            show(message, category, filename, lineno, file, line)
    try:
        interrupts.raise_again()
        with warnings.catch_warnings():
            warnings.showwarning = tell
            commands[options.command](options)
        sys.stdout.flush()
    except Error as error:
        print(f"python -m tp {options.command}: error: {error.in_shell or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as error:
        where = f": {error}" if str(error) else ""
        print(f"python -m tp {options.command}: interrupted{where}", file=sys.stderr)
        return interrupts.STATUS
    except BrokenPipeError:
        # The reader of the output wants no more of it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


if __name__ == "__main__":
    sys.exit(main())

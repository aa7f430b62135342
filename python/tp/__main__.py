"""`python -m tp export|compile|run|generate|report`: the package from a shell."""
from __future__ import annotations

import argparse
import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from typing import TextIO

from .compiler import compile
from .errors import Error, RunError, near
from .generation.text import generate
from .program import load
from .shell.options import given, parser
from .shell.run import run


def _export(options: argparse.Namespace) -> None:
    try:
        from .export import export
    except ImportError as error:
        raise RunError(f"export needs torch and torch-mlir: {error}: install tp's wheel with "
                       "the extra 'torch'") from error
    name, _, function = options.factory.partition(":")
    if not function:
        raise RunError(f"export: expected PACKAGE.MODULE:FUNCTION, got '{options.factory}'")
    sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise RunError(f"export: cannot import {name}: {error}") from error
    if not hasattr(module, function):
        raise RunError(f"export: {name} has no '{function}'{near(function, dir(module))}")
    made = getattr(module, function)()
    if not isinstance(made, tuple) or len(made) not in (2, 3):
        raise RunError(f"export: {options.factory} has to return (module, inputs) or (module, "
                       f"inputs, named inputs), got {type(made).__name__}")
    if callable(made[0]) and not hasattr(made[0], "state_dict"):
        raise RunError(f"export: {options.factory} returns a function, expected a PyTorch module: "
                       "export a function of JAX in Python, tp.export_jax(function, args).save("
                       "folder)")
    model = export(*made)
    model.save(options.output)
    print(f"{options.output}: {model!r}")


def _compile(options: argparse.Namespace) -> None:
    program = compile(options.model, **given(options))
    program.save(options.output)
    print(f"{options.output}: {program!r}")


def _generate(options: argparse.Namespace) -> None:
    several = len(options.prompt) > 1
    pieces = generate(options.model, options.prompt if several else options.prompt[0],
                      max_new_tokens=options.max_new_tokens, temperature=options.temperature,
                      top_k=options.top_k, top_p=options.top_p, seed=options.seed,
                      launch=options.launch, **given(options))
    if several:
        for number, (prompt, text) in enumerate(zip(options.prompt, pieces), 1):
            print(f"{number}: {prompt}\n{text}")
        return
    for piece in pieces:
        print(piece, end="", flush=True)
    print()


def _report(options: argparse.Namespace) -> None:
    compile_options = given(options)
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
    commands = {"export": _export, "compile": _compile, "run": run, "generate": _generate,
                "report": _report}
    show = warnings.showwarning

    def tell(message: Warning | str, category: type[Warning], filename: str, lineno: int,
             file: TextIO | None = None, line: str | None = None) -> None:
        if issubclass(category, UserWarning):
            print(f"python -m tp {options.command}: warning: {message}", file=sys.stderr)
        else:
            show(message, category, filename, lineno, file, line)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = tell
            commands[options.command](options)
        sys.stdout.flush()
    except Error as error:
        print(f"python -m tp {options.command}: error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader of the output wants no more of it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


if __name__ == "__main__":
    sys.exit(main())

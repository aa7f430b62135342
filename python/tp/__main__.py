"""`python -m tp export|compile|run|generate|report`: the package from a shell."""
from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, TextIO

import numpy as np

from .artifact import find
from .compile_options import FLAGS, VALUES
from .compiler import compile
from .errors import Error, RunError, near
from .files import write_whole
from .generation.text import generate
from .program import load
from .ranks.launcher import find_launcher
from .safetensors import SafeTensors

_EPILOG = "docs/python.md describes the Python interface, docs/plans.md plans."


def _add_compile_options(parser: argparse.ArgumentParser) -> None:
    """The options of tp.compile that can be given from a shell."""
    parser.add_argument("--plan", help="auto, transformer, hf (the model's own), hf:FOLDER or a plan "
                                       "file")
    parser.add_argument("--mesh", help="tp=4, or dp=2,tp=4")
    parser.add_argument("--target", help="cpu, the default, or cuda")
    parser.add_argument("--chips", help="of target cuda: sm_90,...")
    parser.add_argument("--link", action="append", metavar="LIBRARY",
                        help="a shared object with functions that compute ops of other dialects")
    for name, text in FLAGS.items():
        parser.add_argument(_flag(name), action="store_true", default=None, help=text)
    for name, (value, text) in VALUES.items():
        parser.add_argument(_flag(name), metavar=value, help=text)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """What was given of these options, as tp.compile takes it."""
    names = ("plan", "mesh", "target", "chips", "link", *FLAGS, *VALUES)
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tp", description=__doc__, epilog=_EPILOG)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    export = commands.add_parser("export", help="writes a PyTorch module as a folder of a model",
                                 epilog="Functions of JAX are exported in Python: tp.export_jax"
                                        "(function, args).save(folder).")
    export.add_argument("factory", help="PACKAGE.MODULE:FUNCTION, which returns (module, inputs)")
    export.add_argument("-o", dest="output", required=True, metavar="FOLDER",
                        help="where the model is written")

    build = commands.add_parser("compile", help="compiles a model to an artifact")
    build.add_argument("model", help="a folder that export wrote, or a .mlir file")
    build.add_argument("-o", dest="output", required=True, metavar="FILE",
                       help="where the artifact is written")
    _add_compile_options(build)

    run = commands.add_parser("run", help="runs one step of an artifact")
    run.add_argument("artifact", help="what compile or tp-compile wrote")
    run.add_argument("--weights", action="append", metavar="FILE",
                     help="a .safetensors file, its .index.json or a folder with one; may be given "
                          "several times")
    run.add_argument("--input", action="append", default=[], metavar="NAME=@FILE.npy",
                     help="an input; without a name the next one in order")
    run.add_argument("--output", action="append", default=[], metavar="NAME=@FILE.npy",
                     help="where a result is written; without a name the next one in order")
    run.add_argument("--launch", choices=["thread", "process", "torchrun"],
                     help="what ranks are: threads of this process, the default, processes that it "
                          "spawns, or each a process that torchrun started")
    run.add_argument("--timeout", type=float, default=300.0, metavar="SECONDS",
                     help="how long a rank waits for the others in one collective: 300")
    run.add_argument("--link", action="append", metavar="LIBRARY",
                     help="a shared object with functions that compute ops of other dialects")

    write = commands.add_parser("generate", help="writes the text that follows a prompt, or each of "
                                                 "several")
    write.add_argument("model", help="a folder or a .gguf file of a language model of transformers")
    write.add_argument("prompt", nargs="+",
                       help="several are a batch: each text has a line with its prompt before it")
    write.add_argument("--max-new-tokens", type=int, metavar="N",
                       help="the most tokens of a text: 256, or what the model has positions for")
    write.add_argument("--temperature", type=float, default=0.0, metavar="T",
                       help="0, the default, takes the most probable token each time")
    write.add_argument("--top-k", type=int, metavar="K",
                       help="only the K most probable tokens are drawn from")
    write.add_argument("--top-p", type=float, metavar="P",
                       help="only the fewest tokens whose probabilities add up to P are drawn from")
    write.add_argument("--seed", type=int, default=0, help="of the random numbers: 0")
    write.add_argument("--launch", choices=["thread", "process"],
                       help="what ranks are: threads, the default, or processes")
    _add_compile_options(write)

    report = commands.add_parser("report", help="what a program holds and communicates")
    report.add_argument("artifact", help="an artifact, or with --plan a model")
    report.add_argument("-o", dest="output", metavar="FILE",
                        help="where the report of a model is written: .html, .json or text")
    _add_compile_options(report)
    return parser


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
    program = compile(options.model, **_given(options))
    program.save(options.output)
    print(f"{options.output}: {program!r}")


def _pairs(texts: Sequence[str], names: Sequence[str], what: str) -> dict[str, str]:
    """`NAME=FILE`, or `FILE` for the next name in order. An `@` before the file, as tp-run has it,
    may be left out."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, separator, path = text.partition("=")
        if not separator:
            path = text
            name = next((name for name in names if name not in pairs), "")
            if not name:
                raise RunError(f"--{what}={text}: there are {len(names)} {what}s")
        if name in pairs:
            raise RunError(f"--{what}={text}: '{name}' has a file already")
        pairs[name] = path.removeprefix("@")
    return pairs


def _read(path: str, name: str) -> Any:
    if path.endswith(".safetensors"):
        return SafeTensors(path)[name].bits
    try:
        return np.load(path)
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: {error}", code=2) from error


def _run(options: argparse.Namespace) -> None:
    program = load(options.artifact, options.weights, launch=options.launch,
                   timeout=options.timeout, link=options.link)
    inputs = {name: _read(path, name)
              for name, path in _pairs(options.input, program.input_names, "input").items()}
    outputs = _pairs(options.output, program.result_names, "output")
    for name in outputs:
        find(program._results, name, "result")
    results = program(**inputs)
    rows = results if isinstance(results, tuple) else () if results is None else (results,)
    launched = find_launcher() if program._shared.launch == "torchrun" else None
    if launched is not None and launched.rank != 0:
        return
    for name, array in zip(program.result_names, rows):
        if name in outputs:
            written = io.BytesIO()
            np.save(written, array)
            write_whole(outputs[name], [written.getvalue()])
        print(f"{name}: {array.dtype}{list(array.shape)}" + (
            f", written to {outputs[name]}" if name in outputs else ""))


def _generate(options: argparse.Namespace) -> None:
    several = len(options.prompt) > 1
    pieces = generate(options.model, options.prompt if several else options.prompt[0],
                      max_new_tokens=options.max_new_tokens, temperature=options.temperature,
                      top_k=options.top_k, top_p=options.top_p, seed=options.seed,
                      launch=options.launch, **_given(options))
    if several:
        for number, (prompt, text) in enumerate(zip(options.prompt, pieces), 1):
            print(f"{number}: {prompt}\n{text}")
        return
    for piece in pieces:
        print(piece, end="", flush=True)
    print()


def _report(options: argparse.Namespace) -> None:
    given = _given(options)
    if given:
        program = compile(options.artifact, **given)
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
    options = _parser().parse_args(arguments)
    commands = {"export": _export, "compile": _compile, "run": _run, "generate": _generate,
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

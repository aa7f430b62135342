"""The options of `python -m tp` and its commands."""
from __future__ import annotations

import argparse
from typing import Any

from ..compile_options import FLAGS, VALUES
from ..errors import RunError
from ..model import Model

_EPILOG = "docs/python.md describes the Python interface, docs/plans.md plans."


def _add_compile_options(parser: argparse.ArgumentParser) -> None:
    """The options of tp.compile that can be given from a shell."""
    parser.add_argument("--plan", help="auto, transformer, hf (the model's own), hf:FOLDER or a plan "
                                       "file")
    parser.add_argument("--mesh", help="tp=4, or dp=2,tp=4; 4 is tp=4")
    parser.add_argument("--target", help="cpu, the default, or cuda")
    parser.add_argument("--chips", help="of target cuda: sm_90,...")
    parser.add_argument("--link", action="append", metavar="LIBRARY",
                        help="a shared object with functions that compute ops of other dialects")
    for name, text in FLAGS.items():
        parser.add_argument(_flag(name), action="store_true", default=None, help=text)
    for name, (value, text) in VALUES.items():
        parser.add_argument(_flag(name), metavar=value, help=text)


def _add_timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--timeout", type=float, default=300.0, metavar="SECONDS",
                        help="how long a rank waits for the others in one collective: 300")


def _add_buffers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--buffers", metavar="FOLDER",
                        help="the folder that export wrote: what the weights lack that is no "
                             "parameter, such as buffers that a state_dict leaves out")


def weights_of(options: argparse.Namespace) -> list[Any]:
    """`--weights` and `--buffers`, as tp.load takes them. Raises RunError where the folder has no
    model."""
    given = list(options.weights or [])
    return [*given, Model.load(options.buffers)] if options.buffers else given


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def given(options: argparse.Namespace) -> dict[str, Any]:
    """What was given of these options, as tp.compile takes it."""
    names = ("plan", "mesh", "target", "chips", "link", *FLAGS, *VALUES)
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def compiled_by(options: argparse.Namespace) -> dict[str, Any]:
    """`given`, of a command that compiles. Raises RunError where a plan or a mesh is alone."""
    named = given(options)
    if "mesh" in named and "plan" not in named:
        raise RunError("--mesh needs a plan: write --plan=auto, transformer or a plan file")
    plan = str(named.get("plan", ""))
    if "mesh" not in named and (plan in ("auto", "transformer", "hf") or plan.startswith("hf:")):
        raise RunError(f"--plan={plan} needs a mesh: write --mesh=tp=4, or --mesh=dp=2,tp=4")
    return named


def parser(description: str | None) -> argparse.ArgumentParser:
    """What `python -m tp` takes."""
    whole = argparse.ArgumentParser(prog="python -m tp", description=description, epilog=_EPILOG)
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")

    export = commands.add_parser("export", help="writes a PyTorch module as a folder of a model",
                                 epilog="Functions of JAX are exported in Python: tp.export_jax"
                                        "(function, args).save(folder).")
    export.add_argument("source", metavar="MODEL",
                        help="PACKAGE.MODULE:FUNCTION, which returns (module, inputs); with --decode "
                             "a folder or a .gguf file of a language model of transformers")
    export.add_argument("--decode", type=int, metavar="LENGTH",
                        help="the decode step, with a cache of so many tokens of prompt and text")
    export.add_argument("--prefill", metavar="N,...",
                        help="of the decode step: parts of the prompt that are read at once, 8,32 "
                             "and so on up to LENGTH; '' reads token by token")
    export.add_argument("--batch", type=int, metavar="N",
                        help="of the decode step: the most prompts that are read together")
    export.add_argument("-o", dest="output", required=True, metavar="FOLDER",
                        help="where the model is written")

    build = commands.add_parser("compile", help="compiles a model to an artifact")
    build.add_argument("model", help="a folder that export wrote, or a .mlir file")
    build.add_argument("-o", dest="output", required=True, metavar="FILE",
                       help="where the artifact is written")
    _add_compile_options(build)

    run = commands.add_parser("run", help="runs steps of an artifact")
    run.add_argument("artifact", help="what compile or tp-compile wrote")
    run.add_argument("--entry", metavar="NAME", help="what runs, of an artifact of several entries")
    run.add_argument("--weights", action="append", metavar="FILE",
                     help="a .safetensors file, its .index.json or a folder with one; may be given "
                          "several times")
    _add_buffers(run)
    run.add_argument("--input", action="append", default=[], metavar="NAME=@FILE.npy",
                     help="an input; without a name the next one in order")
    run.add_argument("--output", action="append", default=[], metavar="NAME=@FILE.npy",
                     help="where a result is written; without a name the next one in order")
    run.add_argument("--repeat", type=int, default=1, metavar="N",
                     help="how many steps run, 1: results that update arguments are those of the "
                          "next step, and the last step's results are written")
    run.add_argument("--stats", metavar="FILE",
                     help="where times of the steps, collectives and memory are written, as JSON")
    run.add_argument("--launch", choices=["thread", "process", "torchrun"],
                     help="what ranks are: threads of this process, the default, processes that it "
                          "spawns, or each a process that torchrun started")
    _add_timeout(run)
    run.add_argument("--link", action="append", metavar="LIBRARY",
                     help="a shared object with functions that compute ops of other dialects")

    write = commands.add_parser("generate", help="writes the text that follows a prompt, or each of "
                                                 "several")
    write.add_argument("model", help="a folder or a .gguf file of a language model of transformers, or an "
                            "artifact of its decode step")
    write.add_argument("prompt", nargs="+",
                       help="several are a batch: each text has a line with its prompt before it")
    write.add_argument("--weights", metavar="FOLDER", action="append",
                       help="of an artifact: the folder that export --decode wrote; further files "
                            "and folders of weights may be given")
    _add_buffers(write)
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
    _add_timeout(write)
    _add_compile_options(write)

    report = commands.add_parser("report", help="what a program holds and communicates")
    report.add_argument("artifact", help="an artifact, or with --plan a model")
    report.add_argument("-o", dest="output", metavar="FILE",
                        help="where the report of a model is written: .html, .json or text")
    _add_compile_options(report)
    return whole

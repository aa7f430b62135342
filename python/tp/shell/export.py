"""`python -m tp export`: a model as a folder."""
from __future__ import annotations

import argparse
import importlib
import os
import sys

from ..errors import RunError, near


def export(options: argparse.Namespace) -> None:
    """Writes the folder of a module, or with --decode of a language model's decode step."""
    try:
        from ..export import export as export_module
    except ImportError as error:
        raise RunError(f"export needs torch and torch-mlir: {error}: install tp's wheel with "
                       "the extra 'torch'") from error
    if options.decode is not None:
        _export_step(options)
        return
    for name in ("prefill", "batch"):
        if getattr(options, name) is not None:
            raise RunError(f"export: --{name} is of a decode step, expected --decode=LENGTH too")
    name, _, function = options.source.partition(":")
    if not function:
        if os.path.exists(os.path.join(options.source, "config.json")):
            raise RunError(f"export: expected PACKAGE.MODULE:FUNCTION, got '{options.source}', a "
                           "checkpoint of transformers: write --decode=LENGTH for its decode step, "
                           "or a function that returns (module, inputs)")
        raise RunError(f"export: expected PACKAGE.MODULE:FUNCTION, got '{options.source}'")
    sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise RunError(f"export: cannot import {name}: {error}") from error
    if not hasattr(module, function):
        raise RunError(f"export: {name} has no '{function}'{near(function, dir(module))}")
    made = getattr(module, function)()
    if not isinstance(made, tuple) or len(made) not in (2, 3):
        raise RunError(f"export: {options.source} has to return (module, inputs) or (module, "
                       f"inputs, named inputs), got {type(made).__name__}")
    if callable(made[0]) and not hasattr(made[0], "state_dict"):
        raise RunError(f"export: {options.source} returns a function, expected a PyTorch module: "
                       "export a function of JAX in Python, tp.export_jax(function, args).save("
                       "folder)")
    model = export_module(*made)
    model.save(options.output)
    print(f"{options.output}: {model!r}")


def _export_step(options: argparse.Namespace) -> None:
    from ..generation import decode_step
    from ..generation.model_files import read_model, stop_tokens, write_words
    from ..generation.suited import warn_of_settings
    module, tokenizer = read_model(options.source, None)
    warn_of_settings(module)
    prefill = None if options.prefill is None else numbers(options.prefill, "--prefill")
    batch = options.batch
    model = decode_step(module, options.decode, prefill=prefill, padded=batch is not None,
                        batch=1 if batch is None else batch)
    model.save(options.output)
    write_words(options.output, tokenizer, stop_tokens(module, tokenizer))
    print(f"{options.output}: {model!r}")


def numbers(text: str, what: str) -> list[int]:
    """`8,32`; nothing is no number. Raises RunError."""
    try:
        return [int(part) for part in text.split(",")] if text else []
    except ValueError:
        raise RunError(f"{what}: expected numbers such as 8,32, got '{text}'") from None

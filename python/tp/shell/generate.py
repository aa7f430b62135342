"""`python -m tp generate`: the texts that follow prompts."""
from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from typing import Any

from ..artifact import is_artifact
from ..errors import Error, RunError
from ..generation.model_files import has_tokenizer
from ..generation.sampling import Sampler
from ..generation.text import TextModel
from ..generation.text import generate as generate_text
from .export import numbers
from .options import given, weights_of


def generate(options: argparse.Namespace) -> None:
    """Prints the text behind a prompt as it comes, or the texts behind several."""
    if is_artifact(options.model):
        _of_artifact(options)
        return
    if options.weights is not None or options.buffers is not None:
        option = "--buffers" if options.weights is None else "--weights"
        raise RunError(f"{option} are those of an artifact, and '{options.model}' is none")
    several = len(options.prompt) > 1
    ids = os.path.isdir(options.model) and not has_tokenizer(options.model)
    prompts = _prompts(options, ids)
    pieces = generate_text(
        options.model, prompts if several else prompts[0],
        max_new_tokens=options.max_new_tokens, temperature=options.temperature, top_k=options.top_k,
        top_p=options.top_p, seed=options.seed, launch=options.launch, timeout=options.timeout,
        **given(options))
    _show(options.prompt, (f"{piece} " for piece in pieces) if ids and not several else pieces)


def _prompts(options: argparse.Namespace, ids: bool) -> list[Any]:
    """The prompts as they stand, or as lists of token ids."""
    return [numbers(prompt, "prompt, as there is no tokenizer") if ids else prompt
            for prompt in options.prompt]


def _of_artifact(options: argparse.Namespace) -> None:
    wrong = [name for name in given(options) if name != "link"]
    if wrong:
        raise RunError(f"'{options.model}' is compiled already: leave out "
                       + ", ".join("--" + name.replace("_", "-") for name in wrong))
    sampler = Sampler(options.temperature, options.top_k, options.top_p, options.seed)
    several = len(options.prompt) > 1
    with TextModel.load(options.model, weights_of(options), launch=options.launch,
                        timeout=options.timeout, link=options.link) as model:
        ids = model.tokenizer is None
        prompts = _prompts(options, ids)
        pieces: Iterable[Any]
        if several:
            pieces = (model.token_lists if ids else model.texts)(
                prompts, options.max_new_tokens, sampler)
        else:
            pieces = (model.tokens if ids else model.stream)(
                prompts[0], options.max_new_tokens, sampler)
        _show(options.prompt, (f"{piece} " for piece in pieces) if ids and not several else pieces)


def _show(prompts: list[str], pieces: Iterable[Any]) -> None:
    if len(prompts) > 1:
        for number, (prompt, text) in enumerate(zip(prompts, pieces), 1):
            print(f"{number}: {prompt}\n{text}")
        return
    is_begun = False
    try:
        for piece in pieces:
            is_begun = True
            print(piece, end="", flush=True)
    except (Error, KeyboardInterrupt):
        if is_begun:
            print(flush=True)  # what is said of the end has a line of its own
        raise
    print()

"""Text from a causal language model of transformers: the prompt in parts, then token by token.

    model = decode_step(module, length=256)
    program = tp.compile(model, plan="hf", mesh={"tp": 4})
    for token in greedy(program, prompt, 64): ...
"""
from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ExportError, RunError
from ..export import export, require
from ..model import Model
from .prefill import default_lengths
from .prompts import number_from, token_ids, token_rows
from .sampling import Sampler, require_sampler, samplers_of
from .steps import CACHE, MASK, POSITIONS, PREFILL, Steps, cache_ports, write
from .suited import check_length, check_logits

if TYPE_CHECKING:
    from ..program import Program

# The entry that reads a token.
_DECODE = "decode"
# How often a token is read, relative to a part of a prompt.
_DECODE_CALLS = 100


def decode_step(module: Any, length: int, batch: int = 1,
                prefill: Sequence[int] | None = (), padded: bool = False) -> Model:
    """The program that reads one token of each sequence and returns the logits of the next one.

    The keys and values of the tokens before are in a static cache. Every step writes those of its
    token and counts the position: the cache is state of the program.

    Args:
        module: a causal language model of transformers, on the CPU.
        length: how many tokens of a sequence the cache holds, the prompt included.
        batch: how many sequences a step reads.
        prefill: lengths of parts of a prompt that the model has an entry `prefill_N` for, which
            reads N tokens and returns no logits. None is 8, 32, 128 and so on up to `length`. There
            is none where the cache is no plain static one.
        padded: whether the sequences of a step have pads before them, which no token sees.

    Returns:
        a model with the input `input_ids`, i64[batch, 1], the result `output`, which are the logits
        [batch, 1, vocabulary], and the buffers `past_key_values.*`, which every step changes. With
        `padded` it has the inputs `attention_mask`, i64[batch, length], 0 at the pads and 1 at all
        other places of the cache, and `position_ids`, i64[batch, 1], where the module takes them.

    Raises:
        ExportError: the module is no such model, its cache cannot be static, or its rotary
            embeddings change with a text of this length.
    """
    require("torch", "torch_mlir", "transformers")
    import torch
    from transformers import StaticCache
    config = getattr(module, "config", None)
    if config is None or not hasattr(module, "get_output_embeddings") or (
            module.get_output_embeddings() is None):
        raise ExportError("decode_step: expected a causal language model of transformers, got "
                          f"{type(module).__name__}")
    for name, value in (("length", length), ("batch", batch)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ExportError(f"decode_step: {name}: expected a number from 1 on, got {value!r}")
    text = config.get_text_config(decoder=True)
    most = positions_of(module)
    if most is not None and length > most:
        raise ExportError(f"decode_step: length: the model has {most} positions, got {length}")
    check_length(text, length)
    from .windows import with_windows
    cache = with_windows(StaticCache(config=text, max_cache_len=length), length, padded)
    if padded and not _is_plain(cache):
        raise ExportError("decode_step: padded: expected a model whose cache holds the keys and "
                          "values of all tokens, got one with layers of "
                          f"{', '.join(sorted({type(layer).__name__ for layer in cache.layers}))}: "
                          "read its sequences one by one")
    # Some models give token 0, the pad, no embedding.
    tokens = torch.full((batch, 1), text.vocab_size // 2)
    # The first step allocates the cache's tensors.
    with torch.no_grad(), warnings.catch_warnings():
        # From 5.24 on transformers calls it `cache`, and takes both names.
        warnings.filterwarnings("ignore", f".*{CACHE}.* is deprecated", FutureWarning)
        found = module(input_ids=tokens, use_cache=True, **{CACHE: cache})
        if not any(getattr(layer, "is_initialized", False) for layer in cache.layers):
            raise ExportError("decode_step: expected a model that keeps keys and values in "
                              f"'{CACHE}', got {type(module).__name__}, which writes none there: "
                              "export a function of its own states with tp.export")
        check_logits(module, tokens, found.logits)
        cache.reset()

        def model(count: int, logits: bool) -> Model:
            ids = torch.zeros(batch, count, dtype=torch.int64)
            given = {"input_ids": ids, "use_cache": True, CACHE: cache}
            if padded:
                given[MASK] = torch.ones(batch, length, dtype=torch.int64)
                if POSITIONS in inspect.signature(module.forward).parameters:
                    given[POSITIONS] = torch.zeros_like(ids)
            with _returning(module, logits):
                return export(module, (), given)
        lengths = _prefill_lengths(prefill, length) if _is_plain(cache) else []
        decode = model(1, True)
        if not lengths:
            return decode
        from ..export.entries import join
        return join({_DECODE: decode, **{f"{PREFILL}{count}": model(count, False)
                                         for count in lengths}}, {_DECODE: _DECODE_CALLS})


def positions_of(module: Any) -> int | None:
    """How many positions a causal language model has, or None where its config does not say."""
    config: Any = getattr(module, "config", None)
    if not hasattr(config, "get_text_config"):
        return None
    most: int | None = getattr(config.get_text_config(decoder=True), "max_position_embeddings", None)
    return most


def _prefill_lengths(prefill: Sequence[int] | None, length: int) -> list[int]:
    if prefill is None:
        return default_lengths(length)
    wanted = f"from 2 to {length}, the length of the cache, got "
    if not hasattr(prefill, "__iter__") or isinstance(prefill, str):
        raise ExportError(f"decode_step: prefill: expected a list of numbers {wanted}{prefill!r}"
                          + (f": write prefill=[{prefill}]" if isinstance(prefill, int) else ""))
    lengths = list(prefill)
    for count in lengths:
        if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= length:
            raise ExportError(f"decode_step: prefill: expected numbers {wanted}{count!r}")
    return sorted(set(lengths))


def _is_plain(cache: Any) -> bool:
    """Whether every layer has the keys and values of all positions, or of a window's."""
    return all(type(layer).__name__ in ("StaticLayer", "WindowLayer") for layer in cache.layers)


class _returning:
    """Inside of the context the module returns its logits alone, or nothing: the cache is changed in
    place and would be a result twice."""

    def __init__(self, module: Any, logits: bool) -> None:
        self._module = module
        self._logits = logits

    def __enter__(self) -> None:
        self._handle = self._module.register_forward_hook(
            lambda _, args, output: output.logits if self._logits else ())

    def __exit__(self, *_: object) -> None:
        self._handle.remove()


def reset(program: Program) -> None:
    """Empties the cache of a decode step: the next token is the first of its sequence."""
    for port in cache_ports(program):
        write(program, port, 0)


def greedy(program: Program, prompt: Sequence[int], count: int,
           stop: Sequence[int] = ()) -> Iterator[int]:
    """The most probable tokens after a prompt, as `sample` with a temperature of 0."""
    return sample(program, prompt, count, Sampler(), stop)


def sample(program: Program, prompt: Sequence[int], count: int, sampler: Sampler,
           stop: Sequence[int] = ()) -> Iterator[int]:
    """Tokens after a prompt, one by one. The prompt is read in parts where the program has entries
    for them, else token by token.

    A program generates one text at a time: its cache is that of the text that was begun last. A
    text begins when its first token is taken. For more texts at once take `sample_batch`, or load a
    program for each.

    Args:
        program: of a model of `decode_step`. Of a batch the first row is read.
        prompt: token ids, at least one.
        count: the most tokens to generate.
        sampler: chooses each token from its logits.
        stop: token ids that end the text; the one that is found is the last that is returned.

    Raises:
        RunError: the program is no decode step, a token of the prompt is not in the vocabulary, the
            cache is too short, or an argument is wrong. The iterator raises it where another text
            was begun on the program since its last token, or the program was called, reset or given
            state.
    """
    require_sampler(sampler)
    found = sample_batch(program, [prompt], count, [sampler], stop)
    return (token for row in found for token in row if token is not None)


def sample_batch(program: Program, prompts: Sequence[Sequence[int]], count: int,
                 samplers: Sequence[Sampler],
                 stop: Sequence[int] = ()) -> Iterator[list[int | None]]:
    """Tokens after several prompts: with every step one for each, or None where the text ended.

    Args:
        program: of a model of `decode_step`, whose batch is at least the number of prompts.
        prompts: token ids of each, at least one. They may have unlike lengths where the model is
            `padded`.
        count, stop: as `sample` takes them. Each text ends at its own stop token.
        samplers: one for each prompt.

    Raises:
        RunError: as `sample`, or the program cannot read these prompts together.
    """
    steps = Steps(program)
    rows = token_rows(prompts)
    samplers = samplers_of(samplers, len(rows))
    count = number_from(0, count, "count")
    ends = token_ids(stop, "stop")
    steps.check(rows, count)
    return _sampled(steps, rows, count, samplers, ends)


def _sampled(steps: Steps, prompts: Sequence[Sequence[int]], count: int,
             samplers: Sequence[Sampler], stop: Sequence[int]) -> Iterator[list[int | None]]:
    tokens = steps.start(prompts)
    ended = [False] * len(prompts)
    for _ in range(count):
        logits = steps.logits(tokens)
        found: list[int | None] = [None] * len(prompts)
        for row, sampler in enumerate(samplers):
            if not ended[row]:
                found[row] = tokens[row] = token = sampler(logits[row])
                ended[row] = token in stop
        yield found
        if all(ended):
            return

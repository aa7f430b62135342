"""Text from a causal language model of transformers: the prompt in parts, then token by token.

    model = decode_step(module, length=256)
    program = tp.compile(model, plan="hf", mesh={"tp": 4})
    for token in greedy(program, prompt, 64): ...
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ExportError, RunError
from ..export import export, require
from ..model import Model
from .prefill import default_lengths, parts_of
from .sampling import Sampler

if TYPE_CHECKING:
    from ..program import Program

# The argument of transformers' models that holds the cache.
_CACHE = "past_key_values"
# The entry that reads a token, and those that read several, with their number behind.
_DECODE, _PREFILL = "decode", "prefill_"
# How often a token is read, relative to a part of a prompt.
_DECODE_CALLS = 100


def decode_step(module: Any, length: int, batch: int = 1,
                prefill: Sequence[int] | None = ()) -> Model:
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

    Returns:
        a model with the input `input_ids`, i64[batch, 1], the result `output`, which are the logits
        [batch, 1, vocabulary], and the buffers `past_key_values.*`, which every step changes.

    Raises:
        ExportError: the module is no such model, or its cache cannot be static.
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
    most = getattr(text, "max_position_embeddings", None)
    if most is not None and length > most:
        raise ExportError(f"decode_step: length: the model has {most} positions, got {length}")
    cache = StaticCache(config=text, max_cache_len=length)
    tokens = torch.zeros(batch, 1, dtype=torch.int64)
    # The first step allocates the cache's tensors.
    with torch.no_grad():
        module(input_ids=tokens, use_cache=True, **{_CACHE: cache})
        cache.reset()

        def model(count: int, logits: bool) -> Model:
            ids = torch.zeros(batch, count, dtype=torch.int64)
            with _returning(module, logits):
                return export(module, (), {"input_ids": ids, "use_cache": True, _CACHE: cache})
        lengths = _prefill_lengths(prefill, length) if _is_plain(cache) else []
        decode = model(1, True)
        if not lengths:
            return decode
        from ..export.entries import join
        return join({_DECODE: decode, **{f"{_PREFILL}{count}": model(count, False)
                                         for count in lengths}}, {_DECODE: _DECODE_CALLS})


def _prefill_lengths(prefill: Sequence[int] | None, length: int) -> list[int]:
    if prefill is None:
        return default_lengths(length)
    for count in prefill:
        if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= length:
            raise ExportError(f"decode_step: prefill: expected numbers from 2 to {length}, the "
                              f"length of the cache, got {count!r}")
    return sorted(set(prefill))


def _is_plain(cache: Any) -> bool:
    """Whether every layer has the keys and values of all positions, at their places."""
    return all(type(layer).__name__ == "StaticLayer" for layer in cache.layers)


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
    for port in _cache_ports(program):
        program.state[port.name] = np.zeros(port.shape, port.dtype.numpy or port.dtype.bits)


def greedy(program: Program, prompt: Sequence[int], count: int,
           stop: Sequence[int] = ()) -> Iterator[int]:
    """The most probable tokens after a prompt, as `sample` with a temperature of 0."""
    return sample(program, prompt, count, Sampler(), stop)


def sample(program: Program, prompt: Sequence[int], count: int, sampler: Sampler,
           stop: Sequence[int] = ()) -> Iterator[int]:
    """Tokens after a prompt, one by one. The prompt is read in parts where the program has entries
    for them, else token by token.

    Args:
        program: of a model of `decode_step` with batch 1.
        prompt: token ids, at least one.
        count: the most tokens to generate.
        sampler: chooses each token from its logits.
        stop: token ids that end the text; the one that is found is the last that is returned.

    Raises:
        RunError: the program is no decode step, a token of the prompt is not in the vocabulary, or
            the cache is too short.
    """
    caches = _cache_ports(program)
    tokens = [int(token) for token in prompt]
    if not tokens:
        raise RunError("the prompt is empty: expected at least one token id")
    vocabulary = program._results[0].shape[-1]
    for place, token in enumerate(tokens):
        if not 0 <= token < vocabulary:
            raise RunError(f"token {place} of the prompt: expected an id from 0 to "
                           f"{vocabulary - 1}, got {token}: the tokenizer is of another model")
    length = max(port.shape[-2] for port in caches if len(port.shape) >= 2)
    # The last token is not read.
    if len(tokens) + count - 1 > length:
        raise RunError(f"a prompt of {len(tokens)} tokens and {count} more do not fit the "
                       f"cache of {length} tokens: export decode_step with a longer one")
    return _sampled(program, tokens, count, sampler, stop)


def _sampled(program: Program, tokens: list[int], count: int, sampler: Sampler,
             stop: Sequence[int]) -> Iterator[int]:
    reset(program)
    _read(program, tokens[:-1])
    token = tokens[-1]
    for _ in range(count):
        logits = program(input_ids=np.array([[token]]))
        token = sampler(np.asarray(logits)[0, -1])
        yield token
        if token in stop:
            return


def _read(program: Program, tokens: Sequence[int]) -> None:
    """Reads tokens without their logits. Pads come behind a token that is read: no token before them
    sees them, and the next ones take their places in the cache."""
    ports = _cache_ports(program)
    positions = [port for port in ports if port.name.endswith(".cumulative_length")]
    room = max((port.shape[-2] for port in ports if len(port.shape) >= 2), default=0)
    lengths = [int(name.removeprefix(_PREFILL)) for name in program.entries
               if name.startswith(_PREFILL)]
    read = 0
    for size, count in parts_of(len(tokens), lengths, room, bool(positions)):
        entry = program if size == 1 else program.entries[f"{_PREFILL}{size}"]
        part = [*tokens[read:read + count], *[0] * (size - count)]
        entry(input_ids=np.array([part]))
        read += count
        if count < size:
            for port in positions:
                program.state[port.name] = np.full(port.shape, read, port.dtype.numpy)


def _cache_ports(program: Program) -> list[Any]:
    ports = [port for port in program._stateful if port.name.startswith(_CACHE + ".")]
    if not ports or "input_ids" not in program.input_names:
        raise RunError("expected a program of tp.generation.decode_step, got one with the inputs "
                       f"{', '.join(program.input_names)}")
    return ports

"""Calls of a decode step: the tokens of its rows, and where the cache is."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..artifact import Port
from ..errors import RunError, plural
from ..model import Model
from ..program import Program
from .open_text import OpenText
from .prefill import parts_of
from .prompts import name_of

# The arguments of transformers' models that hold the cache, what the pads are and the positions.
CACHE = "past_key_values"
MASK = "attention_mask"
POSITIONS = "position_ids"
# The entries that read several tokens, with their number behind.
PREFILL = "prefill_"
# What counts the tokens in a layer of the cache: of all tokens, and of a window.
_COUNT = "cumulative_length"
_WINDOW = "window_position"


class Steps:
    """The calls that read the tokens of a batch of sequences.

    Attributes:
        batch: sequences that a step reads.
        padded: whether they may have pads before them.

    Raises:
        RunError: the program is no decode step.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._caches = cache_ports(program)
        if not program._results:
            raise RunError("expected the first entry of a program of tp.generation.decode_step, "
                           f"got '{program._entry}': give the program itself")
        inputs = {port.name: port for port in program._inputs}
        self.batch: int = inputs["input_ids"].shape[0]
        self.padded = MASK in inputs
        self._has_positions = POSITIONS in inputs
        self._vocabulary: int = program._results[0].shape[-1]
        layers = {port.name.rpartition(".")[0]: port.shape[-2] for port in self._caches
                  if len(port.shape) >= 2}
        windows = [layers[port.name.rpartition(".")[0]] for port in self._caches
                   if port.name.endswith(f".{_WINDOW}")]
        # A cache of windows alone has room for any number of tokens.
        self._length = max(layers.values()) if len(windows) < len(layers) else None
        self._places = inputs[MASK].shape[-1] if self.padded else 0
        # A pad takes the place of a token where a window is full.
        self._room = min([self._length, *windows]) if self._length else min(windows)
        self._pads = np.zeros(self.batch, np.int64)
        self._place = 0
        self._text: OpenText | None = None

    def room(self, prompts: Sequence[Sequence[int]]) -> int | None:
        """How many tokens fit behind the prompts, or None where any number does."""
        # The last token is not read.
        return None if self._length is None else self._length + 1 - max(map(len, prompts))

    def check(self, prompts: Sequence[Sequence[int]], count: int, named: str = "count") -> None:
        """Refuses prompts that cannot be read, or whose texts of `count` tokens do not fit. `named`
        is what the caller calls the count."""
        if not prompts:
            raise RunError("the batch is empty: expected at least one prompt")
        if len(prompts) > self.batch:
            raise RunError(f"expected at most {plural(self.batch, 'prompt')}, got {len(prompts)}: "
                           f"make the TextModel, or the model of decode_step, with batch="
                           f"{len(prompts)}")
        if not self.padded and len({len(tokens) for tokens in prompts}) > 1:
            raise RunError("the prompts have unlike lengths, for which the decode step has no pads: "
                           "export decode_step with padded=True")
        for row, tokens in enumerate(prompts):
            what = name_of(prompts, row)
            if not tokens:
                raise RunError(f"{what} is empty: expected at least one token id")
            for place, token in enumerate(tokens):
                if not 0 <= token < self._vocabulary:
                    raise RunError(f"token {place} of {what}: expected an id from 0 to "
                                   f"{self._vocabulary - 1}, got {token}: the tokenizer is of "
                                   "another model")
        room = self.room(prompts)
        if room is not None and count > room:
            longest = max(range(len(prompts)), key=lambda row: len(prompts[row]))
            length = len(prompts[longest])
            what = f"{name_of(prompts, longest)} of {plural(length, 'token')}"
            raise RunError((f"{what} and {count} more do not fit" if room > 0 else
                            f"{what} does not fit")
                           + f" the length of {self._length} tokens: "
                           + (f"write {named}={room}" if room > 0 else "shorten the prompt")
                           + ", or make the TextModel, or the model of decode_step, with length="
                           f"{length + count - 1} or more")

    def start(self, prompts: Sequence[Sequence[int]]) -> np.ndarray:
        """Begins a text: empties the cache and reads all tokens of the prompts but the last ones,
        which are returned. Shorter prompts get pads before them."""
        longest = max(len(tokens) for tokens in prompts)
        rows = np.zeros((self.batch, longest), np.int64)
        self._pads = np.zeros(self.batch, np.int64)
        for row, tokens in enumerate(prompts):
            self._pads[row] = longest - len(tokens)
            rows[row, self._pads[row]:] = tokens
        self._text = OpenText(self._program)
        for port in self._caches:
            self._write(port, 0)
        self._place = 0
        self._read(rows[:, :-1])
        return rows[:, -1]

    def logits(self, tokens: np.ndarray) -> np.ndarray:
        """Reads a token of every row; the logits of the next ones, [batch, vocabulary]."""
        results = self._call(self._program, tokens[:, None])
        self._place += 1
        logits: np.ndarray = np.asarray(results)[:, -1]
        return logits

    def _read(self, rows: np.ndarray) -> None:
        """Reads tokens without their logits. Pads that fill a part come behind a token that is read:
        no token before them sees them, and the next ones take their places in the cache."""
        ports = [port for port in self._caches
                 if port.name.rpartition(".")[-1] in (_COUNT, _WINDOW)]
        entries = self._program.entries
        lengths = [int(name.removeprefix(PREFILL)) for name in entries if name.startswith(PREFILL)]
        for size, count in parts_of(rows.shape[1], lengths, self._room, bool(ports)):
            entry = self._program if size == 1 else entries[f"{PREFILL}{size}"]
            part = rows[:, self._place:self._place + count]
            self._call(entry, np.pad(part, ((0, 0), (0, size - count))))
            self._place += count
            if count < size:
                for port in ports:
                    self._write(port, self._place)

    def _write(self, port: Port, value: int) -> None:
        self._change(write, self._program, port, value)

    def _call(self, entry: Any, tokens: np.ndarray) -> Any:
        given = {"input_ids": tokens}
        if self.padded:
            given[MASK] = (np.arange(self._places) >= self._pads[:, None]).astype(np.int64)
        if self._has_positions:
            places = np.arange(self._place, self._place + tokens.shape[1])
            given[POSITIONS] = np.maximum(places - self._pads[:, None], 0)
        return self._change(entry, **given)

    def _change(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        assert self._text is not None, "`start` comes first"
        return self._text.change(call, *arguments, **named)


def write(program: Program, port: Port, value: int) -> None:
    """Gives a part of the cache this value everywhere."""
    program.state[port.name] = np.full(port.shape, value, port.dtype.numpy or port.dtype.bits)


def cache_ports(program: Program) -> list[Port]:
    """The states of the program that are the cache."""
    if not isinstance(program, Program):
        advice = (": give what tp.compile makes of it" if isinstance(program, Model) else
                  ": give its .program" if hasattr(program, "program") else "")
        raise RunError("expected a program of tp.generation.decode_step, got "
                       f"{type(program).__name__}{advice}")
    ports = [port for port in program._stateful if port.name.startswith(CACHE + ".")]
    if not ports or "input_ids" not in program.input_names:
        raise RunError("expected a program of tp.generation.decode_step, got one with the inputs "
                       f"{', '.join(program.input_names)}")
    return ports

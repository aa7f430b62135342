"""Text from a language model on several ranks.

    for piece in tp.generate("smollm2/", "What is tensor parallelism?", mesh={"tp": 3}):
        print(piece, end="", flush=True)
"""
from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from ..compile_options import ARGUMENTS, option_flags
from ..compiler import compile
from ..errors import RunError
from ..program import load
from ..program_ranks import check_timeout
from . import decode_step, positions_of, sample, sample_batch
from .model_files import read_model, read_words, stop_tokens
from .prefill import default_lengths
from .open_text import only_text
from .prompts import is_batch, number_from, prompt_tokens, prompts_tokens
from .sampling import Sampler, require_sampler
from .steps import Steps, cache_ports
from .suited import warn_of_settings

if TYPE_CHECKING:
    from ..program import Program
    from ..weights import Weights

# The most tokens of a text, where its caller says nothing of them.
_MOST_TOKENS = 256
# What stands for bytes that are no whole character yet.
_INCOMPLETE = "\ufffd"


@overload
def generate(model: Any, prompt: str | Sequence[Mapping[str, Any]],
             **options: Any) -> Iterator[str]: ...


@overload
def generate(model: Any, prompt: Sequence[int], **options: Any) -> Iterator[Any]: ...


@overload
def generate(model: Any, prompt: Sequence[str] | Sequence[Sequence[Any]],
             **options: Any) -> list[Any]: ...


def generate(model: Any, prompt: Any, *, mesh: Any = None, max_new_tokens: int | None = None,
             temperature: float = 0.0, top_k: int | None = None, top_p: float | None = None,
             seed: int = 0, plan: Any = None, tokenizer: Any = None,
             **options: Any) -> Iterator[Any] | list[Any]:
    """The text that a language model writes after a prompt, in pieces as they come; or the whole
    texts after several prompts, which are generated together.

    The first call of a model exports its decode step for the length that is asked for and compiles
    it. `TextModel` keeps both for further prompts.

    Args:
        model: a folder or a .gguf file of a causal language model of transformers, or the module.
        prompt: a text, which the model's chat template makes a user's message where it has one; a
            list of messages, `{"role": ..., "content": ...}`; or a list of token ids, as they are.
            A list of several of one kind is a batch. Token ids need no tokenizer: without one,
            token ids come back too.
        mesh: sizes of the axes, as tp.compile takes them; None is one rank.
        max_new_tokens: the most tokens to generate; None is 256, or as many as the model has
            positions for. The text ends before at a stop token.
        temperature, top_k, top_p, seed: as tp.generation.sampling.Sampler takes them; a temperature of 0
            takes the most probable token each time.
        plan: as tp.compile takes it; None is the model's own plan, or `"auto"` where it has none.
        tokenizer: of transformers, if `model` is a module or a folder without one.
        options: of tp.compile; among them `launch` and `timeout`, the seconds that a rank waits for
            the others in one collective, 300.

    Raises:
        ExportError: the model cannot be read or exported.
        CompileError: it cannot be compiled for the mesh.
        RunError: the prompt or a number is wrong, or a rank fails.
    """
    def texts() -> Iterator[Any]:
        sampler = Sampler(temperature, top_k, top_p, seed)
        module, words = read_model(model, tokenizer)
        rows = prompts_tokens(words, prompt) if batched else [prompt_tokens(words, prompt)]
        longest = max(len(tokens) for tokens in rows)
        count = _count_that_fits(max_new_tokens, longest, positions_of(module))
        length = longest + count
        # One prompt is no reason to export a program for each length of others.
        lengths = [part for part in default_lengths(length) if part <= longest][-1:]
        with TextModel(module, words, mesh=mesh, length=length, plan=plan,
                       batch=len(rows) if batched else None,
                       **{"prefill": lengths, **options}) as text_model:
            if batched:
                read_all = text_model.token_lists if words is None else text_model.texts
                yield from read_all(rows, count, sampler)
            else:
                read = text_model.tokens if words is None else text_model.stream
                yield from read(rows[0], count, sampler)
    batched = is_batch(prompt)
    return list(texts()) if batched else texts()


class TextModel:
    """A causal language model that is compiled for the ranks of a mesh, with its tokenizer.

    It generates one text at a time: read `stream` and `tokens` to their end before the next text
    begins, else they raise a RunError. `texts` and `token_lists` of several threads come one after
    another. For more texts at once give `batch`, or make a model for each.

    Args:
        model: a folder or a .gguf file of a causal language model of transformers, or the module.
        tokenizer: of transformers, if `model` is a module or a folder without one. Without any,
            prompts are token ids, and `tokens` and `token_lists` read them.
        length: the most tokens of a prompt and its text together.
        mesh, plan, options: as `generate` takes them.
        prefill: lengths of parts of a prompt that are read at once, as decode_step takes them.
        batch: the most prompts that `texts` takes; None is a model for one prompt at a time.

    Attributes:
        program: the decode step.
        tokenizer: the tokenizer, or None.
        stop: the token ids that end a text.

    Raises:
        ExportError, CompileError: as `generate`.
    """

    def __init__(self, model: Any, tokenizer: Any = None, *, length: int, mesh: Any = None,
                 plan: Any = None, prefill: Sequence[int] | None = None, batch: int | None = None,
                 **options: Any) -> None:
        # What is wrong is said before the export, which takes longer.
        if "timeout" in options:
            check_timeout(options["timeout"])
        option_flags({name: value for name, value in options.items() if name not in ARGUMENTS})
        module, self.tokenizer = read_model(model, tokenizer)
        self.stop = stop_tokens(module, self.tokenizer)
        warn_of_settings(module)
        exported = decode_step(module, length=length, prefill=prefill, padded=batch is not None,
                               batch=1 if batch is None else batch)
        if plan is None and mesh is not None:
            plan = "hf" if exported.own_plan else "auto"
        self.program: Program = compile(exported, plan=plan, mesh=mesh, **options)

    @classmethod
    def load(cls, path: str | os.PathLike[str], weights: Weights, tokenizer: Any = None,
             **options: Any) -> TextModel:
        """The model of an artifact that was compiled from a decode step. Needs no torch.

        Args:
            path: the artifact.
            weights: as tp.load takes them. Where they are a folder that `python -m tp export
                --decode` wrote, it has the tokenizer and the tokens that end a text.
            tokenizer: of transformers, in place of the folder's.
            options: of tp.load.

        Raises:
            RunError: as tp.load, or the program is no decode step.
        """
        made = cls.__new__(cls)
        made.tokenizer, made.stop = read_words(weights, tokenizer)
        made.program = load(path, weights, **options)
        cache_ports(made.program)  # of a decode step alone
        return made

    def stream(self, prompt: Any, max_new_tokens: int | None = None,
               sampler: Sampler | None = None) -> Iterator[str]:
        """The text after a prompt, in pieces of whole characters.

        Args:
            prompt: as `generate` takes it.
            max_new_tokens: the most tokens to generate; None is 256, or as many as the length has
                room for.
            sampler: chooses the tokens; None takes the most probable one each time.

        Raises:
            RunError: prompt and text do not fit the length, an argument is wrong, or a rank fails.
                The iterator raises it where another text was begun since its last piece.
        """
        self._require_tokenizer("tokens")
        return self.pieces(self.tokens(prompt, max_new_tokens, sampler))

    def tokens(self, prompt: Any, max_new_tokens: int | None = None,
               sampler: Sampler | None = None) -> Iterator[int]:
        """The token ids after a prompt, with the arguments and errors of `stream`. A stop token is
        the last of them."""
        ids = prompt_tokens(self.tokenizer, prompt)
        count = self._count([ids], max_new_tokens)
        chosen = Sampler() if sampler is None else sampler
        return sample(self.program, ids, count, chosen, self.stop)

    def texts(self, prompts: Any, max_new_tokens: int | None = None,
              sampler: Sampler | None = None) -> list[str]:
        """The texts after several prompts, which are generated together. Each ends at its own stop
        token, and is what the prompt alone gives.

        Args:
            prompts: a list of prompts of one kind, up to the model's `batch`. Shorter ones get pads
                before them.
            max_new_tokens: the most tokens of each; None is 256, or as many as the length has room
                for behind the longest prompt.
            sampler: chooses the tokens of the first prompt; those of the others have its limits and
                seed.

        Raises:
            RunError: as `stream`; or a prompt is of another kind, or there are too many.
        """
        self._require_tokenizer("token_lists")
        return [self._decoded(row) for row in self.token_lists(prompts, max_new_tokens, sampler)]

    def token_lists(self, prompts: Any, max_new_tokens: int | None = None,
                    sampler: Sampler | None = None) -> list[list[int]]:
        """The token ids after several prompts, with the arguments and errors of `texts`."""
        rows = prompts_tokens(self.tokenizer, prompts)
        first = Sampler() if sampler is None else sampler
        require_sampler(first, wanted=Sampler)
        steps = sample_batch(self.program, rows, self._count(rows, max_new_tokens),
                             first.rows(len(rows)), self.stop)
        found: list[list[int]] = [[] for _ in rows]
        with only_text(self.program):
            for tokens in steps:
                for row, token in zip(found, tokens):
                    if token is not None:
                        row.append(token)
        return found

    def pieces(self, tokens: Iterable[int]) -> Iterator[str]:
        """The text of token ids, in pieces of whole characters; special tokens have none."""
        found: list[int] = []
        shown = 0
        for token in tokens:
            found.append(token)
            text = self._decoded(found)
            if len(text) > shown and not text.endswith(_INCOMPLETE):
                yield text[shown:]
                shown = len(text)
        rest = self._decoded(found)[shown:]
        if rest:
            yield rest

    def _count(self, rows: Sequence[Sequence[int]], max_new_tokens: Any) -> int:
        """How many tokens to generate behind the prompts. Raises RunError where they do not fit."""
        steps = Steps(self.program)
        if max_new_tokens is None:
            room = steps.room(rows)
            count = _MOST_TOKENS if room is None else max(1, min(_MOST_TOKENS, room))
        else:
            count = number_from(1, max_new_tokens, "max_new_tokens")
        steps.check(rows, count, "max_new_tokens")
        return count

    def _require_tokenizer(self, instead: str) -> None:
        if self.tokenizer is None:
            raise RunError("there is no tokenizer that makes a text of token ids: give TextModel "
                           f"tokenizer=, or take the ids, text_model.{instead}(...)")

    def _decoded(self, tokens: Sequence[int]) -> str:
        text: str = self.tokenizer.decode(tokens, skip_special_tokens=True)
        return text

    def close(self) -> None:
        """Ends the ranks."""
        self.program.close()

    def __enter__(self) -> TextModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _count_that_fits(max_new_tokens: int | None, prompt: int, positions: int | None) -> int:
    """The number of tokens to generate behind a prompt of so many. Raises RunError."""
    if max_new_tokens is None and positions is not None and positions <= prompt:
        raise RunError(f"the model has {positions} positions, and the prompt {prompt} tokens: shorten "
                       "the prompt")
    if max_new_tokens is None:
        return _MOST_TOKENS if positions is None else min(_MOST_TOKENS, positions - prompt)
    count = number_from(1, max_new_tokens, "max_new_tokens")
    if positions is not None and prompt + count > positions:
        room = positions - prompt
        raise RunError(f"max_new_tokens: a prompt of {prompt} tokens and {count} behind it are "
                       f"{prompt + count}, the model has {positions} positions: "
                       + (f"write max_new_tokens={room}" if room > 0 else "shorten the prompt"))
    return count

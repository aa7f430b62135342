"""The token ids of prompts: texts, lists of messages, or the ids themselves. Numbers of tokens."""
from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import RunError, shortened

_KINDS = "a text, a list of messages or a list of token ids"


def prompt_tokens(tokenizer: Any, prompt: Any) -> list[int]:
    """The token ids of a prompt, as `generate` takes it."""
    if isinstance(prompt, str):
        if not prompt:
            raise RunError("the prompt is empty: expected a text, messages or token ids")
        _require(tokenizer, "a text")
        if not getattr(tokenizer, "chat_template", None):
            return _made(tokenizer(prompt)["input_ids"])
        prompt = [{"role": "user", "content": prompt}]
    if getattr(prompt, "ndim", 1) == 0 or not hasattr(prompt, "__iter__"):
        raise RunError(f"prompt: expected {_KINDS}, got {type(prompt).__name__}")
    prompt = list(prompt)
    if prompt and all(isinstance(message, Mapping) for message in prompt):
        _require(tokenizer, "a list of messages")
        if not getattr(tokenizer, "chat_template", None):
            raise RunError("the tokenizer has no chat template, so messages have no text: give the "
                           "text itself")
        made = tokenizer.apply_chat_template(prompt, add_generation_prompt=True, return_dict=True)
        return _made(made["input_ids"])
    ids = [_integer(token) for token in prompt]
    if not ids or None in ids:
        raise RunError(f"prompt: expected {_KINDS}, got "
                       + (f"a list with {described(prompt[ids.index(None)])}" if ids else
                          "an empty list"))
    return [token for token in ids if token is not None]


def has_words(tokenizer: Any) -> bool:
    """Whether a tokenizer makes tokens of a text. transformers makes one that has special tokens and
    no others where a folder has no files of it."""
    if not hasattr(tokenizer, "get_vocab"):
        return tokenizer is not None
    return bool(set(tokenizer.get_vocab()) - set(getattr(tokenizer, "all_special_tokens", ())))


def _require(tokenizer: Any, what: str) -> None:
    if tokenizer is None:
        raise RunError(f"prompt: got {what}, which needs a tokenizer: give tokenizer=, or token ids "
                       "as the prompt")
    if not has_words(tokenizer):
        raise RunError(f"prompt: got {what}, and a tokenizer whose vocabulary is empty: give "
                       "tokenizer= the model's own, or token ids as the prompt")


def _made(ids: Any) -> list[int]:
    """What the tokenizer makes of a prompt."""
    if not len(ids):
        raise RunError("prompt: the tokenizer makes no token of it: expected at least one")
    return [int(token) for token in ids]


def prompts_tokens(tokenizer: Any, prompts: Any) -> list[list[int]]:
    """The token ids of several prompts, which are of one kind."""
    if not _is_list(prompts):
        raise RunError(f"prompts: expected a list of prompts, got {type(prompts).__name__}")
    prompts = list(prompts)
    if not prompts:
        raise RunError("the batch is empty: expected at least one prompt")
    for row, prompt in enumerate(prompts):
        if not isinstance(prompt, str) and not _is_list(prompt):
            raise RunError(f"prompt {row}: expected {_KINDS}, got {described(prompt)}")
        if _kind(prompt) != _kind(prompts[0]):
            raise RunError(f"prompt {row}: expected {_kind(prompts[0])} as prompt 0 is, got "
                           f"{_kind(prompt)}")
    rows = []
    for row, prompt in enumerate(prompts):
        try:
            rows.append(prompt_tokens(tokenizer, prompt))
        except RunError as error:
            raise RunError(f"prompt {row}: {str(error).removeprefix('prompt: ')}") from None
    return rows


def is_batch(prompt: Any) -> bool:
    """Whether it is a list of prompts rather than one of messages or token ids."""
    return _is_list(prompt) and any(isinstance(item, str) or _is_list(item) for item in prompt)


def _kind(prompt: Any) -> str:
    if isinstance(prompt, str):
        return "a text"
    if len(prompt) and all(isinstance(message, Mapping) for message in prompt):
        return "a list of messages"
    return "a list of token ids"


def token_rows(prompts: Any) -> list[list[int]]:
    """The token ids of several prompts that are nothing but token ids."""
    if not _is_iterable(prompts):
        raise RunError(f"prompts: expected a list of prompts, got {type(prompts).__name__}")
    prompts = list(prompts)
    return [token_ids(prompt, name_of(prompts, row)) for row, prompt in enumerate(prompts)]


def name_of(prompts: Sequence[Any], row: int) -> str:
    """What messages call one of the prompts."""
    return f"prompt {row}" if len(prompts) > 1 else "the prompt"


def token_ids(given: Any, what: str) -> list[int]:
    """The token ids of a list or an array. `what` is what messages call it."""
    wrong = f"{what}: expected a list of token ids, got "
    if isinstance(given, Mapping):
        raise RunError(f"{wrong}{type(given).__name__}: give its 'input_ids'")
    if not _is_iterable(given):
        advice = (": give what the model's tokenizer makes of it" if isinstance(given, str) else
                  "" if (number := _integer(given)) is None else f": write [{number}]")
        raise RunError(f"{wrong}{described(given)}{advice}")
    ids = []
    for place, token in enumerate(given):
        if _is_list(token):
            raise RunError(f"{wrong}a list with {described(token)}: give one of its rows, or all "
                           "of them to sample_batch")
        number = _integer(token)
        if number is None:
            raise RunError(f"token {place} of {what}: expected an integer, got {described(token)}")
        ids.append(number)
    return ids


def number_from(least: int, value: Any, what: str) -> int:
    """The integer that a value is. Raises RunError where it is none, or below the least one."""
    number = _integer(value)
    if number is None or number < least:
        raise RunError(f"{what}: expected an integer from {least} on, got {value!r}")
    return number


def described(value: Any) -> str:
    """What messages say of a value: its type and itself."""
    return shortened(f"{type(value).__name__} {value!r}", 100)


def _integer(value: Any) -> int | None:
    """The integer that a value is, of any library, or None: no truth value, nothing rounded."""
    if isinstance(value, bool) or "bool" in str(getattr(value, "dtype", "")) or _is_list(value):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _is_iterable(value: Any) -> bool:
    """Whether it has elements and is no text."""
    return (hasattr(value, "__iter__") and getattr(value, "ndim", 1) > 0
            and not isinstance(value, (str, bytes, bytearray)))


def _is_list(value: Any) -> bool:
    """A list, a tuple or an array with dimensions."""
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) > 0

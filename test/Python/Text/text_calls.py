"""One text at a time on a program: others are refused. Wrong requests, and how many tokens fit.

    text_calls.py FOLDER
"""
from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
import transformers

import tp
from tp.generation import decode_step, greedy, reset, sample, sample_batch
from tp.generation.sampling import Sampler

LENGTH = 24
TOKENS = 12
PROMPTS = [[3, 4, 5], [9, 8, 7]]
KEYS = "past_key_values.0.keys"
ANOTHER = "another text was begun on this program while this one was open"
CHANGED = "the program was called, reset or given state while a text was open on it"


def small_llama() -> Any:
    torch.manual_seed(2)
    config = transformers.LlamaConfig(
        vocab_size=256, hidden_size=32, intermediate_size=48, num_hidden_layers=1,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
        initializer_range=0.5, bos_token_id=None, eos_token_id=None, pad_token_id=0)
    return transformers.LlamaForCausalLM(config).eval()


def refused(call: Callable[[], Any]) -> str:
    """The message of the error of a call."""
    try:
        found = call()
    except tp.Error as error:
        return str(error)
    raise AssertionError(f"not refused, and gives {found}")


def require(message: str, call: Callable[[], Any]) -> None:
    """Requires that the call is refused with a message that begins like this."""
    try:
        found = refused(call)
    except Exception as error:
        raise AssertionError(f"expected {message!r}") from error
    assert found.startswith(message), f"{found!r} does not start with {message!r}"


def check_open_texts(model: tp.TextModel, folder: str) -> None:
    """The cache is that of the text that was begun last: others do not go on. Nor does a text whose
    cache was changed otherwise."""
    program = model.program
    entry = program.entries["prefill_8"]
    right = list(greedy(program, PROMPTS[0], TOKENS))
    keys = np.zeros_like(program.state[KEYS])
    program.save_state(f"{folder}/text.safetensors")
    cases: dict[str, tuple[str, Callable[[], Any]]] = {
        "a text": (ANOTHER, lambda: list(greedy(program, PROMPTS[1], 3))),
        "the same text": (ANOTHER, lambda: next(greedy(program, PROMPTS[0], TOKENS))),
        "a text of the model": (ANOTHER, lambda: list(model.tokens([8], 2))),
        "texts of the model": (ANOTHER, lambda: model.token_lists([[8]], 2)),
        "a call": (CHANGED, lambda: program(np.array([[1]]))),
        "a call of an entry": (CHANGED, lambda: entry(np.zeros((1, 8), np.int64))),
        "a reset": (CHANGED, lambda: reset(program)),
        "a state": (CHANGED, lambda: program.state.update({KEYS: keys})),
        "a state of an entry": (CHANGED, lambda: entry.state.update({KEYS: keys})),
        "a state of a file": (CHANGED, lambda: program.load_state(f"{folder}/text.safetensors")),
    }
    for name, (message, other) in cases.items():
        text = greedy(program, PROMPTS[0], TOKENS)
        assert [next(text) for _ in range(4)] == right[:4], name
        other()
        require(message, lambda: f"{name}, {next(text)}")
        assert list(text) == [], name
        assert list(greedy(program, PROMPTS[0], TOKENS)) == right, name
    print(f"open texts: {len(cases)} others refused")


def check_harmless(program: tp.Program) -> None:
    """What changes no cache leaves an open text as it is, and an ended one is in nobody's way."""
    right = list(greedy(program, PROMPTS[0], TOKENS))
    text = greedy(program, PROMPTS[0], TOKENS)
    some = [next(text) for _ in range(4)]
    assert program.state[KEYS].any()
    greedy(program, PROMPTS[1], 3)  # begins with its first token
    refused(lambda: greedy(program, [256], 3))
    refused(lambda: program(np.array([[256]])))
    assert some + list(text) == right
    first, second = (greedy(program, prompt, TOKENS) for prompt in PROMPTS)
    assert list(second) == list(greedy(program, PROMPTS[1], TOKENS)) and list(first) == right
    print("harmless: equal")


def run_threads(calls: list[Callable[[], Any]]) -> None:
    """Runs the calls at the same time. Raises what the first one raises that fails."""
    failures: list[BaseException] = []

    def run(call: Callable[[], Any]) -> None:
        try:
            call()
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=run, args=[call]) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def check_threads(model: tp.TextModel) -> None:
    """Of the texts of two threads each is right or refused, and whole texts wait for each other."""
    program = model.program
    right = [list(greedy(program, prompt, TOKENS)) for prompt in PROMPTS]
    ended: list[int] = []

    def write(row: int) -> None:
        for _ in range(12):
            try:
                found = list(greedy(program, PROMPTS[row], TOKENS))
            except tp.RunError as error:
                assert str(error).startswith(ANOTHER), error
            else:
                assert found == right[row], f"{found} is not {right[row]}"
                ended.append(row)

    def write_whole(row: int) -> None:
        for _ in range(6):
            assert model.token_lists([PROMPTS[row]], TOKENS) == [right[row]]
    run_threads([partial(write, 0), partial(write, 1)])
    assert ended
    run_threads([partial(write_whole, 0), partial(write_whole, 1), partial(write_whole, 0)])
    print("threads: equal or refused")


def check_length(model: tp.TextModel) -> None:
    """Without a number of tokens there are as many as fit."""
    assert len(list(model.tokens([1, 2, 3]))) == LENGTH - 2
    assert len(list(model.tokens([1] * LENGTH))) == 1
    assert len(model.token_lists([[1, 2, 3]])[0]) == LENGTH - 2
    assert list(model.tokens([1, 2, 3], np.int64(5))) == list(model.tokens([1, 2, 3]))[:5]
    more = ("make the TextModel, or the model of decode_step, with length=25 or more")
    too_many = "the prompt of 3 tokens and 23 more do not fit the length of 24 tokens: write "
    require(f"{too_many}max_new_tokens=22, or {more}", lambda: model.tokens([1, 2, 3], 23))
    require(f"{too_many}max_new_tokens=22, or {more}", lambda: model.token_lists([[1, 2, 3]], 23))
    require(f"{too_many}count=22, or {more}", lambda: greedy(model.program, [1, 2, 3], 23))
    for count in ((), (1,)):
        require("the prompt of 25 tokens does not fit the length of 24 tokens: shorten the prompt, "
                f"or {more}", lambda: model.tokens([1] * 25, *count))
    for given, what in ((0, "0"), ("5", "'5'"), (5.5, "5.5"), (True, "True")):
        require(f"max_new_tokens: expected an integer from 1 on, got {what}",
                lambda: model.tokens([1], given))
    print("length: as many as fit")


def check_kinds(program: tp.Program) -> None:
    """Integers of all kinds are token ids and numbers."""
    prompt = PROMPTS[0]
    right = list(greedy(program, prompt, 3))
    kinds: list[Any] = [
        np.array(prompt), np.array(prompt, np.uint8), torch.tensor(prompt), tuple(prompt),
        range(3, 6), list(np.array(prompt)), list(torch.tensor(prompt)), iter(prompt)]
    for kind in kinds:
        assert list(greedy(program, kind, 3)) == right, kind
    stops: list[Any] = [right[:1], set(right[:1]), np.array(right[:1]), torch.tensor(right[:1])]
    for stop in stops:
        assert list(greedy(program, prompt, np.int64(3), stop)) == right[:1], stop
    assert list(greedy(program, prompt, 0)) == []
    rows: Any = sample_batch(program, np.array([prompt]), 3, (Sampler(),))
    assert [row[0] for row in rows] == right
    print("kinds: equal")


def check_requests(model: tp.TextModel, module: Any) -> None:
    """What is no prompt, no number and no sampler is refused before a text begins."""
    program: Any = model.program
    ids = "expected a list of token ids, got "
    prompts: list[tuple[str, Any]] = [
        ("token 0 of the prompt: expected an integer, got float 3.9", [3.9]),
        ("token 1 of the prompt: expected an integer, got NoneType None", [1, None]),
        ("token 1 of the prompt: expected an integer, got bool True", [1, True]),
        ("token 0 of the prompt: expected an integer, got float64 ", np.array([3.9])),
        ("token 0 of the prompt: expected an integer, got Tensor ", torch.tensor([3.9])),
        ("token 0 of the prompt: expected an integer, got Tensor ", torch.tensor([True])),
        ("the prompt is empty: expected at least one token id", []),
        (f"the prompt: {ids}str 'hello': give what the model's tokenizer makes of it", "hello"),
        (f"the prompt: {ids}bytes b'a'", b"a"),
        (f"the prompt: {ids}dict: give its 'input_ids'", {"input_ids": [1]}),
        (f"the prompt: {ids}int 5: write [5]", 5),
        (f"the prompt: {ids}NoneType None", None),
        (f"the prompt: {ids}a list with Tensor tensor([1, 2]): give one", torch.tensor([[1, 2]])),
        (f"the prompt: {ids}a list with list [1, 2]: give one of its rows, or all of them",
         [[1, 2]]),
    ]
    one: Any = Sampler()
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("count: expected an integer from 0 on, got -1", lambda: greedy(program, [1], -1)),
        *[(f"count: expected an integer from 0 on, got {count!r}",
           partial(greedy, program, [1], count)) for count in ("5", 5.5, None, True)],
        (f"stop: {ids}int 5: write [5]", partial(greedy, program, [1], 3, 5)),
        (f"stop: {ids}str '</s>'", lambda: greedy(program, [1], 3, "</s>")),
        ("token 0 of stop: expected an integer, got NoneType None",
         partial(greedy, program, [1], 3, [None])),
        ("sampler: expected a Sampler, got float 0.8", partial(sample, program, [1], 3, 0.8)),
        ("sampler: expected a Sampler, got float 0.8", partial(model.tokens, [1], 3, 0.8)),
        ("sampler: expected a Sampler, got float 0.8", partial(model.token_lists, [[1]], 3, 0.8)),
        ("samplers: expected a list with one for each prompt, got Sampler: give its .rows(1)",
         lambda: sample_batch(program, [[1]], 3, one)),
        ("sampler 0: expected a Sampler, got NoneType None",
         partial(sample_batch, program, [[1]], 3, [None])),
        ("prompts: expected a list of prompts, got str",
         lambda: sample_batch(program, "a", 3, [one])),
        (f"the prompt: {ids}int 1: write [1]", partial(sample_batch, program, [1], 3, [one])),
        (f"prompt 1: {ids}str 'b'", partial(sample_batch, program, [[1], "b"], 3, [one] * 2)),
        ("expected a program of tp.generation.decode_step, got str",
         partial(greedy, "decode.tp", [1], 3)),
        ("expected a program of tp.generation.decode_step, got TextModel: give its .program",
         partial(greedy, model, [1], 3)),
        ("expected a program of tp.generation.decode_step, got NoneType", partial(reset, None)),
        ("expected the first entry of a program of tp.generation.decode_step, got 'prefill_8'",
         lambda: greedy(program.entries["prefill_8"], [1], 3)),
        ("decode_step: prefill: expected a list of numbers from 2 to 8, the length of the cache, "
         "got 8: write prefill=[8]", partial(decode_step, module, 8, prefill=8)),
    ]
    for message, prompt in prompts:
        require(message, partial(greedy, program, prompt, 2))
    for message, call in calls:
        require(message, call)
    print(f"requests: {len(prompts) + len(calls)} refused")


def main() -> None:
    folder = sys.argv[1]
    module = small_llama()
    chosen = sys.argv[2:]

    def check(name: str, *arguments: Any) -> None:
        if not chosen or name in chosen:
            globals()[f"check_{name}"](*arguments)
    with tp.TextModel(module, length=LENGTH, mesh={"tp": 2}) as model:
        check("open_texts", model, folder)
        check("harmless", model.program)
        check("threads", model)
        check("length", model)
        check("kinds", model.program)
        check("requests", model, module)


if __name__ == "__main__":
    main()

"""Batches of prompts of unlike lengths against transformers' generate of the padded batch.

    text_batches.py FOLDER          families of unlike positions and windows
    text_batches.py FOLDER --all    all families

FOLDER gets a model and its tokenizer.
"""
from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Sequence
from typing import Any

import torch
import transformers

import tp
from text import byte_tokenizer, families
from tp.__main__ import main as command
from tp.generation import decode_step, sample_batch
from tp.generation.sampling import Sampler

TOKENS = 12
PROMPTS = ["tensors", "a", "split"]


def expected_tokens(module: Any, tokenizer: Any, prompts: list[str]) -> list[list[int]]:
    """The tokens of transformers after the prompts, with pads before the shorter ones."""
    rows = [tokenizer(prompt)["input_ids"] for prompt in prompts]
    longest = max(len(row) for row in rows)
    pads = [longest - len(row) for row in rows]
    with torch.no_grad():
        made = module.generate(
            torch.tensor([[0] * pad + row for pad, row in zip(pads, rows)]),
            attention_mask=torch.tensor([[0] * pad + [1] * len(row)
                                         for pad, row in zip(pads, rows)]),
            do_sample=False, max_new_tokens=TOKENS)
    tokens: list[list[int]] = made[:, longest:].tolist()
    return tokens


def check_families(names: Sequence[str]) -> None:
    tokenizer = byte_tokenizer()
    for name in names:
        config = families()[name]
        torch.manual_seed(1)
        module = transformers.AutoModelForCausalLM.from_config(config).eval()
        expected = [tokenizer.decode(row, skip_special_tokens=True)
                    for row in expected_tokens(module, tokenizer, PROMPTS)]
        # With a part of which a row has pads alone, and token by token.
        for prefill, mesh in (([4], {"tp": 2}), ([], None))[:2 if name == "gpt2" else 1]:
            found = tp.generate(module, PROMPTS, tokenizer=tokenizer, mesh=mesh, prefill=prefill,
                                plan="auto" if mesh else None, max_new_tokens=TOKENS)
            assert found == expected, f"{name}, {mesh}: {found} is not {expected}"
        print(f"{name}: equal")


def check_llama(folder: str) -> None:
    """Rows end at their own stop tokens, and one model takes fewer prompts than its batch. Then
    sampling."""
    torch.manual_seed(2)
    module = transformers.LlamaForCausalLM(families()["llama"]).eval()
    tokenizer = byte_tokenizer()
    rows = expected_tokens(module, tokenizer, PROMPTS)
    # The token of one row that comes first in no other.
    ends = [rows[0][2], rows[2][6]]
    module.generation_config.eos_token_id = ends
    lengths = [next((i + 1 for i, token in enumerate(row) if token in ends), TOKENS)
               for row in rows]
    assert len(set(lengths)) > 1, lengths
    module.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    with tp.TextModel(folder, mesh={"tp": 2}, length=24, batch=4) as model:
        until = [tokenizer.decode(row[:length]) for row, length in zip(rows, lengths)]
        assert model.texts(PROMPTS, TOKENS) == until, "stop tokens"
        assert model.texts(PROMPTS[::-1], TOKENS) == until[::-1], "another order"
        assert "".join(model.stream(PROMPTS[2], TOKENS)) == until[2], "a stream of a batch's model"
        tokens = [tokenizer(prompt)["input_ids"] for prompt in PROMPTS]
        assert model.texts(tokens, TOKENS) == until, "token ids"
        check_refusals(model)
        print("stop tokens: each row ends at its own")
        check_command(folder, model.texts(["abc", "d"], 4))
        check_seeds(folder, model)


def check_command(folder: str, texts: list[str]) -> None:
    """The command writes each text behind its prompt, and that of one prompt alone."""
    first, second = texts
    for prompts, mesh, right in (
            (["abc", "d"], ["--mesh=tp=2"], f"1: abc\n{first}\n2: d\n{second}\n"),
            (["d"], [], f"{second}\n")):
        written = io.StringIO()
        with contextlib.redirect_stdout(written):
            status = command(["generate", folder, *prompts, "--max-new-tokens=4", *mesh])
        assert status == 0 and written.getvalue() == right, (prompts, written.getvalue(), right)
    print("command: equal")


def check_seeds(folder: str, model: tp.TextModel) -> None:
    """Rows draw numbers of their own, whatever the others are and on any mesh."""
    model.stop = []
    found = model.texts(PROMPTS, TOKENS, Sampler(1.5, seed=7))
    assert model.texts(PROMPTS, TOKENS, Sampler(1.5, seed=8)) != found
    same = model.texts([PROMPTS[0]] * 3, TOKENS, Sampler(1.5, seed=7))
    assert len(set(same)) == 3 and same[0] == found[0], same
    assert "".join(model.stream(PROMPTS[0], TOKENS, Sampler(1.5, seed=7))) == same[0]
    with tp.TextModel(folder, mesh={"tp": 3}, length=24, batch=3, prefill=[]) as other:
        other.stop = []
        again = other.texts(PROMPTS, TOKENS, Sampler(1.5, seed=7))
    assert again == found, f"3 ranks choose {again}, 2 ranks {found}"
    print("seeds: 2 meshes choose the same")


REFUSED = 0


def refuse(message: str, kind: type[Exception], call: Any) -> None:
    global REFUSED
    try:
        call()
    except kind as error:
        assert message in str(error), f"{message!r} is not in {str(error)!r}"
    else:
        raise AssertionError(f"not refused: {message}")
    REFUSED += 1


def check_refusals(model: Any) -> None:
    refuse("the batch is empty", tp.RunError, lambda: model.texts([]))
    refuse("expected a list of prompts, got str", tp.RunError, lambda: model.texts("abc"))
    refuse("expected at most 4 prompts, got 5: make the TextModel, or the model of "
           "decode_step, with batch=5", tp.RunError,
           lambda: model.texts(["a"] * 5, 2))
    refuse("prompt 1 of 30 tokens does not fit the length of 24 tokens: shorten the prompt, or make "
           "the TextModel, or the model of decode_step, with length=33 or more", tp.RunError,
           lambda: model.texts(["a", "b" * 30], 4))
    refuse("prompt 1 of 20 tokens and 6 more do not fit the length of 24 tokens: write "
           "max_new_tokens=5, or make", tp.RunError, lambda: model.texts(["a", "b" * 20], 6))
    refuse("max_new_tokens: expected", tp.RunError, lambda: model.texts(["a"], 0))
    refuse("expected a sampler for each of 2 prompts, got 1", tp.RunError,
           lambda: sample_batch(model.program, [[1], [2]], 2, [Sampler()]))


def check_modules() -> None:
    module = transformers.LlamaForCausalLM(families()["llama"]).eval()
    with tp.compile(decode_step(module, 8, batch=2)) as program:
        refuse("export decode_step with padded=True", tp.RunError,
               lambda: sample_batch(program, [[1], [2, 3]], 2, Sampler().rows(2)))
    refuse("batch: expected a number from 1 on, got 0", tp.ExportError,
           lambda: decode_step(module, 8, batch=0))
    small = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
             "num_key_value_heads": 2, "intermediate_size": 48, "head_dim": 8,
             "layer_types": ["linear_attention", "full_attention"], "num_experts": 2,
             "moe_intermediate_size": 16, "shared_expert_intermediate_size": 16}
    linear = transformers.Qwen3NextForCausalLM(transformers.Qwen3NextConfig(**small)).eval()
    refuse("padded: expected a model whose cache holds the keys and values of all tokens",
           tp.ExportError, lambda: decode_step(linear, 8, batch=2, padded=True))


def main() -> None:
    check_families([*families()] if "--all" in sys.argv else ["gpt2", "mistral", "gemma3"])
    check_llama(sys.argv[1])
    check_modules()
    print(f"{REFUSED} refused")


if __name__ == "__main__":
    main()

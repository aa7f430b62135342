"""Entries of one model: parts of a prompt and the decode step of a small Llama over one static
cache, compared with PyTorch over 20 tokens, on 1 to 4 ranks, for prompts of several lengths.
"""
from __future__ import annotations

import numpy as np
import torch

import tp
from generation import small_llama
from tp.generation import decode_step, greedy, reset

TOKENS, LENGTH = 20, 48
module, _ = small_llama()
PROMPTS = {1: [7], 5: [3, 5, 7, 1, 9], 9: list(range(9)), 23: [i * 7 % 64 for i in range(23)]}


def expected(prompt: list[int]) -> list[int]:
    """The text of transformers."""
    ids = torch.tensor([prompt])
    made = module.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=TOKENS,
                           do_sample=False)
    return made[0, len(prompt):].tolist()


def compare_logits(program: tp.Program, prompt: list[int]) -> float:
    """The largest difference of the logits of 20 steps behind a prompt that one entry reads."""
    reset(program)
    with torch.no_grad():
        text = prompt + expected(prompt)
        logits = module(torch.tensor([text])).logits[0].numpy()
    program.entries["prefill_8"](input_ids=np.array([text[:8]]))
    steps = [program(input_ids=np.array([[token]]))[0, 0] for token in text[8:8 + TOKENS]]
    return float(np.abs(np.stack(steps) - logits[8:8 + TOKENS]).max())


model = decode_step(module, LENGTH, prefill=[2, 8])
for ranks in (1, 2, 3, 4):
    for launch in ("thread", "process") if ranks == 2 else ("thread",):
        plan = {"plan": "auto", "mesh": {"tp": ranks}} if ranks > 1 else {}
        with tp.compile(model, launch=launch, **plan) as program:
            assert list(program.entries) == ["decode", "prefill_2", "prefill_8"]
            for length, prompt in PROMPTS.items():
                assert list(greedy(program, prompt, TOKENS)) == expected(prompt), (ranks, length)
            assert compare_logits(program, PROMPTS[9]) < 1e-4, ranks
            held = program.entries["prefill_8"].state["past_key_values.0.keys"]
            assert np.array_equal(held, program.state["past_key_values.0.keys"])
        print(f"{ranks} ranks, {launch}: the text of {len(PROMPTS)} prompts equals transformers'")

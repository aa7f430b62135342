"""Compares greedy text of a decode step on several ranks with transformers' own.

    generation.py                 a small Llama with random weights
    generation.py --gguf FILE     the model of a GGUF file, and its tokenizer

Each mesh has ranks that are threads and ranks that are processes. Prints tokens per second beside
transformers', measured in the same run, and fails where a token differs.
"""
from __future__ import annotations

import argparse
import os
import sys
import time
from typing import Any

import torch
import transformers

import tp
from tp.generation import decode_step, greedy

TOKENS = 64


def small_llama() -> tuple[Any, list[int]]:
    """A model with 9 heads that share 3 keys and values, and a prompt."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=64, hidden_size=36, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=9, num_key_value_heads=3, max_position_embeddings=128,
        tie_word_embeddings=True, bos_token_id=0, eos_token_id=None, pad_token_id=0,
        initializer_range=0.6)  # so that the text varies
    return transformers.LlamaForCausalLM(config).eval(), [3, 5, 7, 1]


def of_file(path: str) -> tuple[Any, list[int]]:
    """The model of a GGUF file in f32, and a prompt in its own form."""
    folder, name = os.path.split(os.path.abspath(path))
    transformers.utils.logging.disable_progress_bar()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=name)
    module = transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file=name,
                                                               dtype=torch.float32).eval()
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is tensor parallelism?"}],
        add_generation_prompt=True)["input_ids"]
    return module, prompt


def timed(label: str, tokens: Any) -> list[int]:
    """The tokens of the iterator. Prints how many come in a second, without the prompt's."""
    times, found = [], []
    for token in tokens:
        times.append(time.perf_counter())
        found.append(token)
    rate = (len(times) - 1) / (times[-1] - times[0])
    print(f"| {label} | {rate:.1f} tokens per second |", end="", flush=True)
    return found


class _Times:
    """Takes the tokens of transformers' generate as they come; the first are the prompt."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def put(self, value: torch.Tensor) -> None:
        self.times.append(time.perf_counter())

    def end(self) -> None:
        """The text is complete."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gguf", metavar="FILE")
    options = parser.parse_args()
    module, prompt = of_file(options.gguf) if options.gguf else small_llama()

    streamer = _Times()
    ids = torch.tensor([prompt])
    with torch.no_grad():
        expected = module.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=TOKENS,
            streamer=streamer)[0, len(prompt):].tolist()
    end = module.generation_config.eos_token_id
    stop = end if isinstance(end, list) else [] if end is None else [end]
    times = streamer.times[1:]
    print(f"| transformers, {torch.get_num_threads()} threads | "
          f"{(len(times) - 1) / (times[-1] - times[0]):.1f} tokens per second |")

    model = decode_step(module, length=len(prompt) + TOKENS)
    failed = 0
    for ranks in (1, 2, 3, 4):
        for launch in ("thread", "process"):
            with tp.compile(model, plan="hf", mesh={"tp": ranks}, launch=launch) as program:
                tokens = greedy(program, prompt, TOKENS, stop)
                found = timed(f"tp, {ranks} ranks, {launch}", tokens)
                again = list(greedy(program, prompt, 4))
            equal = found == expected and again == expected[:4]
            failed += not equal
            print(f" {'equal' if equal else f'DIFFERS: {found} is not {expected}'} |", flush=True)
    print(f"{TOKENS} tokens, 8 runs: {failed} differ")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

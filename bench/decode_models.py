"""Decode steps of models with random weights, exported as users export theirs."""

import os

import numpy as np
import torch
import transformers

import artifact
import tp
from tp.generation import decode_step

# Sizes of published models. Of Llama 8B one layer, with a vocabulary that weighs nothing beside it.
SIZES = {
    "smollm2": {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
                "num_attention_heads": 9, "num_key_value_heads": 3, "vocab_size": 49152},
    "llama8b-layer": {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 1,
                      "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 512},
    # For tests.
    "tiny": {"hidden_size": 36, "intermediate_size": 64, "num_hidden_layers": 2,
             "num_attention_heads": 9, "num_key_value_heads": 3, "vocab_size": 64}}
COUNTER = ".cumulative_length"


def export(name, length):
    """The decode step of a model whose cache has `length` tokens."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(**SIZES[name], max_position_embeddings=length,
                                      tie_word_embeddings=True)
    module = transformers.LlamaForCausalLM(config).eval()
    return decode_step(module, length=length)


class Decoder:
    """A compiled decode step on its ranks.

    Attributes:
        read: bytes that all ranks read in a step: the weights and the whole cache.
    """

    def __init__(self, model, ranks, folder, **options):
        self.program = tp.compile(model, plan="hf" if ranks > 1 else None,
                                  mesh={"tp": ranks} if ranks > 1 else None, **options)
        path = os.path.join(folder, "decode.tp")
        self.program.save(path)
        self.read = artifact.bytes_of_weights(path)
        self.counters = [name for name in self.program.state if name.endswith(COUNTER)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.program.close()

    def start(self, place):
        """Lets the next token be the one at `place`, as if the cache held those before."""
        for name in self.counters:
            state = self.program.state[name]
            self.program.state[name] = np.full(state.shape, place, state.dtype)

    def step(self):
        """Reads a token."""
        self.program(np.zeros((1, 1), np.int64))

"""A prefill and a decode step of a Llama with transformers' static cache, which is state.

    static_cache.py FOLDER
"""
from __future__ import annotations

import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM, StaticCache

import tp
from exported import Exported

torch.manual_seed(0)
CONFIG = LlamaConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                     num_key_value_heads=2, intermediate_size=128, vocab_size=256)
module = LlamaForCausalLM(CONFIG).eval()
tokens = torch.randint(256, (1, 7))
cache = StaticCache(config=CONFIG, max_cache_len=16)
cache.early_initialization(1, 2, 16, torch.float32, torch.device("cpu"))


def state() -> dict[str, torch.Tensor]:
    """The cache's tensors by the names that ports have."""
    return {f"past_key_values.{i}.{name}": getattr(layer, name)
            for i, layer in enumerate(cache.layers)
            for name in ("keys", "values", "cumulative_length")}


for step, ids in (("prefill", tokens[:, :6]), ("decode", tokens[:, 6:])):
    model = tp.export(module, (ids,), {"past_key_values": cache})
    print(step, *(f"{port.kind}:{port.name}" for port in model.results if port.updates))
    assert "tm_tensor" not in model.mlir
    with torch.no_grad():
        logits = module(ids, past_key_values=cache).logits  # changes the cache
    expected = [logits] + [state()[port.name] for port in model.results if port.updates]
    exported = Exported(f"{sys.argv[1]}/{step}", model, [ids], expected)
    for ranks in (1, 2):
        print(step, ranks, *exported.run("auto", ranks, 1e-5))

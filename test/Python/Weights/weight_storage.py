"""Weights that are stored in f16 or bf16 against a module whose weights torch has rounded."""
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import transformers
from torch import nn

import tp
from tp.generation import decode_step, greedy

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16}


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.book = nn.Embedding(30, 16)
        self.norm = nn.LayerNorm(16)
        self.up = nn.Linear(16, 30)
        self.down = nn.Linear(30, 16, bias=False)
        self.read = nn.Linear(16, 30, bias=False)
        self.read.weight = self.book.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.book(ids)
        return self.read(x + self.down(torch.relu(self.up(self.norm(x)))))


def rounded(module: nn.Module, dtype: torch.dtype) -> nn.Module:
    """The module with its matrices rounded, in f32."""
    result = copy.deepcopy(module)
    with torch.no_grad():
        for parameter in result.parameters():
            if parameter.dim() > 1:
                parameter.copy_(parameter.to(dtype).float())
    return result


refusals: list[str] = []


def refused(call: Callable[[], Any], part: str) -> None:
    try:
        call()
    except (tp.RunError, tp.CompileError) as error:
        assert part in str(error), error
        refusals.append(str(error))
        return
    raise AssertionError(f"no error: {part}")


torch.manual_seed(0)
module = Tied().eval()
ids = torch.randint(30, (2, 8))
model = tp.export(module, (ids,))
plan = {"book": tp.RowwiseParallel(input_layouts=tp.Replicate()), "up": "colwise",
        "down": "rowwise"}
for storage, ranks in (("f16", 1), ("f16", 2), ("bf16", 1), ("bf16", 3)):
    wanted = rounded(module, TYPES[storage])
    with tp.compile(model, plan=plan if ranks > 1 else None, mesh=ranks,
                    weight_storage=storage) as program:
        torch.testing.assert_close(program(ids), wanted(ids).detach(), rtol=1e-5, atol=1e-5)
        row = next(port for port in program._artifact.arguments if port.name == "up.weight")
        assert (row.dtype.name, row.rounded_from.name) == (storage, "f32"), row
        assert sum(port.dtype.name == storage and not port.dead
               for port in program._artifact.arguments) == 3
        program.save(f"{storage}.{ranks}.tp")
    print(f"{storage}, {ranks} ranks: as rounded before")

for storage in ("f16", "bf16"):
    wanted = rounded(module, TYPES[storage])
    narrow = {name: value.to(TYPES[storage]) if value.dim() > 1 else value
              for name, value in module.state_dict().items()}
    plain = {name: value.numpy() for name, value in module.state_dict().items()}
    model.save("model")
    for weights in (module.state_dict(), narrow, plain, "model/weights.safetensors"):
        with tp.load(f"{storage}.1.tp", weights=weights) as program:
            torch.testing.assert_close(program(ids), wanted(ids).detach(), rtol=1e-5, atol=1e-5)
print("from files and arrays of both types")

large = {**module.state_dict(), "up.weight": module.up.weight.detach() * 1e6}
refused(lambda: tp.load("f16.1.tp", weights=large)(ids),
        "is too large for f16: compile with weight_storage='bf16'")
refused(lambda: tp.load("f16.1.tp", weights={**large, "up.weight": module.up.weight.double()}),
        "write .to(torch.float32)")
tp.load("bf16.1.tp", weights=large)(ids)
refused(lambda: tp.compile(model, weight_storage="q4_0"), "got 'q4_0'")
refused(lambda: tp.compile(model, weight_storage="f64"), "expected 'f16' or 'bf16', got 'f64'")
refused(lambda: tp.compile(model, target="cuda", weight_storage="f16"),
        "weight storage is for CPU artifacts")

step = tp.export_training(nn.Linear(8, 4), lambda output, target: ((output - target) ** 2).mean(),
                          torch.optim.SGD, (torch.ones(2, 8), torch.zeros(2, 4)))
with tp.compile(step, weight_storage="f16") as program:
    assert all(port.dtype.name != "f16" for port in program._artifact.arguments)
print("trained: f32")

config = transformers.LlamaConfig(
    vocab_size=256, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, initializer_range=0.5,
    tie_word_embeddings=False)
llama = transformers.LlamaForCausalLM(config).eval()
prompt = [int(token) for token in np.arange(11) * 7 % 250]
wanted = rounded(llama, torch.float16)
with tp.compile(decode_step(wanted, length=32, prefill=[8]), plan="hf", mesh=2) as program:
    expected = list(greedy(program, prompt, 16))
with tp.compile(decode_step(llama, length=32, prefill=[8]), plan="hf", mesh=2,
                weight_storage="f16") as program:
    assert list(greedy(program, prompt, 16)) == expected
print("text: as rounded before")
print(f"{len(refusals)} refused")

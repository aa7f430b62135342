"""Saves a model whose weights are tied, narrow and empty, and loads it where torch is not there."""
from __future__ import annotations

import subprocess
import sys

import torch

import tp
from tp.model import Port

LOAD = """
import sys
sys.modules["torch"] = None
import numpy as np
import tp
model = tp.Model.load(sys.argv[1])
print(model)
assert np.asarray(model.weights["a.weight"]).tolist() == [[0, 1], [2, 3]]
assert np.asarray(model.weights["numpy"]).tolist() == [7], model.weights["numpy"]
print(model.own_plan, model.own_expert_plan, [port.updates for port in model.results])
for name, stored in model.weights.items():
    print(name, stored.dtype.name, stored.bits.dtype, stored.bits.tolist())
"""

tied = torch.arange(4.0).reshape(2, 2)
weights = {"b.weight": tied, "a.weight": tied, "turned": tied.t(),
           "narrow": torch.tensor([1.0, -2.0], dtype=torch.bfloat16), "none": torch.zeros(0, 3),
           "flag": torch.tensor(True), "numpy": torch.tensor([7], dtype=torch.int32).numpy()}
arguments = [Port(name, "parameter", tuple(value.shape), tp.model.bits_of(value)[1])
             for name, value in weights.items()] + [Port("x", "user_input", (2,), "f32")]
results = [Port("output", "user_output", (2,), "f32"),
           Port("narrow", "new_parameter", (2,), "bf16", "narrow")]
folder = sys.argv[1]
tp.Model("module {}", arguments, results, weights, {"layers.*.q": "colwise"},
         {"layers.*.experts": "grouped_gemm"}).save(folder)
print(subprocess.run([sys.executable, "-c", LOAD, folder], check=True, capture_output=True,
                     text=True).stdout, end="")

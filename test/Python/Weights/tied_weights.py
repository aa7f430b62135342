"""A module's tied weight has all its names: in weights, in the state, and in a training step."""
from __future__ import annotations

import os
import sys

import numpy as np
import torch
from torch import nn

import tp

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from refusals import error_of  # noqa: E402  pylint: disable=wrong-import-position


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.book = nn.Embedding(32, 16)
        self.read = nn.Linear(16, 32, bias=False)
        self.read.weight = self.book.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.read(self.book(ids))


torch.manual_seed(0)
module = Tied().eval()
ids = torch.randint(32, (2, 8))
expected = module(ids).detach()
plan = {"book": tp.RowwiseParallel(input_layouts=tp.Replicate())}
program = tp.compile(tp.export(module, (ids,)), plan=plan, mesh=2)
torch.testing.assert_close(program(ids), expected)
for name in ("book.weight", "read.weight"):
    np.testing.assert_array_equal(program.state[name], module.book.weight.detach().numpy())
    assert program.layouts[name] == "tp: shard<0>", program.layouts
program.save("tied.tp")
weights = module.state_dict()
for given in (dict(module.named_parameters()), {"read.weight": module.read.weight}, weights,
              {**weights, "read.weight": weights["read.weight"].clone()}):
    with tp.load("tied.tp", weights=given) as loaded:
        torch.testing.assert_close(loaded(ids), expected)
for name in ("book.weight", "read.weight"):
    message = error_of(lambda: tp.load("tied.tp", weights={**weights, name: weights[name] * 0}))
    assert "stand for one argument" in message and "different values" in message, message

step = tp.compile(tp.export_training(module, lambda output, target: nn.functional.cross_entropy(
    output.flatten(0, 1), target.flatten()), torch.optim.AdamW, (ids, ids)), plan=plan, mesh=2)
step(ids, ids)
for kind in ("", "opt_exp_avg:"):
    names = [f"{kind}{name}" for name in ("book.weight", "read.weight")]
    assert sum(name in list(step.state) for name in names) == 1, list(step.state)
    assert step.state[names[0]].any()
    np.testing.assert_array_equal(step.state[names[0]], step.state[names[1]])
# All that the state lists is what a loaded step takes.
step.save("step.tp")
saved = {name: step.state[name] for name in step.state}
with tp.load("step.tp", weights=saved) as resumed:
    torch.testing.assert_close(resumed(ids, ids), step(ids, ids), rtol=0, atol=0)
parameters = {name: value for name, value in saved.items() if not name.startswith("opt_")}
message = error_of(lambda: tp.load("step.tp", weights=parameters)(ids, ids))
assert "write program.state['opt_exp_avg:" in message, message

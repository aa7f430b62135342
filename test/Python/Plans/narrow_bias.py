"""Layouts of a sequence at modules with a bias, in f32, bf16 and under autocast: dimensions are
those of the module's own tensors, and collectives move the module's type.

Torch writes a bf16 product with a bias as one of f32 rows of [batch x sequence, features].
"""
from __future__ import annotations

import contextlib

import torch
from torch import nn

import tp


class FeedForward(nn.Module):
    def __init__(self, bias: bool) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(16, 32, bias=bias), nn.Linear(32, 16, bias=bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.down(torch.relu(self.up(x)))
        return result


PLAN = {"up": tp.ColwiseParallel(input_layouts=tp.Shard(1)),
        "down": tp.RowwiseParallel(output_layouts=tp.Shard(1)), "argument x": tp.Shard(1)}

for kind in ("f32", "autocast", "bf16"):
    for bias in (False, True):
        torch.manual_seed(0)
        module, x = FeedForward(bias).eval(), torch.randn(2, 8, 16)
        if kind == "bf16":
            module, x = module.bfloat16(), x.bfloat16()
        with (torch.autocast("cpu", torch.bfloat16) if kind == "autocast"
              else contextlib.nullcontext()):
            want = module(x).detach()
            model = tp.export(module, (x,))
        for ranks in 2, 4:
            with tp.compile(model, plan=PLAN, mesh={"tp": ranks}) as program:
                got = program(x)
                equal = torch.allclose(got.float(), want.float(),
                                       atol=1e-5 if kind == "f32" else 1e-2)
                sent = ", ".join(f"{row.kind} {row.dtype}" for row in program.collectives)
                print(f"{kind}, {'bias' if bias else 'no bias'}, {ranks} ranks: "
                      f"{'equal' if equal else 'WRONG'}, {sent}, output "
                      f"{dict(program.layouts)['output']}")

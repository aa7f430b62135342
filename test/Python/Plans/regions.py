"""Modules that run under torch.autocast, no_grad and the like, with a plan that names them."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack

import torch
from torch import nn

import tp

warnings.simplefilter("ignore")
Context = Callable[[], AbstractContextManager[object]]


def autocast(enabled: bool = True) -> Context:
    return lambda: torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled)


REGIONS: dict[str, list[Context]] = {
    "none": [],
    "no_grad": [torch.no_grad],
    "enable_grad in no_grad": [torch.no_grad, torch.enable_grad],
    "inference_mode": [torch.inference_mode],
    "autocast off": [autocast(False)],
    "autocast off in no_grad": [torch.no_grad, autocast(False)],
    "no_grad in autocast off": [autocast(False), torch.no_grad],
    "autocast": [autocast()],
    "autocast in no_grad": [torch.no_grad, autocast()],
    "autocast off in autocast": [autocast(), autocast(False)],
}


class Model(nn.Module):
    """A tied embedding around two products; a buffer counts the calls."""

    def __init__(self, regions: list[Context]) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(16, 8), nn.Linear(8, 16, bias=False)
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)
        self.head.weight = self.embedding.weight
        self.register_buffer("calls", torch.zeros(1))
        self.regions = regions

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        with ExitStack() as stack:
            for region in self.regions:
                stack.enter_context(region())
            self.calls.add_(1)
            x = self.embedding(tokens)
            x = self.head(x + self.down(torch.relu(self.up(x)))).float()
        return x * self.calls


def check(name: str, regions: list[Context]) -> None:
    """The entries reach the modules, and two steps give what torch gives."""
    torch.manual_seed(0)
    module = Model(regions).eval()
    tokens = torch.randint(16, (2, 4))
    plan = {"embedding": tp.RowwiseParallel(input_layouts=tp.Replicate()),
            "up": "colwise", "down": "rowwise", "head": "colwise"}
    with tp.compile(tp.export(module, (tokens,)), plan=plan, mesh={"tp": 4}) as program:
        right = all(torch.allclose(program(tokens), module(tokens).detach(), atol=atol)
                    for atol in [0.1 if "autocast" in name and "off" not in name else 1e-5] * 2)
        modules = sorted({row.module for row in program.collectives})
        print(f"{name}: {'equal' if right else 'WRONG'}, collectives of {', '.join(modules)}")
        tokens[0, 0] = 16
        try:
            program(tokens)
            print("no error")
        except tp.RunError as error:
            print(error)


class Mapped(nn.Module):
    """A module inside of torch.vmap, and one behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.down(torch.vmap(lambda row: torch.tanh(self.up(row)))(x))
        return y


def check_vmap() -> None:
    """torch works afterwards, too."""
    module, x = Mapped().eval(), torch.randn(2, 3, 8)
    with tp.compile(tp.export(module, (x,)), plan={"up": "colwise", "down": "rowwise"},
                    mesh={"tp": 2}) as program:
        right = torch.allclose(program(x), module(x).detach(), atol=1e-5)
        print(f"vmap: {'equal' if right else 'WRONG'}, {program.layouts['up.weight']}")
    torch.randn(3)


if __name__ == "__main__":
    for name, regions in REGIONS.items():
        check(name, regions)
    check_vmap()

"""PrepareModuleInput and PrepareModuleOutput for a module with several arguments and results: tp
takes the plans that torch takes, and refuses those that torch refuses.

torch runs every plan on one rank, tp on two.
"""
from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ParallelStyle, PrepareModuleInput, PrepareModuleOutput, parallelize_module)
from torch.testing._internal.distributed.fake_pg import FakeStore

import tp


class Inner(nn.Module):
    """Returns a tuple of a tuple and of a tensor."""

    def forward(self, pair: tuple[torch.Tensor, torch.Tensor], x: torch.Tensor, *,
                scale: torch.Tensor) -> tuple[tuple[torch.Tensor, torch.Tensor], torch.Tensor]:
        y = (pair[0] - pair[1]) * x + scale
        return (y.sigmoid(), y.cos()), y.tanh()


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pair, y = self.inner((x.exp(), x.cos()), x + 1, scale=x.sin())
        result: torch.Tensor = pair[0].exp() + pair[1].exp() + y.exp()
        return result


# Layouts by position, layouts by keyword, and whether the plan is good.
INPUTS: list[tuple[Any, dict[str, Any], bool]] = [
    ((None, Shard(0)), {}, True),
    ((None, Shard(0)), {"scale": Shard(0)}, True),
    ((None, None), {"scale": Shard(0)}, True),
    (None, {"scale": Shard(0)}, True),
    (Shard(0), {}, False),
    ((Shard(0),), {}, False),
    ((None,), {"scale": Shard(0)}, False),
    ((Shard(0), None), {}, False),
]
# Layouts by position, and whether the plan is good.
OUTPUTS: list[tuple[Any, bool]] = [
    ((None, Shard(0)), True),
    (Shard(0), False),
    ((Shard(0),), False),
    ((Shard(0), None), False),
    ((None, None, Shard(0)), False),
]


def whole(value: Any) -> Any:
    """Replicates everything that has a layout."""
    if isinstance(value, tuple):
        return tuple(layout and Replicate() for layout in value)
    return value and Replicate()


def of_inputs(layouts: Any, keywords: dict[str, Any]) -> PrepareModuleInput:
    """Everything that has a layout is gathered."""
    return PrepareModuleInput(
        input_layouts=layouts, desired_input_layouts=whole(layouts),
        input_kwarg_layouts=keywords or None,
        desired_input_kwarg_layouts=dict.fromkeys(keywords, Replicate()) or None,
        use_local_output=True)


def of_outputs(layouts: Any) -> PrepareModuleOutput:
    """Everything that has a layout is gathered."""
    return PrepareModuleOutput(output_layouts=layouts, desired_output_layouts=whole(layouts))


PLANS: list[tuple[str, ParallelStyle, bool]] = [
    *((f"inputs {layouts!r}, {keywords}", of_inputs(layouts, keywords), good)
      for layouts, keywords, good in INPUTS),
    *((f"outputs {layouts!r}", of_outputs(layouts), good) for layouts, good in OUTPUTS)]

dist.init_process_group("fake", rank=0, world_size=1, store=FakeStore())
mesh = init_device_mesh("cpu", (1,))
torch.manual_seed(0)
x = torch.randn(8, 4)
expected = Outer()(x)
model = tp.export(Outer(), (x,))
for what, style, good in PLANS:
    try:
        parallelize_module(Outer(), mesh, {"inner": style})(x)
        refused = None
    except (AssertionError, AttributeError, TypeError, ValueError) as error:
        refused = error
    assert good == (refused is None), f"torch on {what}: {refused}"
    try:
        with tp.compile(model, plan={"inner": style}, mesh={"tp": 2}) as program:
            torch.testing.assert_close(program(x), expected)
        assert good, f"tp takes {what}"
        print(f"{what}: equal")
    except tp.CompileError as error:
        assert not good, f"tp refuses {what}: {error}"
        print(f"{what}: {str(error).splitlines()[0]}")

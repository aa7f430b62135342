"""What a forward pass changes in place, and under which mode each module runs: a step computes what
PyTorch computes.

Every module is trained for three steps on 1 and 2 ranks. Losses, parameters and buffers may be as
far from what PyTorch computes in f64 as f32 rounds.
"""
from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

import tp

SGD = partial(torch.optim.SGD, lr=0.3)
ADAM = partial(torch.optim.AdamW, lr=0.1)


class Pair(nn.Module):
    """Two layers, and between them what `change` makes of the module and the value."""

    def __init__(self, change: Callable[[Any, torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.first, self.second, self.change = nn.Linear(6, 4), nn.Linear(4, 6), change
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Both layers."""
        return self.second(self.change(self, self.first(x)))


def follow(module: Any, z: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        module.mean.mul_(0.9).add_(z.mean(0), alpha=0.1)
    return z


def follow_rows(module: Any, z: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        module.mean[1:3] = z.mean(0)[1:3]
        module.mean.view(2, 2)[0] += z.amax()
    return z + (z.round() - z).detach() + module.mean


def follow_with_gradient(module: Any, z: torch.Tensor) -> torch.Tensor:
    module.mean.mul_(0.9).add_(z.mean(0), alpha=0.1)
    return z


def read(module: Any, z: torch.Tensor) -> torch.Tensor:
    module.mean.mul_(0.9).add_(z.mean(0), alpha=0.5)
    return z * module.mean


def infinite(module: Any, z: torch.Tensor) -> torch.Tensor:
    module.mean.copy_(z.relu().sqrt().mean(0))
    return z


def assign(module: Any, z: torch.Tensor) -> torch.Tensor:
    module.mean = module.mean * 0.9 + z.detach().mean(0) * 0.1
    return z + module.mean


def change_value(module: Any, z: torch.Tensor) -> torch.Tensor:
    z = z + 1
    with torch.no_grad():
        z.mul_(2).clamp_(-1, 1)
    return z + 1


def gradients_inside(module: Any, z: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = z * 2
        with torch.enable_grad():
            z = z * z
        y = y + z
    return z + y


class Clamped(nn.Module):
    """A layer that keeps its weight in bounds when it runs, and one that no optimizer has."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)
        self.second.weight.requires_grad_(False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Both."""
        with torch.no_grad():
            self.first.weight.clamp_(-0.2, 0.2)
            self.second.weight.mul_(0.5)
        return self.second(self.first(x))


class Offset(nn.Module):
    """A layer with an offset that the loss can be the mean of."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.offset = nn.Linear(6, 6), nn.Parameter(torch.zeros(4, 6))
        self.scalar = nn.Parameter(torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The layer with the offset."""
        return self.layer(x) + self.offset + self.scalar


def frozen() -> nn.Module:
    """A module in training of which two parts are not."""
    module = nn.Sequential(nn.Linear(6, 7), nn.BatchNorm1d(7), nn.Dropout(0.5),
                           nn.Sequential(nn.BatchNorm1d(7), nn.Linear(7, 6)))
    module[1].eval()
    module[2].eval()
    module[1].running_mean += 0.3
    return module


def mean(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """A loss whose gradient is the same everywhere."""
    return output.mean() + 0 * target.sum()


def expected(module: nn.Module, loss: Any, optimizer: Any,
             data: list[Any]) -> tuple[list[float], dict[str, torch.Tensor]]:
    """What PyTorch computes in f64."""
    module = copy.deepcopy(module).double()
    rule, losses = optimizer(p for p in module.parameters() if p.requires_grad), []
    for x, target in data:
        rule.zero_grad()
        value = loss(module(x.double()), target.double())
        value.backward()
        rule.step()
        losses.append(value.item())
        for buffer in module.buffers():
            buffer.detach_()
    return losses, dict(module.state_dict())


def compare(name: str, *arguments: Any) -> None:
    try:
        train(*arguments)
        print(f"{name}: equal")
    except Exception as error:  # pylint: disable=broad-except
        print(f"{name}: DIFFERS: {type(error).__name__}: {error}")


def train(module: nn.Module, loss: Any = F.mse_loss, optimizer: Any = SGD) -> None:
    data = [(torch.randn(4, 6), torch.randn(4, 6)) for _ in range(3)]
    modes = [part.training for part in module.modules()]
    losses, state = expected(module, loss, optimizer, data)
    model = tp.export_training(module, loss, optimizer, data[0])
    assert [part.training for part in module.modules()] == modes, "the module's modes changed"
    for ranks in (1, 2):
        with tp.compile(model, plan="auto", mesh=ranks) as step:
            got = [float(step(*batch)) for batch in data]
            for key, value in state.items():
                if key in step.state:
                    torch.testing.assert_close(torch.from_numpy(step.state[key]).double(),
                                               value.double(), atol=2e-6, rtol=2e-5, msg=f"{key}")
                else:
                    assert torch.equal(value, module.state_dict()[key].to(value.dtype)), key
        torch.testing.assert_close(got, losses, atol=2e-6, rtol=2e-5)


def infer() -> None:
    """A buffer that a submodule assigns, without gradients."""
    module = nn.Sequential(Pair(assign))
    x, buffer = torch.randn(4, 6), module[0].mean
    with torch.no_grad(), tp.compile(tp.export(module, (x,))) as program:
        assert module[0].mean is buffer, "the module's buffer changed"
        got = [program(x), program(x)]
        torch.testing.assert_close(got, [module(x), module(x)])


def main() -> None:
    torch.manual_seed(0)
    for change in (follow, follow_rows, follow_with_gradient, read, infinite, assign, change_value,
                   gradients_inside):
        compare(change.__name__, Pair(change))
    compare("clamped", Clamped())
    compare("clamped, Adam", Clamped(), F.mse_loss, ADAM)
    compare("constant gradients", Offset(), mean)
    compare("constant gradients, Adam", Offset(), mean, ADAM)
    compare("frozen", frozen())
    infer()
    print("without gradients: equal")
    module = nn.Sequential(nn.Linear(6, 6), nn.Dropout(), nn.Linear(6, 7))
    module[1].eval()
    try:
        tp.export_training(module, F.mse_loss, SGD, (torch.ones(4, 6), torch.ones(4, 5)))
    except tp.ExportError:
        print("modes after an error:", *(part.training for part in module.modules()))
    try:
        tp.export_training(Clamped().bfloat16(), F.mse_loss, SGD,
                           (torch.ones(4, 6).bfloat16(), torch.ones(4, 6).bfloat16()),
                           master_weights=True)
    except tp.ExportError as error:
        print("clamped with a master:", error)


main()

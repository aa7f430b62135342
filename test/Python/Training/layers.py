"""Gradients of layers that tp takes apart itself: transposed and grouped convolutions, pooling,
weight norm, distances and recurrent layers. Each trains for two steps on 1, 2 and 3 ranks under
`auto`. What is right is what PyTorch computes in f64; tp may be four times as far from it as PyTorch
is in f32.
"""
from __future__ import annotations

import functools
import sys
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

import tp
import plans as _  # sets the path of training
from training import SGD, Case, Reference

Layers = Callable[[torch.Tensor], torch.Tensor]


class Sum(nn.Module):
    """What several layers make of one input, added up in one row each sample."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return sum((layer(x).flatten(1).sin().mean(1) for layer in self.layers),
                   torch.zeros(len(x), dtype=x.dtype))


class Function(nn.Module):
    """A function of a layer's output."""

    def __init__(self, layer: nn.Module, function: Layers) -> None:
        super().__init__()
        self.layer, self.function = layer, function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        value = self.layer(x)
        return self.function(value[0] if isinstance(value, tuple) else value)


def convolutions() -> nn.Module:
    """Of two dimensions: grouped, of one channel a group, strided, dilated, and transposed."""
    return Sum(nn.Conv2d(4, 8, 3, 2, 1, groups=2), nn.Conv2d(4, 8, 3, dilation=2, groups=4),
               nn.ConvTranspose2d(4, 6, 3, 2, 1, output_padding=1, groups=2),
               nn.ConvTranspose2d(4, 4, (2, 3), (3, 2), (1, 0), groups=4, dilation=(2, 1)),
               nn.ConvTranspose2d(4, 3, 2, bias=False),
               nn.utils.parametrizations.weight_norm(nn.Conv2d(4, 3, 2)))


def pooling() -> nn.Module:
    """Largest elements of windows that overlap, leave gaps or pass the end; averages."""
    pools: list[Layers] = [
        functools.partial(F.max_pool2d, kernel_size=3, stride=2, padding=1),
        functools.partial(F.max_pool2d, kernel_size=(2, 3), stride=2, padding=(0, 1),
                          ceil_mode=True),
        functools.partial(F.max_pool2d, kernel_size=2, stride=3, dilation=2),
        functools.partial(F.avg_pool2d, kernel_size=(3, 2), stride=2, padding=1),
        functools.partial(F.avg_pool2d, kernel_size=3, stride=2, padding=1, ceil_mode=True,
                          count_include_pad=False),
        functools.partial(F.adaptive_avg_pool2d, output_size=(3, 4)),
        functools.partial(F.adaptive_avg_pool2d, output_size=1)]
    return Sum(*(Function(nn.Conv2d(4, 5, 1), pool) for pool in pools))


def sequences() -> nn.Module:
    """Recurrent layers, a causal convolution of one channel each, and distances of rows."""
    return Sum(
        Function(nn.LSTM(4, 5, batch_first=True), torch.tanh),
        Function(nn.GRU(4, 3, batch_first=True), torch.tanh),
        nn.Conv1d(7, 7, 2, groups=7), nn.ConvTranspose1d(7, 7, 3, 2, groups=7),
        Function(nn.Linear(4, 5), lambda x: torch.cdist(x, x[:, :3])),
        Function(nn.utils.parametrizations.weight_norm(nn.Linear(4, 5), dim=1),
                 functools.partial(F.max_pool1d, kernel_size=2)))


def main() -> None:
    failed = 0
    for make, shape in ((convolutions, (3, 4, 7, 6)), (pooling, (2, 4, 7, 9)),
                        (sequences, (3, 7, 4))):
        torch.manual_seed(0)
        data = [(torch.randn(shape), torch.randn(shape[0])) for _ in range(2)]
        case = Case(make(), F.mse_loss, SGD, {}, lambda: None)
        model = tp.export_training(case.module, case.loss, case.optimizer, data[0])
        reference = Reference(case, data)
        for ranks in (1, 2, 3):
            with tp.compile(model, plan="auto", mesh=ranks) as step:
                got, found = reference.train(step)
            # The losses and the parameters.
            assert len(got) == 1 + len(list(case.module.parameters())), sorted(got)
            failed += found > 1
            print(f"{make.__name__}, {ranks} ranks: {'equal' if found <= 1 else 'DIFFERS'}")
    sys.exit(failed)


main()

"""Modules that tp.export takes, each with the arguments of a call."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

CASES: dict[str, Callable[[], tuple[nn.Module, tuple[Any, ...], dict[str, Any]]]] = {}


class Of(nn.Module):
    """A module of a function; `parts` and `buffers` are its own."""

    def __init__(self, function: Callable[..., Any], *parts: nn.Module, **buffers: Tensor) -> None:
        super().__init__()
        self.function = function
        for i, part in enumerate(parts):
            setattr(self, f"m{i}", part)
        for name, value in buffers.items():
            self.register_buffer(name, value, persistent=not name.startswith("temporary"))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(self, *args, **kwargs)


class GPT(nn.Module):
    """Tied embeddings, fused projections, causal attention."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(64, 32), nn.Embedding(16, 32)
        self.norm, self.drop = nn.LayerNorm(32), nn.Dropout(0.1)
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)
        self.head = nn.Linear(32, 64, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids: Tensor) -> Tensor:
        x = self.drop(self.tokens(ids) + self.places(torch.arange(ids.shape[1])))
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, 4, 8).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.head(x + self.out(attended.transpose(1, 2).reshape(batch, length, width)))


class Counter(nn.Module):
    """A buffer that every call changes, and one that no file holds."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(4, 8))
        self.register_buffer("scale", torch.full((8,), 2.0), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        self.total.add_(x)
        self.total[1] = 0
        return x * self.scale + self.total


class Remembering(nn.Module):
    """Sets a flag and keeps a tensor in its first call."""

    def __init__(self) -> None:
        super().__init__()
        self.called, self.table = False, None

    def forward(self, x: Tensor) -> Tensor:
        if not self.called:
            self.called, self.table = True, torch.arange(8.0)
            x = x * 2
        return x + self.table


def case(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds what the function returns, module and arguments, under its name."""
    def build() -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
        torch.manual_seed(0)
        module, args, *kwargs = function(torch.randn(4, 8))
        return module, args, dict(*kwargs)
    CASES[function.__name__] = build
    return function


@case
def gpt(x: Tensor) -> Any:
    return GPT().eval(), (torch.randint(0, 64, (2, 8)),)


@case
def changed_buffer(x: Tensor) -> Any:
    return Counter(), (x,)


@case
def changed_input(x: Tensor) -> Any:
    def function(self: nn.Module, x: Tensor, state: Tensor) -> Tensor:
        state.add_(1)
        return x * state
    return Of(function), (x, x + 3)


@case
def attributes(x: Tensor) -> Any:
    return Remembering(), (x,)


@case
def batch_norm(x: Tensor) -> Any:
    return Of(lambda self, x: self.m0(x), nn.BatchNorm1d(8)), (x,)


@case
def trees(x: Tensor) -> Any:
    def function(self: nn.Module, given: dict[str, Any], *, scale: int, flag: bool,
                 nothing: None) -> dict[str, Any]:
        return {"a": given["u"] * scale, "b": (given["v"][0], given["v"][1] + 1) if flag else None,
                "nothing": nothing, "number": 3}
    return (Of(function), ({"u": x, "v": [x + 1, x + 2]},),
            {"scale": 3, "flag": True, "nothing": None})


@case
def parametrized(x: Tensor) -> Any:
    norm = nn.utils.parametrizations
    return Of(lambda self, x: self.m1(self.m0(x)), norm.weight_norm(nn.Linear(8, 8)),
              norm.spectral_norm(nn.Linear(8, 8)).eval()), (x,)


@case
def recurrent(x: Tensor) -> Any:
    return Of(lambda self, x: (self.m0(x), self.m1(x)), nn.LSTM(8, 8, batch_first=True),
              nn.GRU(8, 8)), (x.reshape(2, 2, 8),)


@case
def convolutions(x: Tensor) -> Any:
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
                         nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(8, 4)).eval(), (torch.randn(2, 3, 8, 8),)


@case
def returned_inputs(x: Tensor) -> Any:
    return Of(lambda self, x: (x, x, self.w), w=x[:3].clone()), (x,)


@case
def constants(x: Tensor) -> Any:
    return Of(lambda self, x: (x + torch.tensor([1., 2, 3, 4, 5, 6, 7, 8]) + torch.tensor(3.),
                               x[:, [-2]], x[:, [1, 3, 5]], x[[0, 2]], x[:, [3, 1]])), (x,)


@case
def gelu(x: Tensor) -> Any:
    return Of(lambda self, x: (F.gelu(x), F.gelu(x, approximate="tanh"))), (x,)


@case
def running_sums(x: Tensor) -> Any:
    return Of(lambda self, x, y: (x.cumsum(-1), (x > 0).cumsum(0), x.cumprod(1),
                                  x.logcumsumexp(1), y.cumsum(-1))), (x, torch.randn(2, 1100) / 32)


@case
def ordering(x: Tensor) -> Any:
    special = x.clone()
    special[0, :3] = torch.tensor([torch.nan, torch.inf, -torch.inf])
    def function(self: nn.Module, x: Tensor, i: Tensor) -> Any:
        ordered = (x.topk(2), x.topk(3, dim=0, largest=False), x.topk(7),
                   x.sort(-1, descending=True), x.sort(0))
        return ([(values.nan_to_num(), places) for values, places in ordered], x.argsort(1),
                i.sort(dim=-1, descending=True, stable=True))
    return Of(function), (special, torch.randint(0, 3, (4, 8)))


@case
def places(x: Tensor) -> Any:
    special = x.clone()
    special[0, :3] = torch.tensor([torch.inf, torch.nan, torch.nan])
    special[1, 2:4] = torch.tensor([-torch.inf, torch.inf])
    special[2] = torch.tensor([-0., 0.] * 4)
    def function(self: nn.Module, x: Tensor, i: Tensor) -> Any:
        return ([argument.argmax(dim, keepdim=kept) for argument in (x, i)
                 for dim in (None, 0, -1) for kept in (False, True)],
                x.argmin(-1), x.argmin(), i.argmin(0), [part.nan_to_num() for part in x.max(-1)],
                i.min(0, keepdim=True), x[0, 0].argmax())
    return Of(function), (special, torch.randint(-1, 2, (4, 8)))


@case
def scatters(x: Tensor) -> Any:
    index = torch.tensor([[1, 3, 5, 2], [0, 2, 4, 7], [4, 1, 0, 3], [6, 5, 1, 0]])
    repeated = torch.tensor([[1, 3, 0, 1], [0, 2, 2, 3]])
    return Of(lambda self, x, i, j: (
        x.gather(1, i), x.scatter(1, i, x[:, 4:] * 2), x.scatter(1, i[:, :2], 1.5),
        x.scatter_add(1, i, x[:, :4]), x.scatter_reduce(1, i, x[:, :4], "amax"),
        x.scatter_add(0, j, x[:2, :4]))), (x, index, repeated)


@case
def indexed_writes(x: Tensor) -> Any:
    def function(self: nn.Module, x: Tensor, i: Tensor, place: Tensor) -> Any:
        rows, columns, diagonal, masked, sliced = (x.clone() for _ in range(5))
        rows[i] = x[:2] * 3
        columns[:, i] = 1.
        diagonal[i, i] = torch.tensor([7., 8.])
        masked[x > 0] = 0
        sliced[:, 2] = 4
        sliced[1:3, ::2] = 5.
        return (rows, columns, diagonal, masked, sliced, x.index_copy(1, place, x[:, :1] * 9),
                x.index_copy(0, i, x[:2] * 7), x.index_add(0, torch.tensor([1, 1, 3]), x[:3]),
                x.index_fill(1, i, 5.))
    return Of(function), (x, torch.tensor([3, 1]), torch.tensor([3]))


@case
def complex_numbers(x: Tensor) -> Any:
    def function(self: nn.Module, x: Tensor, z: Tensor) -> Any:
        pairs = torch.view_as_complex(x.reshape(4, 4, 2))
        turned = pairs * torch.polar(torch.ones(4), torch.arange(4.) * 0.3) * 2.0
        return (torch.view_as_real(pairs * self.turns), torch.view_as_real(turned),
                (pairs.conj() * torch.tensor([1., 2, 3, 4]) + 1.0).abs(), z * z,
                torch.view_as_real(pairs.index_add(0, torch.tensor([1, 1]), turned[:2])),
                torch.view_as_real(pairs.scatter(1, torch.tensor([[3, 0]] * 4), turned[:, :2])))
    return Of(function, turns=torch.polar(torch.ones(4), torch.arange(4.))), (
        x, torch.randn(4, 8, dtype=torch.complex64))


@case
def masks(x: Tensor) -> Any:
    return Of(lambda self, x, m: F.scaled_dot_product_attention(x, x, x, attn_mask=m)), (
        torch.randn(2, 4, 8, 16), torch.ones(8, 8, dtype=torch.bool).tril())


@case
def integers(x: Tensor) -> Any:
    return Of(lambda self, a, b, c, d: (a.float() / 255, a + 1, b // 3, b % 5, c, ~d,
                                        torch.where(d, b, 0))), (
        torch.randint(0, 255, (4, 8), dtype=torch.uint8),
        torch.randint(-5, 100, (4, 8), dtype=torch.int32),
        torch.randint(-5, 100, (4, 8), dtype=torch.int8), x > 0)


@case
def half_precision(x: Tensor) -> Any:
    return Of(lambda self, x: (self.m0(x.half()).float(), self.m1(x.double())),
              nn.Linear(8, 8).half(), nn.Linear(8, 8).double()), (x,)


@case
def contexts(x: Tensor) -> Any:
    def function(self: nn.Module, x: Tensor) -> Tensor:
        with torch.no_grad():
            y = self.m0(x)
        with torch.enable_grad(), torch.autocast("cpu", enabled=False):
            return y + self.m0(x)
    return Of(function, nn.Linear(8, 8)), (x,)


@case
def losses(x: Tensor) -> Any:
    return Of(lambda self, x, y: (
        F.cross_entropy(x, y), F.nll_loss(F.log_softmax(x, -1), y, ignore_index=3),
        F.mse_loss(x, x * 2), F.normalize(x), x.norm(), x.std(), x.var(0), torch.cdist(x, x * 2),
        torch.fmod(x, 0.7), torch.searchsorted(torch.tensor([-1., 0., 0.5]), x),
        self.m0(x), self.m1(x[None].transpose(1, 2)), self.m2(x)),
        nn.LayerNorm(8), nn.GroupNorm(2, 8), nn.RMSNorm(8)), (x, torch.tensor([1, 3, 0, 7]))


@case
def moved_elements(x: Tensor) -> Any:
    return Of(lambda self, x: (F.pad(x, (0, 2, 1, -1)), F.pad(x, (-2, 1)), x.roll(3, 1),
                               x.roll((1, -2), (0, 1)), x.roll(5), x.flip(0), x[..., ::2], x.repeat_interleave(2, 0), x.unfold(1, 4, 2))), (x,)

"""Special functions, distances and slopes that torch-mlir has no form for are PyTorch's, also where
they have no finite value. A line per type."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

import tp


class Functions(nn.Module):
    """Of numbers everywhere, and of rows."""

    def forward(self, x: torch.Tensor, rows: torch.Tensor) -> dict[str, torch.Tensor]:
        """By name."""
        found = {"lgamma": torch.lgamma(x), "digamma": torch.digamma(x),
                 "rrelu": F.rrelu(x, 0.25, 0.5, training=False)}
        if x.dtype != torch.float64:
            found |= {"erfc": torch.erfc(x), "erfinv": torch.erfinv(x)}
        if x.dtype in (torch.float32, torch.float64):
            found |= {f"cdist {p}": torch.cdist(rows, rows[:3], p=p) for p in (0.0, 2.5, math.inf)}
            found["pdist"] = F.pdist(rows)
        if x.dtype == torch.float32:
            found |= {"erfcx": torch.special.erfcx(x), "log_ndtr": torch.special.log_ndtr(x)}
        return found


def main() -> None:
    torch.manual_seed(0)
    ends = torch.tensor([0.0, -0.0, 1, -1, 2, 0.5, 1e-30, -1e-30, 1e30, math.inf, -math.inf,
                         math.nan], dtype=torch.float64)
    numbers = torch.cat([torch.linspace(-9, 9, 145, dtype=torch.float64), ends])
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        given, module, wrong = (numbers.to(dtype), torch.randn(5, 4).to(dtype)), Functions(), []
        with tp.compile(tp.export(module, given), mesh={"tp": 2},
                        plan={"argument x": tp.Shard(0), "argument rows": tp.Shard(0)}) as program:
            found = program(*given)
        exact = Functions()(*(value.double() for value in given))
        for (name, right), each in zip(module(*given).items(), found):
            got = torch.as_tensor(each)
            least = torch.finfo(dtype).smallest_normal
            error = torch.finfo(dtype).eps * (2**22 if dtype == torch.float64 else 4)
            near = torch.isclose(got.double(), exact.get(name, right).double(), error, least,
                                 equal_nan=True)
            # What has no place in the type.
            near |= got.isinf() & (got == right)
            if got.dtype != right.dtype or not near.all():
                wrong.append(f"{name} of {given[0][~near][:4]}" if near.shape == given[0].shape
                             else name)
        print(f"{dtype}: {', '.join(wrong) or 'equal'}")


if __name__ == "__main__":
    main()

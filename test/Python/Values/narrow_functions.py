"""Functions whose intermediate results have no place in their type: torch computes those of f16 and
bf16 in f32. A line per type."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

import tp


class Functions(nn.Module):
    """`ones` has more elements than f16 can count, `small` variances that it cannot hold."""

    def forward(self, ones: torch.Tensor, small: torch.Tensor, large: torch.Tensor,
                negative: torch.Tensor, factors: torch.Tensor) -> dict[str, torch.Tensor]:
        return {
            "mean": ones.mean(), "mean of small": (ones * 1e-3).mean(),
            "mean of some": (ones * 100).mean(0), "mean kept": ones.mean((0, 1), keepdim=True),
            "l1": F.l1_loss(ones, ones * 3), "pool": F.adaptive_avg_pool2d(ones[None] * 30, 1),
            "std of small": small.std(-1), "std of large": large.std(-1),
            "std and mean": torch.stack(torch.std_mean(large, -1)),
            "decimals": (large / 60).round(decimals=1), "tens": (large * 9).round(decimals=-1),
            "elu": F.elu(small), "selu": F.selu(small), "sigmoid": negative.sigmoid(),
            "mean as f32": ones.mean(dtype=torch.float32), "product": factors.cumprod(-1),
            "product of f32": torch.cat([factors[:, :1].float().expand(1, 3) * 2.0 ** -30,
                                         factors[:, 3:4].float().expand(1, 12) * 2], 1).cumprod(-1)}


def main() -> None:
    torch.manual_seed(0)
    for dtype in (torch.float16, torch.bfloat16):
        given = (torch.ones(300, 300).to(dtype), (torch.randn(3, 50) * 2e-4).to(dtype),
                 (torch.randn(3, 50) * 600).to(dtype), torch.linspace(-16, -9, 29).to(dtype),
                 torch.tensor([[2.0 ** -10] * 3 + [2.0 ** 15] * 2]).to(dtype))
        module, wrong = Functions(), []
        plan = {"argument ones": tp.Shard(0), "argument small": tp.Shard(1)}
        with tp.compile(tp.export(module, given), mesh={"tp": 2}, plan=plan) as program:
            found = program(*given)
        for (name, right), each in zip(module(*given).items(), found):
            got = torch.as_tensor(each).double()
            # Two roundings of the result.
            far = (got - right.double()).abs() > 2 * torch.finfo(dtype).eps * right.double().abs()
            least = torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
            if (far & ((got - right.double()).abs() > 2 * least)).any() or got.isnan().any():
                wrong.append(name)
        print(f"{dtype}: {', '.join(wrong) or 'equal'}")


if __name__ == "__main__":
    main()

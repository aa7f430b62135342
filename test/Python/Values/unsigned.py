"""Bytes are numbers from 0 to 255: every op on torch.uint8 equals PyTorch's, bit by bit."""
from __future__ import annotations

import sys
import warnings

import numpy as np
import torch
from torch import Tensor, nn

import tp


class Bytes(nn.Module):
    """Numbers on both sides of 127, alone, with numbers and with other types."""

    def forward(self, v: Tensor, w: Tensor) -> list[Tensor]:
        ordered = v.reshape(1, 5).max(1)
        largest = torch.topk(v, 2)
        return [
            v * 3, v + 200, v - 3, 3 - v, -v, ~v, v << 1, v >> 2, v & 15, v.abs(), v.clamp(2, 200),
            v / 2, v / w, v // 3, v % 7, torch.fmod(v, w), torch.div(v, w, rounding_mode="trunc"),
            v > 200, v == 200, v != w, v <= w, torch.where(v > 3, v, 200), v + w, v - w, v * w, v | w,
            torch.maximum(v, w), torch.minimum(v, w), torch.add(v, w, alpha=3), v.sum(), v.prod(),
            v.amax(), v.amin(), v.cumsum(0), v.sort()[0], v.argmax(), v.any(), v.all(), v.float() * 2,
            v.reshape(1, 5) @ w.reshape(5, 1), v + w.to(torch.int8), v * w.to(torch.int32),
            v + w.half(), torch.arange(300)[v.long()], ordered[0], ordered[1], *largest,
            v.index_add(0, torch.tensor([1, 1]), w[:2], alpha=3),
            v.scatter_reduce(0, torch.tensor([1, 1]), w[:2], "amax"), torch.cat([v, w]), v.flip(0),
        ]


def main() -> None:
    warnings.simplefilter("ignore")
    inputs = [torch.tensor(values, dtype=torch.uint8)
              for values in ([0, 1, 100, 200, 255], [3, 250, 1, 200, 7])]
    model = tp.export(Bytes(), tuple(inputs))
    expected = Bytes()(*inputs)
    for mesh, plan in ({"tp": 1}, None), ({"tp": 2}, "auto"):
        results = tp.compile(model, mesh=mesh, plan=plan)(*inputs)
        for number, (result, right) in enumerate(zip(results, expected, strict=True)):
            np.testing.assert_array_equal(result, right, err_msg=f"result {number} on {mesh}")
        print(f"{len(expected)} results of bytes on {mesh}")


if __name__ == "__main__":
    sys.exit(main())

"""Fourier transforms of torch.fft against PyTorch's: odd and even sizes, several dimensions, ways of
scaling, halves, and sizes that are cut or padded. On one rank and on two.
"""
from __future__ import annotations

import torch
from torch import Tensor

import tp


class Transforms(torch.nn.Module):
    """Each result is real, or the two parts of a complex one."""

    def forward(self, x: Tensor, z: Tensor) -> list[Tensor]:
        turned: list[Tensor] = []
        for norm in ("backward", "ortho", "forward"):
            turned += [torch.fft.fft(x, dim=1, norm=norm), torch.fft.fft2(z, norm=norm),
                       torch.fft.ifft(z, dim=0, norm=norm), torch.fft.rfft(x, norm=norm),
                       torch.fft.rfft2(x, norm=norm), torch.fft.ihfft(x, norm=norm),
                       torch.fft.irfft(z, norm=norm), torch.fft.irfft(z, n=7, norm=norm),
                       torch.fft.irfft2(z, norm=norm), torch.fft.hfft(z, norm=norm),
                       torch.fft.fftn(x, norm=norm), torch.fft.fft(x, n=9, norm=norm),
                       torch.fft.rfft(x, n=5, norm=norm)]
        turned += [torch.fft.fftshift(torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2))]
        return [torch.view_as_real(y.resolve_conj()) if y.is_complex() else y for y in turned]


inputs = (torch.randn(3, 6, 8), torch.randn(4, 5, 6, dtype=torch.complex64))
module = Transforms()
expected = module(*inputs)
model = tp.export(module, inputs)
for ranks in (1, 2):
    with tp.compile(model, plan={"argument x": tp.Shard(1)}, mesh=ranks) as program:
        for number, (mine, its) in enumerate(zip(program(*inputs), expected, strict=True)):
            torch.testing.assert_close(mine, its, rtol=1e-4, atol=1e-5,
                                       msg=lambda text, number=number: f"result {number}: {text}")
print(f"{len(expected)} transforms equal")

"""A product with matrices that are looked up in an input, which every rank has a part of."""
import torch
from torch import nn

import tp


class Product(nn.Module):
    """x[n] times the matrix t[i[n]]."""

    def forward(self, x: torch.Tensor, i: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        """[6, 9, 24], [6] and [7, 24, 11] to [6, 9, 11]."""
        return torch.bmm(x, t[i])


def main() -> None:
    torch.manual_seed(0)
    values = torch.randn(6, 9, 24), torch.randint(0, 5, (6,)), torch.randn(7, 24, 11)
    model = tp.export(Product(), values)
    for ranks in (1, 2, 3):
        for plan in ("auto", {"argument t": tp.Shard(2)}, {"argument x": tp.Shard(0)}):
            got = tp.compile(model, plan=plan, mesh=ranks)(*values)
            torch.testing.assert_close(got, Product()(*values))
        print(ranks, "equal", flush=True)


if __name__ == "__main__":
    main()

"""Causal attention of fewer queries than keys: the keys that no query sees are in no memory."""
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

import tp


class Attention(nn.Module):
    """Two heads of queries and one of keys."""

    def __init__(self, queries: slice, window: int) -> None:
        super().__init__()
        self.queries, self.window = queries, window
        self.q, self.k = nn.Linear(12, 8), nn.Linear(12, 4)
        self.v, self.o = nn.Linear(12, 4), nn.Linear(8, 12)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[batch, length, 12] to the rows of the queries."""
        q, k, v = (each(x).unflatten(-1, (-1, 4)).transpose(1, 2)
                   for each in (self.q, self.k, self.v))
        places = torch.arange(x.shape[1])
        seen = (places <= places[:, None]) & (places > places[:, None] - self.window)
        y = scaled_dot_product_attention(q[:, :, self.queries], k, v,
                                         attn_mask=seen[self.queries], enable_gqa=True)
        return self.o(y.transpose(1, 2).flatten(2))


def main() -> None:
    plan = {"q": "colwise", "k": "colwise", "v": "colwise", "o": "rowwise"}
    for length, queries, window in ((77, slice(0, 40), 77), (200, slice(0, 100), 200),
                                    (200, slice(150, 200), 40), (200, slice(90, 110), 9)):
        torch.manual_seed(0)
        module, x = Attention(queries, window), torch.randn(2, length, 12)
        model = tp.export(module, (x,))
        for ranks in (1, 2):
            got = tp.compile(model, plan=plan, mesh=ranks)(x)
            torch.testing.assert_close(got, module(x))
            print(length, window, ranks, "equal", flush=True)


if __name__ == "__main__":
    main()

"""The k largest of logits whose vocabulary is sharded, against PyTorch: ties, infinities and NaN,
any k, vocabularies that ranks cannot share evenly. Ranks send the best of their parts, so that what
is sent does not depend on the size of the vocabulary.
"""
from __future__ import annotations

import warnings

import torch
from torch import nn

import tp

ROWS = 2


class Head(nn.Module):
    """Integers as logits: their sums are exact, and many are equal."""

    def __init__(self, vocabulary: int, k: int, largest: bool, dtype: torch.dtype) -> None:
        super().__init__()
        self.k, self.largest, self.dtype = k, largest, dtype
        self.head = nn.Linear(8, vocabulary)
        with torch.no_grad():
            self.head.weight.copy_(torch.randint(-2, 3, self.head.weight.shape))
            self.head.bias.copy_(torch.randint(-1, 2, self.head.bias.shape))
            if dtype.is_floating_point:
                places = torch.randperm(vocabulary)[:9].reshape(3, 3)
                for row, value in zip(places, (float("nan"), float("inf"), -float("inf"))):
                    self.head.bias[row] = value

    def logits(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(x).to(self.dtype)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        values, places = torch.topk(self.logits(x), self.k, -1, self.largest)
        return values, places


def check(vocabulary: int, k: int, largest: bool, numbers: tuple[int, ...],
          dtype: torch.dtype = torch.float32) -> list[int]:
    """The bytes that each number of ranks sends."""
    module = Head(vocabulary, k, largest, dtype)
    x = torch.randint(-2, 3, (ROWS, 8)).float()
    model = tp.export(module, (x,))
    with torch.no_grad():
        logits = module.logits(x)
        values = torch.topk(logits, k, -1, largest)[0]
    # PyTorch's places of equal elements are any; tp's are the first ones.
    first = torch.sort(logits, dim=-1, descending=largest, stable=True)[1][:, :k]
    sent = []
    for ranks in numbers:
        with tp.compile(model, plan={"head": "colwise"}, mesh={"tp": ranks}) as program:
            found, places = program(x)
            torch.testing.assert_close(found, values, rtol=0, atol=0, equal_nan=True)
            assert torch.equal(places, first), (vocabulary, k, ranks)
            held = program.layouts["head.weight"]
            assert ranks == 1 or "shard<0" in str(held), held
            sent.append(sum(row.payload_bytes for row in program.collectives))
    return sent


def main() -> None:
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    # 1387 is 19 times 73: of 2 to 4 ranks some have a block more. 1021 is a prime number.
    for vocabulary, k, largest, numbers in (
            (1387, 1, True, (2, 3, 4)), (1387, 1, False, (1, 3)), (1021, 3, True, (1, 2, 4)),
            (1536, 16, False, (2, 3)), (1100, 1100, True, (1, 4)), (1387, 9, True, (3,)),
            (1387, 9, False, (2,))):
        check(vocabulary, k, largest, numbers)
    check(1387, 5, False, (4,), torch.int32)
    print("equal to PyTorch's")
    for k, vocabularies in ((1, (12_288, 24_576)), (4, (12_288, 24_576)), (40, (49_152,))):
        sums = [check(vocabulary, k, True, (2, 3, 4)) for vocabulary in vocabularies]
        assert all(sent == sums[0] for sent in sums), sums
        print(f"{k} of many: 2, 3 and 4 ranks send {sums[0]} bytes")


if __name__ == "__main__":
    main()

"""The most probable token of logits whose vocabulary is sharded: each rank finds the best of its
part. What is sent does not depend on the size of the vocabulary.
"""
from __future__ import annotations

import torch
from torch import nn

import tp

RANKS = (2, 3)
VOCABULARIES = (50_001, 100_000)


class Head(nn.Module):
    """Returns the place of the largest logit of every row, and the smallest with its place."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.head = nn.Linear(16, vocabulary, bias=False)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        logits = self.head(x)
        least, place = logits.min(-1)
        return logits.argmax(-1), least, place


def main() -> None:
    torch.manual_seed(0)
    # One row has to be reduced over the ranks: it has no other dimension to shard.
    x = torch.randn(1, 16)
    sent: dict[int, set[int]] = {ranks: set() for ranks in RANKS}
    for vocabulary in VOCABULARIES:
        module = Head(vocabulary)
        model = tp.export(module, (x,))
        with torch.no_grad():
            expected = module(x)
        for ranks in RANKS:
            with tp.compile(model, plan={"head": "colwise"}, mesh={"tp": ranks}) as program:
                found = program(x)
                for mine, its in zip(found, expected):
                    torch.testing.assert_close(mine, its)
                sent[ranks].add(sum(row.payload_bytes for row in program.collectives))
    for ranks, sums in sent.items():
        assert len(sums) == 1, f"{ranks} ranks send {sums} bytes"
        print(f"{ranks} ranks send {sums.pop()} bytes")


if __name__ == "__main__":
    main()

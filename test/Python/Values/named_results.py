"""Several results are a named tuple, with the names of a dict as fields; a loaded program's too."""
from __future__ import annotations

import copy
import pickle
import sys
from typing import Any, NamedTuple

import torch

import tp


class Heads(torch.nn.Module):
    """A dict, with a tuple in it, whose order is not that of the alphabet."""

    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(4, 6)

    def forward(self, x: torch.Tensor) -> dict[str, Any]:
        y = self.up(x)
        return {"mean": y.mean(), "logits": y, "states": (x + 1, y + 2), "count": y.sum() * 0 + 3}


class Pair(Heads):
    """A tuple."""

    def forward(self, x: torch.Tensor) -> Any:
        return x + 1, self.up(x)


class Fields(NamedTuple):
    """What Named returns."""
    low: torch.Tensor
    high: torch.Tensor


class Named(Heads):
    """A named tuple."""

    def forward(self, x: torch.Tensor) -> Any:
        y = self.up(x)
        return Fields(y - 1, y + 1)


class Single(Heads):
    """A dict of one tensor."""

    def forward(self, x: torch.Tensor) -> Any:
        return {"logits": self.up(x)}


module, x = Heads().eval(), torch.randn(2, 4)
with tp.compile(tp.export(module, (x,)), plan="auto", mesh=2) as program:
    names = program.result_names
    made = program(x)
    program.save(sys.argv[1])
with tp.load(sys.argv[1], weights=module.state_dict()) as loaded:
    again = loaded(x)
right = module(x)
for results in made, again, pickle.loads(pickle.dumps(made)), copy.deepcopy(made):
    torch.testing.assert_close(results.logits, right["logits"])
    torch.testing.assert_close(results.mean, right["mean"])
    assert results.count == 3 and results[4] is results.count
    mean, logits, first, _, _ = results
    assert mean is results.mean and logits is results.logits
    torch.testing.assert_close(first, x + 1)
leaves, tree = torch.utils._pytree.tree_flatten(made)
assert len(leaves) == 5 and torch.utils._pytree.tree_unflatten(leaves, tree).mean == made.mean
print(type(made).__name__, made._fields, "of", names)

for each in Pair(), Named(), Single():
    with tp.compile(tp.export(each.eval(), (x,))) as program:
        print(type(each).__name__, program.result_names, type(program(x)).__name__)

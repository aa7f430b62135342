"""Trains modules whose code uses torch.utils.checkpoint: for each way in which a function can be
what it runs, numbers equal to PyTorch's, the modules that the model file names, the arena against
that of the same module without checkpoints, and what a warning says. Then a Llama of transformers
with gradient checkpointing, a plan's entry for a module around checkpoints, and a forward pass.
"""
from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable
from typing import Any

import torch
import transformers
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

import tp

KEPT = functools.partial(checkpoint, use_reentrant=False)
REENTRANT = functools.partial(checkpoint, use_reentrant=True)
MEGATRON = {"layers.*.up": "colwise", "layers.*.down": "rowwise"}
Use = Callable[["Block", torch.Tensor], torch.Tensor]


class Block(nn.Module):
    """A feed-forward block. `use` computes its branch."""

    def __init__(self, use: Use) -> None:
        super().__init__()
        self.up, self.down, self.use = nn.Linear(16, 64), nn.Linear(64, 16), use

    def branch(self, x: torch.Tensor) -> torch.Tensor:
        """[rows, 16] to the same."""
        result: torch.Tensor = self.down(self.act(x))
        return result

    def act(self, x: torch.Tensor) -> torch.Tensor:
        """[rows, 16] to [rows, 64]."""
        return F.gelu(self.up(x))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[rows, 16] to the same."""
        return x + self.use(self, x)


class Stack(nn.Module):
    """Four blocks and a head. `call` calls a block."""

    def __init__(self, call: Callable[[Block, torch.Tensor], torch.Tensor] = lambda b, x: b(x),
                 use: Use = Block.branch) -> None:
        super().__init__()
        self.embed = nn.Linear(8, 16)
        self.layers = nn.ModuleList(Block(use) for _ in range(4))
        self.head, self.call = nn.Linear(16, 8), call

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[rows, 8] to the same."""
        x = self.embed(x)
        for layer in self.layers:
            x = self.call(layer, x)
        result: torch.Tensor = self.head(x)
        return result


class Cut(Stack):
    """A stack whose first checkpoint has no argument that requires a gradient."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[rows, 8] to the same."""
        result: torch.Tensor = self.head(REENTRANT(self.embed, x))
        return result


class Segments(Stack):
    """A stack in two segments."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[rows, 8] to the same."""
        result: torch.Tensor = self.head(
            checkpoint_sequential(list(self.layers), 2, self.embed(x), use_reentrant=False))
        return result


def export(module: nn.Module, batch: Any, loss: Any = F.mse_loss) -> tuple[tp.Model, list[str]]:
    """The training step, and what is warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = tp.export_training(module, loss, torch.optim.SGD(module.parameters(), lr=0.05),
                                   batch)
    return model, [str(one.message) for one in caught if one.category is tp.ExportWarning]


def named(model: tp.Model) -> list[str]:
    """The modules that the model file says are computed again."""
    found = re.search(r"tp.recompute = \[(.*?)\]", model.mlir)
    return re.findall(r'"([^"]*)"', found[1]) if found else []


def train(module: nn.Module, model: tp.Model, plan: Any, batch: Any, loss: Any = F.mse_loss) -> int:
    """Three steps on two ranks beside PyTorch's; the arena's bytes."""
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    inputs, target = batch
    with tp.compile(model, plan=plan, mesh={"tp": 2}) as step:
        for _ in range(3):
            found = step(*inputs, target)
            optimizer.zero_grad()
            expected = loss(module(*inputs), target)
            expected.backward()
            optimizer.step()
            torch.testing.assert_close(found, expected.detach(), atol=1e-6, rtol=1e-5)
        for name, parameter in module.named_parameters():
            if parameter.grad is None:
                continue
            torch.testing.assert_close(torch.from_numpy(step.state[name]), parameter.detach(), atol=1e-6, rtol=1e-5)
        return int(step.memory["arena"])


def check_ways() -> None:
    """Each way to call checkpoint."""
    ways = {
        "no checkpoint": Stack(),
        "a module": Stack(KEPT),
        "reentrant": Stack(REENTRANT),
        "a call": Stack(lambda b, x: REENTRANT(functools.partial(b.__call__), x)),
        "a closure": Stack(lambda b, x: KEPT(lambda *args: b(*args), x)),
        "inside of another": Stack(KEPT, lambda b, x: KEPT(b.branch, x)),
        "a method": Stack(use=lambda b, x: KEPT(b.branch, x)),
        "segments": Segments(),
        "a part": Stack(use=lambda b, x: b.down(REENTRANT(b.act, x))),
        "more than a module": Stack(lambda b, x: KEPT(lambda y: b(y).tanh(), x)),
        "no gradient": Cut(),
    }
    kept = 0
    for name, module in ways.items():
        torch.manual_seed(0)
        for parameter in module.parameters():
            nn.init.normal_(parameter, std=0.2)
        batch = (torch.randn(32, 8),), torch.randn(32, 8)
        model, warned = export(module, batch)
        arena = train(module, model, MEGATRON, batch)
        kept = kept or arena
        print(f"{name}: equal; {named(model)}; {'smaller' if 2 * arena < kept else 'not smaller'}")
        for text in warned:
            print(f"  {text}")


def check_plan() -> None:
    """A plan's entry for what holds the model's checkpoints takes their place."""
    torch.manual_seed(0)
    module, batch = Stack(KEPT), ((torch.randn(32, 8),), torch.randn(32, 8))
    model, _ = export(module, batch)
    plan = {**MEGATRON, "": tp.Recompute()}
    plain = train(module, model, MEGATRON, batch)
    whole = train(module, export(module, batch)[0], plan, batch)
    print(f"an entry of the plan: equal; {'larger' if whole > plain else 'not larger'}")


def check_transformers() -> None:
    """Gradient checkpointing of transformers, both kinds."""
    config = transformers.LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=48,
                                      num_hidden_layers=3, num_attention_heads=4,
                                      num_key_value_heads=2, max_position_embeddings=32)
    tokens = torch.randint(64, (2, 16))

    def loss(output: Any, target: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(output.logits.flatten(0, 1), target.flatten())
    for reentrant in False, True:
        torch.manual_seed(0)
        module = transformers.LlamaForCausalLM(config).train()
        module.gradient_checkpointing_enable({"use_reentrant": reentrant})
        model, warned = export(module, ((tokens,), tokens), loss)
        train(module, model, "hf", ((tokens,), tokens), loss)
        print(f"transformers, use_reentrant={reentrant}: equal; {named(model)}{warned}")


def check_forward() -> None:
    """A forward pass has no recomputation."""
    module, x = Stack(REENTRANT).eval(), torch.randn(32, 8)
    model = tp.export(module, (x,))
    with tp.compile(model, plan=MEGATRON, mesh={"tp": 2}) as program:
        torch.testing.assert_close(program(x), module(x).detach(), atol=1e-5, rtol=1e-5)
    print(f"forward: equal; {named(model)}")


def main() -> None:
    check_ways()
    check_plan()
    check_transformers()
    check_forward()


if __name__ == "__main__":
    main()

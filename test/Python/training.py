"""Trains small models by tp and by PyTorch, and compares losses and parameters.

    training.py           the models of continuous integration
    training.py --all     all models
    training.py gpt vit   these
    training.py --all --page=docs/families.md   writes the page's table

Each trains three steps on 1, 2 and 4 ranks, under Megatron's plan, `sequence` with norms on shards
of the sequence. What is right is what PyTorch computes in f64. tp may be four times as far from it
as PyTorch is in f32. Prints a row each, and fails where a model is farther.
"""
from __future__ import annotations

import argparse
import copy
import functools
import os
import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils import _pytree as pytree

import tp
from families import replace_table
from family_models import FAMILIES, build

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs",
                    "from-pytorch.md")

STEPS = 3


@dataclass
class Case:
    """A model, its loss and optimizer, a plan, and a function that makes a batch."""
    module: nn.Module
    loss: Callable[..., torch.Tensor]
    optimizer: Callable[..., torch.optim.Optimizer]
    plan: dict[str, Any]
    batch: Callable[[], tuple[Any, torch.Tensor]]


def language_loss(output: Any, target: torch.Tensor) -> torch.Tensor:
    """Cross entropy of logits; a label of -100 counts for nothing."""
    logits = output if isinstance(output, torch.Tensor) else output.logits
    return nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())


def feature_loss(output: Any, target: torch.Tensor) -> torch.Tensor:
    """The mean square of the distance between features."""
    return nn.functional.mse_loss(output.last_hidden_state, target)


SGD = functools.partial(torch.optim.SGD, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01)
ADAM = functools.partial(torch.optim.Adam, lr=1e-2, eps=1e-4, amsgrad=True)
ADAMW = functools.partial(torch.optim.AdamW, lr=1e-2, eps=1e-4)


def gpt() -> Case:
    """The module of docs/from-pytorch.md, which is no transformers model."""
    with open(PAGE, encoding="utf-8") as file:
        page = re.search(r"```python\n(import torch\n.*?)```", file.read(), re.DOTALL)
    assert page is not None
    names: dict[str, Any] = {}
    exec(page.group(1), names)  # pylint: disable=exec-used
    plan = {"layers.*.q": "colwise", "layers.*.k": "colwise", "layers.*.v": "colwise",
            "layers.*.o": "rowwise", "layers.*.up": "colwise", "layers.*.down": "rowwise"}

    def batch() -> tuple[Any, torch.Tensor]:
        tokens = torch.randint(256, (2, 17))
        return tokens[:, :-1], tokens[:, 1:]
    return Case(names["GPT"](), language_loss, ADAMW, plan, batch)


def sequence() -> Case:
    """The same module with its norms on shards of the sequence."""
    of_rows = tp.ColwiseParallel(input_layouts=tp.Shard(1))
    to_rows = tp.RowwiseParallel(output_layouts=tp.Shard(1))
    plan = {"layers.*.norm1": tp.SequenceParallel(), "layers.*.norm2": tp.SequenceParallel(),
            "layers.*.q": of_rows, "layers.*.k": of_rows, "layers.*.v": of_rows,
            "layers.*.o": to_rows, "layers.*.up": of_rows, "layers.*.down": to_rows,
            "norm": tp.SequenceParallel()}
    return replace(gpt(), plan=plan)


class Places(nn.Module):
    """Reads and writes at constant places, evenly spaced and not."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(16, 24), nn.Linear(24, 16)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        h = self.up(tokens)
        h = h + h[:, [4 * (i % 6) for i in range(24)]] * h[:, [-1]]
        h = torch.cat([h[:, [0, 2, 5]], h[:, list(range(3, 24))]], 1)
        written = h.clone()
        written[:, [1, 9, 17]] = h[:, [5, 8, 11]] ** 2
        y: torch.Tensor = self.down(written)
        return y


def places() -> Case:
    """Constant indices, whose gradients are written to these places."""
    plan = {"up": "colwise", "down": "rowwise"}

    def batch() -> tuple[Any, torch.Tensor]:
        return torch.randn(8, 16), torch.randn(8, 16)
    return Case(Places(), nn.functional.mse_loss, ADAM, plan, batch)


def family(name: str, optimizer: Callable[..., torch.optim.Optimizer],
           is_deeper: bool = False) -> Case:
    """A model of transformers, without its dropout."""
    module, inputs = build(name, is_deeper)
    is_language = module.get_output_embeddings() is not None

    def batch() -> tuple[Any, torch.Tensor]:
        if is_language:
            given = {key: torch.randint(3, 256, value.shape) for key, value in inputs.items()}
            target = torch.randint(256, [*given.values()][-1].shape)
            target[1, -6:] = -100
            return given, target
        given = {key: torch.randn_like(value) if value.is_floating_point() else value
                 for key, value in inputs.items()}
        with torch.no_grad():
            shape = module(**given).last_hidden_state.shape
        return given, torch.randn(shape)
    names = [path for path, _ in module.named_modules()]
    plan = {path: style for path in names for pattern, style in FAMILIES[name].megatron.items()
            if fnmatchcase(path, pattern)}
    return Case(module, language_loss if is_language else feature_loss, optimizer, plan, batch)


CASES: dict[str, Callable[[], Case]] = {
    "gpt": gpt,
    "places": places,
    "sequence": sequence,
    "llama": lambda: family("llama", SGD),
    "gpt2": lambda: family("gpt2", ADAMW),
    "bert": lambda: family("bert", ADAM),
    "qwen3": lambda: family("qwen3", ADAMW),
    "vit": lambda: family("vit", SGD),
    "phi": lambda: family("phi", ADAM),
    "falcon": lambda: family("falcon", ADAM),
}
TITLE = "| model | optimizer | three steps on ranks | collectives of a step |"
CI = ["gpt", "sequence", "llama", "falcon", "places"]


def torch_results(case: Case, batches: list[Any], dtype: torch.dtype) -> dict[str, np.ndarray]:
    """Losses, and parameters by all their names and buffers after the steps, in PyTorch."""
    module = copy.deepcopy(case.module).to(dtype)
    if dtype == torch.float64 and hasattr(module, "set_experts_implementation"):
        module.set_experts_implementation("eager")  # grouped products know no f64
    optimizer = case.optimizer(module.parameters())
    losses = []
    for batch in batches:
        inputs, target = pytree.tree_map(
            lambda value: value.to(dtype) if value.is_floating_point() else value, batch)
        optimizer.zero_grad()
        loss = case.loss(module(**inputs) if isinstance(inputs, dict) else module(inputs), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    named = [*module.named_parameters(remove_duplicate=False), *module.named_buffers()]
    return {"": np.array(losses), **{name: value.detach().numpy() for name, value in named}}


def distance(got: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> float:
    """The largest difference, in units of 1e-6 and a 100,000th of the value."""
    return max(float(np.max(np.abs(got[name] - right[name]) / (1e-6 + 1e-5 * np.abs(right[name]))))
               for name in got)


class Reference:
    """What PyTorch computes of batches in f64. tp may be four times as far from it as PyTorch is in
    f32."""

    def __init__(self, case: Case, batches: list[Any]) -> None:
        self.batches = batches
        self.right = torch_results(case, batches, torch.float64)
        self.allowed = max(1.0, 4 * distance(torch_results(case, batches, torch.float32),
                                             self.right))

    def train(self, step: tp.Program) -> tuple[dict[str, np.ndarray], float]:
        """Losses, parameters and buffers after the steps in tp, and their distance: at most 1 is
        equal."""
        losses = []
        for inputs, target in self.batches:
            if isinstance(inputs, dict):
                losses.append(float(step(**inputs, target=target)))
            else:
                losses.append(float(step(inputs, target)))
        got = {"": np.array(losses), **{key: step.state[key] for key in step.state
                                        if key in self.right}}
        return got, distance(got, self.right) / self.allowed


def main_of_plans(names: list[str], check_forward: Callable[[str], int],
                  check_training: Callable[[str], int]) -> None:
    """Checks the models that the command line names, else these; "train NAME" is a training
    step."""
    names = sys.argv[1:] or names
    failed = sum(check_training(name.removeprefix("train ")) if name.startswith("train ")
                 else check_forward(name) for name in names)
    print(f"{len(names)} models: {failed} runs differ")
    sys.exit(failed > 0)


def check(name: str) -> tuple[int, str]:
    """Prints the model's rows; the number of those that differ, and the row of the page."""
    torch.manual_seed(0)
    case = CASES[name]()
    batches = [case.batch() for _ in range(STEPS)]
    model = tp.export_training(case.module, case.loss, case.optimizer, batches[0])
    reference = Reference(case, batches)
    failed = 0
    outcomes: dict[str, list[str]] = {}
    for ranks in (1, 2, 4):
        with tp.compile(model, plan=case.plan, mesh={"tp": ranks}) as step:
            got, found = reference.train(step)
            missing = [key for key, value in case.module.named_parameters()
                       if key not in got and value.requires_grad and is_used(model, key)]
            assert not missing, missing
            failed += found > 1
            outcome = "equal" if found <= 1 else "DIFFERS"
            outcomes.setdefault(outcome, []).append(str(ranks))
            print(f"| {name} | {ranks} | {outcome} | "
                  f"{len(step.collectives)} collectives | {found:.2f} of what is allowed "
                  "|", flush=True)
            counts = kinds_of(step)
    of = getattr(case.optimizer, "func", case.optimizer)
    shown = "; ".join(f"{what} on {', '.join(ranks)}" for what, ranks in outcomes.items())
    return failed, f"| {name} | {of.__name__} | {shown} | {counts} |"


def kinds_of(step: tp.Program) -> str:
    """How often each collective runs in a step, those of at most 64 bytes left out."""
    counts: Counter[str] = Counter()
    for row in step.collectives:
        counts[row.kind] += row.count * (row.payload_bytes > 64)
    return ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items()) if count)


def is_used(model: tp.Model, name: str) -> bool:
    """Whether the step changes the parameter."""
    return any(port.name == name and port.kind == "new_parameter" for port in model.results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--page", metavar="FILE", help="write the table of docs/families.md")
    options = parser.parse_args()
    names = options.names or (list(CASES) if options.all else CI)
    results = [check(name) for name in names]
    failed = sum(count for count, _ in results)
    if options.page:
        replace_table(options.page, TITLE, [row for _, row in results])
    print(f"{len(names)} models, {STEPS} steps each: {failed} runs differ")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

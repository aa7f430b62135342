"""Exports every module of export_cases.py, compiles it under `auto` for 2 ranks, and compares with
what PyTorch returns and leaves in buffers and inputs.

    export_modules.py FOLDER [CASE...]
"""
from __future__ import annotations

import copy
import sys
from typing import Any

import torch
from torch.utils import _pytree as pytree

import tp
from exported import Exported
from export_cases import CASES

TOLERANCE = {"half_precision": 1e-2}


def parts(tensor: torch.Tensor) -> torch.Tensor:
    """A complex tensor as its parts, as ports have it."""
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def check(name: str, folder: str) -> str:
    """`equal`, or what is wrong."""
    module, args, kwargs = CASES[name]()
    reference = copy.deepcopy(module)
    before = {key: value.clone() for key, value in module.state_dict().items()}
    attributes = dict(vars(module))
    model = tp.export(module, args, kwargs)
    if vars(module) != attributes or any(not torch.equal(before[key], value) for key, value in module.state_dict().items()):
        return "FAILED: the export changed the module"
    inputs = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    given = [parts(leaf).clone() for leaf in inputs]
    with torch.no_grad():
        returned = reference(*args, **kwargs)
    values = [parts(leaf) for leaf in pytree.tree_leaves(returned)
              if isinstance(leaf, torch.Tensor)]
    now: dict[str, Any] = {**dict(reference.named_buffers()),
                           **{port.name: value for port, value in zip(model.inputs, inputs)}}
    values += [parts(now[port.name]) for port in model.results if port.updates]
    outcome, _ = Exported(f"{folder}/{name}", model, given, values).run(
        "auto", 2, TOLERANCE.get(name, 1e-5))
    return outcome


def main() -> int:
    folder, *names = sys.argv[1:]
    failed = 0
    for name in names or CASES:
        outcome = check(name, folder)
        failed += outcome != "equal"
        print(f"{name}: {outcome}", flush=True)
    print(f"{len(names or CASES)} modules, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Compares tp with torch.distributed: the plans of cases.py on small modules, PyTorch's
parallelize_module on processes that talk through gloo beside tp.compile with the same plan.

    conformance.py                        every case, on 4 ranks
    conformance.py NAME ...               those whose names contain one of these
    conformance.py --page=FILE            also writes the page docs/conformance.md
    conformance.py --ranks=2 --jobs=2     on 2 ranks, with 2 compilations at a time

Fails where tp's numbers are not those of the module without a plan, where tp makes more collectives
than PyTorch or sends more bytes that fewer collectives do not make up for, forward or in a training
step, where a parameter has another layout, and where what cases.py says of PyTorch does not hold.
It needs torch, torch-mlir and tp.
"""
from __future__ import annotations

import argparse
import copy
import functools
import os
import pickle
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import torch
from torch.distributed.tensor import Replicate, Shard
from outcome import Outcome, Sent
from page import page

import tp
from cases import CASES, Case
from tp.plans import one_style

Outcomes = dict[str, "Outcome | str"]


def with_ports(case: Case, is_training: bool) -> dict[str, Any]:
    """The plan, and entries for what lies in parts outside."""
    plan = dict(one_style(case.plan))
    for name, layout in case.ports.items():
        plan[f"argument {name}"] = layout
    if case.loss is None:
        plan["argument target" if is_training else "result 0"] = case.result or Replicate()
    return plan


def axes_of(case: Case, ranks: int) -> dict[str, int]:
    """The mesh of a case."""
    return {"dp": case.data, "tp": ranks // case.data} if case.data > 1 else {"tp": ranks}


def plan_of(case: Case, is_training: bool) -> dict[str, Any]:
    """The plan of each axis."""
    plans = {"tp": with_ports(case, is_training)}
    if case.data > 1:
        ports = [f"argument {name}" for name in case.inputs]
        ports.append("argument target" if is_training else "result 0")
        plans["dp"] = dict.fromkeys(ports, Shard(0))
    return plans


def dot(result: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """A loss whose gradient is the target."""
    return (result * target).sum()


def sent_by(program: tp.Program) -> Sent:
    """What a program sends."""
    sent = Sent()
    for row in program.collectives:
        for _ in range(row.count):
            sent.add(row.kind, row.wire_bytes, row.ranks)
    return sent


def unsharded(case: Case) -> Outcome:
    """What is right."""
    outcome = Outcome(result=case.module(**case.inputs).detach())
    if case.trains:
        module = copy.deepcopy(case.module)
        loss = (case.loss or dot)(module(**case.inputs), case.target)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.optim.SGD(module.parameters(), lr=1.0).step()
        outcome.loss = loss.item()
        outcome.parameters = {name: value.detach() for name, value in module.named_parameters()}
    return outcome


def of_tp(name: str, ranks: int) -> Outcome | str:
    """What tp makes of a case."""
    case, outcome = CASES[name], Outcome()
    try:
        inputs = tuple(case.inputs.values())
        if case.loss is None:
            model = tp.export(case.module, inputs)
            with tp.compile(model, plan=plan_of(case, False),
                            mesh=axes_of(case, ranks)) as program:
                outcome.result = torch.as_tensor(program(*inputs))
                outcome.forward = sent_by(program)
                outcome.layouts = dict(program.layouts)
        if case.trains:
            make = functools.partial(torch.optim.SGD, lr=1.0)
            step = tp.export_training(case.module, case.loss or dot, make, (inputs, case.target))
            with tp.compile(step, plan=plan_of(case, True), mesh=axes_of(case, ranks)) as program:
                outcome.loss = float(program(*inputs, case.target))
                outcome.training = sent_by(program)
                outcome.layouts = dict(program.layouts)
                outcome.parameters = {name: torch.as_tensor(program.state[name])
                                      for name, _ in case.module.named_parameters()}
    except tp.CompileError as error:
        return str(error)
    return outcome


def differs(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two values are not the same but for rounding."""
    return one.shape != other.shape or not torch.allclose(one, other, rtol=1e-4, atol=1e-4)


def wrong_values(case: Case, outcome: Outcome | str, right: Outcome) -> str:
    """What of an outcome is not right, or its error."""
    if isinstance(outcome, str):
        return outcome
    if outcome.result is not None and differs(outcome.result, right.result):
        return f"the result is not the module's, of shape {list(outcome.result.shape)}"
    if case.loss is not None and abs(outcome.loss - right.loss) > 1e-4 * max(1, abs(right.loss)):
        return f"the loss is {outcome.loss}, not {right.loss}"
    for name, value in outcome.parameters.items():
        if differs(value, right.parameters[name]):
            return f"the gradient of '{name}' is wrong"
    return ""


def layout_of(case: Case, placement: Any) -> str:
    """A placement of torch as tp shows a layout."""
    if type(placement).__name__ != "Shard":
        return "replicate"
    return "dp: replicate, " * (case.data > 1) + f"tp: shard<{placement.dim}>"


def mismatches(case: Case, torchs: Outcome | str, tps: Outcome | str, right: Outcome) -> list[str]:
    """What of a case is not as it should be."""
    found = []
    if text := wrong_values(case, tps, right):
        found.append(f"tp: {text}")
    text = wrong_values(case, torchs, right)
    if bool(text) != bool(case.differs):
        found.append(f"PyTorch: {text or 'right, but cases.py says: ' + case.differs}")
    if isinstance(torchs, str) or isinstance(tps, str):
        return found
    for what, one, other in (("forward", tps.forward, torchs.forward),
                             ("a training step", tps.training, torchs.training)):
        is_more = what == "forward" and one.count > other.count
        if is_more or one.cost > other.cost:
            found.append(f"{what}: tp sends {one}, PyTorch {other}")
    for name, placement in torchs.layouts.items():
        if tps.layouts.get(name) not in (layout_of(case, placement), None):
            found.append(f"'{name}' lies as {tps.layouts[name]}, in PyTorch as {placement}")
    return found


def on_gloo(names: list[str], ranks: int) -> Outcomes:
    """What PyTorch makes of the cases."""
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "outcomes")
        subprocess.run([sys.executable, os.path.join(here, "on_gloo.py"), path, str(ranks), *names],
                       check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
        with open(path, "rb") as file:
            outcomes: Outcomes = pickle.load(file)
            return outcomes


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--page")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    names = [name for name in CASES
             if not options.names or any(part in name for part in options.names)]
    torchs = on_gloo(names, options.ranks)
    rows, count = [], 0
    compile_case = functools.partial(of_tp, ranks=options.ranks)
    with ProcessPoolExecutor(options.jobs) as pool:
        for name, tps in zip(names, pool.map(compile_case, names)):
            case = CASES[name]
            wrong = mismatches(case, torchs[name], tps, unsharded(case))
            count += bool(wrong)
            rows.append((case, torchs[name], tps))
            print(f"{name}: {'; '.join(wrong) or 'conforms'}", flush=True)
    if options.page:
        with open(options.page, "w", encoding="utf-8") as file:
            file.write(page(rows, with_ports))
    print(f"{len(names)} cases on {options.ranks} ranks: {count} do not conform")
    return count > 0


if __name__ == "__main__":
    sys.exit(main())

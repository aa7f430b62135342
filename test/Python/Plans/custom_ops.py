"""Runs the page about ops that tp does not know, then its module on other ranks, and wrong calls.

    custom_ops.py PAGE.md --folder=FOLDER
"""
from __future__ import annotations

import os
import sys
import warnings
from typing import Any

import torch

import tp

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import run_page  # noqa: E402

MODULE_PLAN = {"up": "colwise", "weight": "colwise"}
RULE = tp.Rule("i k, k j -> i j", reduction=["k"])
LIBRARY = "libmy_ops.so"


def equal(names: dict[str, Any]) -> int:
    """The page's program on more ranks, by other plans, as processes, and loaded again."""
    model, module, x = names["model"], names["module"], names["x"]
    op = torch.ops.my.scaled_matmul
    count = 0
    for plan, rule, size, options in [
            (MODULE_PLAN, RULE, 3, {}),
            (MODULE_PLAN, RULE, 2, {"launch": "process", "verify": True}),
            ("auto", RULE, 2, {}),
            ({"up": "colwise"}, "_ _, _ _ -> _ _", 2, {})]:
        with tp.compile(model, plan=plan, mesh={"tp": size}, rules={op: rule}, link=LIBRARY,
                        **options) as program:
            torch.testing.assert_close(program(x), module(x), rtol=1e-4, atol=1e-5)
            program.save("saved.tp")
        count += 1
    with tp.compile(model, link=[LIBRARY]) as program:  # one rank needs no rule
        torch.testing.assert_close(program(x), module(x), rtol=1e-4, atol=1e-5)
    with tp.load("saved.tp", model.weights, link=LIBRARY) as program:
        torch.testing.assert_close(program(x), module(x), rtol=1e-4, atol=1e-5)
    return count + 2


def refused(names: dict[str, Any]) -> int:
    """What is wrong, and what it says."""
    model = names["model"]
    name = "my::scaled_matmul"
    mesh = {"tp": 2}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"rules": {name: RULE}}, "rules: they state how a plan splits ops, expected plan= too"),
        ({"plan": "plan.mlir", "mesh": mesh, "rules": {name: RULE}},
         "rules: the plan is a file: write tp.rule lines beside the plans in it"),
        ({"plan": "auto", "rules": {name: RULE}}, "plan='auto' needs mesh="),
        ({"plan": "auto", "mesh": mesh, "rules": [RULE]},
         "rules: expected a dict from ops to rules, such as {'mylib.op': 'i k, k j -> i j'}, got "
         "list"),
        ({"plan": "auto", "mesh": mesh, "rules": {name: ["i"]}},
         "rules: op 'my.scaled_matmul': expected a text such as 'i k, k j -> i j' or a tp.Rule, got "
         "['i']"),
        ({"plan": "auto", "mesh": mesh, "rules": {3: RULE}},
         "rules: expected the name of an op such as 'mylib.op', or an op of torch, got 3"),
        ({"plan": "auto", "mesh": mesh, "rules": {name: tp.Rule("i k, k j -> i j", combine="mean")}},
         "rules: op 'my.scaled_matmul': combine: expected one of sum, product, max, min, got 'mean'"),
        ({"plan": "auto", "mesh": mesh, "rules": {name: "i k -> i"}},
         "plan entry 'my.scaled_matmul'"),
        ({"plan": "auto", "mesh": mesh}, 'splits it: tp.rule "my.scaled_matmul" "_ _, _ _ -> _ _"'),
        ({"plan": "auto", "mesh": mesh, "rules": {name: RULE}, "link": "missing.so"},
         "link: no file 'missing.so'"),
        ({"plan": "auto", "mesh": mesh, "rules": {name: RULE}, "link": 3},
         "link: expected a path of a library, or a list of them, got 3"),
    ]
    for arguments, message in cases:
        try:
            tp.compile(model, **arguments)
        except tp.CompileError as error:
            assert message in str(error), f"expected {message!r}, got {str(error)!r}"
            continue
        raise AssertionError(f"{arguments} was taken")
    return len(cases)


def main() -> None:
    names = run_page.main()
    warnings.simplefilter("ignore", tp.PlanWarning)  # three ranks of four rows
    print(f"{equal(names)} programs equal PyTorch, {refused(names)} refused")


main()

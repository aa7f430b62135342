"""Exports models of transformers' families, compiles and runs them, and compares with PyTorch.

    families.py FOLDER            the families of continuous integration
    families.py FOLDER --all      all families
    families.py FOLDER llama t5   these
    families.py FOLDER --all --page=docs/families.md   writes the table of the page

Each runs unsharded, under the model's own plan where tp has its styles (else Megatron's, by the
names of modules), and under `auto`, on 1, 2 and 4 ranks. Prints a row each, and fails where a
result differs from PyTorch's. tp-compile and tp-run are found in the search path.
"""
from __future__ import annotations

import argparse
import os
import sys
import time
from fnmatch import fnmatchcase

import torch
from torch.utils import _pytree as pytree

import tp
from exported import Exported
from family_models import FAMILIES, build

# Styles of transformers that tp has.
STYLES = {"colwise", "rowwise", "colwise_rep", "rowwise_rep", "colwise_gather_output",
          "rowwise_split_input", "embedding_rowwise", "embedding_colwise", "sequence_parallel",
          "replicated_with_grad_allreduce"}


def plan_text(entries: dict[str, str]) -> str:
    """A plan file of these entries."""
    lines = [f'  tp.parallelize "{pattern}" with {style}' for pattern, style in entries.items()]
    return "\n".join(['#mesh = #tp.mesh<"tp" = 2>', 'tp.plan @model on #mesh["tp"] {', *lines, "}",
                      ""])


def megatron(patterns: dict[str, str], names: list[str]) -> dict[str, str]:
    """Styles of the modules whose whole names match the patterns."""
    return {name: style for name in names for pattern, style in patterns.items()
            if fnmatchcase(name, pattern)}


def check(name: str, folder: str, meshes: list[int]) -> list[tuple[str, str, str, str]]:
    """Rows of a family: plan, ranks, outcome, collectives."""
    module, inputs = build(name)
    try:
        model = tp.export(module, (), inputs)
    except tp.ExportError as error:
        return [("export", "", f"refused: {error}", "")]
    with torch.no_grad():
        output = module(**inputs)  # after the export, because it may change the weights
    expected = [leaf for leaf in pytree.tree_leaves(output) if isinstance(leaf, torch.Tensor)]
    state = module.state_dict()
    expected += [state[port.name] for port in model.results if port.updates]
    exported = Exported(folder, model, [inputs[port.name] for port in model.inputs], expected)
    rows = []
    for plan, entries in plans(name, module, model):
        path = f"{folder}/{plan}.plan.mlir" if entries else plan
        if entries:
            with open(path, "w", encoding="utf-8") as file:
                file.write(plan_text(entries))
        for ranks in meshes:
            outcome, sent = exported.run(path, ranks)
            rows.append((plan, str(ranks), outcome, sent))
    return rows


def plans(name: str, module: torch.nn.Module,
          model: tp.Model) -> list[tuple[str, dict[str, str]]]:
    """The plans to try, `auto` last."""
    own = model.own_plan or {}
    result = []
    if own and set(own.values()) <= STYLES:
        result.append(("own", own))
    else:
        entries = megatron(FAMILIES[name].megatron, [n for n, _ in module.named_modules()])
        if entries:
            result.append(("megatron", entries))
    return result + [("auto", {})]


def page_rows(name: str, rows: list[tuple[str, str, str, str]]) -> list[str]:
    """The family's rows of the page: one for each plan."""
    result = []
    for plan in dict.fromkeys(row[0] for row in rows):
        of_plan = [row for row in rows if row[0] == plan]
        outcomes: dict[str, list[str]] = {}
        for _, ranks, outcome, _ in of_plan:
            outcomes.setdefault(outcome, []).append(ranks)
        outcome = "; ".join(f"{what} on {', '.join(ranks)}" if ranks[0] else what
                            for what, ranks in outcomes.items())
        result.append(f"| {name} | {FAMILIES[name].model} | {plan} | {outcome} | "
                      f"{of_plan[-1][3]} |")
    return result


def write_page(path: str, rows: list[str]) -> None:
    """Replaces the table of the page, which ends it."""
    with open(path, encoding="utf-8") as file:
        head = file.read().partition("| family |")[0]
    with open(path, "w", encoding="utf-8") as file:
        title = "| family | class | plan | on ranks | collectives |"
        file.write("\n".join([head + title,
                              "|---|---|---|---|---|", *rows, ""]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--meshes", default="1,2,4")
    parser.add_argument("--page", metavar="FILE", help="write the table of docs/families.md")
    options = parser.parse_intermixed_args()
    unknown = [name for name in options.families if name not in FAMILIES]
    if unknown:
        parser.error(f"unknown families {', '.join(unknown)}")
    names = options.families or [name for name, family in FAMILIES.items()
                                 if family.ci or options.all]
    meshes = [int(size) for size in options.meshes.split(",")]
    failed = refused = equal = 0
    page: list[str] = []
    for name in names:
        start = time.time()
        try:
            rows = check(name, os.path.join(options.folder, name), meshes)
        except Exception as error:  # a family of another version of transformers
            rows = [("build", "", f"FAILED: {type(error).__name__}: {str(error)[:200]}", "")]
        page += page_rows(name, rows)
        for plan, ranks, outcome, sent in rows:
            equal += outcome == "equal"
            refused += outcome.startswith("refused")
            failed += outcome.startswith("FAILED")
            print(f"| {name} | {plan} | {ranks} | {outcome} | {sent} |", flush=True)
        print(f"{name}: {time.time() - start:.1f} s", file=sys.stderr, flush=True)
    if options.page:
        write_page(options.page, page)
    print(f"{len(names)} families: {equal} equal, {refused} refused, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

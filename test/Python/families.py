"""Exports models of transformers' families, compiles and runs them, and compares with PyTorch.

    families.py FOLDER            the families of continuous integration
    families.py FOLDER --all      all families
    families.py FOLDER llama t5   these
    families.py FOLDER --all --layers --jobs=2 --page=docs/families.md   writes the page's table

Each runs unsharded, under the model's own plan where tp has its styles (else Megatron's, by the
names of modules, and `transformer`), and under `auto`, on 1, 2 and 4 ranks. Prints a row each, and fails where a
result differs from PyTorch's. `--layers` also prints what a layer communicates on the most ranks
beside the least (layer_collectives.py), of all or of those that it names, which run on the most
ranks alone where they are no others. tp-compile, tp-run and tp-opt are found in the search path.
"""
from __future__ import annotations

import argparse
import functools
import multiprocessing
import os
import pickle
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

import torch
from torch.utils import _pytree as pytree

import tp
from exported import Exported
from family_models import FAMILIES, SavedModel, saved_model
from layer_collectives import Layer, Unproved, layer_of

TITLE = "| family | class | plan | on ranks | collectives | a layer | least |"


@dataclass
class Row:
    """How a family fares under a plan on some ranks."""
    plan: str
    ranks: str
    outcome: str
    sent: str = ""


@dataclass
class Result:
    """A family's rows, what a layer sends under each plan, and the seconds it took."""
    rows: list[Row]
    layers: dict[str, Layer | str] | None = None
    seconds: float = 0


def rows_of(saved: SavedModel, meshes: list[int], auto: list[int]) -> list[Row]:
    """Runs a family under its plans; `auto` are the ranks of what tp chooses."""
    with torch.no_grad():
        output = saved.module(**saved.inputs)  # after the export: it may change the weights
    expected = [leaf for leaf in pytree.tree_leaves(output) if isinstance(leaf, torch.Tensor)]
    state = saved.module.state_dict()
    expected += [state[port.name] for port in saved.model.results if port.updates]
    exported = Exported(saved.folder, saved.model, [saved.inputs[port.name] for port in
                                                    saved.model.inputs], expected)
    return [Row(plan, str(ranks), *exported.run(saved.plan_argument(plan), ranks))
            for plan in saved.plans() for ranks in (auto if plan == "auto" else meshes)]


def layers_of(saved: SavedModel, ranks: int) -> dict[str, Layer | str]:
    """What a layer sends under each plan, or why that is not known."""
    deeper = saved_model(saved.name, f"{saved.folder}/deeper", is_deeper=True)
    layers: dict[str, Layer | str] = {}
    for plan, entries in saved.plans().items():
        if plan == "transformer" and not entries:
            continue  # refused
        try:
            layers[plan] = layer_of(saved, deeper, plan, ranks)
        except Unproved as error:
            layers[plan] = str(error)
    return layers


def result_of(name: str, folder: str, meshes: list[int], auto: list[int], layers: str | None,
              is_resumed: bool) -> Result:
    """The family's result; of a resumed run, only what the folder has no result of."""
    with_layers = layers is not None and name in (layers.split(",") if layers else [name])
    if layers and not FAMILIES[name].ci:
        meshes = meshes[-1:]
    start = time.time()
    folder = os.path.join(folder, name)
    kept = f"{folder}/result.pickle"
    result = Result([])
    if is_resumed and os.path.exists(kept):
        with open(kept, "rb") as file:
            result = pickle.load(file)
    try:
        if not result.rows or (with_layers and result.layers is None):
            saved = saved_model(name, folder)
            result.rows = result.rows or rows_of(saved, meshes, auto)
            if with_layers:
                result.layers = layers_of(saved, max(meshes))
    except tp.ExportError as error:
        result = Result([Row("export", "", f"refused: {error}")], {})
    except Exception as error:  # a family of another version of transformers
        return Result([Row("build", "", f"FAILED: {type(error).__name__}: {str(error)[:200]}")])
    result.seconds += time.time() - start
    os.makedirs(folder, exist_ok=True)
    with open(kept, "wb") as file:
        pickle.dump(result, file)
    return result


def page_rows(name: str, result: Result) -> list[str]:
    """The family's rows of the page: one for each plan."""
    lines = []
    for plan in dict.fromkeys(row.plan for row in result.rows):
        of_plan = [row for row in result.rows if row.plan == plan]
        outcomes: dict[str, list[str]] = {}
        for row in of_plan:
            outcomes.setdefault(row.outcome, []).append(row.ranks)
        outcome = "; ".join(f"{what} on {', '.join(ranks)}" if ranks[0] else what
                            for what, ranks in outcomes.items())
        lines.append(f"| {name} | {FAMILIES[name].model} | {plan} | {outcome} | "
                     f"{of_plan[-1].sent} | {layer_cells((result.layers or {}).get(plan))} |")
    return lines


def layer_cells(layer: Layer | str | None) -> str:
    """What a layer sends, and the least."""
    return layer.cells() if isinstance(layer, Layer) else f"{layer or ''} | "


def replace_table(path: str, title: str, rows: list[str]) -> None:
    """Replaces the page's table that has this row of titles."""
    with open(path, encoding="utf-8") as file:
        head, found, rest = file.read().partition(title + "\n")
    assert found, f"{path} has no table {title}"
    _, gap, tail = rest.partition("\n\n")
    rule = "|" + "---|" * (title.count("|") - 1)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([head + title, rule, *rows, ""]) + (f"\n{tail}" if gap else ""))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--meshes", default="1,2,4")
    parser.add_argument("--auto-meshes", help="of what tp chooses; all of them")
    parser.add_argument("--layers", nargs="?", const="", metavar="FAMILY,...",
                        help="compare a layer with the least")
    parser.add_argument("--resume", action="store_true",
                        help="keep what an earlier run with the same meshes left in FOLDER")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="N families at a time")
    parser.add_argument("--page", metavar="FILE", help="write the table of docs/families.md")
    options = parser.parse_intermixed_args()
    layers = options.layers.split(",") if options.layers else []
    unknown = [name for name in [*options.families, *layers] if name not in FAMILIES]
    if unknown:
        parser.error(f"unknown families {', '.join(unknown)}")
    names = options.families or [name for name, family in FAMILIES.items()
                                 if family.ci or options.all]
    names += [name for name in layers if name not in names]
    meshes = [int(size) for size in options.meshes.split(",")]
    auto = [int(size) for size in (options.auto_meshes or options.meshes).split(",")]
    outcomes: list[str] = []
    above: list[str] = []
    page: list[str] = []
    work = functools.partial(result_of, folder=options.folder, meshes=meshes, auto=auto,
                             layers=options.layers, is_resumed=options.resume)
    with ExitStack() as stack:
        results: Iterator[Result]
        if options.jobs > 1:
            # No fork: threads of torch do not survive it.
            results = stack.enter_context(ProcessPoolExecutor(
                options.jobs, multiprocessing.get_context("spawn"))).map(work, names)
        else:
            results = map(work, names)
        for name, result in zip(names, results):
            page += page_rows(name, result)
            outcomes += [row.outcome for row in result.rows]
            for row in result.rows:
                print(f"| {name} | {row.plan} | {row.ranks} | {row.outcome} | {row.sent} |",
                      flush=True)
            for plan, layer in (result.layers or {}).items():
                print(f"| {name} | {plan} | a layer | {layer_cells(layer)} |", flush=True)
                if isinstance(layer, str) or layer.is_above():
                    above.append(f"{name} {plan}")
            print(f"{name}: {result.seconds:.1f} s", file=sys.stderr, flush=True)
    if options.page:
        replace_table(options.page, TITLE, page)
    if options.layers is not None:
        print(f"{len(above)} layers above the least: {', '.join(above) or 'none'}")
    refused, failed = (sum(outcome.startswith(what) for outcome in outcomes)
                       for what in ("refused", "FAILED"))
    print(f"{len(names)} families: {outcomes.count('equal')} equal, {refused} refused, "
          f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

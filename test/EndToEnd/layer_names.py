"""Under a plan, and the plan without each of its entries: where tp decides about few
layers, collectives have the names and the reasons that they have where tp decides about
all layers.

    layer_names.py FOLDER MODEL.mlir PLAN.mlir
"""

import argparse
import json
import os
import re
import subprocess
import sys


def execute(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{' '.join(command)[:2000]}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout + done.stderr


def collectives(folder, model, plan, *flags):
    """Kinds and bytes of all collectives, and their names."""
    path = os.path.join(folder, "report.json")
    execute(["tp-compile", model, f"--plan={plan}", f"--report={path}", *flags])
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)["collectives"]
    return (sorted((row["kind"], row["ring_bytes_per_rank"]) for row in rows),
            sorted(json.dumps([row["kind"], row["module"], row["loc"], row["reason"],
                               row["ring_bytes_per_rank"]])
                   for row in rows))


def variants(text, layer_count):
    """The plan, without each of its entries for all layers, and with one that names all
    layers but the first, or but the last."""
    yield "whole", text
    entries = [line for line in text.splitlines() if ".*." in line]
    for entry in entries:
        module = re.search(r'"([^"]*)"', entry).group(1)
        yield "without " + module, text.replace(entry + "\n", "")
    layers = range(int(layer_count))
    for left_out in layers[0], layers[-1]:
        others = "\n".join(entries[-1].replace("*", str(layer)) for layer in layers
                           if layer != left_out)
        yield (f"without the last entry in layer {left_out}",
               text.replace(entries[-1], others))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("model")
    parser.add_argument("plan")
    parser.add_argument("--layers", required=True)
    parser.add_argument("--mesh", required=True)
    options = parser.parse_args()
    folder, model, plan = options.folder, options.model, options.plan
    os.makedirs(folder, exist_ok=True)
    tried = os.path.join(folder, "tried.mlir")
    same = others = 0
    with open(plan, encoding="utf-8") as file:
        text = file.read()
    for name, variant in variants(text, options.layers):
        with open(tried, "w", encoding="utf-8") as file:
            file.write(variant)
        mesh = f"--mesh={options.mesh}"
        sizes, few = collectives(folder, model, tried, mesh)
        sizesOfAll, every = collectives(folder, model, tried, mesh,
                                        f"--dump-stages={folder}/stages")
        # Of assignments that cost the same another one may be taken.
        if sizes != sizesOfAll:
            others += 1
            continue
        same += 1
        if few != every:
            wrong = "\n".join(f"  {row}" for row in few if row not in every)
            sys.exit(f"{plan}, {name}: these collectives of few layers have names "
                     f"that those of all layers have not:\n{wrong}")
    if same < 3 * others:
        sys.exit(f"expected the same collectives under most plans, got others under "
                 f"{others} of {same + others}")
    print(f"the same names under {same} plans")


main()

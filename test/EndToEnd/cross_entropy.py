"""Cross entropy over logits that stay sharded over the vocabulary: every form of
Inputs/cross_entropy_model.py, run on a mesh, has the value of the formula, and
communicates by at most three all_reduces of a row's number, and on the axis of the
batch of two scalars.

    cross_entropy.py FOLDER --mesh=dp=2,tp=2 [--rows=24] [--classes=384] [--only=TEXT,...]
"""

import argparse
import json
import math
import os
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from cross_entropy_case import Case, expected, numbers  # noqa: E402
from cross_entropy_model import build  # noqa: E402

CASES = {
    "exported": {},
    "sum": {"reduction": "sum"},
    "none": {"reduction": "none"},
    "no ignored label": {"ignore": False},
    "weights": {"weighted": True},
    "label smoothing": {"smoothing": 0.1},
    "label smoothing, sum": {"smoothing": 0.1, "reduction": "sum"},
    "label smoothing, weights": {"smoothing": 0.1, "weighted": True},
    "z-loss": {"z_loss": 0.25},
    "probabilities": {"target": "probabilities"},
    "probabilities, label smoothing": {"target": "probabilities", "smoothing": 0.1},
    "one-hot": {"target": "one-hot"},
    "one-hot, weights": {"target": "one-hot", "weighted": True},
    "log of softmax": {"form": "softmax"},
    "log of linalg.softmax": {"form": "named"},
    "guarded logsumexp": {"form": "guarded"},
    "logsumexp less the logit": {"form": "fused"},
    "lookup within": {"form": "fused", "target": "within"},
    "lookup within, none": {"form": "fused", "target": "within", "reduction": "none"},
    "lookup within the sum": {"form": "fused", "target": "within-sum"},
    "maximum alone": {"maximum": "alone"},
    "maximum by name": {"maximum": "named"},
    "maxnumf": {"maximum": "maxnumf"},
    "shifted labels": {"shape": "shifted"},
    "labels shifted by padding": {"shape": "padded"},
    "classes in the middle": {"shape": "channels"},
    "absent classes": {"absent": True},
    "absent classes, guarded": {"absent": True, "form": "guarded"},
    "absent classes, one-hot": {"absent": True, "form": "fused", "target": "one-hot"},
    "absent classes, maxnumf": {"absent": True, "maximum": "maxnumf", "form": "softmax"},
    "bf16": {"element": "bf16"},
    "bf16 widened": {"element": "bf16", "widened": True},
    "f64, label smoothing, z-loss": {"element": "f64", "smoothing": 0.1, "z_loss": 0.25},
    "and its gradient": {"gradient": True},
    "all at once": {"shape": "shifted", "weighted": True, "smoothing": 0.1,
                    "z_loss": 0.25, "form": "guarded", "element": "bf16",
                    "widened": True},
}


def flat(values):
    if not isinstance(values, list):
        return [values]
    return [number for value in values for number in flat(value)]


def write_npy(path, shape, code, values):
    descr = {"f": "<f4", "d": "<f8", "q": "<i8"}[code]
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header = header.ljust(117) + "\n"
    values = flat(values)
    assert len(values) == math.prod(shape), (len(values), shape)
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                   header.encode() + struct.pack(f"<{len(values)}{code}", *values))


def arranged(case, logits, labels):
    """Rows of logits and labels in the shapes of the program's arguments."""
    half = case.rows // 2
    if case.shape == "rows":
        return logits, labels
    batches = [logits[:half], logits[half:]]
    label_batches = [labels[:half], labels[half:]]
    if case.shape == "channels":
        return [[list(column) for column in zip(*rows)] for rows in batches], label_batches
    if case.shape == "padded":
        return batches, [[1] + row[:-1] for row in label_batches]
    unread = [7.0] * case.classes
    return [rows + [unread] for rows in batches], [[1] + row for row in label_batches]


def write_plan(path, case, axes):
    mesh = ", ".join(f'"{name}" = {size}' for name, size in axes.items())
    axis = 2 if case.shape in ("shifted", "padded") else 1
    text = f"#mesh = #tp.mesh<{mesh}>\n"
    for name in axes:
        entries = ([f"tp.argument \"logits\" shard<{axis}>", "tp.result 0 replicate"] +
                   [f"tp.result 1 shard<{axis}>"] * case.gradient
                   if name != "dp" else ["tp.argument \"logits\" shard<0>",
                                         "tp.argument \"labels\" shard<0>"])
        text += f"tp.plan @{name} on #mesh[\"{name}\"] {{\n  " + "\n  ".join(
            entries) + "\n}\n"
    with open(path, "w") as file:
        file.write(text)


def execute(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def check(name, case, axes, folder):
    stem = os.path.join(folder, name.replace(" ", "-").replace(",", ""))
    text, arguments, results = build(case)
    logits, labels, weight = numbers(case, name)
    with open(stem + ".mlir", "w") as file:
        file.write(text)
    write_plan(stem + ".plan.mlir", case, axes)
    values = dict(zip(("logits", "labels"), arranged(case, logits, labels)))
    values["weight"] = weight
    inputs = []
    for argument, tensor in arguments:
        path = f"{stem}.{argument}.npy"
        code = {"f32": "f", "f64": "d", "i64": "q"}[tensor.element]
        write_npy(path, tensor.shape, code, values[argument])
        inputs.append(f"--input={argument}=@{path}")
    isNarrow = case.element == "bf16" and not case.widened
    code = "d" if case.element == "f64" else "f"
    outputs = []
    for result, values in zip(("loss", "gradient"),
                              expected(case, logits, labels, weight)):
        path = f"{stem}.{result}.npy"
        write_npy(path, results[len(outputs)].shape, code, values)
        outputs.append(f"--expected-output={result}=@{path}")
    execute(["tp-compile", stem + ".mlir", f"--plan={stem}.plan.mlir", "-o",
             stem + ".tp", f"--report={stem}.json", "--verify"])
    ranks = math.prod(axes.values())
    execute(["tp-run", stem + ".tp", f"--ranks={ranks}", "--poison",
             f"--rtol={0.03 if isNarrow else 2e-6 if case.classes < 1000 else 2e-5}", "--atol=1e-6"] + inputs + outputs)
    with open(stem + ".json") as file:
        collectives = json.load(file)["collectives"]
    found = {axis: sorted(entry["payload_bytes"] for entry in collectives
                          if axis in entry["axes"]) for axis in axes}
    shown = "; ".join(f"{axis} {' '.join(map(str, found[axis]))}" for axis in axes)
    print(f"{name:30} | {shown}")
    limits = {axis: (2, 8) if axis == "dp" else (3, case.rows * 8) for axis in axes}
    # One over several axes is one of the batch's.
    for axis, (count, size) in limits.items():
        own = [entry for entry in collectives if entry["axes"][0] == axis]
        for entry in own:
            if (entry["kind"] != "all_reduce" or len(own) > count or
                    entry["payload_bytes"] > size):
                sys.exit(f"{stem}.json: error: expected at most {count} all_reduces of at "
                         f"most {size} bytes on axis {axis}, got {entry['kind']} of "
                         f"{entry['payload_bytes']} bytes among {found}")


def check_bad_labels(axes, classes, folder):
    """A label that no rank holds is an error, not a loss of 0."""
    stem = os.path.join(folder, "exported")
    with open(stem + ".labels.npy", "rb") as file:
        array = file.read()
    for label, message in ((classes, "must be smaller than dim size"),
                           (-1, "must be larger or equal to 0")):
        with open(stem + ".bad.npy", "wb") as file:
            file.write(array[:-8] + struct.pack("<q", label))
        done = subprocess.run(
            ["tp-run", stem + ".tp", f"--ranks={math.prod(axes.values())}",
             f"--input=logits=@{stem}.logits.npy", f"--input=labels=@{stem}.bad.npy",
             f"--output=loss=@{stem}.out.npy"], capture_output=True, text=True,
            timeout=900)
        print(f"label {label}: {done.stderr.strip()}")
        if done.returncode != 1 or message not in done.stderr:
            sys.exit(f"expected an error that the index {message}, got "
                     f"{done.returncode}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--mesh", default="tp=2")
    parser.add_argument("--rows", type=int, default=24)
    parser.add_argument("--classes", type=int, default=384)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    axes = {axis.split("=")[0]: int(axis.split("=")[1])
            for axis in options.mesh.split(",")}
    only = [text for text in options.only.split(",") if text]
    chosen = [name for name in CASES
              if not only or any(text in name for text in only)]
    for name in chosen:
        check(name, Case(rows=options.rows, classes=options.classes, **CASES[name]),
              axes, options.folder)
    if "exported" in chosen:
        check_bad_labels(axes, options.classes, options.folder)
    print(f"{len(chosen)} losses on {options.mesh} equal the formula")


main()

"""Partial arguments and results on 1, 2, 3 and 2 x 2 ranks: every reduction kind, with uneven
shards on the other axis. The whole results are compared bit for bit with those of one rank, and
the collectives counted.

    partial_ports.py FOLDER [FAKES]    FAKES is a folder of fake devices: on these, 2 x 2 ranks
"""

import os
import struct
import subprocess
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench")]
import artifact
import fake_devices
import npy

MESHES = [{"tp": 1}, {"tp": 2}, {"tp": 3}, {"dp": 2, "tp": 2}]
KINDS = ["sum", "avg", "product", "max", "min"]
DTYPES = {"f32": ("<f4", "f"), "f64": ("<f8", "d"), "i32": ("<i4", "i")}

PRODUCT = """
func.func @main(%x: tensor<5x7xf32> {tp.name = "x"}, %w: tensor<7x6xf32> {tp.name = "w"})
    -> (tensor<5x6xf32> {tp.name = "y"}) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<5x6xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<5x6xf32>) -> tensor<5x6xf32>
  %y = linalg.matmul ins(%x, %w : tensor<5x7xf32>, tensor<7x6xf32>)
      outs(%init : tensor<5x6xf32>) -> tensor<5x6xf32>
  return %y : tensor<5x6xf32>
}
"""

# Nothing partial passes through it.
SQUARE = """
func.func @main(%x: tensor<5x7xTYPE> {tp.name = "x"}) -> (tensor<5x7xTYPE> {tp.name = "y"}) {
  %empty = tensor.empty() : tensor<5x7xTYPE>
  %y = linalg.mul ins(%x, %x : tensor<5x7xTYPE>, tensor<5x7xTYPE>)
      outs(%empty : tensor<5x7xTYPE>) -> tensor<5x7xTYPE>
  return %y : tensor<5x7xTYPE>
}
"""

# Its argument is its result.
SAME = """
func.func @main(%x: tensor<5x7xTYPE> {tp.name = "x"}) -> (tensor<5x7xTYPE> {tp.name = "y"}) {
  return %x : tensor<5x7xTYPE>
}
"""

# By name: the model, entries on tp, entries on dp, and how many collectives there are over tp.
ROWS = [
    # Every rank keeps its addend of a product.
    ("addends", PRODUCT, {"argument x": "shard<1>", "argument w": "shard<0>",
                          "result 0": "partial<sum>"},
     {"argument x": "shard<0>", "result 0": "shard<0>"}, 0),
    # A product is linear in its operands.
    ("through", PRODUCT, {"argument x": "partial<sum>", "result 0": "partial<sum>"},
     {"argument w": "shard<1>", "result 0": "shard<1>"}, 0),
    ("averages", PRODUCT, {"argument w": "partial<avg>", "result 0": "partial<avg>"}, {}, 0),
    ("reduced", PRODUCT, {"argument x": "partial<sum>", "result 0": "replicate"}, {}, 1),
    ("scattered", PRODUCT, {"argument x": "shard<1>", "argument w": "shard<0>",
                            "result 0": "shard<1>"}, {"result 0": "partial<sum>"}, 1),
    # All axes.
    ("everywhere", PRODUCT, {"argument x": "partial<sum>", "result 0": "partial<sum>"},
     {"argument x": "partial<sum>", "result 0": "partial<sum>"}, 0),
]
for kind in KINDS:
    ROWS += [(f"made {kind}", SQUARE, {"result 0": f"partial<{kind}>"},
              {"argument x": "shard<0>", "result 0": "shard<0>"}, 0),
             (f"taken {kind}", SQUARE, {"argument x": f"partial<{kind}>", "result 0": "replicate"},
              {"argument x": "shard<1>"}, 1)]
ROWS += [(f"kept {kind}", SAME, {"argument x": f"partial<{kind}>", "result 0": f"partial<{kind}>"},
          {}, 0) for kind in ("sum", "max")]


def numbers(count, seed):
    """Small whole numbers, whose sums and products are exact; zeros of both signs among them."""
    found = [(seed * 7 + 5 * i * i) % 11 - 5 for i in range(count)]
    return [-0.0 if number == 0 and i % 2 else number for i, number in enumerate(found)]


def execute(command, environment=None):
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ends with {done.returncode}:\n"
                         f"{done.stderr}{done.stdout}")
    return done.stdout


def write_plan(path, mesh, entries):
    sizes = ", ".join(f'"{axis}" = {size}' for axis, size in mesh.items())
    with open(path, "w") as file:
        for axis in mesh:
            lines = "".join(f"  tp.{key.split()[0]} " +
                            (key.split()[1] if key.split()[1].isdigit()
                             else f'"{key.split()[1]}"') + f" {layout}\n"
                            for key, layout in entries[axis].items())
            file.write(f'tp.plan @plan_{axis} on <{sizes}>["{axis}"] {{\n{lines}}}\n')


KNOWN = {}


def right_answer(folder, model, inputs):
    """The file with the result of one rank."""
    with open(model) as file:
        text = file.read()
    if text not in KNOWN:
        KNOWN[text] = os.path.join(folder, f"right-{len(KNOWN)}.npy")
        execute(["tp-compile", model, "-o", KNOWN[text] + ".tp"])
        execute(["tp-run", KNOWN[text] + ".tp", *inputs, f"--output=@{KNOWN[text]}"])
    return KNOWN[text]


def check(folder, fakes, name, model, mesh, on_tp, on_dp, expected_count, dtype):
    """What is wrong, or nothing."""
    target = fake_devices.OPTIONS if fakes else []
    environment = fake_devices.environment(fakes, os.path.join(folder, "cache")) if fakes else None
    os.makedirs(folder, exist_ok=True)

    def path(file):
        return os.path.join(folder, file)
    with open(path("model.mlir"), "w") as file:
        if dtype == "i32":
            # A linalg op of integers.
            model = model.replace("arith.constant 0.0", "arith.constant 0")
        file.write(model.replace("TYPE", dtype))
    write_plan(path("plan.mlir"), mesh, {"tp": on_tp, "dp": on_dp})
    execute(["tp-compile", path("model.mlir"), f"--plan={path('plan.mlir')}", "--verify",
             *target, "-o", path("many.tp")])
    entry = artifact.entry(path("many.tp"))
    inputs = []
    descr, code = DTYPES[dtype]
    for seed, port in enumerate(entry["arguments"]):
        count = port["shape"][0] * port["shape"][1]
        values = [int(value) if code == "i" else value for value in numbers(count, seed + 1)]
        npy.write(path(f"{port['name']}.npy"), descr, port["shape"],
                  struct.pack(f"<{count}{code}", *values))
        inputs.append(f"--input={port['name']}=@{path(port['name'] + '.npy')}")
    expected = right_answer(os.path.dirname(os.path.dirname(folder)), path("model.mlir"), inputs)
    execute(["tp-run", path("many.tp"), "--poison", *inputs, f"--output=@{path('many.npy')}"],
            environment)
    text = execute(["tp-run", path("many.tp"), "--poison", *inputs, "--transport=processes",
                    f"--expected-output=@{expected}", "--atol=0", "--rtol=0"],
                   environment)
    wrong = []
    if npy.read(expected) != npy.read(path("many.npy")):
        wrong.append("the results differ in bits")
    kind = on_tp["result 0"].partition("<")[2].rstrip(">")
    # On one rank everything is replicated.
    if "partial" not in on_tp["result 0"] or mesh["tp"] == 1:
        kind = ""
    if kind and f"reduced by {kind}" not in text:
        wrong.append(f"expected 'reduced by {kind}' in {text}")
    if kind and {"partial": kind} not in entry["results"][0].get("layout", []):
        wrong.append(f"the manifest has the layout {entry['results'][0].get('layout')}")
    groups = {group["id"]: group["axes"] for group in artifact.manifest(path("many.tp"))["groups"]}
    over_tp = sum("tp" in groups[row["group"]] for row in entry["collectives"])
    if mesh["tp"] > 1 and over_tp != expected_count:
        wrong.append(f"{over_tp} collectives over tp, expected {expected_count}")
    return [f"{name} on {mesh}, {dtype}: {text}" for text in wrong]


def main():
    wrong, programs = [], 0
    fakes = sys.argv[2] if len(sys.argv) > 2 else ""
    for mesh in MESHES[3:] if fakes else MESHES:
        for name, model, on_tp, on_dp, count in ROWS:
            dtype = "f32"
            if "TYPE" in model and mesh["tp"] == 3:
                dtype = "f64" if "avg" in name else "i32"
            if (name == "scattered" and "dp" not in mesh) or (mesh["tp"] == 1 and programs == 4):
                continue
            folder = os.path.join(sys.argv[1], "-".join(map(str, mesh.values())),
                                  name.replace(" ", "-"))
            wrong += check(folder, fakes, name, model, mesh, on_tp, on_dp, count, dtype)
            programs += 1
    for line in wrong[:20]:
        print(line)
    print(f"{programs} programs, {len(wrong)} wrong")
    return int(bool(wrong))


sys.exit(main())

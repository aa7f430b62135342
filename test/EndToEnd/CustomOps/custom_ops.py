"""Ops of a dialect that tp does not know, on several ranks: equal to one rank, and with the
collectives that their rules allow.

    custom_ops.py FOLDER LIBRARY [FAKES]   tp-compile and tp-run are found in the search path

With the folder of the fake libraries on devices that are the host.
"""
from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
# pylint: disable=wrong-import-position
import fake_devices  # noqa: E402

MODEL = """
func.func @main(%x: tensor<4x5x29xf32> {tp.name = "x"}, %w: tensor<29x6xf32> {tp.name = "w"})
    -> (tensor<4x5x6xf32> {tp.name = "y"}, tensor<4x5xf32> {tp.name = "top"},
        tensor<4x5x6xf32> {tp.name = "half"}, tensor<4x5x6xf32> {tp.name = "twice"}) {
  %mixed = "test.mix"(%x, %w) {scale = 0.5 : f64} : (tensor<4x5x29xf32>, tensor<29x6xf32>) -> tensor<4x5x6xf32> loc("mix"("mixed"))
  %e = tensor.empty() : tensor<4x5x6xf32>
  %y = linalg.exp ins(%mixed : tensor<4x5x6xf32>) outs(%e : tensor<4x5x6xf32>) -> tensor<4x5x6xf32>
  %top = "test.top"(%x) {mode = "negated", shifts = [1, 2]} : (tensor<4x5x29xf32>) -> tensor<4x5xf32>
  %half, %twice = "test.halves"(%y) : (tensor<4x5x6xf32>) -> (tensor<4x5x6xf32>, tensor<4x5x6xf32>)
  return %y, %top, %half, %twice : tensor<4x5x6xf32>, tensor<4x5xf32>, tensor<4x5x6xf32>, tensor<4x5x6xf32>
}
"""
MIX = 'tp.rule "test.mix" "b i k, k j -> b i j" {reduction = ["k"]}'
TOP = 'tp.rule "test.top" "b i k -> b i" {reduction = ["k"], combine = "max"}'
HALVES = 'tp.rule "test.halves" "a b c -> a b c, a b c"'
WHOLE = 'tp.rule "test.mix" "_ _ _, _ _ -> _ _ _"'
TOP_WHOLE = 'tp.rule "test.top" "_ _ _ -> _ _"'


@dataclass
class Case:
    """A plan on some meshes, and the collectives of a step there on more than one rank."""
    name: str
    rules: list[str]
    entries: dict[str, list[str]]
    meshes: list[dict[str, int]]
    sent: dict[str, int]


def tp_axis(*sizes: int) -> list[dict[str, int]]:
    return [{"tp": size} for size in sizes]


CASES = [
    Case("batch", [MIX, TOP, HALVES], {"tp": ['argument "x" shard<0>', 'result "y" shard<0>']},
         tp_axis(1, 2, 3), {}),
    Case("columns", [MIX, TOP_WHOLE, HALVES], {"tp": ['argument "w" shard<1>',
                                                      'result "y" shard<2>']}, tp_axis(2, 3, 4),
         {}),
    Case("sums", [MIX, TOP, HALVES],
         {"tp": ['argument "x" shard<2>', 'argument "w" shard<0>', 'result "y" replicate',
                 'result "top" replicate']}, tp_axis(2, 3), {"all_reduce": 2}),
    Case("whole", [WHOLE, TOP_WHOLE, HALVES],
         {"tp": ['argument "x" shard<0>', 'argument "w" shard<1>', 'result "y" replicate']},
         tp_axis(2), {"all_gather": 1}),
    Case("both", [MIX, TOP, HALVES],
         {"dp": ['argument "x" shard<0>', 'result "y" shard<0>', 'result "top" shard<0>'],
          "tp": ['argument "x" shard<2>', 'argument "w" shard<0>', 'result "y" replicate',
                 'result "top" replicate']}, [{"dp": 2, "tp": 2}], {"all_reduce": 1, "all_reduce (scalar)": 1}),
]


def run(*command: str, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nreturned {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def collectives(report: str) -> dict[str, int]:
    """Collectives of a step by kind, of a report as text."""
    table = report.partition("collectives by kind\n")[2].partition("\n\n")[0]
    return {kind: int(count) for kind, count in
            re.findall(r"^ *(\w+(?: \(scalar\))?)  +(\d+)", table, re.MULTILINE)}


def main() -> None:
    folder, library = sys.argv[1], os.path.abspath(sys.argv[2])
    target, environment, steps = [], dict(os.environ), []
    if len(sys.argv) > 3:
        target = fake_devices.OPTIONS
        environment = fake_devices.environment(os.path.abspath(sys.argv[3]), "cache")
        # The second and the third step run a graph.
        steps = ["--repeat=3"]
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    here = os.path.dirname(os.path.abspath(__file__))
    run(sys.executable, os.path.join(here, "..", "Inputs", "write_npy.py"), "x.npy=4,5,29",
        "w.npy=29,6")
    with open("model.mlir", "w", encoding="utf-8") as file:
        file.write(MODEL)
    names = ("y", "top", "half", "twice")
    inputs = ("--input=x=@x.npy", "--input=w=@w.npy", f"--link={library}", "--poison")
    run("tp-compile", "model.mlir", "-o", "one.tp")
    run("tp-run", "one.tp", "--ranks=1", *inputs, *(f"--output={n}=@{n}.npy" for n in names))
    count = 0
    for case in CASES:
        for mesh in case.meshes:
            axes = ", ".join(f'"{name}" = {size}' for name, size in mesh.items())
            lines = [f"#mesh = #tp.mesh<{axes}>", *case.rules]
            for axis, entries in case.entries.items():
                lines += [f'tp.plan @{axis} on #mesh["{axis}"] {{',
                          *(f"  tp.{entry}" for entry in entries), "}"]
            with open("plan.mlir", "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
            run("tp-compile", "model.mlir", "--plan=plan.mlir", "-o", "many.tp", "--verify",
                f"--link={library}", "--report=report.txt", *target)
            ranks = 1
            for size in mesh.values():
                ranks *= size
            run("tp-run", "many.tp", f"--ranks={ranks}", *inputs, *steps,
                *(f"--expected-output={n}=@{n}.npy" for n in names), environment=environment)
            with open("report.txt", encoding="utf-8") as file:
                sent = collectives(file.read())
            if sent != (case.sent if ranks > 1 else {}):
                sys.exit(f"{case.name} on {mesh}: expected {case.sent}, got {sent}")
            count += 1
    print(f"{count} programs equal one rank's")
    check_failures(library, target, environment)


def refusal(*command: str, environment: dict[str, str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 1:
        sys.exit(f"{' '.join(command)}\nreturned {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stderr


def check_failures(library: str, target: list[str], environment: dict[str, str]) -> None:
    """A library that is not linked, and a function that fails on one rank of two."""
    run("tp-compile", "model.mlir", "-o", "one.tp", *target)
    print(refusal("tp-run", "one.tp", "--ranks=1", "--input=x=@x.npy", "--input=w=@w.npy",
                  environment=environment), end="")
    with open("plan.mlir", "w", encoding="utf-8") as file:
        file.write("""#mesh = #tp.mesh<"tp" = 2>
tp.rule "test.fails" "i -> i"
tp.plan @p on #mesh["tp"] {
  tp.argument "x" shard<0>
}
""")
    with open("fails.mlir", "w", encoding="utf-8") as file:
        file.write("""func.func @main(%x: tensor<2xf32> {tp.name = "x"}) -> (tensor<2xf32> {tp.name = "y"}) {
  %y = "test.fails"(%x) : (tensor<2xf32>) -> tensor<2xf32> loc("m"("failing"))
  return %y : tensor<2xf32>
}
""")
    run("tp-compile", "fails.mlir", "--plan=plan.mlir", "-o", "fails.tp", *target)
    if not target:
        run("tp-run", "fails.tp", "--ranks=2", f"--link={library}", "--input=x=2xf32=[-1 -2]")
    print(refusal("tp-run", "fails.tp", "--ranks=2", f"--link={library}",
                  "--input=x=2xf32=[-1 2]", environment=environment), end="")


main()

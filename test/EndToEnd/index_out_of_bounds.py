"""Reads a table at indices inside and outside of it, as docs/codegen.md describes: with and
without an assertion, whole and sharded, on both targets.

    index_out_of_bounds.py FOLDER FAKES
"""

import argparse
import os
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import fake_devices  # noqa: E402
import npy  # noqa: E402

# Not a multiple of the ranks, so that the last rank has padding behind its rows.
ROWS, RANKS = 1003, 4
INDICES = [1, ROWS, -1, 4_000_000_000]

MODEL = """
func.func @main(%table: tensor<{rows}x4xf32> {{tp.name = "table"}},
                %index: tensor<4xi64> {{tp.name = "index"}})
    -> (tensor<4x4xf32> {{tp.name = "y"}}) {{
  %rows = arith.constant {rows} : index
  %e = tensor.empty() : tensor<4x4xf32>
  %y = linalg.generic {{
      indexing_maps = [affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%index : tensor<4xi64>) outs(%e : tensor<4x4xf32>) {{
  ^bb0(%a: i64, %o: f32):
    %r = arith.index_cast %a : i64 to index
    %c = linalg.index 1 : index
    %inside = arith.cmpi ult, %r, %rows : index
    {check}
    %v = tensor.extract %table[%r, %c] : tensor<{rows}x4xf32>
    linalg.yield %v : f32
  }} -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}}
"""
PLAN = """
#mesh = #tp.mesh<"tp" = {ranks}>
tp.plan @plan on #mesh["tp"] {{
  tp.argument "table" {placement}
}}
"""


def execute(command, environment=None):
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)


def succeeded(done):
    if done.returncode:
        sys.exit(f"{' '.join(done.args)}\n{done.stdout}{done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("fakes")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    path = lambda name: os.path.join(options.folder, name)
    table = [100.0 + i for i in range(4 * ROWS)]
    npy.write(path("table.npy"), "<f4", [ROWS, 4], struct.pack(f"<{len(table)}f", *table))
    npy.write(path("index.npy"), "<i8", [4], struct.pack("<4q", *INDICES))
    for check in ("", 'cf.assert %inside, "outside of the table"'):
        with open(path("model.mlir"), "w") as file:
            file.write(MODEL.format(rows=ROWS, check=check))
        for placement in ("replicate", "shard<0>"):
            with open(path("plan.mlir"), "w") as file:
                file.write(PLAN.format(ranks=RANKS, placement=placement))
            for target in ([], fake_devices.OPTIONS):
                succeeded(execute(["tp-compile", path("model.mlir"), "-o", path("model.tp"),
                                   "--plan=" + path("plan.mlir")] + target))
                environment = fake_devices.environment(options.fakes, options.folder)
                done = execute(["tp-run", path("model.tp"), "--poison", "--input=table=@" +
                                path("table.npy"), "--input=index=@" + path("index.npy"),
                                "--output=y=@" + path("y.npy")], environment)
                if check:
                    if done.returncode != 1 or "outside of the table" not in done.stderr:
                        sys.exit(f"expected the assertion, got {done.returncode}: {done.stderr}")
                    found = "fails"
                else:
                    succeeded(done)
                    numbers = struct.unpack("<16f", npy.read(path("y.npy")))
                    found = " ".join(f"{number:g}" for number in numbers[::4])
                print(f"{'assertion' if check else 'none'}, {placement}, "
                      f"{'cuda' if target else 'cpu'}: {found}")


if __name__ == "__main__":
    main()

"""Writes a gate and an up projection of small integers, whose products are exact in f32, with a
plan that cuts them unevenly; and zeros for a weight of examples/llama.

    merged_gemms.py FOLDER
"""
from __future__ import annotations

import os
import struct
import sys

sys.path[:0] = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
import npy

ROWS, WIDTH, GATE, UP = 4, 8, 10, 10
MODEL = f"""#left = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#sums = affine_map<(m, n, k) -> (m, n)>
func.func @main(%x: tensor<{ROWS}x{WIDTH}xf32> {{tp.name = "x", tp.kind = "user_input"}},
    %gate: tensor<{GATE}x{WIDTH}xf32> {{tp.name = "gate.weight", tp.kind = "parameter"}},
    %up: tensor<{UP}x{WIDTH}xf32> {{tp.name = "up.weight", tp.kind = "parameter"}})
    -> (tensor<{ROWS}x{UP}xf32> {{tp.name = "y", tp.kind = "user_output"}}) {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{ROWS}x{UP}xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<{ROWS}x{UP}xf32>) -> tensor<{ROWS}x{UP}xf32>
  %a = linalg.matmul indexing_maps = [#left, #weight, #sums]
      ins(%x, %gate : tensor<{ROWS}x{WIDTH}xf32>, tensor<{GATE}x{WIDTH}xf32>)
      outs(%i : tensor<{ROWS}x{UP}xf32>) -> tensor<{ROWS}x{UP}xf32>
  %b = linalg.matmul indexing_maps = [#left, #weight, #sums]
      ins(%x, %up : tensor<{ROWS}x{WIDTH}xf32>, tensor<{UP}x{WIDTH}xf32>)
      outs(%i : tensor<{ROWS}x{UP}xf32>) -> tensor<{ROWS}x{UP}xf32>
  %y = linalg.sub ins(%a, %b : tensor<{ROWS}x{UP}xf32>, tensor<{ROWS}x{UP}xf32>)
      outs(%e : tensor<{ROWS}x{UP}xf32>) -> tensor<{ROWS}x{UP}xf32>
  return %y : tensor<{ROWS}x{UP}xf32>
}}
"""
PLAN = """#mesh = #tp.mesh<"tp" = 3>
tp.plan @p on #mesh["tp"] {
  tp.argument "*.weight" shard<0>
  tp.result 0 shard<1>
}
"""


def integers(count: int, start: int) -> bytes:
    return struct.pack(f"<{count}f", *((7 * i + start) % 11 - 5 for i in range(count)))


def main() -> None:
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, text in (("model.mlir", MODEL), ("plan.mlir", PLAN)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    npy.write(os.path.join(folder, "x.npy"), "<f4", (ROWS, WIDTH), integers(ROWS * WIDTH, 3))
    npy.write(os.path.join(folder, "v.npy"), "<f4", (64, 128), bytes(4 * 64 * 128))
    header, data = "", b""
    for name, rows, start in (("gate.weight", GATE, 1), ("up.weight", UP, 6)):
        array = integers(rows * WIDTH, start)
        header += (f'"{name}": {{"dtype": "F32", "shape": [{rows}, {WIDTH}], "data_offsets": '
                   f'[{len(data)}, {len(data) + len(array)}]}}, ')
        data += array
    header = "{" + header.removesuffix(", ") + "}"
    header += " " * (-len(header) % 8)
    with open(os.path.join(folder, "weights.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header.encode() + data)


if __name__ == "__main__":
    main()

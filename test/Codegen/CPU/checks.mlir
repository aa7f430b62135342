// RUN: tp-opt %s --tp-cpu-compile=output=%t.tp -o /dev/null
// RUN: not tp-run %t.tp --ranks=1 2>&1 | FileCheck %s

// An index past the end fails the check, names it, and reads nothing outside.
// CHECK: index must be smaller than dim size
func.func @main() -> tensor<3x4xf32> {
  %t = arith.constant dense<1.0> : tensor<10x4xf32>
  %i = arith.constant dense<[1, 4000000000, 2]> : tensor<3xi64>
  %c10 = arith.constant 10 : index
  %e = tensor.empty() : tensor<3x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%i : tensor<3xi64>) outs(%e : tensor<3x4xf32>) {
  ^bb0(%a: i64, %o: f32):
    %r = arith.index_cast %a : i64 to index
    %c = linalg.index 1 : index
    %k = arith.cmpi slt, %r, %c10 : index
    cf.assert %k, "index must be smaller than dim size"
    %v = tensor.extract %t[%r, %c] : tensor<10x4xf32>
    linalg.yield %v : f32
  } -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}

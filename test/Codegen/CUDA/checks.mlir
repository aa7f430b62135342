// A failed check of one thread leaves its id in the status; one that holds leaves 0.

// RUN: tp-opt %s --tp-cuda-compile="show=launches host=%t.so" -o /dev/null > %t.launches
// RUN: %tp_run_kernels %t.so %t.launches -- %t.out=8000 | FileCheck %s --check-prefix=FAILS
// RUN: sed 's/constant 999/constant 1000/' %s > %t.holds.mlir
// RUN: tp-opt %t.holds.mlir --tp-cuda-compile="show=launches host=%t.so" -o /dev/null > %t.launches
// RUN: %tp_run_kernels %t.so %t.launches -- %t.out=8000 | FileCheck %s --check-prefix=HOLDS

// FAILS: status 1
// HOLDS: status 0
func.func @main() -> tensor<1000xi64> {
  %c = arith.constant 999 : index
  %e = tensor.empty() : tensor<1000xi64>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%e : tensor<1000xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %k = arith.cmpi slt, %i, %c : index
    cf.assert %k, "index must be smaller"
    %v = arith.index_cast %i : index to i64
    linalg.yield %v : i64
  } -> tensor<1000xi64>
  return %y : tensor<1000xi64>
}

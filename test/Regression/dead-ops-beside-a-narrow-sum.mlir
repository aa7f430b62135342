// Widening a sum erases what its body does not read, in reverse and one after the
// other; it went on from an op that it had erased.
//
// RUN: tp-opt %s --tp-normalize | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// CHECK: "reduction"]
// CHECK: arith.extf
// CHECK-NEXT: arith.addf
// CHECK-NEXT: linalg.yield
func.func @main(%x: tensor<4x6xf16>, %init: tensor<4xf16>) -> tensor<4xf16> {
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x6xf16>) outs(%init : tensor<4xf16>) {
  ^bb0(%a: f16, %o: f16):
    %1 = arith.minnumf %a, %a : f16
    %2 = linalg.index 0 : index
    %3 = arith.index_cast %2 : index to i32
    %4 = arith.sitofp %3 : i32 to f16
    %5 = arith.mulf %1, %4 : f16
    %6 = arith.addf %o, %a : f16
    linalg.yield %6 : f16
  } -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

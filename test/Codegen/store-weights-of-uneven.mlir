// RUN: tp-opt %s --tp-store-weights=type=f16 | FileCheck %s

// A turned weight whose rows the ranks do not divide: the partition leaves an
// index and an end in the body, which nothing uses. The product reads it narrow.

// CHECK: %[[TURNED:.*]] = linalg.generic {{.*}} ins(%arg1 : tensor<6x8xf16>) outs(%{{.*}} : tensor<8x6xf16>)
// CHECK: linalg.generic {{.*}} ins(%arg0, %[[TURNED]] : tensor<1x8xf32>, tensor<8x6xf16>)
// CHECK-NOT: tensor<8x6xf32>

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<1x8xf32> {tp.name = "x"},
      %w: tensor<6x8xf32> {tp.name = "w", tp.kind = "parameter"}) -> tensor<1x6xf32> {
    %zero = arith.constant 0.0 : f32
    %c6 = arith.constant 6 : index
    %c11 = arith.constant 11 : index
    %rank = tp.axis_index over <#mesh, ["tp"]> : index
    %begin = arith.muli %rank, %c6 : index
    %et = tensor.empty() : tensor<8x6xf32>
    %t = linalg.generic {indexing_maps = [affine_map<(k, n) -> (n, k)>, affine_map<(k, n) -> (k, n)>], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<6x8xf32>) outs(%et : tensor<8x6xf32>) {
    ^bb0(%a: f32, %o: f32):
      %n = linalg.index 1 : index
      %at = arith.addi %n, %begin : index
      %is = arith.cmpi slt, %at, %c11 : index
      linalg.yield %a : f32
    } -> tensor<8x6xf32>
    %e = tensor.empty() : tensor<1x6xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x6xf32>) -> tensor<1x6xf32>
    %y = linalg.matmul ins(%x, %t : tensor<1x8xf32>, tensor<8x6xf32>) outs(%f : tensor<1x6xf32>) -> tensor<1x6xf32>
    return %y : tensor<1x6xf32>
  }
}

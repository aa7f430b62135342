// RUN: tp-opt %s --split-input-file --tp-legalize | FileCheck %s

// Both operands are widened, one of them is moved after it: the product reads
// both as they were, and nothing else is left.
// CHECK-LABEL: func.func @both
func.func @both(%x: tensor<2x3x4xbf16>, %w: tensor<5x4xbf16>) -> tensor<6x5xf32> {
  // CHECK: %[[ROWS:.*]] = tensor.collapse_shape %{{.*}} : tensor<2x3x4xbf16> into tensor<6x4xbf16>
  // CHECK: %[[W:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<5x4xbf16>) outs(%{{.*}} : tensor<4x5xbf16>)
  // CHECK-NEXT: ^bb0(%[[MOVED:.*]]: bf16, %{{.*}}: bf16):
  // CHECK-NEXT: linalg.yield %[[MOVED]] : bf16
  // CHECK: linalg.generic {{.*}} ins(%[[ROWS]], %[[W]] : tensor<6x4xbf16>, tensor<4x5xbf16>) outs(%{{.*}} : tensor<6x5xf32>)
  // CHECK-NEXT: ^bb0(%[[A:.*]]: bf16, %[[B:.*]]: bf16, %[[SUM:.*]]: f32):
  // CHECK-NEXT: %[[WIDE_A:.*]] = arith.extf %[[A]] : bf16 to f32
  // CHECK-NEXT: %[[WIDE_B:.*]] = arith.extf %[[B]] : bf16 to f32
  // CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[WIDE_A]], %[[WIDE_B]] : f32
  // CHECK-NEXT: arith.addf %[[SUM]], %[[PRODUCT]] : f32
  // CHECK-NOT: arith.extf
  // CHECK: return
  %0 = tensor.empty() : tensor<2x3x4xf32>
  %wide_x = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<2x3x4xbf16>) outs(%0 : tensor<2x3x4xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %e = arith.extf %in : bf16 to f32
    linalg.yield %e : f32
  } -> tensor<2x3x4xf32>
  %rows = tensor.collapse_shape %wide_x [[0, 1], [2]] : tensor<2x3x4xf32> into tensor<6x4xf32>
  %wide_w = arith.extf %w : tensor<5x4xbf16> to tensor<5x4xf32>
  %1 = tensor.empty() : tensor<4x5xf32>
  %wt = linalg.transpose ins(%wide_w : tensor<5x4xf32>) outs(%1 : tensor<4x5xf32>) permutation = [1, 0]
  %zero = arith.constant 0.0 : f32
  %2 = tensor.empty() : tensor<6x5xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<6x5xf32>) -> tensor<6x5xf32>
  %y = linalg.matmul ins(%rows, %wt : tensor<6x4xf32>, tensor<4x5xf32>) outs(%3 : tensor<6x5xf32>) -> tensor<6x5xf32>
  return %y : tensor<6x5xf32>
}

// -----

// A matrix times itself; what else reads the widened one keeps it.
// CHECK-LABEL: func.func @square
func.func @square(%x: tensor<4x4xf16>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  // CHECK: arith.extf %{{.*}} : f16 to f32
  // CHECK: linalg.generic {{.*}} ins(%arg0, %arg0 : tensor<4x4xf16>, tensor<4x4xf16>)
  %wide = arith.extf %x : tensor<4x4xf16> to tensor<4x4xf32>
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<4x4xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = linalg.matmul ins(%wide, %wide : tensor<4x4xf32>, tensor<4x4xf32>) outs(%1 : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y, %wide : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Operands of two types, one that is f32, and one that is scaled are as they
// were.
// CHECK-LABEL: func.func @others
func.func @others(%a: tensor<4x4xf16>, %b: tensor<4x4xbf16>, %c: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  // CHECK-COUNT-3: linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<4x4xf32>, tensor<4x4xf32>)
  %wide_a = arith.extf %a : tensor<4x4xf16> to tensor<4x4xf32>
  %wide_b = arith.extf %b : tensor<4x4xbf16> to tensor<4x4xf32>
  %scaled = arith.mulf %wide_a, %c : tensor<4x4xf32>
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<4x4xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %x = linalg.matmul ins(%wide_a, %wide_b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%1 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = linalg.matmul ins(%wide_a, %c : tensor<4x4xf32>, tensor<4x4xf32>) outs(%1 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %z = linalg.matmul ins(%scaled, %wide_a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%1 : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %x, %y, %z : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// RUN: tp-opt %s --split-input-file --tp-cpu-compile=show=manifest -o /dev/null | FileCheck %s

// A weight as torch stores it (out x in) is kept transposed; reshapes of the
// activation vanish.

// CHECK-LABEL: "name":"linear.weight"
// CHECK-SAME:  "storage":{"permutation":[1,0]}
// CHECK:       "command":"gemm","dtype":"f32","m":6,"n":5,"k":8,
// CHECK-NOT:   "command"
func.func @main(%x: tensor<2x3x8xf32>,
                %w: tensor<5x8xf32> {tp.name = "linear.weight", tp.kind = "parameter"}) -> tensor<2x3x5xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x5xf32>
  %t = linalg.transpose ins(%w : tensor<5x8xf32>) outs(%0 : tensor<8x5xf32>) permutation = [1, 0]
  %flat = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x3x8xf32> into tensor<6x8xf32>
  %1 = tensor.empty() : tensor<6x5xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<6x5xf32>) -> tensor<6x5xf32>
  %y = linalg.matmul ins(%flat, %t : tensor<6x8xf32>, tensor<8x5xf32>) outs(%2 : tensor<6x5xf32>) -> tensor<6x5xf32>
  %z = tensor.expand_shape %y [[0, 1], [2]] output_shape [2, 3, 5] : tensor<6x5xf32> into tensor<2x3x5xf32>
  return %z : tensor<2x3x5xf32>
}

// -----

// A weight that something else reads too stays as it is.

// CHECK-LABEL: "name":"tied.weight"
// CHECK-NOT:   "storage"
// CHECK:       "command":"gemm"
// CHECK-SAME:  "b":{{.*}}"transpose":true},"c"
func.func @main(%x: tensor<6x8xf32>,
                %w: tensor<5x8xf32> {tp.name = "tied.weight", tp.kind = "parameter"}) -> (tensor<6x5xf32>, tensor<5x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %1 = tensor.empty() : tensor<6x5xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<6x5xf32>) -> tensor<6x5xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<6x8xf32>, tensor<5x8xf32>) outs(%2 : tensor<6x5xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<6x5xf32>
  %3 = tensor.empty() : tensor<5x8xf32>
  %n = linalg.negf ins(%w : tensor<5x8xf32>) outs(%3 : tensor<5x8xf32>) -> tensor<5x8xf32>
  return %y, %n : tensor<6x5xf32>, tensor<5x8xf32>
}

// -----

// A scale by a constant is alpha; another init than zero is written by a kernel
// and added up by beta.

// CHECK-LABEL: "name":"scaled"
// CHECK:       "command":"kernel"
// CHECK:       "command":"gemm"
// CHECK-SAME:  "alpha":0.5,"beta":1,
func.func @main(%x: tensor<6x8xf32> {tp.name = "scaled"}, %w: tensor<8x5xf32>, %bias: tensor<5xf32>) -> tensor<6x5xf32> {
  %half = arith.constant 0.5 : f32
  %0 = tensor.empty() : tensor<6x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x8xf32>) outs(%0 : tensor<6x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %p = arith.mulf %a, %half : f32
    linalg.yield %p : f32
  } -> tensor<6x8xf32>
  %1 = tensor.empty() : tensor<6x5xf32>
  %b = linalg.broadcast ins(%bias : tensor<5xf32>) outs(%1 : tensor<6x5xf32>) dimensions = [0]
  %y = linalg.matmul ins(%s, %w : tensor<6x8xf32>, tensor<8x5xf32>) outs(%b : tensor<6x5xf32>) -> tensor<6x5xf32>
  return %y : tensor<6x5xf32>
}

// -----

// A scale as exporters write it, an f64 that is truncated in the body, is one
// too: the root of 1/8 is no f32.

// CHECK-LABEL: "name":"truncated"
// CHECK-NOT:   "command":"kernel"
// CHECK:       "command":"gemm"
// CHECK-SAME:  "alpha":0.3535533845424652,
// CHECK-NOT:   "command"
func.func @main(%x: tensor<6x8xf32> {tp.name = "truncated"}, %w: tensor<8x5xf32>) -> tensor<6x5xf32> {
  %zero = arith.constant 0.0 : f32
  %root = arith.constant 0.35355339059327379 : f64
  %0 = tensor.empty() : tensor<8x5xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<8x5xf32>) outs(%0 : tensor<8x5xf32>) {
  ^bb0(%a: f32, %o: f32):
    %f = arith.truncf %root : f64 to f32
    %p = arith.mulf %a, %f : f32
    linalg.yield %p : f32
  } -> tensor<8x5xf32>
  %1 = tensor.empty() : tensor<6x5xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<6x5xf32>) -> tensor<6x5xf32>
  %y = linalg.matmul ins(%x, %s : tensor<6x8xf32>, tensor<8x5xf32>) outs(%2 : tensor<6x5xf32>) -> tensor<6x5xf32>
  return %y : tensor<6x5xf32>
}

// -----

// Heads: the first product is written in the order in which the second reads it
// (batch, sequence, head, dim), so that no transpose is left; repeated key and
// value heads are batch strides of zero.

// CHECK-LABEL: "name":"scores"
// CHECK:       "command":"gemm"
// CHECK-SAME:  "b":{{.*}}"batch_strides":[32,0]},"c":{{.*}}"ld":16,"batch_strides":[8,4]}
// CHECK:       "command":"gemm"
// CHECK-NOT:   "command"
func.func @main(%p: tensor<4x6x8xf32> {tp.name = "scores"}, %v: tensor<2x8x4xf32>, %w: tensor<16x10xf32>) -> tensor<6x10xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<2x2x8x4xf32>
  %r = linalg.broadcast ins(%v : tensor<2x8x4xf32>) outs(%0 : tensor<2x2x8x4xf32>) dimensions = [1]
  %rv = tensor.collapse_shape %r [[0, 1], [2], [3]] : tensor<2x2x8x4xf32> into tensor<4x8x4xf32>
  %1 = tensor.empty() : tensor<4x6x4xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %y = linalg.batch_matmul ins(%p, %rv : tensor<4x6x8xf32>, tensor<4x8x4xf32>) outs(%2 : tensor<4x6x4xf32>) -> tensor<4x6x4xf32>
  %3 = tensor.empty() : tensor<6x4x4xf32>
  %t = linalg.transpose ins(%y : tensor<4x6x4xf32>) outs(%3 : tensor<6x4x4xf32>) permutation = [1, 0, 2]
  %c = tensor.collapse_shape %t [[0], [1, 2]] : tensor<6x4x4xf32> into tensor<6x16xf32>
  %4 = tensor.empty() : tensor<6x10xf32>
  %5 = linalg.fill ins(%zero : f32) outs(%4 : tensor<6x10xf32>) -> tensor<6x10xf32>
  %z = linalg.matmul ins(%c, %w : tensor<6x16xf32>, tensor<16x10xf32>) outs(%5 : tensor<6x10xf32>) -> tensor<6x10xf32>
  return %z : tensor<6x10xf32>
}

// -----

// An argument whose contracted dims do not join is packed by a kernel; integers
// are multiplied by a kernel.

// CHECK-LABEL: "name":"apart"
// CHECK:       "command":"kernel"
// CHECK:       "command":"gemm"
// CHECK:       "command":"kernel"
// CHECK-NOT:   "command"
func.func @main(%x: tensor<4x6x2xf32> {tp.name = "apart"}, %w: tensor<8x5xf32>, %i: tensor<2x3xi32>, %j: tensor<3x2xi32>) -> (tensor<6x5xf32>, tensor<2x2xi32>) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i32
  %0 = tensor.empty() : tensor<6x4x2xf32>
  %t = linalg.transpose ins(%x : tensor<4x6x2xf32>) outs(%0 : tensor<6x4x2xf32>) permutation = [1, 0, 2]
  %c = tensor.collapse_shape %t [[0], [1, 2]] : tensor<6x4x2xf32> into tensor<6x8xf32>
  %1 = tensor.empty() : tensor<6x5xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<6x5xf32>) -> tensor<6x5xf32>
  %y = linalg.matmul ins(%c, %w : tensor<6x8xf32>, tensor<8x5xf32>) outs(%2 : tensor<6x5xf32>) -> tensor<6x5xf32>
  %3 = tensor.empty() : tensor<2x2xi32>
  %4 = linalg.fill ins(%none : i32) outs(%3 : tensor<2x2xi32>) -> tensor<2x2xi32>
  %z = linalg.matmul ins(%i, %j : tensor<2x3xi32>, tensor<3x2xi32>) outs(%4 : tensor<2x2xi32>) -> tensor<2x2xi32>
  return %y, %z : tensor<6x5xf32>, tensor<2x2xi32>
}

// -----

// A GEMM takes bf16 operands as they are and writes f32.

// CHECK-LABEL: "name":"narrow"
// CHECK-NOT:   "command":"kernel"
// CHECK:       "command":"gemm","dtype":"bf16","c_dtype":"f32"
// CHECK-NOT:   "command"
func.func @main(%x: tensor<6x8xbf16> {tp.name = "narrow"}, %w: tensor<8x5xbf16>) -> tensor<6x5xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<6x5xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<6x5xf32>) -> tensor<6x5xf32>
  %y = linalg.matmul ins(%x, %w : tensor<6x8xbf16>, tensor<8x5xbf16>) outs(%1 : tensor<6x5xf32>) -> tensor<6x5xf32>
  return %y : tensor<6x5xf32>
}

// -----

// Rows times rows, added up: every element is used once, so no product of matrices.

// CHECK-LABEL: "name":"rows"
// CHECK-NOT:   "command":"gemm"
// CHECK:       "command":"kernel"
// CHECK-NOT:   "command"
func.func @main(%x: tensor<6x8xf32> {tp.name = "rows", tp.kind = "user_input"}, %w: tensor<6x8xf32>) -> tensor<6xf32> {
  %zero = arith.constant 0.0 : f32
  %1 = tensor.empty() : tensor<6xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<6xf32>) -> tensor<6xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x, %w : tensor<6x8xf32>, tensor<6x8xf32>) outs(%2 : tensor<6xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  return %y : tensor<6xf32>
}

// What follows a product's sums is done by the product: a vector and a matrix are added, GELU is applied, and the result is rounded once.
// RUN: tp-opt %s --split-input-file --tp-cuda-compile=show=manifest -o /dev/null | %python %S/products.py | FileCheck %s

// A vector along the rows.
// CHECK-LABEL: bias
// CHECK-NEXT: 4 x 6 x 8 f32 + bias
// CHECK-NEXT: 0 kernels
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#column = affine_map<(m, n) -> (m)>
#swapped = affine_map<(m, n) -> (n, m)>
func.func @main(%a: tensor<4x8xf32> {tp.name = "bias"}, %b: tensor<8x6xf32>, %v: tensor<6xf32>) -> (tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %s_e = tensor.empty() : tensor<4x6xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%s_z : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %2 = arith.mulf %x, %y : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x6xf32>
  %y_o = tensor.empty() : tensor<4x6xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %v : tensor<4x6xf32>, tensor<6xf32>) outs(%y_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %0 = arith.addf %x0, %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

// GELU in its tanh form, one op at a time.
// CHECK-LABEL: bias-and-gelu
// CHECK-NEXT: 4 x 6 x 8 f32 + bias, gelu_tanh
// CHECK-NEXT: 0 kernels
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#column = affine_map<(m, n) -> (m)>
#swapped = affine_map<(m, n) -> (n, m)>
func.func @main(%a: tensor<4x8xf32> {tp.name = "bias-and-gelu"}, %b: tensor<8x6xf32>, %v: tensor<6xf32>) -> (tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %s_e = tensor.empty() : tensor<4x6xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%s_z : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %2 = arith.mulf %x, %y : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x6xf32>
  %y_o = tensor.empty() : tensor<4x6xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %v : tensor<4x6xf32>, tensor<6xf32>) outs(%y_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %0 = arith.addf %x0, %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %three = arith.constant 3 : i64
  %c = arith.constant 0.044715 : f32
  %r = arith.constant 0.797884583 : f32
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %g0_o = tensor.empty() : tensor<4x6xf32>
  %g0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<4x6xf32>) outs(%g0_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = math.fpowi %x0, %three : f32, i64
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g1_o = tensor.empty() : tensor<4x6xf32>
  %g1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g0 : tensor<4x6xf32>) outs(%g1_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = arith.mulf %x0, %c : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g2_o = tensor.empty() : tensor<4x6xf32>
  %g2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %g1 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%g2_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %0 = arith.addf %x0, %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g3_o = tensor.empty() : tensor<4x6xf32>
  %g3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g2 : tensor<4x6xf32>) outs(%g3_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = arith.mulf %x0, %r : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g4_o = tensor.empty() : tensor<4x6xf32>
  %g4 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g3 : tensor<4x6xf32>) outs(%g4_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = math.tanh %x0 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g5_o = tensor.empty() : tensor<4x6xf32>
  %g5 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g4 : tensor<4x6xf32>) outs(%g5_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = arith.addf %x0, %one : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g6_o = tensor.empty() : tensor<4x6xf32>
  %g6 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<4x6xf32>) outs(%g6_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = arith.mulf %x0, %half : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %gelu_o = tensor.empty() : tensor<4x6xf32>
  %gelu = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g6, %g5 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%gelu_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %0 = arith.mulf %x0, %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  return %gelu : tensor<4x6xf32>
}

// -----

// The cube as two products.
// CHECK-LABEL: gelu-by-products
// CHECK-NEXT: 4 x 6 x 8 f32, gelu_tanh
// CHECK-NEXT: 0 kernels
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#column = affine_map<(m, n) -> (m)>
#swapped = affine_map<(m, n) -> (n, m)>
func.func @main(%a: tensor<4x8xf32> {tp.name = "gelu-by-products"}, %b: tensor<8x6xf32>) -> (tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %s_e = tensor.empty() : tensor<4x6xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%s_z : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %2 = arith.mulf %x, %y : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x6xf32>
  %three = arith.constant 3 : i64
  %c = arith.constant 0.044715 : f32
  %r = arith.constant 0.797884583 : f32
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %g0_o = tensor.empty() : tensor<4x6xf32>
  %g0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<4x6xf32>) outs(%g0_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %1 = arith.mulf %x0, %x0 : f32
    %0 = arith.mulf %x0, %1 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g1_o = tensor.empty() : tensor<4x6xf32>
  %g1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g0 : tensor<4x6xf32>) outs(%g1_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = arith.mulf %x0, %c : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g2_o = tensor.empty() : tensor<4x6xf32>
  %g2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %g1 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%g2_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %0 = arith.addf %x0, %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g3_o = tensor.empty() : tensor<4x6xf32>
  %g3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g2 : tensor<4x6xf32>) outs(%g3_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = arith.mulf %x0, %r : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g4_o = tensor.empty() : tensor<4x6xf32>
  %g4 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g3 : tensor<4x6xf32>) outs(%g4_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = math.tanh %x0 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g5_o = tensor.empty() : tensor<4x6xf32>
  %g5 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g4 : tensor<4x6xf32>) outs(%g5_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = arith.addf %x0, %one : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g6_o = tensor.empty() : tensor<4x6xf32>
  %g6 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<4x6xf32>) outs(%g6_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = arith.mulf %x0, %half : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %gelu_o = tensor.empty() : tensor<4x6xf32>
  %gelu = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g6, %g5 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%gelu_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %0 = arith.mulf %x0, %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  return %gelu : tensor<4x6xf32>
}

// -----

// Another constant is another function.
// CHECK-LABEL: another-function
// CHECK-NEXT: 4 x 6 x 8 f32
// CHECK-NEXT: 1 kernels
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#column = affine_map<(m, n) -> (m)>
#swapped = affine_map<(m, n) -> (n, m)>
func.func @main(%a: tensor<4x8xf32> {tp.name = "another-function"}, %b: tensor<8x6xf32>) -> (tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %s_e = tensor.empty() : tensor<4x6xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%s_z : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %2 = arith.mulf %x, %y : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x6xf32>
  %three = arith.constant 3 : i64
  %c = arith.constant 0.0447 : f32
  %r = arith.constant 0.797884583 : f32
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %g0_o = tensor.empty() : tensor<4x6xf32>
  %g0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<4x6xf32>) outs(%g0_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = math.fpowi %x0, %three : f32, i64
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g1_o = tensor.empty() : tensor<4x6xf32>
  %g1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g0 : tensor<4x6xf32>) outs(%g1_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = arith.mulf %x0, %c : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g2_o = tensor.empty() : tensor<4x6xf32>
  %g2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %g1 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%g2_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %0 = arith.addf %x0, %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g3_o = tensor.empty() : tensor<4x6xf32>
  %g3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g2 : tensor<4x6xf32>) outs(%g3_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = arith.mulf %x0, %r : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g4_o = tensor.empty() : tensor<4x6xf32>
  %g4 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g3 : tensor<4x6xf32>) outs(%g4_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = math.tanh %x0 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g5_o = tensor.empty() : tensor<4x6xf32>
  %g5 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g4 : tensor<4x6xf32>) outs(%g5_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = arith.addf %x0, %one : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g6_o = tensor.empty() : tensor<4x6xf32>
  %g6 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<4x6xf32>) outs(%g6_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = arith.mulf %x0, %half : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %gelu_o = tensor.empty() : tensor<4x6xf32>
  %gelu = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g6, %g5 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%gelu_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %0 = arith.mulf %x0, %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  return %gelu : tensor<4x6xf32>
}

// -----

// What is on the way to GELU is used elsewhere too.
// CHECK-LABEL: gelu-seen-twice
// CHECK-NEXT: 4 x 6 x 8 f32
// CHECK-NEXT: 1 kernels
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#column = affine_map<(m, n) -> (m)>
#swapped = affine_map<(m, n) -> (n, m)>
func.func @main(%a: tensor<4x8xf32> {tp.name = "gelu-seen-twice"}, %b: tensor<8x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %s_e = tensor.empty() : tensor<4x6xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%s_z : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %2 = arith.mulf %x, %y : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x6xf32>
  %three = arith.constant 3 : i64
  %c = arith.constant 0.044715 : f32
  %r = arith.constant 0.797884583 : f32
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %g0_o = tensor.empty() : tensor<4x6xf32>
  %g0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<4x6xf32>) outs(%g0_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = math.fpowi %x0, %three : f32, i64
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g1_o = tensor.empty() : tensor<4x6xf32>
  %g1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g0 : tensor<4x6xf32>) outs(%g1_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = arith.mulf %x0, %c : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g2_o = tensor.empty() : tensor<4x6xf32>
  %g2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %g1 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%g2_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %0 = arith.addf %x0, %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g3_o = tensor.empty() : tensor<4x6xf32>
  %g3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g2 : tensor<4x6xf32>) outs(%g3_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = arith.mulf %x0, %r : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g4_o = tensor.empty() : tensor<4x6xf32>
  %g4 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g3 : tensor<4x6xf32>) outs(%g4_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = math.tanh %x0 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g5_o = tensor.empty() : tensor<4x6xf32>
  %g5 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g4 : tensor<4x6xf32>) outs(%g5_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = arith.addf %x0, %one : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %g6_o = tensor.empty() : tensor<4x6xf32>
  %g6 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<4x6xf32>) outs(%g6_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %out: f32):
    %0 = arith.mulf %x0, %half : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %gelu_o = tensor.empty() : tensor<4x6xf32>
  %gelu = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g6, %g5 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%gelu_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %0 = arith.mulf %x0, %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  return %gelu, %g4 : tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// A matrix and a vector, in either order.
// CHECK-LABEL: residual
// CHECK-NEXT: 4 x 6 x 8 f32 + residual + bias
// CHECK-NEXT: 0 kernels
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#column = affine_map<(m, n) -> (m)>
#swapped = affine_map<(m, n) -> (n, m)>
func.func @main(%a: tensor<4x8xf32> {tp.name = "residual"}, %b: tensor<8x6xf32>, %v: tensor<6xf32>, %r: tensor<4x6xf32>) -> (tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %s_e = tensor.empty() : tensor<4x6xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%s_z : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %2 = arith.mulf %x, %y : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x6xf32>
  %y_o = tensor.empty() : tensor<4x6xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %r : tensor<4x6xf32>, tensor<4x6xf32>) outs(%y_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %0 = arith.addf %x1, %x0 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %z_o = tensor.empty() : tensor<4x6xf32>
  %z = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %v : tensor<4x6xf32>, tensor<6xf32>) outs(%z_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %0 = arith.addf %x0, %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  return %z : tensor<4x6xf32>
}

// -----

// Tokens are rows of the product and two dims of the residual.
// CHECK-LABEL: residual-behind-a-reshape
// CHECK-NEXT: 4 x 6 x 8 f32 + residual
// CHECK-NEXT: 0 kernels
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#column = affine_map<(m, n) -> (m)>
#swapped = affine_map<(m, n) -> (n, m)>
func.func @main(%a: tensor<4x8xf32> {tp.name = "residual-behind-a-reshape"}, %b: tensor<8x6xf32>, %r: tensor<2x2x6xf32>) -> (tensor<2x2x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %s_e = tensor.empty() : tensor<4x6xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%s_z : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %2 = arith.mulf %x, %y : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x6xf32>
  %tokens = tensor.expand_shape %s [[0, 1], [2]] output_shape [2, 2, 6] : tensor<4x6xf32> into tensor<2x2x6xf32>
  %o = tensor.empty() : tensor<2x2x6xf32>
  %y = linalg.add ins(%tokens, %r : tensor<2x2x6xf32>, tensor<2x2x6xf32>) outs(%o : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  return %y : tensor<2x2x6xf32>
}

// -----

// The residual lies the other way round.
// CHECK-LABEL: transposed-residual
// CHECK-NEXT: 4 x 6 x 8 f32
// CHECK-NEXT: 1 kernels
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#column = affine_map<(m, n) -> (m)>
#swapped = affine_map<(m, n) -> (n, m)>
func.func @main(%a: tensor<4x8xf32> {tp.name = "transposed-residual"}, %b: tensor<8x6xf32>, %r: tensor<6x4xf32>) -> (tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %s_e = tensor.empty() : tensor<4x6xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%s_z : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %2 = arith.mulf %x, %y : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x6xf32>
  %y_o = tensor.empty() : tensor<4x6xf32>
  %y = linalg.generic {indexing_maps = [#id, #swapped, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %r : tensor<4x6xf32>, tensor<6x4xf32>) outs(%y_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %0 = arith.addf %x0, %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

// cuBLASLt adds a vector to every row only.
// CHECK-LABEL: vector-along-columns
// CHECK-NEXT: 4 x 6 x 8 f32
// CHECK-NEXT: 1 kernels
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#column = affine_map<(m, n) -> (m)>
#swapped = affine_map<(m, n) -> (n, m)>
func.func @main(%a: tensor<4x8xf32> {tp.name = "vector-along-columns"}, %b: tensor<8x6xf32>, %v: tensor<4xf32>) -> (tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %s_e = tensor.empty() : tensor<4x6xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%s_z : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %2 = arith.mulf %x, %y : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x6xf32>
  %y_o = tensor.empty() : tensor<4x6xf32>
  %y = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %v : tensor<4x6xf32>, tensor<4xf32>) outs(%y_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %0 = arith.addf %x0, %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

// There is one matrix and one vector.
// CHECK-LABEL: three-terms
// CHECK-NEXT: 4 x 6 x 8 f32 + residual + bias
// CHECK-NEXT: 1 kernels
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#column = affine_map<(m, n) -> (m)>
#swapped = affine_map<(m, n) -> (n, m)>
func.func @main(%a: tensor<4x8xf32> {tp.name = "three-terms"}, %b: tensor<8x6xf32>, %v: tensor<6xf32>, %r: tensor<4x6xf32>, %t: tensor<4x6xf32>) -> (tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %s_e = tensor.empty() : tensor<4x6xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%s_z : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %2 = arith.mulf %x, %y : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x6xf32>
  %y_o = tensor.empty() : tensor<4x6xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %r : tensor<4x6xf32>, tensor<4x6xf32>) outs(%y_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %0 = arith.addf %x0, %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %z_o = tensor.empty() : tensor<4x6xf32>
  %z = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %v : tensor<4x6xf32>, tensor<6xf32>) outs(%z_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %0 = arith.addf %x0, %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %w_o = tensor.empty() : tensor<4x6xf32>
  %w = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%z, %t : tensor<4x6xf32>, tensor<4x6xf32>) outs(%w_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %0 = arith.addf %x0, %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  return %w : tensor<4x6xf32>
}

// -----

// The sum itself is a result.
// CHECK-LABEL: sum-seen-twice
// CHECK-NEXT: 4 x 6 x 8 f32
// CHECK-NEXT: 1 kernels
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#column = affine_map<(m, n) -> (m)>
#swapped = affine_map<(m, n) -> (n, m)>
func.func @main(%a: tensor<4x8xf32> {tp.name = "sum-seen-twice"}, %b: tensor<8x6xf32>, %v: tensor<6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %s_e = tensor.empty() : tensor<4x6xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%s_z : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %2 = arith.mulf %x, %y : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x6xf32>
  %y_o = tensor.empty() : tensor<4x6xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %v : tensor<4x6xf32>, tensor<6xf32>) outs(%y_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %0 = arith.addf %x0, %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  return %y, %s : tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// x + x has no other term.
// CHECK-LABEL: twice-the-sum
// CHECK-NEXT: 4 x 6 x 8 f32
// CHECK-NEXT: 1 kernels
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#column = affine_map<(m, n) -> (m)>
#swapped = affine_map<(m, n) -> (n, m)>
func.func @main(%a: tensor<4x8xf32> {tp.name = "twice-the-sum"}, %b: tensor<8x6xf32>) -> (tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %s_e = tensor.empty() : tensor<4x6xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%s_z : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %2 = arith.mulf %x, %y : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x6xf32>
  %y_o = tensor.empty() : tensor<4x6xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %s : tensor<4x6xf32>, tensor<4x6xf32>) outs(%y_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %0 = arith.addf %x0, %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

// The second product adds what the first one made.
// CHECK-LABEL: two-products
// CHECK-NEXT: 4 x 6 x 8 f32
// CHECK-NEXT: 4 x 6 x 8 f32 + residual
// CHECK-NEXT: 0 kernels
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#column = affine_map<(m, n) -> (m)>
#swapped = affine_map<(m, n) -> (n, m)>
func.func @main(%a: tensor<4x8xf32> {tp.name = "two-products"}, %b: tensor<8x6xf32>, %c: tensor<4x8xf32>) -> (tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %s_e = tensor.empty() : tensor<4x6xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%s_z : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %2 = arith.mulf %x, %y : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x6xf32>
  %t_e = tensor.empty() : tensor<4x6xf32>
  %t_z = linalg.fill ins(%zero : f32) outs(%t_e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %t = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%c, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%t_z : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %2 = arith.mulf %x, %y : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x6xf32>
  %y_o = tensor.empty() : tensor<4x6xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %t : tensor<4x6xf32>, tensor<4x6xf32>) outs(%y_o : tensor<4x6xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %0 = arith.addf %x0, %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

// What a product begins with, without a copy.
// CHECK-LABEL: init-is-a-term
// CHECK-NEXT: 4 x 6 x 8 f32 + residual
// CHECK-NEXT: 0 kernels
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#column = affine_map<(m, n) -> (m)>
#swapped = affine_map<(m, n) -> (n, m)>
func.func @main(%a: tensor<4x8xf32> {tp.name = "init-is-a-term"}, %b: tensor<8x6xf32>, %r: tensor<4x6xf32>) -> (tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %s = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%r : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %2 = arith.mulf %x, %y : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x6xf32>
  return %s : tensor<4x6xf32>
}

// -----

// The sum is rounded, the vector added and the result rounded: the product rounds once.
// CHECK-LABEL: rounded-once
// CHECK-NEXT: 4 x 6 x 8 bf16 + bias
// CHECK-NEXT: 0 kernels
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#column = affine_map<(m, n) -> (m)>
#swapped = affine_map<(m, n) -> (n, m)>
func.func @main(%a: tensor<4x8xbf16> {tp.name = "rounded-once"}, %b: tensor<8x6xbf16>, %v: tensor<6xbf16>) -> (tensor<4x6xbf16>) {
  %zero = arith.constant 0.0 : f32
  %s_e = tensor.empty() : tensor<4x6xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x8xbf16>, tensor<8x6xbf16>) outs(%s_z : tensor<4x6xf32>) {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.extf %y : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x6xf32>
  %h_o = tensor.empty() : tensor<4x6xbf16>
  %h = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<4x6xf32>) outs(%h_o : tensor<4x6xbf16>) {
  ^bb0(%x0: f32, %out: bf16):
    %0 = arith.truncf %x0 : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<4x6xbf16>
  %y_o = tensor.empty() : tensor<4x6xbf16>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%h, %v : tensor<4x6xbf16>, tensor<6xbf16>) outs(%y_o : tensor<4x6xbf16>) {
  ^bb0(%x0: bf16, %x1: bf16, %out: bf16):
    %0 = arith.addf %x0, %x1 : bf16
    linalg.yield %0 : bf16
  } -> tensor<4x6xbf16>
  return %y : tensor<4x6xbf16>
}

// -----

// Only rounded.
// CHECK-LABEL: rounded-behind-a-reshape
// CHECK-NEXT: 4 x 6 x 8 bf16
// CHECK-NEXT: 0 kernels
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#column = affine_map<(m, n) -> (m)>
#swapped = affine_map<(m, n) -> (n, m)>
func.func @main(%a: tensor<4x8xbf16> {tp.name = "rounded-behind-a-reshape"}, %b: tensor<8x6xbf16>) -> (tensor<2x2x6xbf16>) {
  %zero = arith.constant 0.0 : f32
  %s_e = tensor.empty() : tensor<4x6xf32>
  %s_z = linalg.fill ins(%zero : f32) outs(%s_e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x8xbf16>, tensor<8x6xbf16>) outs(%s_z : tensor<4x6xf32>) {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.extf %y : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4x6xf32>
  %tokens = tensor.expand_shape %s [[0, 1], [2]] output_shape [2, 2, 6] : tensor<4x6xf32> into tensor<2x2x6xf32>
  %o = tensor.empty() : tensor<2x2x6xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%tokens : tensor<2x2x6xf32>) outs(%o : tensor<2x2x6xbf16>) {
  ^bb0(%x: f32, %out: bf16):
    %0 = arith.truncf %x : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<2x2x6xbf16>
  return %y : tensor<2x2x6xbf16>
}

// -----

// Only a matrix is added in f64.
// CHECK-LABEL: vector-of-f64
// CHECK-NEXT: 4 x 6 x 8 f64 + residual
// CHECK-NEXT: 1 kernels
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#column = affine_map<(m, n) -> (m)>
#swapped = affine_map<(m, n) -> (n, m)>
func.func @main(%a: tensor<4x8xf64> {tp.name = "vector-of-f64"}, %b: tensor<8x6xf64>, %v: tensor<6xf64>, %r: tensor<4x6xf64>) -> (tensor<4x6xf64>) {
  %zero = arith.constant 0.0 : f64
  %s_e = tensor.empty() : tensor<4x6xf64>
  %s_z = linalg.fill ins(%zero : f64) outs(%s_e : tensor<4x6xf64>) -> tensor<4x6xf64>
  %s = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4x8xf64>, tensor<8x6xf64>) outs(%s_z : tensor<4x6xf64>) {
  ^bb0(%x: f64, %y: f64, %sum: f64):
    %2 = arith.mulf %x, %y : f64
    %3 = arith.addf %sum, %2 : f64
    linalg.yield %3 : f64
  } -> tensor<4x6xf64>
  %y_o = tensor.empty() : tensor<4x6xf64>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %r : tensor<4x6xf64>, tensor<4x6xf64>) outs(%y_o : tensor<4x6xf64>) {
  ^bb0(%x0: f64, %x1: f64, %out: f64):
    %0 = arith.addf %x0, %x1 : f64
    linalg.yield %0 : f64
  } -> tensor<4x6xf64>
  %z_o = tensor.empty() : tensor<4x6xf64>
  %z = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %v : tensor<4x6xf64>, tensor<6xf64>) outs(%z_o : tensor<4x6xf64>) {
  ^bb0(%x0: f64, %x1: f64, %out: f64):
    %0 = arith.addf %x0, %x1 : f64
    linalg.yield %0 : f64
  } -> tensor<4x6xf64>
  return %z : tensor<4x6xf64>
}

// RUN: tp-opt %s --split-input-file --tp-skip-rows | FileCheck %s

// The condition of a product's rows is made of rows of another product, whose own
// condition stands behind it. What was moved before the first product was moved
// again for the second, and stood behind what reads it.
// CHECK-LABEL: func.func @twice
// CHECK-COUNT-2: tp.needed
// CHECK-LABEL: func.func @behind
// CHECK-COUNT-3: tp.needed
func.func @twice(%x: tensor<8x6xf32>, %a: tensor<6x5xf32>, %w: tensor<6x4xf32>, %b: tensor<6x7xf32>, %m: tensor<8xi1>, %s: tensor<8x3xf32>) -> tensor<8x5xf32> {
  %z = arith.constant 0.0 : f32
  %eu = tensor.empty() : tensor<8x5xf32>
  %fu = linalg.fill ins(%z : f32) outs(%eu : tensor<8x5xf32>) -> tensor<8x5xf32>
  %u = linalg.matmul ins(%x, %a : tensor<8x6xf32>, tensor<6x5xf32>) outs(%fu : tensor<8x5xf32>) -> tensor<8x5xf32>
  %ev = tensor.empty() : tensor<8x4xf32>
  %fv = linalg.fill ins(%z : f32) outs(%ev : tensor<8x4xf32>) -> tensor<8x4xf32>
  %v = linalg.matmul ins(%x, %w : tensor<8x6xf32>, tensor<6x4xf32>) outs(%fv : tensor<8x4xf32>) -> tensor<8x4xf32>
  %en = tensor.empty() : tensor<8xf32>
  %fn = linalg.fill ins(%z : f32) outs(%en : tensor<8xf32>) -> tensor<8xf32>
  %sn = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%s : tensor<8x3xf32>) outs(%fn : tensor<8xf32>) {
  ^bb0(%in0: f32, %in1: f32):
    %rr = arith.addf %in0, %in1 : f32
    linalg.yield %rr : f32
  } -> tensor<8xf32>
  %gn = tensor.empty() : tensor<8xi1>
  %n = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%sn : tensor<8xf32>) outs(%gn : tensor<8xi1>) {
  ^bb0(%in0: f32, %in1: i1):
    %rr = arith.cmpf ogt, %in0, %z : f32
    linalg.yield %rr : i1
  } -> tensor<8xi1>
  %ey = tensor.empty() : tensor<8x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%n, %v : tensor<8xi1>, tensor<8x4xf32>) outs(%ey : tensor<8x4xf32>) {
  ^bb0(%in0: i1, %in1: f32, %in2: f32):
    %rr = arith.select %in0, %in1, %z : f32
    linalg.yield %rr : f32
  } -> tensor<8x4xf32>
  %ec = tensor.empty() : tensor<8xf32>
  %fc = linalg.fill ins(%z : f32) outs(%ec : tensor<8xf32>) -> tensor<8xf32>
  %sc = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%y : tensor<8x4xf32>) outs(%fc : tensor<8xf32>) {
  ^bb0(%in0: f32, %in1: f32):
    %rr = arith.addf %in0, %in1 : f32
    linalg.yield %rr : f32
  } -> tensor<8xf32>
  %gc = tensor.empty() : tensor<8xi1>
  %c = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%sc : tensor<8xf32>) outs(%gc : tensor<8xi1>) {
  ^bb0(%in0: f32, %in1: i1):
    %rr = arith.cmpf ogt, %in0, %z : f32
    linalg.yield %rr : i1
  } -> tensor<8xi1>
  %eo = tensor.empty() : tensor<8x5xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%c, %u : tensor<8xi1>, tensor<8x5xf32>) outs(%eo : tensor<8x5xf32>) {
  ^bb0(%in0: i1, %in1: f32, %in2: f32):
    %rr = arith.select %in0, %in1, %z : f32
    linalg.yield %rr : f32
  } -> tensor<8x5xf32>
  return %o : tensor<8x5xf32>
}

// -----

// A list of rows that was made for a product is there for one that has moved
// before it.
func.func @behind(%x: tensor<8x6xf32>, %a: tensor<6x5xf32>, %w: tensor<6x4xf32>, %b: tensor<6x7xf32>, %m: tensor<8xi1>, %s: tensor<8x3xf32>) -> (tensor<8x5xf32>, tensor<8x7xf32>) {
  %z = arith.constant 0.0 : f32
  %eu = tensor.empty() : tensor<8x5xf32>
  %fu = linalg.fill ins(%z : f32) outs(%eu : tensor<8x5xf32>) -> tensor<8x5xf32>
  %u = linalg.matmul ins(%x, %a : tensor<8x6xf32>, tensor<6x5xf32>) outs(%fu : tensor<8x5xf32>) -> tensor<8x5xf32>
  %ek = tensor.empty() : tensor<8x7xf32>
  %fk = linalg.fill ins(%z : f32) outs(%ek : tensor<8x7xf32>) -> tensor<8x7xf32>
  %k = linalg.matmul ins(%x, %b : tensor<8x6xf32>, tensor<6x7xf32>) outs(%fk : tensor<8x7xf32>) -> tensor<8x7xf32>
  %ev = tensor.empty() : tensor<8x4xf32>
  %fv = linalg.fill ins(%z : f32) outs(%ev : tensor<8x4xf32>) -> tensor<8x4xf32>
  %v = linalg.matmul ins(%x, %w : tensor<8x6xf32>, tensor<6x4xf32>) outs(%fv : tensor<8x4xf32>) -> tensor<8x4xf32>
  %ey = tensor.empty() : tensor<8x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%m, %v : tensor<8xi1>, tensor<8x4xf32>) outs(%ey : tensor<8x4xf32>) {
  ^bb0(%in0: i1, %in1: f32, %in2: f32):
    %rr = arith.select %in0, %in1, %z : f32
    linalg.yield %rr : f32
  } -> tensor<8x4xf32>
  %ec = tensor.empty() : tensor<8xf32>
  %fc = linalg.fill ins(%z : f32) outs(%ec : tensor<8xf32>) -> tensor<8xf32>
  %sc = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%y : tensor<8x4xf32>) outs(%fc : tensor<8xf32>) {
  ^bb0(%in0: f32, %in1: f32):
    %rr = arith.addf %in0, %in1 : f32
    linalg.yield %rr : f32
  } -> tensor<8xf32>
  %gc = tensor.empty() : tensor<8xi1>
  %c = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%sc : tensor<8xf32>) outs(%gc : tensor<8xi1>) {
  ^bb0(%in0: f32, %in1: i1):
    %rr = arith.cmpf ogt, %in0, %z : f32
    linalg.yield %rr : i1
  } -> tensor<8xi1>
  %eo = tensor.empty() : tensor<8x5xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%c, %u : tensor<8xi1>, tensor<8x5xf32>) outs(%eo : tensor<8x5xf32>) {
  ^bb0(%in0: i1, %in1: f32, %in2: f32):
    %rr = arith.select %in0, %in1, %z : f32
    linalg.yield %rr : f32
  } -> tensor<8x5xf32>
  %eq = tensor.empty() : tensor<8x7xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%m, %k : tensor<8xi1>, tensor<8x7xf32>) outs(%eq : tensor<8x7xf32>) {
  ^bb0(%in0: i1, %in1: f32, %in2: f32):
    %rr = arith.select %in0, %in1, %z : f32
    linalg.yield %rr : f32
  } -> tensor<8x7xf32>
  return %o, %q : tensor<8x5xf32>, tensor<8x7xf32>
}

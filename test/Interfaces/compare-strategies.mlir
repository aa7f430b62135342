// What holds when every rank applies an op to its part, and no rule offers: the
// functions exp and tanh keep the order of numbers as exact functions, but nothing
// says that they do as they are computed; exp of a sum is rounded twice.
// RUN: tp-opt %s --tp-compare-strategies --mlir-print-op-on-diagnostic=false -o /dev/null 2>&1 | FileCheck %s --implicit-check-not="is not offered" --implicit-check-not=error:
// RUN: tp-opt %s --tp-compare-strategies=ranks=3 --mlir-print-op-on-diagnostic=false -o /dev/null

#xy = affine_map<(i, j) -> (i, j)>
#yx = affine_map<(i, j) -> (j, i)>
#y = affine_map<(i, j) -> (j)>
#x = affine_map<(i, j) -> (i)>
func.func @elementwise(%a: tensor<4x6xf32>, %b: tensor<4x6xf32>, %e: tensor<4x6xf32>, %r: tensor<6xf32>) {
  // CHECK: strategies offered, 0 lacking
  %add = linalg.add ins(%a, %b : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: strategies offered, 0 lacking
  %sub = linalg.sub ins(%a, %b : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: strategies offered, 0 lacking
  %mul = linalg.mul ins(%a, %b : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: strategies offered, 0 lacking
  %div = linalg.div ins(%a, %b : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: strategies offered, 0 lacking
  %max = linalg.max ins(%a, %b : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: strategies offered, 0 lacking
  %min = linalg.min ins(%a, %b : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: strategies offered, 0 lacking
  %neg = linalg.negf ins(%a : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: is not offered (partial<sum>, any) to partial<product>
  // CHECK: is not offered (partial<max>, any) to partial<max>
  // CHECK: is not offered (partial<min>, any) to partial<min>
  // CHECK: strategies offered, 3 lacking
  %exp = linalg.exp ins(%a : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: is not offered (partial<max>, any) to partial<max>
  // CHECK: is not offered (partial<min>, any) to partial<min>
  // CHECK: strategies offered, 2 lacking
  %tanh = linalg.tanh ins(%a : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: is not offered (partial<product>, any) to partial<product>
  // CHECK: strategies offered, 1 lacking
  %abs = linalg.abs ins(%a : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: strategies offered, 0 lacking
  %square = linalg.square ins(%a : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %two = arith.constant 2.0 : f32
  // CHECK: strategies offered, 0 lacking
  %scale = linalg.generic {indexing_maps = [#xy, #xy], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%p: f32, %q: f32):
    %s = arith.mulf %p, %two : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  // CHECK: strategies offered, 0 lacking
  %shift = linalg.generic {indexing_maps = [#xy, #xy], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %two : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  // CHECK: strategies offered, 0 lacking
  %bias = linalg.generic {indexing_maps = [#xy, #y, #xy], iterator_types = ["parallel", "parallel"]} ins(%a, %r : tensor<4x6xf32>, tensor<6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%p: f32, %o: f32, %q: f32):
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  // CHECK: strategies offered, 0 lacking
  %pick = linalg.generic {indexing_maps = [#xy, #xy, #xy], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%p: f32, %o: f32, %q: f32):
    linalg.yield %p : f32
  } -> tensor<4x6xf32>
  return
}
func.func @reductions(%a: tensor<4x6xf32>, %b: tensor<6x4xf32>, %c: tensor<4x4xf32>, %r: tensor<4xf32>) {
  // CHECK: strategies offered, 0 lacking
  %matmul = linalg.matmul ins(%a, %b : tensor<4x6xf32>, tensor<6x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: strategies offered, 0 lacking
  %sum = linalg.reduce { arith.addf } ins(%a : tensor<4x6xf32>) outs(%r : tensor<4xf32>) dimensions = [1]
  // CHECK: strategies offered, 0 lacking
  %product = linalg.reduce { arith.mulf } ins(%a : tensor<4x6xf32>) outs(%r : tensor<4xf32>) dimensions = [1]
  // CHECK: strategies offered, 0 lacking
  %max = linalg.reduce { arith.maximumf } ins(%a : tensor<4x6xf32>) outs(%r : tensor<4xf32>) dimensions = [1]
  return
}
func.func @integers(%a: tensor<4x6xi32>, %b: tensor<4x6xi32>, %e: tensor<4x6xi32>, %r: tensor<4xi32>) {
  // CHECK: strategies offered, 0 lacking
  %add = linalg.add ins(%a, %b : tensor<4x6xi32>, tensor<4x6xi32>) outs(%e : tensor<4x6xi32>) -> tensor<4x6xi32>
  // CHECK: strategies offered, 0 lacking
  %mul = linalg.mul ins(%a, %b : tensor<4x6xi32>, tensor<4x6xi32>) outs(%e : tensor<4x6xi32>) -> tensor<4x6xi32>
  // CHECK: strategies offered, 0 lacking
  %max = linalg.max ins(%a, %b : tensor<4x6xi32>, tensor<4x6xi32>) outs(%e : tensor<4x6xi32>) -> tensor<4x6xi32>
  // CHECK: strategies offered, 0 lacking
  %sum = linalg.reduce { arith.addi } ins(%a : tensor<4x6xi32>) outs(%r : tensor<4xi32>) dimensions = [1]
  return
}
func.func @moves(%a: tensor<4x6xf32>, %b: tensor<4x6xf32>, %e: tensor<6x4xf32>, %h: tensor<4x6xf16>) {
  // CHECK: strategies offered, 0 lacking
  %transpose = linalg.transpose ins(%a : tensor<4x6xf32>) outs(%e : tensor<6x4xf32>) permutation = [1, 0]
  // CHECK: strategies offered, 0 lacking
  %concat = tensor.concat dim(0) %a, %b : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  // CHECK: strategies offered, 0 lacking
  %slice = tensor.extract_slice %a[1, 0] [2, 6] [1, 1] : tensor<4x6xf32> to tensor<2x6xf32>
  // CHECK: strategies offered, 0 lacking
  %expand = tensor.expand_shape %a [[0], [1, 2]] output_shape [4, 2, 3] : tensor<4x6xf32> into tensor<4x2x3xf32>
  // CHECK: strategies offered, 0 lacking
  %collapse = tensor.collapse_shape %a [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>
  // CHECK: strategies offered, 0 lacking
  %narrow = linalg.generic {indexing_maps = [#xy, #xy], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x6xf32>) outs(%h : tensor<4x6xf16>) {
  ^bb0(%p: f32, %q: f16):
    %s = arith.truncf %p : f32 to f16
    linalg.yield %s : f16
  } -> tensor<4x6xf16>
  return
}
func.func @nothing() {
  // CHECK: strategies offered, 0 lacking
  %empty = tensor.empty() : tensor<4x6xf32>
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %two = arith.constant 2.0 : f32
  // CHECK: strategies offered, 0 lacking
  %e = tensor.empty() : tensor<4x6xf32>
  // CHECK: is not offered (any) to partial<product>
  // CHECK: strategies offered, 1 lacking
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: strategies offered, 0 lacking
  %lows = linalg.fill ins(%low : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: strategies offered, 0 lacking
  %twos = linalg.fill ins(%two : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: strategies offered, 0 lacking
  %constant = arith.constant dense<2.0> : tensor<4x6xf32>
  return
}

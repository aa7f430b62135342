// RUN: tp-opt %s --split-input-file --tp-recompute-elements | FileCheck %s

// The backward pass reads `x` anyway: it computes the error function of it, and
// the sum with one, again.
// CHECK-LABEL: func.func @gelu
// CHECK:         math.erf
// CHECK:         %[[KEPT:.*]] = tp.kept %[[X:.*]] : tensor<8x4xf32>
// CHECK:         linalg.generic {{.*}} ins(%[[KEPT]] : tensor<8x4xf32>)
// CHECK:         math.erf
// CHECK:         arith.addf
// CHECK:         return
#map = affine_map<(d0, d1) -> (d0, d1)>
func.func @gelu(%a: tensor<8x4xf32>, %w: tensor<4x4xf32>, %dy: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %0 = tensor.empty() : tensor<8x4xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %x = linalg.matmul ins(%a, %w : tensor<8x4xf32>, tensor<4x4xf32>) outs(%1 : tensor<8x4xf32>) -> tensor<8x4xf32> loc("m"("mm"))
  %erf = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%0 : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %e = math.erf %in : f32
    linalg.yield %e : f32
  } -> tensor<8x4xf32> loc("m"("erf"))
  %sum = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%erf : tensor<8x4xf32>) outs(%0 : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %e = arith.addf %in, %one : f32
    linalg.yield %e : f32
  } -> tensor<8x4xf32> loc("m"("add"))
  %y = linalg.mul ins(%x, %sum : tensor<8x4xf32>, tensor<8x4xf32>) outs(%0 : tensor<8x4xf32>) -> tensor<8x4xf32> loc("m"("mul"))
  %ds = linalg.mul ins(%dy, %sum : tensor<8x4xf32>, tensor<8x4xf32>) outs(%0 : tensor<8x4xf32>) -> tensor<8x4xf32> loc("bwd:m"("mul_1"))
  %dx = linalg.mul ins(%ds, %x : tensor<8x4xf32>, tensor<8x4xf32>) outs(%0 : tensor<8x4xf32>) -> tensor<8x4xf32> loc("bwd:m"("mul_2"))
  return %y, %dx : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// Nothing else of the backward pass reads `x`, which is as large: the
// exponential function is kept.
// CHECK-LABEL: func.func @kept
// CHECK-NOT:     tp.kept
// CHECK:         return
func.func @kept(%a: tensor<8x4xf32>, %w: tensor<4x4xf32>, %dy: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x4xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %x = linalg.matmul ins(%a, %w : tensor<8x4xf32>, tensor<4x4xf32>) outs(%1 : tensor<8x4xf32>) -> tensor<8x4xf32> loc("m"("mm"))
  %e = linalg.exp ins(%x : tensor<8x4xf32>) outs(%0 : tensor<8x4xf32>) -> tensor<8x4xf32> loc("m"("exp"))
  %y = linalg.add ins(%e, %x : tensor<8x4xf32>, tensor<8x4xf32>) outs(%0 : tensor<8x4xf32>) -> tensor<8x4xf32> loc("m"("add"))
  %dx = linalg.mul ins(%e, %dy : tensor<8x4xf32>, tensor<8x4xf32>) outs(%0 : tensor<8x4xf32>) -> tensor<8x4xf32> loc("bwd:m"("mul"))
  return %y, %dx : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// A product of the backward pass reads it in memory: an exponential function is
// not computed twice for that.
// CHECK-LABEL: func.func @operand
// CHECK-NOT:     tp.kept
// CHECK:         return
func.func @operand(%x: tensor<8x4xf32>, %dy: tensor<4x8xf32>) -> (tensor<8x4xf32>, tensor<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x4xf32>
  %e = linalg.exp ins(%x : tensor<8x4xf32>) outs(%0 : tensor<8x4xf32>) -> tensor<8x4xf32> loc("m"("exp"))
  %y = linalg.add ins(%e, %x : tensor<8x4xf32>, tensor<8x4xf32>) outs(%0 : tensor<8x4xf32>) -> tensor<8x4xf32> loc("m"("add"))
  %1 = tensor.empty() : tensor<4x4xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %dw = linalg.matmul ins(%dy, %e : tensor<4x8xf32>, tensor<8x4xf32>) outs(%2 : tensor<4x4xf32>) -> tensor<4x4xf32> loc("bwd:m"("mm"))
  return %y, %dw : tensor<8x4xf32>, tensor<4x4xf32>
}

// -----

// So does one behind a transposition of the backward pass.
// CHECK-LABEL: func.func @transposed_operand
// CHECK-NOT:     tp.kept
// CHECK:         return
func.func @transposed_operand(%x: tensor<8x4xf32>, %dy: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x4xf32>
  %e = linalg.exp ins(%x : tensor<8x4xf32>) outs(%0 : tensor<8x4xf32>) -> tensor<8x4xf32> loc("m"("exp"))
  %y = linalg.add ins(%e, %x : tensor<8x4xf32>, tensor<8x4xf32>) outs(%0 : tensor<8x4xf32>) -> tensor<8x4xf32> loc("m"("add"))
  %1 = tensor.empty() : tensor<4x8xf32>
  %t = linalg.transpose ins(%e : tensor<8x4xf32>) outs(%1 : tensor<4x8xf32>) permutation = [1, 0] loc("bwd:m"("t"))
  %2 = tensor.empty() : tensor<4x4xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %dw = linalg.matmul ins(%t, %dy : tensor<4x8xf32>, tensor<8x4xf32>) outs(%3 : tensor<4x4xf32>) -> tensor<4x4xf32> loc("bwd:m"("mm"))
  return %y, %dw : tensor<8x4xf32>, tensor<4x4xf32>
}

// -----

// What is computed of widened bf16 is computed again of the bf16, which takes
// half the bytes.
// CHECK-LABEL: func.func @narrow
// CHECK:         %[[NARROW:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<8x4xbf16>)
// CHECK:         tp.kept %[[NARROW]] : tensor<8x4xbf16>
#map = affine_map<(d0, d1) -> (d0, d1)>
func.func @narrow(%a: tensor<8x4xf32>, %w: tensor<4x4xf32>, %dy: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<8x4xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %x = linalg.matmul ins(%a, %w : tensor<8x4xf32>, tensor<4x4xf32>) outs(%1 : tensor<8x4xf32>) -> tensor<8x4xf32> loc("m"("mm"))
  %2 = tensor.empty() : tensor<8x4xbf16>
  %n = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%2 : tensor<8x4xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %e = arith.truncf %in : f32 to bf16
    linalg.yield %e : bf16
  } -> tensor<8x4xbf16> loc("m"("round"))
  %r = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%n : tensor<8x4xbf16>) outs(%0 : tensor<8x4xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %e = arith.extf %in : bf16 to f32
    linalg.yield %e : f32
  } -> tensor<8x4xf32> loc("m"("widen"))
  %y = linalg.exp ins(%r : tensor<8x4xf32>) outs(%0 : tensor<8x4xf32>) -> tensor<8x4xf32> loc("m"("exp"))
  %dx = linalg.mul ins(%r, %dy : tensor<8x4xf32>, tensor<8x4xf32>) outs(%0 : tensor<8x4xf32>) -> tensor<8x4xf32> loc("bwd:m"("mul"))
  return %y, %dx : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// The last step of a norm is: of the mean and the input, which are kept, by an
// addition and a product with a weight that the step changes, and is small. A
// result of the function is in memory anyway.
// CHECK-LABEL: func.func @norm
// CHECK-SAME:    %[[X:.*]]: tensor<64x32xf32>
// CHECK:         %[[Y:.*]] = linalg.generic
// CHECK:         linalg.matmul ins(%[[Y]],
// CHECK:         %[[X2:.*]] = tp.kept %[[X]] : tensor<64x32xf32>
// CHECK:         %[[G:.*]] = tp.kept %{{.*}} : tensor<32xf32>
// CHECK:         %[[AGAIN:.*]] = linalg.generic {{.*}} ins(%[[X2]], %{{.*}}, %[[G]] :
// CHECK:         linalg.matmul ins(%{{.*}}, %[[AGAIN]]
// CHECK-LABEL: func.func @result
// CHECK-NOT:     tp.kept
// CHECK:         return
// CHECK-LABEL: func.func @half
// CHECK-NOT:     tp.kept
// CHECK:         return
#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>
func.func @norm(%x: tensor<64x32xf32>, %mean: tensor<64xf32>, %g: tensor<32xf32> {tp.kind = "parameter", tp.name = "g"}, %w: tensor<32x32xf32>, %dy: tensor<32x64xf32>)
    -> (tensor<64x32xf32>, tensor<32x32xf32>, tensor<32xf32> {tp.kind = "new_parameter", tp.name = "g"}) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x32xf32>
  %y = linalg.generic {indexing_maps = [#map, #row, #column, #map], iterator_types = ["parallel", "parallel"]}
    ins(%x, %mean, %g : tensor<64x32xf32>, tensor<64xf32>, tensor<32xf32>) outs(%0 : tensor<64x32xf32>) {
  ^bb0(%in: f32, %m: f32, %scale: f32, %out: f32):
    %s = arith.subf %in, %m : f32
    %p = arith.mulf %s, %scale : f32
    linalg.yield %p : f32
  } -> tensor<64x32xf32> loc("m"("norm"))
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %z = linalg.matmul ins(%y, %w : tensor<64x32xf32>, tensor<32x32xf32>) outs(%1 : tensor<64x32xf32>) -> tensor<64x32xf32> loc("m"("mm"))
  %2 = tensor.empty() : tensor<32x32xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<32x32xf32>) -> tensor<32x32xf32>
  %dw = linalg.matmul ins(%dy, %y : tensor<32x64xf32>, tensor<64x32xf32>) outs(%3 : tensor<32x32xf32>) -> tensor<32x32xf32> loc("bwd:m"("mm_1"))
  %4 = tensor.empty() : tensor<32xf32>
  %new = linalg.add ins(%g, %g : tensor<32xf32>, tensor<32xf32>) outs(%4 : tensor<32xf32>) -> tensor<32xf32> loc("<optim>.g"("add"))
  return %z, %dw, %new : tensor<64x32xf32>, tensor<32x32xf32>, tensor<32xf32>
}
func.func @result(%x: tensor<64x32xf32>, %dy: tensor<32x64xf32>) -> (tensor<64x32xf32>, tensor<32x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x32xf32>
  %y = linalg.add ins(%x, %x : tensor<64x32xf32>, tensor<64x32xf32>) outs(%0 : tensor<64x32xf32>) -> tensor<64x32xf32> loc("m"("add"))
  %2 = tensor.empty() : tensor<32x32xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<32x32xf32>) -> tensor<32x32xf32>
  %dw = linalg.matmul ins(%dy, %y : tensor<32x64xf32>, tensor<64x32xf32>) outs(%3 : tensor<32x32xf32>) -> tensor<32x32xf32> loc("bwd:m"("mm_1"))
  return %y, %dw : tensor<64x32xf32>, tensor<32x32xf32>
}
// What it is computed of is half as large, and nothing else needs it.
func.func @half(%a: tensor<64x32xf32>, %w: tensor<32x32xf32>, %dy: tensor<32x64xf32>) -> (tensor<64x32xf32>, tensor<32x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64x32xf32>
  %1 = tensor.empty() : tensor<64x32xbf16>
  %5 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %made = linalg.matmul ins(%a, %w : tensor<64x32xf32>, tensor<32x32xf32>) outs(%5 : tensor<64x32xf32>) -> tensor<64x32xf32> loc("m"("made"))
  %x = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%made : tensor<64x32xf32>) outs(%1 : tensor<64x32xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %t = arith.truncf %in : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<64x32xbf16> loc("m"("round"))
  %y = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x32xbf16>) outs(%0 : tensor<64x32xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %e = arith.extf %in : bf16 to f32
    %s = arith.addf %e, %e : f32
    linalg.yield %s : f32
  } -> tensor<64x32xf32> loc("m"("add"))
  %2 = linalg.fill ins(%zero : f32) outs(%0 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %z = linalg.matmul ins(%y, %w : tensor<64x32xf32>, tensor<32x32xf32>) outs(%2 : tensor<64x32xf32>) -> tensor<64x32xf32> loc("m"("mm"))
  %3 = tensor.empty() : tensor<32x32xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<32x32xf32>) -> tensor<32x32xf32>
  %dw = linalg.matmul ins(%dy, %y : tensor<32x64xf32>, tensor<64x32xf32>) outs(%4 : tensor<32x32xf32>) -> tensor<32x32xf32> loc("bwd:m"("mm_1"))
  return %z, %dw : tensor<64x32xf32>, tensor<32x32xf32>
}

// -----

// A condition of rows is there before the product that leaves rows out, and is not
// computed again behind it.
// CHECK-LABEL: func.func @condition
// CHECK-NOT:     tp.kept
// CHECK:         return
#id = affine_map<(d0) -> (d0)>
func.func @condition(%s: tensor<64xf32>, %x: tensor<64x32xf32>, %w: tensor<32x32xf32>) -> (tensor<64xi1>, tensor<64x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<64xi1>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%s : tensor<64xf32>) outs(%0 : tensor<64xi1>) {
  ^bb0(%in: f32, %out: i1):
    %p = arith.cmpf ogt, %in, %zero : f32
    linalg.yield %p : i1
  } -> tensor<64xi1> loc("m"("gt"))
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%c : tensor<64xi1>) outs(%0 : tensor<64xi1>) {
  ^bb0(%in: i1, %out: i1):
    %true = arith.constant true
    %p = arith.xori %in, %true : i1
    linalg.yield %p : i1
  } -> tensor<64xi1> loc("m"("not"))
  %1 = tensor.empty() : tensor<64x32xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %y = linalg.matmul ins(%x, %w : tensor<64x32xf32>, tensor<32x32xf32>) outs(%2 : tensor<64x32xf32>) -> tensor<64x32xf32> loc("bwd:m"("mm"))
  %rows = tensor.expand_shape %c [[0, 1]] output_shape [64, 1] : tensor<64xi1> into tensor<64x1xi1> loc("bwd:m"("mm"))
  %some = tp.needed %y where %rows : tensor<64x32xf32>, tensor<64x1xi1> loc("bwd:m"("mm"))
  return %n, %some : tensor<64xi1>, tensor<64x32xf32>
}

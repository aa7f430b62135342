// RUN: tp-opt %s --split-input-file --tp-cpu-compile=show=manifest -o /dev/null | FileCheck %s

// 10 rows over 3 ranks: the last one has two, and two that are padding. Sizes go by
// the position on the axis, whatever rank has it.

#mesh = #tp.mesh<"tp" = 3, devices = [2, 0, 1]>

// CHECK-LABEL: "name":"rows"
// CHECK:       "command":"gemm",{{.*}}"k":{"axes":["tp"],"sizes":[4,4,2]},
// CHECK-NOT:   "command"
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<6x4xf32> {tp.name = "rows"}, %w: tensor<4x5xf32>) -> tensor<6x5xf32> {
    %zero = arith.constant 0.0 : f32
    %chunk = arith.constant 4 : index
    %size = arith.constant 10 : index
    %rank = tp.axis_index over <#mesh, ["tp"]> : index
    %start = arith.muli %rank, %chunk : index
    %after = arith.addi %start, %chunk : index
    %end = arith.minsi %after, %size : index
    %e = tensor.empty() : tensor<6x5xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<6x5xf32>) -> tensor<6x5xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
        iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<6x4xf32>, tensor<4x5xf32>) outs(%init : tensor<6x5xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %i = linalg.index 2 : index
      %global = arith.addi %i, %start : index
      %valid = arith.cmpi slt, %global, %end : index
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %c, %p : f32
      %r = arith.select %valid, %s, %c : f32
      linalg.yield %r : f32
    } -> tensor<6x5xf32>
    return %y : tensor<6x5xf32>
  }
}

// -----

// A product of bf16 leaves the padding of its operands.

#mesh = #tp.mesh<"tp" = 2>

// CHECK-LABEL: "name":"narrow"
// CHECK-NOT:   "command":"kernel"
// CHECK:       "command":"gemm","dtype":"bf16",{{.*}}"k":{"axes":["tp"],"sizes":[4,3]},
// CHECK-NOT:   "command"
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<6x4xbf16> {tp.name = "narrow"}, %w: tensor<4x5xbf16>) -> tensor<6x5xf32> {
    %zero = arith.constant 0.0 : f32
    %four = arith.constant 4 : index
    %rank = tp.axis_index over <#mesh, ["tp"]> : index
    %end = arith.subi %four, %rank : index
    %e = tensor.empty() : tensor<6x5xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<6x5xf32>) -> tensor<6x5xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
        iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<6x4xbf16>, tensor<4x5xbf16>) outs(%init : tensor<6x5xf32>) {
    ^bb0(%a: bf16, %b: bf16, %c: f32):
      %i = linalg.index 2 : index
      %valid = arith.cmpi slt, %i, %end : index
      %aw = arith.extf %a : bf16 to f32
      %bw = arith.extf %b : bf16 to f32
      %p = arith.mulf %aw, %bw : f32
      %s = arith.addf %c, %p : f32
      %r = arith.select %valid, %s, %c : f32
      linalg.yield %r : f32
    } -> tensor<6x5xf32>
    return %y : tensor<6x5xf32>
  }
}

// -----

// Two reduction loops that join: the outer one ends early, the inner one is all there or
// not at all. What is the same on all ranks is one number.

#mesh = #tp.mesh<"dp" = 2, "tp" = 2>

// CHECK-LABEL: "name":"joined"
// CHECK:       "command":"gemm",{{.*}}"k":{"axes":["dp","tp"],"sizes":[6,0,4,0]},
// CHECK:       "command":"gemm",{{.*}}"k":4,
// CHECK-NOT:   "command"
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<6x3x2xf32> {tp.name = "joined"}, %w: tensor<3x2x5xf32>) -> (tensor<6x5xf32>, tensor<6x5xf32>) {
    %zero = arith.constant 0.0 : f32
    %two = arith.constant 2 : index
    %three = arith.constant 3 : index
    %outer = tp.axis_index over <#mesh, ["dp"]> : index
    %inner = tp.axis_index over <#mesh, ["tp"]> : index
    %outerEnd = arith.subi %three, %outer : index
    %innerStart = arith.muli %inner, %two : index
    %e = tensor.empty() : tensor<6x5xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<6x5xf32>) -> tensor<6x5xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(m, n, k, l) -> (m, k, l)>, affine_map<(m, n, k, l) -> (k, l, n)>, affine_map<(m, n, k, l) -> (m, n)>],
        iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%x, %w : tensor<6x3x2xf32>, tensor<3x2x5xf32>) outs(%init : tensor<6x5xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %i = linalg.index 2 : index
      %j = linalg.index 3 : index
      %here = arith.addi %j, %innerStart : index
      %validOuter = arith.cmpi slt, %i, %outerEnd : index
      %validInner = arith.cmpi slt, %here, %two : index
      %valid = arith.andi %validOuter, %validInner : i1
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %c, %p : f32
      %r = arith.select %valid, %s, %c : f32
      linalg.yield %r : f32
    } -> tensor<6x5xf32>
    %z = linalg.generic {indexing_maps = [affine_map<(m, n, k, l) -> (m, k, l)>, affine_map<(m, n, k, l) -> (k, l, n)>, affine_map<(m, n, k, l) -> (m, n)>],
        iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%x, %w : tensor<6x3x2xf32>, tensor<3x2x5xf32>) outs(%init : tensor<6x5xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %i = linalg.index 2 : index
      %valid = arith.cmpi slt, %i, %two : index
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %c, %p : f32
      %r = arith.select %valid, %s, %c : f32
      linalg.yield %r : f32
    } -> tensor<6x5xf32>
    return %y, %z : tensor<6x5xf32>, tensor<6x5xf32>
  }
}

// -----

// No products of the library: the loop that ends early is the inner one; the condition
// looks at an element; it is the first iterations that do not count; the loop is no
// reduction; the body checks something.

#mesh = #tp.mesh<"tp" = 2>

// CHECK-LABEL: "name":"gaps"
// CHECK-NOT:   "command":"gemm"
// CHECK-LABEL: "name":"end"
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<6x3x2xf32> {tp.name = "gaps"}, %w: tensor<3x2x5xf32>) -> (tensor<6x5xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<6x5xf32>) {
    %zero = arith.constant 0.0 : f32
    %two = arith.constant 2 : index
    %rank = tp.axis_index over <#mesh, ["tp"]> : index
    %end = arith.subi %two, %rank : index
    %e = tensor.empty() : tensor<6x5xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<6x5xf32>) -> tensor<6x5xf32>
    %inner = linalg.generic {indexing_maps = [affine_map<(m, n, k, l) -> (m, k, l)>, affine_map<(m, n, k, l) -> (k, l, n)>, affine_map<(m, n, k, l) -> (m, n)>],
        iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%x, %w : tensor<6x3x2xf32>, tensor<3x2x5xf32>) outs(%init : tensor<6x5xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %i = linalg.index 3 : index
      %valid = arith.cmpi slt, %i, %end : index
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %c, %p : f32
      %r = arith.select %valid, %s, %c : f32
      linalg.yield %r : f32
    } -> tensor<6x5xf32>
    %element = linalg.generic {indexing_maps = [affine_map<(m, n, k, l) -> (m, k, l)>, affine_map<(m, n, k, l) -> (k, l, n)>, affine_map<(m, n, k, l) -> (m, n)>],
        iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%x, %w : tensor<6x3x2xf32>, tensor<3x2x5xf32>) outs(%init : tensor<6x5xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %valid = arith.cmpf olt, %a, %zero : f32
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %c, %p : f32
      %r = arith.select %valid, %s, %c : f32
      linalg.yield %r : f32
    } -> tensor<6x5xf32>
    %last = linalg.generic {indexing_maps = [affine_map<(m, n, k, l) -> (m, k, l)>, affine_map<(m, n, k, l) -> (k, l, n)>, affine_map<(m, n, k, l) -> (m, n)>],
        iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%x, %w : tensor<6x3x2xf32>, tensor<3x2x5xf32>) outs(%init : tensor<6x5xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %i = linalg.index 2 : index
      %valid = arith.cmpi slt, %end, %i : index
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %c, %p : f32
      %r = arith.select %valid, %s, %c : f32
      linalg.yield %r : f32
    } -> tensor<6x5xf32>
    %parallel = linalg.generic {indexing_maps = [affine_map<(m, n, k, l) -> (m, k, l)>, affine_map<(m, n, k, l) -> (k, l, n)>, affine_map<(m, n, k, l) -> (m, n)>],
        iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%x, %w : tensor<6x3x2xf32>, tensor<3x2x5xf32>) outs(%init : tensor<6x5xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %i = linalg.index 0 : index
      %valid = arith.cmpi slt, %i, %end : index
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %c, %p : f32
      %r = arith.select %valid, %s, %c : f32
      linalg.yield %r : f32
    } -> tensor<6x5xf32>
    %checked = linalg.generic {indexing_maps = [affine_map<(m, n, k, l) -> (m, k, l)>, affine_map<(m, n, k, l) -> (k, l, n)>, affine_map<(m, n, k, l) -> (m, n)>],
        iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%x, %w : tensor<6x3x2xf32>, tensor<3x2x5xf32>) outs(%init : tensor<6x5xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %positive = arith.cmpf oge, %a, %zero : f32
      cf.assert %positive, "negative"
      %i = linalg.index 2 : index
      %valid = arith.cmpi slt, %i, %end : index
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %c, %p : f32
      %r = arith.select %valid, %s, %c : f32
      linalg.yield %r : f32
    } -> tensor<6x5xf32>
    return %inner, %element, %last, %parallel, %checked : tensor<6x5xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<6x5xf32>
  }
}

// -----

func.func @main(%x: tensor<2xf32> {tp.name = "end"}) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}

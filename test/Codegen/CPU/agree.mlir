// RUN: tp-opt %s --split-input-file --tp-cpu-compile=show=manifest -o /dev/null | FileCheck %s

// The check comes first, in a kernel of its own: a step that fails there leaves
// the state as it was.

// CHECK-LABEL: "name":"first"
// CHECK:       "command":"kernel"
// CHECK:       "command":"kernel"
// CHECK:       "command":"kernel"
// CHECK-NOT:   "command"
// CHECK:       "agree_at":1
func.func @first(%t: tensor<4xf32> {tp.name = "t", tp.kind = "buffer"}, %u: tensor<5xf32> {tp.name = "u", tp.kind = "buffer"}, %i: tensor<4xi64> {tp.name = "i", tp.kind = "user_input"})
    -> (tensor<4xf32> {tp.name = "t", tp.kind = "new_buffer", tp.updates = "t"}, tensor<5xf32> {tp.name = "u", tp.kind = "new_buffer", tp.updates = "u"}) {
  %four = arith.constant 4 : i64
  %e = tensor.empty() : tensor<4xi64>
  %f = tensor.empty() : tensor<4xf32>
  %checked = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%i : tensor<4xi64>) outs(%e : tensor<4xi64>) {
  ^bb0(%in: i64, %out: i64):
    %inside = arith.cmpi ult, %in, %four : i64
    cf.assert %inside, "no such place"
    linalg.yield %in : i64
  } -> tensor<4xi64>
  %next = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%t, %i : tensor<4xf32>, tensor<4xi64>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %b: i64, %out: f32):
    %c = arith.sitofp %b : i64 to f32
    %v = arith.addf %a, %c : f32
    linalg.yield %v : f32
  } -> tensor<4xf32>
  %g = tensor.empty() : tensor<5xf32>
  %other = linalg.add ins(%u, %u : tensor<5xf32>, tensor<5xf32>) outs(%g : tensor<5xf32>) -> tensor<5xf32>
  return %next, %other : tensor<4xf32>, tensor<5xf32>
}

// -----

// A sum with checks is no part of the kernel that writes the state.

// CHECK-LABEL: "name":"sum"
// CHECK:       "command":"kernel"
// CHECK:       "command":"kernel"
// CHECK-NOT:   "command"
// CHECK:       "agree_at":1
func.func @sum(%t: tensor<4xf32> {tp.name = "t", tp.kind = "buffer"}, %i: tensor<4x8xf32> {tp.name = "i", tp.kind = "user_input"})
    -> (tensor<4xf32> {tp.name = "t", tp.kind = "new_buffer", tp.updates = "t"}) {
  %four = arith.constant 4.0 : f32
  %zero = arith.constant 0.0 : f32
  %f = tensor.empty() : tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%f : tensor<4xf32>) -> tensor<4xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%i : tensor<4x8xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %inside = arith.cmpf olt, %in, %four : f32
    cf.assert %inside, "too large"
    %v = arith.addf %in, %out : f32
    linalg.yield %v : f32
  } -> tensor<4xf32>
  %next = linalg.add ins(%t, %sum : tensor<4xf32>, tensor<4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
  return %next : tensor<4xf32>
}

// -----

// What is checked is what was written.

// CHECK-LABEL: "name":"last"
// CHECK-NOT:   "agree_at"
// CHECK:       "command":"kernel"
// CHECK-NOT:   "agree_at"
func.func @last(%t: tensor<4xf32> {tp.name = "t", tp.kind = "buffer"}, %i: tensor<4xf32> {tp.name = "i", tp.kind = "user_input"})
    -> (tensor<4xf32> {tp.name = "t", tp.kind = "new_buffer", tp.updates = "t"}, tensor<4xf32>) {
  %four = arith.constant 4.0 : f32
  %f = tensor.empty() : tensor<4xf32>
  %next = linalg.add ins(%t, %i : tensor<4xf32>, tensor<4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
  %checked = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%next : tensor<4xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %inside = arith.cmpf olt, %in, %four : f32
    cf.assert %inside, "too large"
    linalg.yield %in : f32
  } -> tensor<4xf32>
  return %next, %checked : tensor<4xf32>, tensor<4xf32>
}

// -----

// Nothing is checked.

// CHECK-LABEL: "name":"unchecked"
// CHECK-NOT:   "agree_at"
// CHECK:       "command":"kernel"
// CHECK-NOT:   "agree_at"
func.func @unchecked(%t: tensor<4xf32> {tp.name = "t", tp.kind = "buffer"}) -> (tensor<4xf32> {tp.name = "t", tp.kind = "new_buffer", tp.updates = "t"}) {
  %f = tensor.empty() : tensor<4xf32>
  %next = linalg.add ins(%t, %t : tensor<4xf32>, tensor<4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
  return %next : tensor<4xf32>
}

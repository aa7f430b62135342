// RUN: tp-opt %s --split-input-file --tp-merge-gemms | FileCheck %s
// RUN: tp-opt %s --split-input-file --tp-merge-gemms --tp-cpu-compile=show=manifest -o /dev/null | FileCheck %s --check-prefix=MANIFEST
// RUN: tp-opt %s --split-input-file --tp-merge-gemms=target=cuda | FileCheck %s --check-prefix=CUDA
// RUN: not tp-opt %s --split-input-file --tp-merge-gemms=target=gpu 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: tp-opt %s --split-input-file --tp-merge-gemms --tp-assign-storage --tp-form-kernels --tp-update-in-place --tp-schedule --tp-write-parts --tp-plan-memory --tp-cpu-compile=show=manifest -o /dev/null > %t.stages
// RUN: tp-opt %s --split-input-file --tp-merge-gemms --tp-cpu-compile=show=manifest -o /dev/null > %t.once
// RUN: cmp %t.stages %t.once

// TARGET: tp-merge-gemms: expected the target 'cpu' or 'cuda', got 'gpu'

#left = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#sums = affine_map<(m, n, k) -> (m, n)>

// Three weights of different sizes, one product. The parts stay arguments, and
// commands read the memory of the first.

// CHECK-LABEL: func.func @parts
// CHECK-SAME:    %arg1: tensor<6x8xf32> {tp.kind = "parameter", tp.name = "parts.q"}
// CHECK-SAME:    %arg4: tensor<12x8xf32> {tp.joined = array<i64: 1, 3, 2>}
// CHECK:       %[[P:.*]] = linalg.generic {{.*}}ins(%arg0, %arg4 : tensor<4x8xf32>, tensor<12x8xf32>) outs(%{{.*}} : tensor<4x12xf32>)
// CHECK-NOT:   iterator_types = ["parallel", "parallel", "reduction"]
// CHECK:       tensor.extract_slice %[[P]][0, 0] [4, 6] [1, 1]
// CHECK:       tensor.extract_slice %[[P]][0, 6] [4, 3] [1, 1]
// CHECK:       tensor.extract_slice %[[P]][0, 9] [4, 3] [1, 1]

// MANIFEST: {"name":"parts.q","shape":[6,8],"dtype":"f32"},
// MANIFEST: {"name":"parts.v","shape":[3,8],"dtype":"f32"},
// MANIFEST: {"name":"parts.k","shape":[3,8],"dtype":"f32"}],
// MANIFEST: "joined":[
// MANIFEST-NEXT: [0,2,1]],
// MANIFEST: "weights_bytes":384
// MANIFEST: "command":"gemm","dtype":"f32","m":4,"n":12,"k":8,"a":{{.*}}"b":{"buffer":{"space":"argument","index":1},"ld":8,"transpose":true
// MANIFEST-NOT: "command":"gemm"
func.func @parts(%x: tensor<4x8xf32>,
    %q: tensor<6x8xf32> {tp.name = "parts.q", tp.kind = "parameter"},
    %v: tensor<3x8xf32> {tp.name = "parts.v", tp.kind = "parameter"},
    %k: tensor<3x8xf32> {tp.name = "parts.k", tp.kind = "parameter"}) -> (tensor<4x6xf32>, tensor<4x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %f = tensor.empty() : tensor<4x3xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %j = linalg.fill ins(%zero : f32) outs(%f : tensor<4x3xf32>) -> tensor<4x3xf32>
  %a = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %q : tensor<4x8xf32>, tensor<6x8xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %k : tensor<4x8xf32>, tensor<3x8xf32>) outs(%j : tensor<4x3xf32>) -> tensor<4x3xf32>
  %c = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %v : tensor<4x8xf32>, tensor<3x8xf32>) outs(%j : tensor<4x3xf32>) -> tensor<4x3xf32>
  %y = linalg.exp ins(%a : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %z = linalg.sub ins(%b, %c : tensor<4x3xf32>, tensor<4x3xf32>) outs(%f : tensor<4x3xf32>) -> tensor<4x3xf32>
  return %y, %z : tensor<4x6xf32>, tensor<4x3xf32>
}

// -----

// Heads in loops of their own, rows in two, the result transposed; and weights
// with the columns last, which are stored columns first.

#batches = affine_map<(b, m, h, d, k) -> (b, m, k)>
#heads = affine_map<(b, m, h, d, k) -> (k, h, d)>
#turned = affine_map<(b, m, h, d, k) -> (b, h, m, d)>
#flat = affine_map<(b, m, n, k) -> (b, m, k)>
#flatWeight = affine_map<(b, m, n, k) -> (k, n)>
#flatSums = affine_map<(b, m, n, k) -> (b, m, n)>

// CHECK-LABEL: func.func @columns
// CHECK-SAME:    tp.name = "columns.q", tp.permutation = array<i64: 1, 0>
// CHECK-SAME:    tp.name = "columns.k", tp.permutation = array<i64: 1, 0>
// CHECK-SAME:    %arg3: tensor<10x8xf32> {tp.joined = array<i64: 1, 2>}
// CHECK:       ins(%arg0, %arg3 : tensor<2x4x8xf32>, tensor<10x8xf32>) outs(%{{.*}} : tensor<2x4x10xf32>)
// CHECK:       %[[S:.*]] = tensor.extract_slice %{{.*}}[0, 0, 0] [2, 4, 6] [1, 1, 1]
// CHECK:       %[[E:.*]] = tensor.expand_shape %[[S]] {{\[\[}}0], [1], [2, 3]] output_shape [2, 4, 2, 3]
// CHECK:       linalg.transpose ins(%[[E]] : tensor<2x4x2x3xf32>) outs(%{{.*}} : tensor<2x2x4x3xf32>) permutation = [0, 2, 1, 3]

// MANIFEST-LABEL: "name":"columns.q"
// MANIFEST-SAME: "storage":{"permutation":[1,0]}
// MANIFEST: [0,1]]
// MANIFEST: "command":"gemm","dtype":"f32","m":8,"n":10,"k":8
func.func @columns(%x: tensor<2x4x8xf32>,
    %q: tensor<8x6xf32> {tp.name = "columns.q", tp.kind = "parameter"},
    %k: tensor<8x4xf32> {tp.name = "columns.k", tp.kind = "parameter"}) -> (tensor<2x2x4x3xf32>, tensor<2x4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x2x4x3xf32>
  %f = tensor.empty() : tensor<2x4x4xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<2x2x4x3xf32>) -> tensor<2x2x4x3xf32>
  %j = linalg.fill ins(%zero : f32) outs(%f : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %w = tensor.expand_shape %q [[0], [1, 2]] output_shape [8, 2, 3] : tensor<8x6xf32> into tensor<8x2x3xf32>
  %a = linalg.generic {indexing_maps = [#batches, #heads, #turned], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<2x4x8xf32>, tensor<8x2x3xf32>) outs(%i : tensor<2x2x4x3xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x2x4x3xf32>
  %b = linalg.generic {indexing_maps = [#flatWeight, #flat, #flatSums], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%k, %x : tensor<8x4xf32>, tensor<2x4x8xf32>) outs(%j : tensor<2x4x4xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x4x4xf32>
  %y = linalg.exp ins(%a : tensor<2x2x4x3xf32>) outs(%e : tensor<2x2x4x3xf32>) -> tensor<2x2x4x3xf32>
  %z = linalg.exp ins(%b : tensor<2x4x4xf32>) outs(%f : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return %y, %z : tensor<2x2x4x3xf32>, tensor<2x4x4xf32>
}

// -----

// Of bf16 the sums are rounded together, so that a GEMM of a device writes bf16.

#left = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#sums = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>

// CHECK-LABEL: func.func @rounded
// CHECK:         outs(%{{.*}} : tensor<4x12xf32>)
// CHECK:         arith.extf
// CHECK:         %[[R:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<4x12xbf16>)
// CHECK:         arith.truncf
// CHECK:         tensor.extract_slice %[[R]]
// CUDA-LABEL:  func.func @rounded
// CUDA:          tensor<12x8xbf16> {tp.joined = array<i64: 1, 2>}
func.func @rounded(%x: tensor<4x8xbf16>,
    %gate: tensor<6x8xbf16> {tp.name = "gate", tp.kind = "parameter"},
    %up: tensor<6x8xbf16> {tp.name = "up", tp.kind = "parameter"}) -> tensor<4x6xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %n = tensor.empty() : tensor<4x6xbf16>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %a = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %gate : tensor<4x8xbf16>, tensor<6x8xbf16>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %up : tensor<4x8xbf16>, tensor<6x8xbf16>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x6xf32>) outs(%n : tensor<4x6xbf16>) {
  ^bb0(%l: f32, %o: bf16):
    %t = arith.truncf %l : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<4x6xbf16>
  %u = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<4x6xf32>) outs(%n : tensor<4x6xbf16>) {
  ^bb0(%l: f32, %o: bf16):
    %t = arith.truncf %l : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<4x6xbf16>
  %y = linalg.mul ins(%g, %u : tensor<4x6xbf16>, tensor<4x6xbf16>) outs(%n : tensor<4x6xbf16>) -> tensor<4x6xbf16>
  return %y : tensor<4x6xbf16>
}

// -----

// A residual and a bias are what a device's GEMM adds itself: there the products
// stay, on a processor kernels add them to a part.

#left = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#sums = affine_map<(m, n, k) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#id = affine_map<(m, n) -> (m, n)>

// CHECK-LABEL: func.func @bias
// CHECK:         tp.joined = array<i64: 1, 2>
// CUDA-LABEL:  func.func @bias
// CUDA-NOT:      tp.joined
func.func @bias(%x: tensor<4x8xf32>,
    %gate: tensor<6x8xf32> {tp.name = "gate", tp.kind = "parameter"},
    %up: tensor<6x8xf32> {tp.name = "up", tp.kind = "parameter"},
    %v: tensor<6xf32>) -> tensor<4x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %a = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %gate : tensor<4x8xf32>, tensor<6x8xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %up : tensor<4x8xf32>, tensor<6x8xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %g = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %v : tensor<4x6xf32>, tensor<6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %t = arith.addf %l, %r : f32
    linalg.yield %t : f32
  } -> tensor<4x6xf32>
  %y = linalg.mul ins(%g, %b : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

// A step updates one of the weights.

#left = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#sums = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func @updated
// CHECK-NOT:     tp.joined
func.func @updated(%x: tensor<4x8xf32>,
    %gate: tensor<6x8xf32> {tp.name = "gate", tp.kind = "parameter"},
    %up: tensor<6x8xf32> {tp.name = "up", tp.kind = "parameter"}, %g: tensor<6x8xf32>) -> (tensor<4x6xf32>, tensor<6x8xf32> {tp.name = "gate", tp.kind = "new_parameter"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %a = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %gate : tensor<4x8xf32>, tensor<6x8xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %up : tensor<4x8xf32>, tensor<6x8xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %n = linalg.sub ins(%g, %g : tensor<6x8xf32>, tensor<6x8xf32>) outs(%g : tensor<6x8xf32>) -> tensor<6x8xf32>
  %y = linalg.mul ins(%a, %b : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y, %n : tensor<4x6xf32>, tensor<6x8xf32>
}

// -----

// Something else reads one of the weights.

#left = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#sums = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func @tied
// CHECK-NOT:     tp.joined
func.func @tied(%x: tensor<4x8xf32>,
    %gate: tensor<6x8xf32> {tp.name = "gate", tp.kind = "parameter"},
    %up: tensor<6x8xf32> {tp.name = "up", tp.kind = "parameter"}) -> (tensor<4x6xf32>, tensor<6x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %a = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %gate : tensor<4x8xf32>, tensor<6x8xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %up : tensor<4x8xf32>, tensor<6x8xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %m = tensor.empty() : tensor<6x8xf32>
  %n = linalg.exp ins(%gate : tensor<6x8xf32>) outs(%m : tensor<6x8xf32>) -> tensor<6x8xf32>
  %y = linalg.mul ins(%a, %b : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y, %n : tensor<4x6xf32>, tensor<6x8xf32>
}

// -----

// The caller gets one of the results.

#left = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#sums = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func @returned
// CHECK-NOT:     tp.joined
func.func @returned(%x: tensor<4x8xf32>,
    %gate: tensor<6x8xf32> {tp.name = "gate", tp.kind = "parameter"},
    %up: tensor<6x8xf32> {tp.name = "up", tp.kind = "parameter"}) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %a = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %gate : tensor<4x8xf32>, tensor<6x8xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %up : tensor<4x8xf32>, tensor<6x8xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.mul ins(%a, %b : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y, %a : tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// What is given with a call is no weight.

#left = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#sums = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func @input
// CHECK-NOT:     tp.joined
func.func @input(%x: tensor<4x8xf32>,
    %gate: tensor<6x8xf32> {tp.name = "gate", tp.kind = "user_input"},
    %up: tensor<6x8xf32> {tp.name = "up", tp.kind = "parameter"}) -> (tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %a = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %gate : tensor<4x8xf32>, tensor<6x8xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %up : tensor<4x8xf32>, tensor<6x8xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.mul ins(%a, %b : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

// They read two matrices.

#left = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#sums = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func @others
// CHECK-NOT:     tp.joined
func.func @others(%x: tensor<4x8xf32>,
    %gate: tensor<6x8xf32> {tp.name = "gate", tp.kind = "parameter"},
    %up: tensor<6x8xf32> {tp.name = "up", tp.kind = "parameter"}, %w: tensor<4x8xf32>) -> (tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %a = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %gate : tensor<4x8xf32>, tensor<6x8xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%w, %up : tensor<4x8xf32>, tensor<6x8xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.mul ins(%a, %b : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

// One adds to a matrix.

#left = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#sums = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func @started
// CHECK-NOT:     tp.joined
func.func @started(%x: tensor<4x8xf32>,
    %gate: tensor<6x8xf32> {tp.name = "gate", tp.kind = "parameter"},
    %up: tensor<6x8xf32> {tp.name = "up", tp.kind = "parameter"}, %w: tensor<4x6xf32>) -> (tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %a = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %gate : tensor<4x8xf32>, tensor<6x8xf32>) outs(%w : tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %up : tensor<4x8xf32>, tensor<6x8xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.mul ins(%a, %b : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

// A collective reads one of the results.

#left = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#sums = affine_map<(m, n, k) -> (m, n)>
#mesh = #tp.mesh<"tp" = 2>

// CHECK-LABEL: func.func @reduced
// CHECK-NOT:     tp.joined
module attributes {tp.mesh = #mesh} {
func.func @reduced(%x: tensor<4x8xf32>,
    %gate: tensor<6x8xf32> {tp.name = "gate", tp.kind = "parameter"},
    %up: tensor<6x8xf32> {tp.name = "up", tp.kind = "parameter"}) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %a = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %gate : tensor<4x8xf32>, tensor<6x8xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %up : tensor<4x8xf32>, tensor<6x8xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = tp.all_reduce sum %a over <#mesh, ["tp"]> : tensor<4x6xf32> -> tensor<4x6xf32>
  %y = linalg.mul ins(%a, %b : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y, %s : tensor<4x6xf32>, tensor<4x6xf32>
}
}

// -----

// The second is far from the first: two contractions of what the first made are
// between them.

#left = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#sums = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func @far
// CHECK-NOT:     tp.joined
func.func @far(%x: tensor<4x8xf32>,
    %gate: tensor<6x8xf32> {tp.name = "gate", tp.kind = "parameter"},
    %up: tensor<6x8xf32> {tp.name = "up", tp.kind = "parameter"}) -> (tensor<4x6xf32>, tensor<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %a = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %gate : tensor<4x8xf32>, tensor<6x8xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %o = tensor.empty() : tensor<4x4xf32>
  %p = linalg.fill ins(%zero : f32) outs(%o : tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%a, %a : tensor<4x6xf32>, tensor<4x6xf32>) outs(%p : tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = linalg.matmul ins(%q, %q : tensor<4x4xf32>, tensor<4x4xf32>) outs(%p : tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %up : tensor<4x8xf32>, tensor<6x8xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.mul ins(%a, %b : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y, %r : tensor<4x6xf32>, tensor<4x4xf32>
}

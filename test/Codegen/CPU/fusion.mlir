// RUN: tp-opt %s --split-input-file --tp-cpu-compile=show=manifest -o /dev/null | FileCheck %s

// Softmax, with the mask computed from indices: one kernel, which overwrites
// nothing but its result and needs no memory in the arena.

// CHECK-LABEL: "name":"scores"
// CHECK:       "arena_bytes":0,
// CHECK:       "command":"kernel"
// CHECK-NOT:   "command"
func.func @main(%s: tensor<4x16x16xf32> {tp.name = "scores"}) -> tensor<4x16x16xf32> {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<4x16x16xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<4x16x16xf32>) outs(%e : tensor<4x16x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = linalg.index 1 : index
    %c = linalg.index 2 : index
    %k = arith.cmpi sle, %c, %r : index
    %v = arith.select %k, %a, %lowest : f32
    linalg.yield %v : f32
  } -> tensor<4x16x16xf32>
  %0 = tensor.empty() : tensor<4x16xf32>
  %1 = linalg.fill ins(%lowest : f32) outs(%0 : tensor<4x16xf32>) -> tensor<4x16xf32>
  %max = linalg.reduce { arith.maximumf } ins(%m : tensor<4x16x16xf32>) outs(%1 : tensor<4x16xf32>) dimensions = [2]
  %x = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (b, i)>, affine_map<(b, i, j) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%m, %max : tensor<4x16x16xf32>, tensor<4x16xf32>) outs(%e : tensor<4x16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %v = math.exp %d : f32
    linalg.yield %v : f32
  } -> tensor<4x16x16xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%0 : tensor<4x16xf32>) -> tensor<4x16xf32>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<4x16x16xf32>) outs(%2 : tensor<4x16xf32>) dimensions = [2]
  %y = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (b, i)>, affine_map<(b, i, j) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %sum : tensor<4x16x16xf32>, tensor<4x16xf32>) outs(%e : tensor<4x16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %v = arith.divf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<4x16x16xf32>
  return %y : tensor<4x16x16xf32>
}

// -----

// Rotary embedding: slices, negation and concat are read through.

// CHECK-LABEL: "name":"query"
// CHECK:       "arena_bytes":0,
// CHECK:       "command":"kernel"
// CHECK-NOT:   "command"
func.func @main(%x: tensor<2x6x8xf32> {tp.name = "query"}, %cos: tensor<6x8xf32>, %sin: tensor<6x8xf32>) -> tensor<2x6x8xf32> {
  %e = tensor.empty() : tensor<2x6x8xf32>
  %h = tensor.empty() : tensor<2x6x4xf32>
  %a = tensor.extract_slice %x[0, 0, 0] [2, 6, 4] [1, 1, 1] : tensor<2x6x8xf32> to tensor<2x6x4xf32>
  %b = tensor.extract_slice %x[0, 0, 4] [2, 6, 4] [1, 1, 1] : tensor<2x6x8xf32> to tensor<2x6x4xf32>
  %n = linalg.negf ins(%b : tensor<2x6x4xf32>) outs(%h : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  %r = tensor.concat dim(2) %n, %a : (tensor<2x6x4xf32>, tensor<2x6x4xf32>) -> tensor<2x6x8xf32>
  %c = linalg.broadcast ins(%cos : tensor<6x8xf32>) outs(%e : tensor<2x6x8xf32>) dimensions = [0]
  %s = linalg.broadcast ins(%sin : tensor<6x8xf32>) outs(%e : tensor<2x6x8xf32>) dimensions = [0]
  %0 = linalg.mul ins(%x, %c : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%e : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %1 = linalg.mul ins(%r, %s : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%e : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %y = linalg.add ins(%0, %1 : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%e : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  return %y : tensor<2x6x8xf32>
}

// -----

// Two equal layers share one kernel.

// CHECK-LABEL: "name":"twice"
// CHECK:       "command":"gemm"
// CHECK:       "function":"tp_kernel_0"
// CHECK:       "command":"gemm"
// CHECK:       "function":"tp_kernel_0"
// CHECK:       "command":"gemm"
// CHECK-NOT:   "command"
func.func @main(%x: tensor<4x4xf32> {tp.name = "twice"}, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = linalg.exp ins(%0 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = linalg.matmul ins(%1, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = linalg.exp ins(%2 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = linalg.matmul ins(%3, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}

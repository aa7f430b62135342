// RUN: split-file %s %t
// RUN: tp-opt %t/order.mlir --tp-assign-storage --tp-form-kernels | FileCheck %s --check-prefix=ORDER
// RUN: tp-opt %t/order.mlir --tp-cpu-compile=show=manifest -o /dev/null | FileCheck %s --check-prefix=MANIFEST
// RUN: tp-opt %t/merge.mlir --tp-merge-gemms | FileCheck %s --check-prefix=MERGE
// RUN: tp-opt %t/merge.mlir --tp-merge-gemms --tp-cpu-compile=show=manifest -o /dev/null | FileCheck %s --check-prefix=JOINED
// RUN: tp-opt %t/apart.mlir --tp-merge-gemms | FileCheck %s --check-prefix=APART

// Weights of two entries are in memory in one order. @product wants the columns
// of both of its weights first. @sum reads one of them as it is, so that it
// stays as it is; the other one is used by @product alone.

// ORDER: func.func @product(%{{.*}}: memref<4x6xf32>
// ORDER-SAME: memref<8x6xf32> {tp.kind = "parameter", tp.name = "w"
// ORDER-SAME: memref<8x6xf32, strided<[1, 8]>> {tp.kind = "parameter", tp.name = "v"
// ORDER: func.func @sum(%{{.*}}: memref<8x6xf32> {tp.kind = "parameter", tp.name = "w"
// ORDER-SAME: memref<8x6xf32, strided<[1, 8]>> {tp.kind = "parameter", tp.name = "v"

// In the manifest a weight is there once, and the entries have its number; @sum
// has weights alone, in their order, and reads one of them. Constants of the
// entries are one after the other.

// MANIFEST:      "arguments":[
// MANIFEST-NEXT: {"name":"w",
// MANIFEST-NEXT: {"name":"v","shape":[8,6],"dtype":"f32","storage":{"permutation":[1,0]}}],
// MANIFEST-NOT:  {"name":"v"
// MANIFEST:      "entries":[
// MANIFEST-NEXT: {"name":"product"
// MANIFEST:      "signature":[2,0,1]
// MANIFEST:      {"space":"constant"},{"space":"result","index":1}
// MANIFEST:      {"name":"sum","inputs":[],
// MANIFEST:      {"space":"constant","offset":64}

// Weights are joined for all entries that read them: for @both and @more alike,
// and what @none does not read has its place there too.

// MERGE: func.func @both
// MERGE-SAME: tensor<10x8xf32> {tp.joined = array<i64: 1, 2>}
// MERGE: func.func @more
// MERGE-SAME: tensor<10x8xf32> {tp.joined = array<i64: 0, 1>}
// MERGE: func.func @none
// MERGE-NOT: tp.joined
// JOINED: "joined":[
// JOINED-NEXT: [0,1]]
// JOINED-COUNT-2: "command":"gemm","dtype":"f32","m":4,"n":10,"k":8
// JOINED-NOT: "command":"gemm"

// One that reads one of them alone keeps them apart for all.

// APART: func.func @both
// APART-NOT: tp.joined

//--- order.mlir
#left = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#sums = affine_map<(m, n, k) -> (m, n)>
func.func @product(%x: tensor<4x6xf32>,
    %w: tensor<8x6xf32> {tp.kind = "parameter", tp.name = "w"},
    %v: tensor<8x6xf32> {tp.kind = "parameter", tp.name = "v"}) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %p = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %w : tensor<4x6xf32>, tensor<8x6xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %q = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %v : tensor<4x6xf32>, tensor<8x6xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %b = linalg.broadcast ins(%c : tensor<8xf32>) outs(%e : tensor<4x8xf32>) dimensions = [0]
  %r = linalg.add ins(%q, %b : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %p, %r : tensor<4x8xf32>, tensor<4x8xf32>
}
func.func @sum(%w: tensor<8x6xf32> {tp.kind = "parameter", tp.name = "w"},
    %v: tensor<8x6xf32> {tp.kind = "parameter", tp.name = "v"}) -> tensor<8x6xf32> {
  %e = tensor.empty() : tensor<8x6xf32>
  %y = linalg.exp ins(%w : tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 7.0]> : tensor<6xf32>
  %b = linalg.broadcast ins(%c : tensor<6xf32>) outs(%e : tensor<8x6xf32>) dimensions = [0]
  %s = linalg.add ins(%y, %b : tensor<8x6xf32>, tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  return %s : tensor<8x6xf32>
}

//--- merge.mlir
#left = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#sums = affine_map<(m, n, k) -> (m, n)>
func.func @both(%x: tensor<4x8xf32>,
    %q: tensor<6x8xf32> {tp.name = "q", tp.kind = "parameter"},
    %k: tensor<4x8xf32> {tp.name = "k", tp.kind = "parameter"}) -> (tensor<4x6xf32>, tensor<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %f = tensor.empty() : tensor<4x4xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %j = linalg.fill ins(%zero : f32) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  %a = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %q : tensor<4x8xf32>, tensor<6x8xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %k : tensor<4x8xf32>, tensor<4x8xf32>) outs(%j : tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = linalg.exp ins(%a : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %z = linalg.exp ins(%b : tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y, %z : tensor<4x6xf32>, tensor<4x4xf32>
}
func.func @more(%q: tensor<6x8xf32> {tp.name = "q", tp.kind = "parameter"},
    %k: tensor<4x8xf32> {tp.name = "k", tp.kind = "parameter"},
    %x: tensor<4x8xf32>) -> (tensor<4x6xf32>, tensor<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %f = tensor.empty() : tensor<4x4xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %j = linalg.fill ins(%zero : f32) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  %a = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %q : tensor<4x8xf32>, tensor<6x8xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %k : tensor<4x8xf32>, tensor<4x8xf32>) outs(%j : tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = linalg.negf ins(%a : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %z = linalg.negf ins(%b : tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y, %z : tensor<4x6xf32>, tensor<4x4xf32>
}
func.func @none(%k: tensor<4x8xf32> {tp.name = "k", tp.kind = "parameter"},
    %q: tensor<6x8xf32> {tp.name = "q", tp.kind = "parameter"}, %x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.exp ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

//--- apart.mlir
#left = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#sums = affine_map<(m, n, k) -> (m, n)>
func.func @both(%x: tensor<4x8xf32>,
    %q: tensor<6x8xf32> {tp.name = "q", tp.kind = "parameter"},
    %k: tensor<4x8xf32> {tp.name = "k", tp.kind = "parameter"}) -> (tensor<4x6xf32>, tensor<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %f = tensor.empty() : tensor<4x4xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %j = linalg.fill ins(%zero : f32) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  %a = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %q : tensor<4x8xf32>, tensor<6x8xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %k : tensor<4x8xf32>, tensor<4x8xf32>) outs(%j : tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = linalg.exp ins(%a : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %z = linalg.exp ins(%b : tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y, %z : tensor<4x6xf32>, tensor<4x4xf32>
}
func.func @one(%q: tensor<6x8xf32> {tp.name = "q", tp.kind = "parameter"},
    %k: tensor<4x8xf32> {tp.name = "k", tp.kind = "parameter"}) -> tensor<6x8xf32> {
  %e = tensor.empty() : tensor<6x8xf32>
  %y = linalg.exp ins(%q : tensor<6x8xf32>) outs(%e : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

// RUN: tp-opt %s --split-input-file --tp-store-weights=type=f16 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks
// RUN: tp-opt %s --split-input-file --tp-store-weights=type=bf16 --tp-cpu-compile=show=manifest -o /dev/null | FileCheck %s --check-prefix=MANIFEST
// RUN: tp-opt %s --split-input-file --tp-store-weights --tp-merge-gemms --tp-cpu-compile=show=manifest -o /dev/null | FileCheck %s --check-prefix=MERGED
// RUN: tp-opt %s --split-input-file --tp-store-weights --tp-form-attention --tp-assign-storage --tp-form-kernels --tp-update-in-place --tp-schedule --tp-write-parts --tp-plan-memory --tp-cpu-compile=show=manifest -o /dev/null > %t.stages
// RUN: tp-opt %s --split-input-file --tp-store-weights --tp-cpu-compile=show=manifest -o /dev/null > %t.once
// RUN: cmp %t.stages %t.once
// RUN: not tp-opt %s --split-input-file --tp-store-weights=target=cuda 2>&1 | FileCheck %s --check-prefix=CUDA
// RUN: not tp-opt %s --split-input-file --tp-store-weights=type=q8_0 2>&1 | FileCheck %s --check-prefix=QUANTISED
// RUN: not tp-opt %s --split-input-file --tp-store-weights=type=f32 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: tp-opt %s --split-input-file --tp-store-weights=type=f16 --tp-assign-storage 2> %t.stored.remarks | FileCheck %s --check-prefix=STORED

// CUDA: error: weight storage is for CPU artifacts, expected the target 'cpu', got 'cuda'
// QUANTISED: error: weights are stored in f16 or bf16, got 'q8_0': blocks of quantised numbers are not handled
// TYPE: error: weights are stored in f16 or bf16, got 'f32'{{$}}

#left = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#sums = affine_map<(m, n, k) -> (m, n)>

// A product of two types; the vector that is added stays as it is. Files may have
// either type.

// CHECK-LABEL: func.func @product
// CHECK-SAME:    %arg1: tensor<6x8xf16> {tp.kind = "parameter", tp.name = "w", tp.rounded_from = f32}
// CHECK-SAME:    %arg2: tensor<6xf32> {tp.kind = "parameter", tp.name = "bias"}
// CHECK:       linalg.generic {{.*}}ins(%arg0, %arg1 : tensor<1x8xf32>, tensor<6x8xf16>)
// CHECK-NEXT:  ^bb0(%in: f32, %[[IN:.*]]: f16, %out: f32):
// CHECK-NEXT:    %[[W:.*]] = arith.extf %[[IN]] : f16 to f32
// CHECK-NEXT:    arith.mulf %in, %[[W]] : f32

// MANIFEST: {"name":"w","shape":[6,8],"dtype":"bf16","rounded_from":"f32"},
// MANIFEST: {"name":"bias","shape":[6],"dtype":"f32"}
// MANIFEST: "weights_bytes":120
// MANIFEST: "command":"gemm","dtype":"f32","b_dtype":"bf16","m":1,"n":6,"k":8,{{.*}}"b":{"buffer":{"space":"argument","index":1},"ld":8,"transpose":true}
func.func @product(%x: tensor<1x8xf32> {tp.name = "x"},
    %w: tensor<6x8xf32> {tp.name = "w", tp.kind = "parameter"},
    %bias: tensor<6xf32> {tp.name = "bias", tp.kind = "parameter"}) -> tensor<1x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x6xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<1x6xf32>) -> tensor<1x6xf32>
  %p = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %w : tensor<1x8xf32>, tensor<6x8xf32>) outs(%i : tensor<1x6xf32>) -> tensor<1x6xf32>
  %b = linalg.broadcast ins(%bias : tensor<6xf32>) outs(%e : tensor<1x6xf32>) dimensions = [0]
  %y = linalg.add ins(%p, %b : tensor<1x6xf32>, tensor<1x6xf32>) outs(%e : tensor<1x6xf32>) -> tensor<1x6xf32>
  return %y : tensor<1x6xf32>
}

// -----

// A tied table: rows are looked up, and the logits read it transposed. No copy of
// it is made: the arena has a row of 8, and 4 x 6 logits are the result.

// CHECK-LABEL: func.func @tied
// CHECK:       tensor.extract %arg1[%{{.*}}] : tensor<6x8xf16>
// CHECK-NEXT:  arith.extf %{{.*}} : f16 to f32
// CHECK:       linalg.generic {{.*}}ins(%arg1 : tensor<6x8xf16>) outs(%{{.*}} : tensor<8x6xf16>)
// CHECK:       ins(%{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8x6xf16>)

// MANIFEST: "name":"table","shape":[6,8],"dtype":"bf16","rounded_from":"f32"
// MANIFEST: "arena_bytes":128
// MANIFEST: "command":"gemm","dtype":"f32","b_dtype":"bf16","m":4,"n":6,"k":8
func.func @tied(%ids: tensor<4xi64> {tp.name = "ids"},
    %table: tensor<6x8xf32> {tp.name = "table", tp.kind = "parameter", tp.aliases = ["head"]}) -> tensor<4x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %x = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%ids : tensor<4xi64>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%id: i64, %out: f32):
    %row = arith.index_cast %id : i64 to index
    %column = linalg.index 1 : index
    %element = tensor.extract %table[%row, %column] : tensor<6x8xf32>
    linalg.yield %element : f32
  } -> tensor<4x8xf32>
  %et = tensor.empty() : tensor<8x6xf32>
  %t = linalg.transpose ins(%table : tensor<6x8xf32>) outs(%et : tensor<8x6xf32>) permutation = [1, 0]
  %ey = tensor.empty() : tensor<4x6xf32>
  %i = linalg.fill ins(%zero : f32) outs(%ey : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.matmul ins(%x, %t : tensor<4x8xf32>, tensor<8x6xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

// What is read element by element, or returned, is widened; a kernel does it where
// it reads.

// CHECK-LABEL: func.func @elementwise
// CHECK:       %[[WIDE:.*]] = linalg.generic {{.*}}ins(%arg1 : tensor<4x8xf16>) outs(%{{.*}} : tensor<4x8xf32>)
// CHECK:       linalg.add ins(%arg0, %[[WIDE]] : tensor<4x8xf32>, tensor<4x8xf32>)
// CHECK:       return %{{.*}}, %[[WIDE]] : tensor<4x8xf32>, tensor<4x8xf32>

// MANIFEST: "name":"places","shape":[4,8],"dtype":"bf16"
// MANIFEST: "arena_bytes":0
func.func @elementwise(%x: tensor<4x8xf32>, %w: tensor<4x8xf32> {tp.name = "places", tp.kind = "parameter"}) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.add ins(%x, %w : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y, %w : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

#left = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#sums = affine_map<(m, n, k) -> (m, n)>

// A parameter that a step updates stays in f32; a product of two stored parameters,
// and one of a parameter with itself, read both as they are.

// REMARK: remark: parameter "trained" stays in f32: result #1 updates it

// CHECK-LABEL: func.func @updated
// CHECK-SAME:    %arg0: tensor<8x8xf32> {tp.kind = "parameter", tp.name = "trained"}
// CHECK-SAME:    %arg1: tensor<8x8xf16>
// CHECK:       ins(%arg1, %arg2 : tensor<8x8xf16>, tensor<8x8xf16>)
// CHECK-COUNT-2: arith.extf
// CHECK:       ins(%arg1, %arg1 : tensor<8x8xf16>, tensor<8x8xf16>)
// CHECK-COUNT-2: arith.extf

// MANIFEST: {"name":"trained","shape":[8,8],"dtype":"f32"}
// MANIFEST: "command":"gemm","dtype":"bf16","c_dtype":"f32"
// MANIFEST: "command":"gemm","dtype":"bf16","c_dtype":"f32"
func.func @updated(%t: tensor<8x8xf32> {tp.name = "trained", tp.kind = "parameter"},
    %a: tensor<8x8xf32> {tp.name = "a", tp.kind = "parameter"},
    %b: tensor<8x8xf32> {tp.name = "b", tp.kind = "parameter"}) -> (tensor<8x8xf32>, tensor<8x8xf32> {tp.updates = "trained"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = linalg.matmul ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%i : tensor<8x8xf32>) -> tensor<8x8xf32>
  %q = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%i : tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = linalg.add ins(%q, %t : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %z = linalg.add ins(%p, %t : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y, %z : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

#left = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#sums = affine_map<(m, n, k) -> (m, n)>

// Products of one A are merged over joined weights, which are stored in f16.

// MERGED: "joined":[
// MERGED-NEXT: [0,1]],
// MERGED: "command":"gemm","dtype":"f32","b_dtype":"f16","m":4,"n":9,"k":8
// STORED-LABEL: func.func @merged
// STORED-SAME:    %arg1: memref<6x8xf16> {
// STORED:         tp.gemm %arg0, %{{.*}} : memref<4x8xf32>, memref<8x6xf16, strided<[1, 8]>>, memref<4x6xf32>
func.func @merged(%x: tensor<4x8xf32>,
    %q: tensor<6x8xf32> {tp.name = "merged.q", tp.kind = "parameter"},
    %k: tensor<3x8xf32> {tp.name = "merged.k", tp.kind = "parameter"}) -> (tensor<4x6xf32>, tensor<4x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %f = tensor.empty() : tensor<4x3xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %j = linalg.fill ins(%zero : f32) outs(%f : tensor<4x3xf32>) -> tensor<4x3xf32>
  %a = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %q : tensor<4x8xf32>, tensor<6x8xf32>) outs(%i : tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%x, %k : tensor<4x8xf32>, tensor<3x8xf32>) outs(%j : tensor<4x3xf32>) -> tensor<4x3xf32>
  %y = linalg.exp ins(%a : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %z = linalg.exp ins(%b : tensor<4x3xf32>) outs(%f : tensor<4x3xf32>) -> tensor<4x3xf32>
  return %y, %z : tensor<4x6xf32>, tensor<4x3xf32>
}

// -----

#left = affine_map<(m, n, k) -> (m, k)>
#weight = affine_map<(m, n, k) -> (n, k)>
#sums = affine_map<(m, n, k) -> (m, n)>

// Queries that are a parameter themselves: an attention has operands of one type, so
// products of two types and kernels compute it.

// CHECK-LABEL: func.func @queries
// CHECK-SAME:    %arg0: tensor<4x8xf16>
// MANIFEST: "name":"queries","shape":[4,8],"dtype":"bf16"
func.func @queries(%q: tensor<4x8xf32> {tp.name = "queries", tp.kind = "parameter"}, %k: tensor<6x8xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %e0 = tensor.empty() : tensor<4x6xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.matmul indexing_maps = [#left, #weight, #sums] ins(%q, %k : tensor<4x8xf32>, tensor<6x8xf32>) outs(%f0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %e1 = tensor.empty() : tensor<4xf32>
  %f1 = linalg.fill ins(%lowest : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
  %m = linalg.reduce { arith.maximumf } ins(%s : tensor<4x6xf32>) outs(%f1 : tensor<4xf32>) dimensions = [1]
  %mb = linalg.broadcast ins(%m : tensor<4xf32>) outs(%e0 : tensor<4x6xf32>) dimensions = [1]
  %d = linalg.sub ins(%s, %mb : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %e = linalg.exp ins(%d : tensor<4x6xf32>) outs(%e0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
  %l = linalg.reduce { arith.addf } ins(%e : tensor<4x6xf32>) outs(%f2 : tensor<4xf32>) dimensions = [1]
  %lb = linalg.broadcast ins(%l : tensor<4xf32>) outs(%e0 : tensor<4x6xf32>) dimensions = [1]
  %p = linalg.div ins(%e, %lb : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %e2 = tensor.empty() : tensor<4x8xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%f3 : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// REMARK: warning: no weight is stored in f16: expected parameters of f32 with two dimensions or more that no result updates
func.func @none(%x: tensor<4xf32>, %w: tensor<4xf32> {tp.name = "scale", tp.kind = "parameter"}) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.mul ins(%x, %w : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

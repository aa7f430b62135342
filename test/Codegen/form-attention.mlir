// RUN: tp-opt %s --split-input-file --tp-form-attention="target=cuda score-bytes=64" --mlir-print-local-scope | FileCheck %s

// A product with the transpose, a softmax of named ops and a product: all queries see all keys, two at a time.

// CHECK-LABEL: func.func @named
// CHECK-SAME:    %[[Q:.*]]: tensor<4x8xf32>, %[[K:.*]]: tensor<6x8xf32>, %[[V:.*]]: tensor<6x8xf32>
// CHECK:         %[[QS:.*]] = tensor.extract_slice %[[Q]][0, 0] [2, 8] [1, 1]
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%[[QS]], %[[K]] :
// CHECK-SAME:      tp.attention = {batch = 0 : i64, id = 0 : i64, key = 0 : i64, keys = 6 : i64, queries = 4 : i64, query = 0 : i64, role = "scores", scale = 1.000000e+00 : f64}
// CHECK-NOT:     role = "masked"
// CHECK:         role = "largest"
// CHECK:         arith.maximumf
// CHECK:         math.exp
// CHECK:         arith.addf
// CHECK:         arith.divf
// CHECK:         %[[FIRST:.*]] = linalg.generic
// CHECK-SAME:      ins(%{{.*}}, %[[V]] :
// CHECK-SAME:      role = "output"
// CHECK:         tensor.extract_slice %[[Q]][2, 0] [2, 8] [1, 1]
// CHECK:         arith.divf
// CHECK:         %[[SECOND:.*]] = linalg.generic
// CHECK-SAME:      ins(%{{.*}}, %[[V]] :
// CHECK:         %[[O:.*]] = tensor.concat dim(0) %[[FIRST]], %[[SECOND]] {tp.attention = {id = 0 : i64, role = "result"}}
// CHECK:         return %[[O]]
func.func @named(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %e0 = tensor.empty() : tensor<4x6xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = linalg.matmul indexing_maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
    ins(%q, %k : tensor<4x8xf32>, tensor<6x8xf32>) outs(%f0 : tensor<4x6xf32>) -> tensor<4x6xf32>
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

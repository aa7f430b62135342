// RUN: tp-opt %s --tp-normalize --tp-verify-normal-form | FileCheck %s

// What an op looks up and then does more with than to add up is looked up by an
// op of its own, together with what is asserted of the place.

#row = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
#rows = affine_map<(i, j) -> (i)>
#id = affine_map<(i, j) -> (i, j)>

// CHECK-LABEL: @difference
// CHECK: %[[PICKED:.*]] = linalg.generic {{.*}}["parallel"]} ins(%arg2 : tensor<6xi64>)
// CHECK: cf.assert
// CHECK: %[[X:.*]] = tensor.extract %arg0
// CHECK-NEXT: linalg.yield %[[X]]
// CHECK: linalg.generic {{.*}}["parallel"]} ins(%arg2, %arg1, %[[PICKED]] : tensor<6xi64>, tensor<6xf32>, tensor<6xf32>)
// CHECK-NEXT: ^bb0(%{{.*}}: i64, %[[SUM:.*]]: f32, %[[LOGIT:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[D:.*]] = arith.subf %[[SUM]], %[[LOGIT]]
// CHECK-NEXT: linalg.yield %[[D]]
func.func @difference(%logits: tensor<6x40xf32>, %lse: tensor<6xf32>, %labels: tensor<6xi64>) -> tensor<6xf32> {
  %size = arith.constant 40 : index
  %e = tensor.empty() : tensor<6xf32>
  %0 = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]} ins(%labels, %lse : tensor<6xi64>, tensor<6xf32>) outs(%e : tensor<6xf32>) {
  ^bb0(%label: i64, %s: f32, %o: f32):
    %i = linalg.index 0 : index
    %c = arith.index_cast %label : i64 to index
    %ok = arith.cmpi slt, %c, %size : index
    cf.assert %ok, "index must be smaller than dim size"
    %x = tensor.extract %logits[%i, %c] : tensor<6x40xf32>
    %d = arith.subf %s, %x : f32
    linalg.yield %d : f32
  } -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// The lookup has the loops that its place depends on.
// CHECK-LABEL: @sum
// CHECK: %[[PICKED:.*]] = linalg.generic {{.*}}["parallel"]} ins(%arg1 : tensor<6xi64>) outs(%{{.*}} : tensor<6xf32>)
// CHECK: linalg.generic {{.*}}["reduction", "reduction"]} ins(%arg1, %arg2, %[[PICKED]] : tensor<6xi64>, tensor<6x4xf32>, tensor<6xf32>) outs(%{{.*}} : tensor<f32>)
func.func @sum(%logits: tensor<6x40xf32>, %labels: tensor<6xi64>, %w: tensor<6x4xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %0 = linalg.generic {indexing_maps = [#rows, #id, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%labels, %w : tensor<6xi64>, tensor<6x4xf32>) outs(%init : tensor<f32>) {
  ^bb0(%label: i64, %s: f32, %o: f32):
    %i = linalg.index 0 : index
    %c = arith.index_cast %label : i64 to index
    %x = tensor.extract %logits[%i, %c] : tensor<6x40xf32>
    %d = arith.mulf %s, %x : f32
    %a = arith.addf %o, %d : f32
    linalg.yield %a : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// A product is linear; what is read at the loops is no lookup; and a table that
// is smaller than what is looked up in it stays where it is read.
// CHECK-LABEL: @stay
// CHECK-COUNT-3: tensor.extract
// CHECK-NOT: tensor.extract
// CHECK: return
func.func @stay(%table: tensor<6x40xf32>, %labels: tensor<6xi64>, %small: tensor<3xf32>, %ids: tensor<6x40xi64>) -> (tensor<6xf32>, tensor<6x40xf32>, tensor<6x40xf32>) {
  %e = tensor.empty() : tensor<6xf32>
  %f = tensor.empty() : tensor<6x40xf32>
  %two = arith.constant 2.0 : f32
  %0 = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%labels : tensor<6xi64>) outs(%e : tensor<6xf32>) {
  ^bb0(%label: i64, %o: f32):
    %i = linalg.index 0 : index
    %c = arith.index_cast %label : i64 to index
    %x = tensor.extract %table[%i, %c] : tensor<6x40xf32>
    %d = arith.mulf %two, %x : f32
    linalg.yield %d : f32
  } -> tensor<6xf32>
  %1 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%f : tensor<6x40xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %x = tensor.extract %table[%i, %j] : tensor<6x40xf32>
    %d = math.exp %x : f32
    linalg.yield %d : f32
  } -> tensor<6x40xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<6x40xi64>) outs(%f : tensor<6x40xf32>) {
  ^bb0(%label: i64, %o: f32):
    %c = arith.index_cast %label : i64 to index
    %x = tensor.extract %small[%c] : tensor<3xf32>
    %d = math.exp %x : f32
    linalg.yield %d : f32
  } -> tensor<6x40xf32>
  return %0, %1, %2 : tensor<6xf32>, tensor<6x40xf32>, tensor<6x40xf32>
}

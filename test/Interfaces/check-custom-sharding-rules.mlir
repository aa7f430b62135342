// RUN: tp-opt %s --link=%tp_build/lib/tp_test_custom_ops.so --tp-check-sharding-rules=ranks=2 2>&1 | FileCheck %s
// RUN: tp-opt %s --link=%tp_build/lib/tp_test_custom_ops.so --tp-check-sharding-rules=ranks=3 2>&1 | FileCheck %s

// CHECK-NOT: error
// CHECK-COUNT-5: strategies hold
// CHECK-NOT: error

func.func @custom(%x: tensor<6x5x12xf32>, %w: tensor<12x6xf32>) {
  %0 = tp.custom "test.mix"(%x, %w) {op_attributes = {scale = 0.5 : f64}, reduction = ["k"], rule = "b i k, k j -> b i j"} : (tensor<6x5x12xf32>, tensor<12x6xf32>) -> tensor<6x5x6xf32>
  %1 = tp.custom "test.mix"(%x, %w) {op_attributes = {scale = 0.5 : f64}, rule = "_ i k, k _ -> _ i _"} : (tensor<6x5x12xf32>, tensor<12x6xf32>) -> tensor<6x5x6xf32>
  %2 = tp.custom "test.top"(%x) {combine = "max", op_attributes = {mode = "negated", shifts = [1, 2]}, reduction = ["k"], rule = "b i k -> b i"} : (tensor<6x5x12xf32>) -> tensor<6x5xf32>
  %3:2 = tp.custom "test.halves"(%x) {rule = "a b c -> a b c, a b c"} : (tensor<6x5x12xf32>) -> (tensor<6x5x12xf32>, tensor<6x5x12xf32>)
  %4 = tp.kept %x : tensor<6x5x12xf32>
  return
}

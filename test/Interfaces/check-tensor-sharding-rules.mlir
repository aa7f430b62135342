// RUN: tp-opt %s --tp-check-sharding-rules=ranks=2 2>&1 | FileCheck %s
// RUN: tp-opt %s --tp-check-sharding-rules=ranks=3 2>&1 | FileCheck %s

// CHECK-NOT: error
// CHECK-COUNT-8: strategies hold
// CHECK-NOT: error

func.func @movement(%a: tensor<72x12xf32>, %b: tensor<6x18xf32>, %c: tensor<6x24xf32>, %d: tensor<6x5xf32>) {
  %0 = tensor.expand_shape %a [[0, 1], [2]] output_shape [6, 12, 12] : tensor<72x12xf32> into tensor<6x12x12xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<6x12x12xf32> into tensor<6x144xf32>
  %2 = tensor.extract_slice %b[0, 3] [6, 5] [1, 2] : tensor<6x18xf32> to tensor<6x5xf32>
  %3 = tensor.extract_slice %b[2, 0] [1, 18] [1, 1] : tensor<6x18xf32> to tensor<18xf32>
  %4 = tensor.concat dim(1) %b, %c, %d : (tensor<6x18xf32>, tensor<6x24xf32>, tensor<6x5xf32>) -> tensor<6x47xf32>
  %5 = tensor.insert_slice %d into %b[0, 4] [6, 5] [1, 1] : tensor<6x5xf32> into tensor<6x18xf32>
  %6 = arith.constant dense<3.0> : tensor<6x12xf32>
  %7 = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
  return
}

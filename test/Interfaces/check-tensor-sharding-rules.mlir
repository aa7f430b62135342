// RUN: tp-opt %s --tp-check-sharding-rules=ranks=2 2>&1 | FileCheck %s
// RUN: tp-opt %s --tp-check-sharding-rules=ranks=3 2>&1 | FileCheck %s

// CHECK-NOT: error
// CHECK-COUNT-15: strategies hold
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

func.func @pads(%a: tensor<6x12x5xf32>, %b: tensor<6x12xi32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %highest = arith.constant 0x7F800000 : f32
  %least = arith.constant -2147483648 : i32
  %0 = tensor.pad %a low[0, 0, 1] high[0, 0, 2] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<6x12x5xf32> to tensor<6x12x8xf32>
  %1 = tensor.pad %a low[0, 3, 0] high[0, 0, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %one : f32
  } : tensor<6x12x5xf32> to tensor<6x15x5xf32>
  %2 = tensor.pad %a low[0, 0, 0] high[6, 0, 2] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %lowest : f32
  } : tensor<6x12x5xf32> to tensor<12x12x7xf32>
  %3 = tensor.pad %a low[0, 4, 0] high[0, 0, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %highest : f32
  } : tensor<6x12x5xf32> to tensor<6x16x5xf32>
  %4 = tensor.pad %b low[1, 0] high[2, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %least : i32
  } : tensor<6x12xi32> to tensor<9x12xi32>
  // Both sides of the dimension, and one that is cut beside it.
  %5 = tensor.pad %b low[0, 6] high[0, 18] {
  ^bb0(%i: index, %j: index):
    tensor.yield %least : i32
  } : tensor<6x12xi32> to tensor<6x36xi32>
  %6 = tensor.pad %b low[1, 0] high[-1, 6] {
  ^bb0(%i: index, %j: index):
    tensor.yield %least : i32
  } : tensor<6x12xi32> to tensor<6x18xi32>
  return
}

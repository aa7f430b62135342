// Tensors without elements, on 2 and 3 ranks, against upstream lowering.
//
// RUN: %python %S/Inputs/against_upstream.py %s %t | FileCheck %s
// CHECK: 198 elements equal in 7 programs

func.func @main(%x: tensor<6x12xf32> {tp.name = "x"}, %none: tensor<0x12xf32> {tp.name = "none"}, %thin: tensor<6x0xf32> {tp.name = "thin"}) -> (tensor<6x12xf32>, tensor<0x12xf32>, tensor<6x0xf32>, tensor<6x12xf32>, tensor<6x1x0xf32>, tensor<6x6xf32>, tensor<0x12xf32>, tensor<3x6xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %0 = tensor.concat dim(0) %none, %x : (tensor<0x12xf32>, tensor<6x12xf32>) -> tensor<6x12xf32>
  %1 = math.exp %none : tensor<0x12xf32>
  %2 = tensor.extract_slice %x[0, 3] [6, 0] [1, 1] : tensor<6x12xf32> to tensor<6x0xf32>
  %3 = tensor.insert_slice %2 into %x[0, 5] [6, 0] [1, 1] : tensor<6x0xf32> into tensor<6x12xf32>
  %4 = tensor.expand_shape %thin [[0], [1, 2]] output_shape [6, 1, 0] : tensor<6x0xf32> into tensor<6x1x0xf32>
  // A product over nothing is its init.
  %e = tensor.empty() : tensor<6x6xf32>
  %ones = linalg.fill ins(%one : f32) outs(%e : tensor<6x6xf32>) -> tensor<6x6xf32>
  %flat = tensor.empty() : tensor<0x6xf32>
  %5 = linalg.matmul ins(%thin, %flat : tensor<6x0xf32>, tensor<0x6xf32>) outs(%ones : tensor<6x6xf32>) -> tensor<6x6xf32>
  %6 = arith.constant dense<> : tensor<0x12xf32>
  %7 = tensor.pad %flat low[1, 0] high[2, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<0x6xf32> to tensor<3x6xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<6x12xf32>, tensor<0x12xf32>, tensor<6x0xf32>, tensor<6x12xf32>, tensor<6x1x0xf32>, tensor<6x6xf32>, tensor<0x12xf32>, tensor<3x6xf32>
}

// Slices at places known at run time, with strides and fewer dimensions, and
// scalars between tensors, on 2 and 3 ranks, against upstream lowering.
//
// RUN: %python %S/Inputs/against_upstream.py %s %t | FileCheck %s
// CHECK: 472 elements equal in 7 programs

func.func @main(%x: tensor<6x12xf32> {tp.name = "x"}, %y: tensor<6x5xf32> {tp.name = "y"}, %at: index {tp.name = "at"}, %by: f32 {tp.name = "by"}) -> (tensor<6x5xf32>, tensor<5xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, f32, tensor<6x12xf32>, tensor<2x2xf32>, tensor<6x12xf32>) {
  %c1 = arith.constant 1 : index
  %here = arith.addi %at, %c1 : index
  %0 = tensor.extract_slice %x[0, %here] [6, 5] [1, 2] : tensor<6x12xf32> to tensor<6x5xf32>
  %1 = tensor.extract_slice %x[%at, 3] [1, 5] [1, 1] : tensor<6x12xf32> to tensor<5xf32>
  %2 = tensor.insert_slice %y into %x[0, %here] [6, 5] [1, 1] : tensor<6x5xf32> into tensor<6x12xf32>
  %3 = tensor.insert_slice %y into %x[0, 2] [6, 5] [1, 2] : tensor<6x5xf32> into tensor<6x12xf32>
  %4 = tensor.insert_slice %1 into %x[%at, 1] [1, 5] [1, 2] : tensor<5xf32> into tensor<6x12xf32>
  %element = tensor.extract %x[%at, %here] : tensor<6x12xf32>
  %sum = arith.addf %element, %by : f32
  %5 = tensor.insert %sum into %x[%here, %at] : tensor<6x12xf32>
  %6 = tensor.splat %sum : tensor<6x12xf32>
  %7 = arith.mulf %6, %x : tensor<6x12xf32>
  %8 = tensor.from_elements %sum, %by, %element, %by : tensor<2x2xf32>
  %9 = tensor.insert %by into %x[%c1, %c1] : tensor<6x12xf32>
  return %0, %1, %2, %3, %4, %5, %sum, %7, %8, %9 : tensor<6x5xf32>, tensor<5xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, tensor<6x12xf32>, f32, tensor<6x12xf32>, tensor<2x2xf32>, tensor<6x12xf32>
}

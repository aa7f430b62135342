// tensor.gather and tensor.scatter, which upstream cannot lower, on 2 and 3
// ranks, against the same written with loops.
//
// RUN: %python %S/Inputs/against_upstream.py %s %t --upstream=%S/Inputs/lookups.mlir | FileCheck %s
// CHECK: 756 elements equal in 8 programs

func.func @main(%x: tensor<6x12x4xf32> {tp.name = "x"}, %i: tensor<6x1xi32> {tp.name = "i"}, %y: tensor<3x12xf32> {tp.name = "y"}) -> (tensor<6x12x4xf32>, tensor<6x6x1x4xf32>, tensor<3x12xf32>, tensor<6x12x4xf32>) {
  %j = arith.constant dense<[[4, 2], [0, 3], [5, 0]]> : tensor<3x2xindex>
  %0 = tensor.gather %x[%i] gather_dims([0]) : (tensor<6x12x4xf32>, tensor<6x1xi32>) -> tensor<6x12x4xf32>
  %1 = tensor.gather %x[%i] gather_dims([1]) : (tensor<6x12x4xf32>, tensor<6x1xi32>) -> tensor<6x6x1x4xf32>
  %2 = tensor.gather %x[%j] gather_dims([0, 2]) : (tensor<6x12x4xf32>, tensor<3x2xindex>) -> tensor<3x12xf32>
  %3 = tensor.scatter %2 into %x[%j] scatter_dims([0, 2]) unique : (tensor<3x12xf32>, tensor<6x12x4xf32>, tensor<3x2xindex>) -> tensor<6x12x4xf32>
  %4 = tensor.scatter %y into %3[%j] scatter_dims([0, 2]) unique : (tensor<3x12xf32>, tensor<6x12x4xf32>, tensor<3x2xindex>) -> tensor<6x12x4xf32>
  return %0, %1, %2, %4 : tensor<6x12x4xf32>, tensor<6x6x1x4xf32>, tensor<3x12xf32>, tensor<6x12x4xf32>
}

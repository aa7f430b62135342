// tensor.gather and tensor.scatter, which upstream cannot lower: against the
// same written with loops.
//
// RUN: %python %S/Inputs/against_upstream.py %s %t --upstream=%S/Inputs/lookups.mlir | FileCheck %s
// CHECK: elements equal in 7 programs

func.func @main(%x: tensor<6x12x4xf32> {tp.name = "x"}, %i: tensor<6x1xi32> {tp.name = "i"}, %j: tensor<3x2xindex> {tp.name = "j"}, %y: tensor<3x12xf32> {tp.name = "y"}) -> (tensor<6x12x4xf32>, tensor<6x6x1x4xf32>, tensor<3x12xf32>, tensor<6x12x4xf32>, tensor<6x12x4xf32>) {
  %0 = tensor.gather %x[%i] gather_dims([0]) : (tensor<6x12x4xf32>, tensor<6x1xi32>) -> tensor<6x12x4xf32>
  %1 = tensor.gather %x[%i] gather_dims([1]) : (tensor<6x12x4xf32>, tensor<6x1xi32>) -> tensor<6x6x1x4xf32>
  %2 = tensor.gather %x[%j] gather_dims([0, 2]) : (tensor<6x12x4xf32>, tensor<3x2xindex>) -> tensor<3x12xf32>
  // Each row is written at another place.
  %c2 = arith.constant 2 : index
  %k = tensor.generate {
  ^bb0(%a: index, %b: index):
    %two = arith.muli %a, %c2 : index
    %s = arith.addi %two, %b : index
    %r = arith.remsi %s, %c2 : index
    %first = arith.cmpi eq, %b, %r : index
    %v = arith.select %first, %a, %two : index
    tensor.yield %a : index
  } : tensor<3x1xindex>
  %3 = tensor.scatter %y into %x[%j] scatter_dims([0, 2]) unique : (tensor<3x12xf32>, tensor<6x12x4xf32>, tensor<3x2xindex>) -> tensor<6x12x4xf32>
  return %0, %1, %2, %3, %3 : tensor<6x12x4xf32>, tensor<6x6x1x4xf32>, tensor<3x12xf32>, tensor<6x12x4xf32>, tensor<6x12x4xf32>
}

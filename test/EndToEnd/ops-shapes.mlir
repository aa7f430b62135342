// tensor.generate, reshape, pad, concat, cast, bitcast, dim and rank on 2 and 3
// ranks, against upstream lowering.
//
// RUN: %python %S/Inputs/against_upstream.py %s %t | FileCheck %s
// CHECK: 436 elements equal in 7 programs

func.func @main(%x: tensor<6x12xf32> {tp.name = "x"}, %i: tensor<6x12xi32> {tp.name = "i"}, %s: tensor<f32> {tp.name = "s"}) -> (tensor<6x12xf32>, tensor<12x6xf32>, tensor<1xf32>, tensor<6x24xf32>, tensor<6x12xf32>, tensor<6x12xi32>, tensor<f32>, tensor<f32>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %x, %c0 : tensor<6x12xf32>
  %columns = tensor.dim %x, %c1 : tensor<6x12xf32>
  %rank = tensor.rank %x : tensor<6x12xf32>
  %0 = tensor.generate {
  ^bb0(%a: index, %b: index):
    %n = arith.muli %a, %columns : index
    %m = arith.addi %n, %b : index
    %k = arith.index_cast %m : index to i32
    %f = arith.sitofp %k : i32 to f32
    tensor.yield %f : f32
  } : tensor<6x12xf32>
  %shape = tensor.from_elements %columns, %rows : tensor<2xindex>
  %1 = tensor.reshape %x(%shape) : (tensor<6x12xf32>, tensor<2xindex>) -> tensor<12x6xf32>
  %one = arith.constant dense<1> : tensor<1xi32>
  %2 = tensor.reshape %s(%one) : (tensor<f32>, tensor<1xi32>) -> tensor<1xf32>
  %3 = tensor.concat dim(1) %x, %0 : (tensor<6x12xf32>, tensor<6x12xf32>) -> tensor<6x24xf32>
  %c = tensor.cast %x : tensor<6x12xf32> to tensor<6x12xf32>
  %4 = arith.addf %c, %0 : tensor<6x12xf32>
  %5 = arith.bitcast %x : tensor<6x12xf32> to tensor<6x12xi32>
  %none = arith.constant dense<> : tensor<0xi32>
  %6 = tensor.reshape %2(%none) : (tensor<1xf32>, tensor<0xi32>) -> tensor<f32>
  %7 = arith.mulf %s, %6 : tensor<f32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %rank : tensor<6x12xf32>, tensor<12x6xf32>, tensor<1xf32>, tensor<6x24xf32>, tensor<6x12xf32>, tensor<6x12xi32>, tensor<f32>, tensor<f32>, index
}

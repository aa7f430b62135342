// What ../ops-math-tests.mlir computes.

func.func @main(%x: tensor<6xf32> {tp.name = "x"}) -> (tensor<6xi1>, tensor<6xi1>) {
  %0 = arith.constant dense<[true, true, false, false, false, false]> : tensor<6xi1>
  %1 = arith.constant dense<[false, false, false, false, false, true]> : tensor<6xi1>
  return %0, %1 : tensor<6xi1>, tensor<6xi1>
}

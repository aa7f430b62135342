// Values that change places, one that is its own transpose, and one under two names.
func.func @main(%x: tensor<6x6xf32> {tp.name = "x"}, %y: tensor<6x6xf32> {tp.name = "y"}) -> (tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %e = tensor.empty() : tensor<6x6xf32>
  %r:6 = scf.for %i = %c0 to %c7 step %c1 iter_args(%a = %x, %b = %y, %c = %x, %t = %y, %d = %x, %f = %x) -> (tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>) {
    %tt = linalg.transpose ins(%t : tensor<6x6xf32>) outs(%e : tensor<6x6xf32>) permutation = [1, 0]
    %s = arith.subf %a, %tt : tensor<6x6xf32>
    scf.yield %b, %c, %a, %tt, %s, %s : tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>
  }
  return %r#0, %r#1, %r#2, %r#3, %r#4, %r#5 : tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x6xf32>
}

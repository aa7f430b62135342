// The slice of each iteration begins at a place that is given.
func.func @main(%t: tensor<30xf32> {tp.name = "t"}, %k: tensor<1xi32> {tp.name = "k"}) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 20 : index
  %z = arith.constant dense<0.0> : tensor<f32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%h = %z) -> (tensor<f32>) {
    %kk = tensor.extract %k[%c0] : tensor<1xi32>
    %ki = arith.index_cast %kk : i32 to index
    %s = arith.addi %ki, %i : index
    %p = tensor.extract_slice %t[%s] [1] [1] : tensor<30xf32> to tensor<f32>
    %a = arith.addf %h, %p : tensor<f32>
    scf.yield %a : tensor<f32>
  }
  return %r : tensor<f32>
}

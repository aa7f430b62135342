// A loop that reads a state, which the entry updates and another entry reads.
func.func @step(%w: tensor<50x4x4xf32> {tp.name = "w", tp.kind = "parameter"}, %s: tensor<6x4xf32> {tp.name = "s", tp.kind = "buffer"}, %x: tensor<6x4xf32> {tp.name = "x"})
   -> (tensor<6x4xf32>, tensor<6x4xf32> {tp.name = "s", tp.updates = "s"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c50 = arith.constant 50 : index
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
  %b = arith.addf %s, %x : tensor<6x4xf32>
  %r = scf.for %i = %c0 to %c50 step %c1 iter_args(%h = %b) -> (tensor<6x4xf32>) {
    %m = tensor.extract_slice %w[%i, 0, 0] [1, 4, 4] [1, 1, 1] : tensor<50x4x4xf32> to tensor<4x4xf32>
    %u = linalg.matmul ins(%h, %m : tensor<6x4xf32>, tensor<4x4xf32>) outs(%f : tensor<6x4xf32>) -> tensor<6x4xf32>
    %v = arith.addf %u, %s : tensor<6x4xf32>
    %t = math.tanh %v : tensor<6x4xf32>
    scf.yield %t : tensor<6x4xf32>
  }
  %n = arith.addf %r, %s : tensor<6x4xf32>
  return %r, %n : tensor<6x4xf32>, tensor<6x4xf32>
}
func.func @peek(%s: tensor<6x4xf32> {tp.name = "s", tp.kind = "buffer"}, %x: tensor<3xf32> {tp.name = "x"}) -> (tensor<6x4xf32>, tensor<3xf32>) {
  %k = arith.constant 2.0 : f32
  %sp = tensor.splat %k : tensor<6x4xf32>
  %y = arith.mulf %s, %sp : tensor<6x4xf32>
  %xx = arith.addf %x, %x : tensor<3xf32>
  return %y, %xx : tensor<6x4xf32>, tensor<3xf32>
}

// Two loops, and what comes behind, read one weight whole; what the first part
// computes from an argument is read by every iteration.
func.func @main(%w: tensor<16x16xf32> {tp.name = "w", tp.kind = "parameter"}, %m: tensor<12x16xf32> {tp.name = "m", tp.kind = "user_input"}, %x: tensor<12x16xf32> {tp.name = "x", tp.kind = "user_input"}) -> tensor<12x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c20 = arith.constant 20 : index
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<12x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<12x16xf32>) -> tensor<12x16xf32>
  %k = math.tanh %m : tensor<12x16xf32>
  %r = scf.for %i = %c0 to %c20 step %c1 iter_args(%h = %x) -> (tensor<12x16xf32>) {
    %p = linalg.matmul ins(%h, %w : tensor<12x16xf32>, tensor<16x16xf32>) outs(%f : tensor<12x16xf32>) -> tensor<12x16xf32>
    %s = arith.addf %p, %k : tensor<12x16xf32>
    %t = math.tanh %s : tensor<12x16xf32>
    scf.yield %t : tensor<12x16xf32>
  }
  %q = scf.for %i = %c0 to %c9 step %c1 iter_args(%h = %r) -> (tensor<12x16xf32>) {
    %p = linalg.matmul ins(%h, %w : tensor<12x16xf32>, tensor<16x16xf32>) outs(%f : tensor<12x16xf32>) -> tensor<12x16xf32>
    %s = arith.mulf %p, %k : tensor<12x16xf32>
    %t = math.tanh %s : tensor<12x16xf32>
    scf.yield %t : tensor<12x16xf32>
  }
  %y = linalg.matmul ins(%q, %w : tensor<12x16xf32>, tensor<16x16xf32>) outs(%f : tensor<12x16xf32>) -> tensor<12x16xf32>
  return %y : tensor<12x16xf32>
}
